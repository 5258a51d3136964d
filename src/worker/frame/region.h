/*
 * region.h - memory that many columns have parts of, in huge pages if the system gives
 * them: what is written in any order in a large memory of small pages waits for the
 * page tables more than for the memory. The last column that lets go of it frees it.
 */
#ifndef RAYTRAIN_FRAME_REGION_H
#define RAYTRAIN_FRAME_REGION_H

#include <stddef.h>

struct frame_region;

/* Its memory is *bytes, zeros, aligned to a page. It belongs to one user. NULL and
 * errno if there is none. */
struct frame_region *frame_region_create(size_t n, unsigned char **bytes);
/* Any thread. */
void frame_region_hold(struct frame_region *r);
void frame_region_release(struct frame_region *r);

#endif
