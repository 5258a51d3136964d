/*
 * snapshot.h - memory that a save copies this rank's data into, so that training goes
 * on while they are written.
 *
 * The pages are faulted in before anything is copied (a fresh page costs more than the
 * copy into it), and the buffer is kept from one save to the next. It has addresses for as
 * much as it may ever need, so that it grows in place: what is pinned stays so.
 */
#ifndef RAYTRAIN_SAVING_SNAPSHOT_H
#define RAYTRAIN_SAVING_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct snapshot {
    unsigned char *data; /* aligned to a page; NULL: none yet */
    size_t room;
    size_t addresses; /* that it may grow to where it is */
    uint64_t expected_most; /* snapshot_may_expect(); 0: not yet asked */
};

/*
 * Have room for n bytes, all pages in memory; if the buffer grows, its contents are
 * lost. RAYTRAIN_ENOMEM, with the numbers, if the node has no room for n_sharing such
 * buffers: no process should be killed for a copy.
 */
int snapshot_reserve(struct snapshot *s, size_t n, int n_sharing, struct error *err);
/* May it have n bytes before it is known that they are needed? However often it grows, these are
 * no more than this process's share of what was free when this was asked first. */
bool snapshot_may_expect(struct snapshot *s, size_t n, int n_sharing);
/* For `bytes` that are pinned, a bit at a time, when room was `before`: what to have room for,
 * so that many small growths are few. */
size_t snapshot_growth(size_t before, uint64_t bytes);
/* Would snapshot_reserve() unmap what is there? Else it stays where it is. */
bool snapshot_moves(const struct snapshot *s, size_t n);
void snapshot_clear(struct snapshot *s);

#endif
