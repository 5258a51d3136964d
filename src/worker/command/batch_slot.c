/* batch_slot.c - sealed memory for a batch, which a client maps. */
#include "config.h"
#include "command/batch_slot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

void batch_slot_clear(struct batch_slot *s)
{
    if (!s->memory)
        return;
    munmap(s->memory, s->bytes);
    close(s->fd);
    *s = (struct batch_slot){0};
}

static int batch_slot_make(struct batch_slot *s, size_t bytes, struct error *err)
{
    int fd = memfd_create("raytrain-batch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *memory = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a batch of %zu bytes",
                         bytes);
    }
    *s = (struct batch_slot){.memory = memory, .bytes = bytes, .fd = fd};
    return 0;
}

int batch_slot_ready(struct batch_slot *s, size_t bytes, size_t at_least,
                     struct error *err)
{
    if (s->memory && bytes <= s->bytes)
        return 0;
    batch_slot_clear(s);
    return batch_slot_make(s, bytes <= at_least ? at_least : bytes + bytes / 4, err) < 0
               ? -1
               : 1;
}
