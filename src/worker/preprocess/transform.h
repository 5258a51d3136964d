/*
 * transform.h - fitted preprocessors at work on batches with the columns of one
 * dataset.
 *
 * A transform belongs to one thread. Several may use the same chain, which does not
 * change meanwhile.
 */
#ifndef RAYTRAIN_PREPROCESS_TRANSFORM_H
#define RAYTRAIN_PREPROCESS_TRANSFORM_H

#include "preprocess/chain.h"

struct transform;

/*
 * Check the columns of `schema`, which needs no rows, and find those of the output. Its
 * dictionaries must stay as they are while the transform exists.
 *
 * use[i] says whether to apply preprocessor i; NULL: all, which must be fitted.
 */
int transform_create(const struct chain *chain, const struct frame *schema,
                     const bool *use, struct transform **made, struct error *err);
/* The way back, from the last preprocessor to the first: those that have one, and whose
 * output is there. For predictions, such as the codes of labels. */
int transform_create_inverse(const struct chain *chain, const struct frame *schema,
                             struct transform **made, struct error *err);
/* The columns of the output, without rows. */
const struct frame *transform_schema(const struct transform *t);
/* Rows with the columns of the schema become rows of the output. RAYTRAIN_EINVAL with
 * the column if there is a missing value that a preprocessor does not accept. On
 * failure the frame may have been changed in part. */
int transform_apply(const struct transform *t, struct frame *f, struct error *err);
void transform_destroy(struct transform *t); /* NULL is fine */

#endif
