/*
 * snapshot.h - memory into which a save copies this rank's data, so that training goes
 * on while they are written.
 *
 * The pages are faulted in before the copy (a fresh page costs more than the copy into
 * it), and the buffer is kept from one save to the next. It reserves the addresses that
 * it may need later, so that it grows in place, and what is pinned stays pinned.
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
    size_t addresses;       /* bytes to which it can grow in place */
    uint64_t expected_most; /* snapshot_may_expect(); 0: not yet asked */
};

/*
 * Make room for n bytes, with all pages in memory; if the buffer grows, its contents
 * are lost. RAYTRAIN_ENOMEM, with the numbers, if the node has no room for n_sharing
 * such buffers: a copy must not get a process killed.
 */
int snapshot_reserve(struct snapshot *s, size_t n, int n_sharing, struct error *err);
/* May it grow to n bytes before they are needed? The limit is this process's share of
 * the memory that was free at the first call. */
bool snapshot_may_expect(struct snapshot *s, size_t n, int n_sharing);
/* The size to grow to from `before`, if `bytes` are needed: larger than that, so that
 * bytes that are pinned little by little cause few growths. */
size_t snapshot_growth(size_t before, uint64_t bytes);
/* Would snapshot_reserve() move the buffer? Else it grows in place. */
bool snapshot_moves(const struct snapshot *s, size_t n);
void snapshot_clear(struct snapshot *s);

#endif
