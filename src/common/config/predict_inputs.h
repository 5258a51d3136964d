/*
 * predict_inputs.h - the key predict.inputs: the columns of the rows that a service gets.
 *
 *   inputs = ( { name = "image"; dtype = "float32"; shape = [28, 28]; },
 *              { name = "age"; dtype = "int64"; },
 *              { name = "review"; kind = "text"; } );
 *
 * As one text, for command lines: image:float32:28x28, age:int64, review:text.
 */
#ifndef RAYTRAIN_CONFIG_PREDICT_INPUTS_H
#define RAYTRAIN_CONFIG_PREDICT_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/config_node.h"

struct predict_input {
    /* 1 to RAYTRAIN_NAME_MAX bytes, different from the others. */
    char *name;
    bool is_text;
    raytrain_tensor row; /* for numbers: dtype, and shape of a row */
};

struct predict_inputs {
    struct predict_input *list;
    size_t n; /* 0: not set */
};

int predict_inputs_set(struct predict_inputs *inputs, const struct config_node *node,
                       const struct config_where *where);
/* Add an input given as NAME:DTYPE, NAME:DTYPE:SHAPE or NAME:text. `source` is the name
 * of the flag in messages. */
int predict_inputs_add(struct predict_inputs *inputs, const char *text,
                       const char *source, struct error *err);
void predict_inputs_render(const struct predict_inputs *inputs, const char *name,
                           FILE *out, int depth);
void predict_inputs_clear(struct predict_inputs *inputs);

#endif
