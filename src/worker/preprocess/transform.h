/*
 * transform.h - applies fitted preprocessors to batches with the columns of one
 * dataset.
 *
 * A transform belongs to one thread. Several transforms may use one chain, which must
 * not change while they exist.
 */
#ifndef RAYTRAIN_PREPROCESS_TRANSFORM_H
#define RAYTRAIN_PREPROCESS_TRANSFORM_H

#include "preprocess/chain.h"

struct transform;

/*
 * Checks the columns of `schema`, which needs no rows, and finds those of the output.
 * Its dictionaries must not change while the transform exists.
 *
 * use[i] says whether to apply preprocessor i; NULL: all, which must be fitted.
 */
int transform_create(const struct chain *chain, const struct frame *schema,
                     const bool *use, struct transform **made, struct error *err);
/* Applies the inverses, from the last preprocessor to the first: of those that have
 * one, and whose output is in `schema`. For predictions, such as codes of labels. */
int transform_create_inverse(const struct chain *chain, const struct frame *schema,
                             struct transform **made, struct error *err);
/* The columns of the output, without rows. */
const struct frame *transform_schema(const struct transform *t);
/* Turns rows with the columns of the schema into rows of the output. RAYTRAIN_EINVAL,
 * with the column, for a missing value that a preprocessor does not accept. A failure
 * may leave the frame partly changed. */
int transform_apply(const struct transform *t, struct frame *f, struct error *err);
void transform_destroy(struct transform *t); /* NULL is fine */

#endif
