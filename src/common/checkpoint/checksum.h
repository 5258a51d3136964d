/*
 * checksum.h - XXH3-64 with the fastest instructions of this processor.
 *
 * The plain functions of xxHash are compiled for the baseline of the architecture;
 * those of its dispatcher choose an implementation at run time, with the same results.
 * The header of the dispatcher gives them the plain names.
 */
#ifndef RAYTRAIN_CHECKPOINT_CHECKSUM_H
#define RAYTRAIN_CHECKPOINT_CHECKSUM_H

#ifdef HAVE_XXH_X86DISPATCH_H
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#endif
