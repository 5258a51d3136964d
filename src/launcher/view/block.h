/* block.h - the state of a run as a block of lines for a terminal. */
#ifndef RAYTRAIN_VIEW_BLOCK_H
#define RAYTRAIN_VIEW_BLOCK_H

#include "view/page.h"
#include "view/run_state.h"

/* The block, in at most `rows` lines. */
void block_write(struct page *page, const struct run_state *v, int rows, double now);

#endif
