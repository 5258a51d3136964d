/*
 * philox.h - Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC11): a block of 128 random bits as a function of counter and key.
 */
#ifndef RAYTRAIN_SESSION_PHILOX_H
#define RAYTRAIN_SESSION_PHILOX_H

#include <stdint.h>

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
