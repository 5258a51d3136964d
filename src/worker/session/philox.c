#include "session/philox.h"

#define ROUNDS 10

/* The multipliers of the paper, and its Weyl sequence for the key: the golden ratio and
 * the square root of three less one, as fractions of 2^32. */
static const uint32_t multiplier[2] = {0xd2511f53, 0xcd9e8d57};
static const uint32_t weyl[2] = {0x9e3779b9, 0xbb67ae85};

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k[2] = {key[0], key[1]};

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t a = (uint64_t)multiplier[0] * x[0];
        uint64_t b = (uint64_t)multiplier[1] * x[2];

        x[0] = (uint32_t)(b >> 32) ^ x[1] ^ k[0];
        x[1] = (uint32_t)b;
        x[2] = (uint32_t)(a >> 32) ^ x[3] ^ k[1];
        x[3] = (uint32_t)a;
        k[0] += weyl[0];
        k[1] += weyl[1];
    }
    for (int i = 0; i < 4; i++)
        out[i] = x[i];
}
