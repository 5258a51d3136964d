/* refusal.h - why a request is not answered, as sentences for the client. */
#ifndef RAYTRAIN_INFER_REFUSAL_H
#define RAYTRAIN_INFER_REFUSAL_H

#include "infer/infer.h"

#define SHAPE_TEXT_MAX 256

/* Always returns -1. */
int refuse(struct infer_refusal *why, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The model has no such input or output (`what`): name the nearest, or those it has. */
int refuse_unknown(struct infer_refusal *why, const char *what, const char *name,
                   const struct infer_column columns[], size_t n);

/* "[2, 3]"; rows < 0: the rows are any number, "[N, 3]". Returns text. */
char *shape_text(int64_t rows, const struct infer_column *c, char text[SHAPE_TEXT_MAX]);

#endif
