#include "store/whereabouts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/async_text.h"
#include "util/fs.h"

/* The call from the left, the number up to the right, a newline. */
static void slot_format(const char *call, int64_t calls, char slot[WHEREABOUTS_SLOT])
{
    char number[ASYNC_NUMBER_MAX];
    size_t used = (size_t)(async_number(number, (uint64_t)calls) - number);
    size_t room = WHEREABOUTS_SLOT - WHEREABOUTS_CALL_MAX - 2;

    memset(slot, ' ', WHEREABOUTS_SLOT - 1);
    slot[WHEREABOUTS_SLOT - 1] = '\n';
    for (size_t i = 0; i < WHEREABOUTS_CALL_MAX && call[i]; i++)
        slot[i] = call[i];
    if (used <= room)
        memcpy(slot + WHEREABOUTS_SLOT - 1 - used, number, used);
}

/* O_DSYNC: several nodes write into the same page of this file, and an NFS client then
 * sends its own bytes and no others. */
int whereabouts_write(const char *path, int rank, const char *call, int64_t calls)
{
    char slot[WHEREABOUTS_SLOT];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_DSYNC, 0666);
    int rc, saved;

    if (fd < 0)
        return -1;
    slot_format(call, calls, slot);
    rc = fs_pwrite_full(fd, slot, sizeof slot, (uint64_t)rank * sizeof slot);
    saved = errno;
    close(fd);
    errno = saved;
    return rc;
}

/* Nothing that the file may hold is believed before it has been looked at. */
static void slot_parse(const char *slot, struct whereabouts *at)
{
    char line[WHEREABOUTS_SLOT + 1] = "";
    long long calls;

    memset(at, 0, sizeof *at);
    at->calls = -1;
    memcpy(line, slot, WHEREABOUTS_SLOT);
    if (sscanf(line + WHEREABOUTS_CALL_MAX, "%lld", &calls) != 1 || calls < 0)
        return;
    at->calls = calls;
    for (size_t i = 0; i < WHEREABOUTS_CALL_MAX; i++)
        at->call[i] = line[i] > ' ' && line[i] < 0x7f ? line[i] : ' ';
    for (size_t n = WHEREABOUTS_CALL_MAX; n > 0 && at->call[n - 1] == ' '; n--)
        at->call[n - 1] = '\0';
}

static void slots_read(const char *path, char *slots, size_t n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return;
    if (pread(fd, slots, n, 0) < 0)
        memset(slots, 0, n);
    close(fd);
}

struct whereabouts *whereabouts_read(const char *log_dir, const char *name, int size)
{
    struct whereabouts *at = calloc((size_t)size, sizeof *at);
    char *slots = calloc((size_t)size, WHEREABOUTS_SLOT), *path = NULL;

    if (!at || !slots || asprintf(&path, "%s/%s", log_dir, name) < 0) {
        free(slots);
        free(at);
        return NULL;
    }
    slots_read(path, slots, (size_t)size * WHEREABOUTS_SLOT);
    for (int i = 0; i < size; i++)
        slot_parse(slots + (size_t)i * WHEREABOUTS_SLOT, &at[i]);
    free(path);
    free(slots);
    return at;
}
