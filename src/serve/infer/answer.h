/* answer.h - write the body of an answer with a json_writer. */
#ifndef RAYTRAIN_INFER_ANSWER_H
#define RAYTRAIN_INFER_ANSWER_H

#include "infer/infer.h"
#include "util/json_writer.h"

/* The text becomes the body of the answer. -1: out of memory. */
int answer_take(struct json_writer *w, struct infer_answer *a);

#endif
