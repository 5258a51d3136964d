/* region.c - maps the memory of a region, and counts its users. */
#include "frame/region.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

struct frame_region {
    atomic_size_t users;
    void *mapped;
    size_t size;
};

/* A huge page begins at a multiple of its size. */
struct frame_region *frame_region_create(size_t n, unsigned char **bytes)
{
    struct frame_region *r = malloc(sizeof *r);
    size_t size = (n / HUGE_PAGE + 2) * HUGE_PAGE;
    void *p;

    if (!r)
        return NULL;
    p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        free(r);
        return NULL;
    }
    r->mapped = p;
    r->size = size;
    atomic_init(&r->users, 1);
    *bytes = (unsigned char *)p + -(uintptr_t)p % HUGE_PAGE;
    madvise(*bytes, size - HUGE_PAGE, MADV_HUGEPAGE);
    return r;
}

void frame_region_hold(struct frame_region *r)
{
    atomic_fetch_add(&r->users, 1);
}

void frame_region_release(struct frame_region *r)
{
    if (atomic_fetch_sub(&r->users, 1) > 1)
        return;
    munmap(r->mapped, r->size);
    free(r);
}
