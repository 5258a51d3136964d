/*
 * shipped_function.h - the training function that fit() of Python sends to the workers
 * (_shipping.py): a pickle in a file that fit() removes when it returns. The run keeps
 * a copy of it, for an attempt that raytrain-run or restore() makes later.
 */
#ifndef RAYTRAIN_TRAIN_SHIPPED_FUNCTION_H
#define RAYTRAIN_TRAIN_SHIPPED_FUNCTION_H

#include "train/run.h"

/* Copy the function, if fit() has started this process. This is done before the first
 * worker starts, so that the run can be continued after any failure. */
int shipped_function_keep(struct run *run, struct error *err);

#endif
