/* answer.h - bodies of answers are written by a json_writer. */
#ifndef RAYTRAIN_INFER_ANSWER_H
#define RAYTRAIN_INFER_ANSWER_H

#include "infer/infer.h"
#include "util/json_writer.h"

/* The text becomes the answer's. -1: something is missing for lack of memory. */
int answer_take(struct json_writer *w, struct infer_answer *a);

#endif
