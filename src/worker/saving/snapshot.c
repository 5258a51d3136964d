#include "config.h"
#include "saving/snapshot.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/size.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* Linux 5.14 faults in a whole range in one call; before that, touching a byte of each
 * page does. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static void pages_fault(unsigned char *data, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (madvise(data, n, MADV_POPULATE_WRITE) == 0)
        return;
    for (size_t at = 0; at < n; at += page)
        ((volatile unsigned char *)data)[at] = 0;
}

static int room_check(size_t n, int n_sharing, struct error *err)
{
    char wanted[SIZE_TEXT_MAX], there[SIZE_TEXT_MAX];
    uint64_t available = memory_available();

    if (n <= available / (uint64_t)(n_sharing > 0 ? n_sharing : 1))
        return 0;
    return error_set(err, RAYTRAIN_ENOMEM,
                     "no memory for a copy of a checkpoint: each of %d workers on this "
                     "node wants %s, and %s is free",
                     n_sharing, size_format(n, wanted), size_format(available, there));
}

/* n bytes, a multiple of HUGE_PAGE, aligned to one. */
static unsigned char *pages_map(size_t n)
{
    unsigned char *all = mmap(NULL, n + HUGE_PAGE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;

    if (all == MAP_FAILED)
        return NULL;
    before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(all, before);
    munmap(all + before + n, HUGE_PAGE - before);
    madvise(all + before, n, MADV_HUGEPAGE); /* without huge pages it is only slower */
    /* After a fork, pages that are written are copied: a card would go on with the old ones,
     * and a child does not need them. */
    madvise(all + before, n, MADV_DONTFORK);
    return all + before;
}

int snapshot_reserve(struct snapshot *s, size_t n, int n_sharing, struct error *err)
{
    char size[SIZE_TEXT_MAX];
    unsigned char *data;

    if (n <= s->room)
        return 0;
    if (n > SIZE_MAX / 2)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    snapshot_clear(s);
    n = (n + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (room_check(n, n_sharing, err) < 0)
        return -1;
    data = pages_map(n);
    if (!data)
        return error_set(err, RAYTRAIN_ENOMEM,
                         "no memory for a copy of a checkpoint, %s: %s",
                         size_format(n, size), strerror(errno));
    pages_fault(data, n);
    s->data = data;
    s->room = n;
    return 0;
}

void snapshot_clear(struct snapshot *s)
{
    if (s->data)
        munmap(s->data, s->room);
    *s = (struct snapshot){0};
}
