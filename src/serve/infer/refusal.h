/* refusal.h - sentences that tell the client why a request is not answered. */
#ifndef RAYTRAIN_INFER_REFUSAL_H
#define RAYTRAIN_INFER_REFUSAL_H

#include "infer/infer.h"

#define SHAPE_TEXT_MAX 256

/* Always returns -1. */
int refuse(struct infer_refusal *why, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Refuse an input or output (`what`) that the model does not have: name the nearest
 * one, or the first of those it has. */
int refuse_unknown(struct infer_refusal *why, const char *what, const char *name,
                   const struct infer_column columns[], size_t n);

/* A shape as text: "[2, 3]"; rows < 0: "[N, 3]", for any number of rows. Returns
 * text. */
char *shape_text(int64_t rows, const struct infer_column *c, char text[SHAPE_TEXT_MAX]);

#endif
