/*
 * serve_inputs.h - the columns of the rows that a worker gets from its service, before
 * the preprocessors: in messages, and in a frame.
 *
 * Text is FRAME_TEXT. If the first preprocessor that reads the column is for
 * categories, text is FRAME_WORDS, as in a dataset, with the words of the column that
 * the preprocessors of the checkpoint know, and one word for all others. So the
 * dictionary does not change with what clients send. A text that means a missing value
 * in the files of the training is missing then.
 */
#ifndef RAYTRAIN_SERVE_SERVE_INPUTS_H
#define RAYTRAIN_SERVE_SERVE_INPUTS_H

#include "config/predict_inputs.h"
#include "frame/frame.h"
#include "preprocess/chain.h"
#include "protocol/service_wire.h"
#include "util/missing_text.h"

struct serve_inputs {
    struct frame schema; /* without rows; the caller may take it */
    struct service_column *columns;
    struct serve_words {
        struct dictionary *words; /* NULL: the column does not have words */
        int32_t other;            /* the code for all other words */
    } * words; /* one for each column; the dictionaries are used by the schema */
    size_t n;
    struct missing_texts missing; /* owned by the caller; none: the usual ones */
};

/* The columns of the configuration. `chain`: the preprocessors; NULL: none. On failure
 * there is nothing to clear. */
int serve_inputs_configured(const struct predict_inputs *config,
                            const struct chain *chain, struct serve_inputs *inputs,
                            struct error *err);
/* The columns of a dataset, except `label`, which may be NULL, and those that a
 * label_encoder encodes. RAYTRAIN_ENOTSUP for a column that a service cannot have. */
int serve_inputs_like(const struct frame *dataset, const char *label,
                      const struct chain *chain, struct serve_inputs *inputs,
                      struct error *err);
/* For a model that takes numbers of any type: makes each column float64, so that its
 * numbers may be missing, except those that a preprocessor uses. */
void serve_inputs_widen(struct serve_inputs *inputs, const struct chain *chain);
void serve_inputs_clear(struct serve_inputs *inputs); /* zeroed is fine */

/* Copies the rows of a message into a frame with the columns of the schema. */
int serve_inputs_fill(const struct serve_inputs *inputs, uint64_t rows,
                      const struct service_rows from[], struct frame *f,
                      struct error *err);

#endif
