/*
 * stripes.h - a new file on a Lustre file system: on how many of its disks it lies.
 *
 * Lustre puts a file on one disk (an OST) by default, whatever its size, and all ranks
 * would share the speed of that one. The layout is chosen when the file is created, by
 * Lustre's own tool lfs. If the directory of the file has a layout of its own with more
 * than one stripe, or one that depends on the size, it stays.
 */
#ifndef RAYTRAIN_CHECKPOINT_STRIPES_H
#define RAYTRAIN_CHECKPOINT_STRIPES_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* For all files that this process creates from now on: the largest number of stripes of
 * a file; 0 (the start): leave it to the file system. */
void stripes_set(int most);

/* Pure: one stripe for each GiB, rounded up, but at most `most`. */
int stripes_choose(int most, uint64_t bytes);

/* Create a file for `bytes` bytes with more than one stripe. False: it was not created,
 * because one stripe is enough, it is not on Lustre, or lfs is missing or has failed.
 * Takes a few seconds at most, in any thread. */
bool stripes_create(const char *path, uint64_t bytes);

/* Has lfs failed? True once in the life of the process, with the reason. */
bool stripes_failed(struct error *why);

#endif
