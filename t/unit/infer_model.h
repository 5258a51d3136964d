/* A model whose inputs and outputs have every kind of column. */
#ifndef RAYTRAIN_UNIT_INFER_MODEL_H
#define RAYTRAIN_UNIT_INFER_MODEL_H

#include "infer/infer.h"

#define NUMBERS(NAME, DTYPE, ...)                                                      \
    {                                                                                  \
        .name = NAME, .kind = INFER_NUMBERS, .row = {                                  \
            .dtype = DTYPE,                                                            \
            .ndim = sizeof((uint64_t[]){0, __VA_ARGS__}) / sizeof(uint64_t) - 1,       \
            .shape = {__VA_ARGS__}                                                     \
        }                                                                              \
    }
#define SCALAR(NAME, DTYPE)                                                            \
    {                                                                                  \
        .name = NAME, .kind = INFER_NUMBERS, .row = {.dtype = DTYPE, .ndim = 0 }       \
    }
#define TEXT(NAME)                                                                     \
    {                                                                                  \
        .name = NAME, .kind = INFER_TEXT                                               \
    }
#define MODEL(INPUTS, OUTPUTS)                                                         \
    {                                                                                  \
        .name = "digits", .version = "12", .inputs = INPUTS, .outputs = OUTPUTS,       \
        .n_inputs = sizeof(INPUTS) / sizeof *(INPUTS),                                 \
        .n_outputs = sizeof(OUTPUTS) / sizeof *(OUTPUTS)                               \
    }

#endif
