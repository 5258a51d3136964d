/*
 * snapshot.c - the buffer of a snapshot: its addresses, its pages, and the check for
 * room.
 */
#include "config.h"
#include "saving/snapshot.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/size.h"

#define HUGE_PAGE  ((size_t)2 << 20)
#define GROWTH_MAX ((size_t)256 << 20)

/* Since Linux 5.14 one call faults in a whole range; before, a byte of each page is
 * touched. */
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

static uint64_t memory_share(uint64_t available, int n_sharing)
{
    return available / (uint64_t)(n_sharing > 0 ? n_sharing : 1);
}

/* Is there room for n bytes more than this process has now? */
static int snapshot_room_check(size_t n, int n_sharing, struct error *err)
{
    char wanted[SIZE_TEXT_MAX], there[SIZE_TEXT_MAX];
    uint64_t available = memory_available();

    if (n <= memory_share(available, n_sharing))
        return 0;
    return error_set(err, RAYTRAIN_ENOMEM,
                     "no memory for a copy of a checkpoint: each of %d workers on this "
                     "node wants %s, and %s is free",
                     n_sharing, size_format(n, wanted), size_format(available, there));
}

static size_t pages_round(size_t n)
{
    return (n + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

size_t snapshot_growth(size_t before, uint64_t bytes)
{
    size_t least = before / 16 < GROWTH_MAX ? before / 16 : GROWTH_MAX;

    if (bytes <= before)
        return before;
    return pages_round(bytes > before + least ? (size_t)bytes : before + least);
}

/* How many bytes of addresses to reserve if n are needed now: no more than n if the
 * process has a limit on addresses, since other allocations need them, too. */
static size_t addresses_wanted(size_t n, int n_sharing)
{
    uint64_t most = memory_share(memory_available(), n_sharing);
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur != RLIM_INFINITY)
        return n;
    if (most > SIZE_MAX / 4)
        most = SIZE_MAX / 4;
    return most > n ? pages_round((size_t)most) : n;
}

/* Reserve addresses for n bytes, a multiple of HUGE_PAGE, aligned to it, without
 * memory. */
static unsigned char *addresses_map(size_t n)
{
    unsigned char *all = mmap(NULL, n + HUGE_PAGE, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;

    if (all == MAP_FAILED)
        return NULL;
    before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(all, before);
    munmap(all + before + n, HUGE_PAGE - before);
    madvise(all + before, n, MADV_HUGEPAGE); /* may fail: huge pages are only faster */
    /* After a fork, pages that are written are copied: a GPU would still write to the
     * old ones. A child does not need them. */
    madvise(all + before, n, MADV_DONTFORK);
    return all + before;
}

/* If the kernel refuses the larger range, take n. */
static int addresses_take(struct snapshot *s, size_t n, int n_sharing)
{
    s->addresses = addresses_wanted(n, n_sharing);
    s->data = addresses_map(s->addresses);
    if (!s->data && s->addresses > n) {
        s->addresses = n;
        s->data = addresses_map(n);
    }
    return s->data ? 0 : -1;
}

bool snapshot_moves(const struct snapshot *s, size_t n)
{
    return s->data && n > s->addresses;
}

bool snapshot_may_expect(struct snapshot *s, size_t n, int n_sharing)
{
    if (s->expected_most == 0)
        s->expected_most = s->room + memory_share(memory_available(), n_sharing);
    return n <= s->expected_most;
}

int snapshot_reserve(struct snapshot *s, size_t n, int n_sharing, struct error *err)
{
    char size[SIZE_TEXT_MAX];

    if (n <= s->room)
        return 0;
    if (n > SIZE_MAX / 4)
        return error_no_memory(err);
    if (snapshot_moves(s, n))
        snapshot_clear(s);
    n = pages_round(n);
    if (snapshot_room_check(n - s->room, n_sharing, err) < 0)
        return -1;
    if ((!s->data && addresses_take(s, n, n_sharing) < 0) ||
        mprotect(s->data, n, PROT_READ | PROT_WRITE) < 0)
        return error_set(err, RAYTRAIN_ENOMEM,
                         "no memory for a copy of a checkpoint, %s: %s",
                         size_format(n, size), strerror(errno));
    pages_fault(s->data + s->room, n - s->room);
    s->room = n;
    return 0;
}

void snapshot_clear(struct snapshot *s)
{
    if (s->data)
        munmap(s->data, s->addresses);
    *s = (struct snapshot){.expected_most = s->expected_most};
}
