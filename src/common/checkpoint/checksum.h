/*
 * checksum.h - XXH3-64 as fast as this processor has it.
 *
 * xxHash's own functions are compiled for the least processor of the architecture;
 * those of its dispatcher choose at run time, and give the same values. The header of
 * the dispatcher puts them under the plain names.
 */
#ifndef RAYTRAIN_CHECKPOINT_CHECKSUM_H
#define RAYTRAIN_CHECKPOINT_CHECKSUM_H

#ifdef HAVE_XXH_X86DISPATCH_H
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#endif
