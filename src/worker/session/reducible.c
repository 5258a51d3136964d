/*
 * reducible.c - the table of element types, and the conversions of 16-bit floats.
 */
#include "session/reducible.h"

#include "util/half.h"

static const struct reducible reducible[] = {
    {RAYTRAIN_FLOAT32, COMM_FLOAT32, true, NULL, NULL},
    {RAYTRAIN_FLOAT64, COMM_FLOAT64, true, NULL, NULL},
    {RAYTRAIN_FLOAT16, COMM_FLOAT32, true, float16_widen, float16_narrow},
    {RAYTRAIN_BFLOAT16, COMM_FLOAT32, true, bfloat16_widen, bfloat16_narrow},
    {RAYTRAIN_INT64, COMM_INT64, false, NULL, NULL},
};

const struct reducible *reducible_find(raytrain_dtype dtype)
{
    for (size_t i = 0; i < sizeof reducible / sizeof reducible[0]; i++)
        if (reducible[i].dtype == dtype)
            return &reducible[i];
    return NULL;
}
