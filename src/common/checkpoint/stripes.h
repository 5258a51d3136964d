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

/* For all files that this process creates from now on: the most stripes of one; 0 (the
 * start): leave it to the file system. */
void stripes_set(int most);

/* Pure: one for each GiB that has begun, but at most so many. */
int stripes_choose(int most, uint64_t bytes);

/* Create a file that will have so many bytes with more than one stripe. False: it was
 * not created, since it is to have one, lies elsewhere, or lfs is missing or has failed.
 * Takes some seconds at most, in any thread. */
bool stripes_create(const char *path, uint64_t bytes);

/* Has lfs failed? True once in the life of the process, with the reason. */
bool stripes_failed(struct error *why);

#endif
