/*
 * region.h - memory that many columns share, in huge pages if the system provides them:
 * random writes to a large memory of small pages wait longer for the page tables than
 * for the memory. The last column that releases it frees it.
 */
#ifndef RAYTRAIN_FRAME_REGION_H
#define RAYTRAIN_FRAME_REGION_H

#include <stddef.h>

struct frame_region;

/* *bytes is its memory: zeros, aligned to a page. It has one user at first. NULL, with
 * errno, on failure. */
struct frame_region *frame_region_create(size_t n, unsigned char **bytes);
/* Adds a user. Any thread may call it. */
void frame_region_hold(struct frame_region *r);
void frame_region_release(struct frame_region *r);

#endif
