/* train_func_file.h - what the training function's file is, found out by reading it. */
#ifndef RAYTRAIN_CONFIG_TRAIN_FUNC_FILE_H
#define RAYTRAIN_CONFIG_TRAIN_FUNC_FILE_H

#include "config/train_config.h"

/*
 * Make *path absolute and say what it is. A name without a '/' is looked for in the
 * working directory, then as a program in PATH. An ELF file is a program if it has an
 * interpreter, a fixed address or the mark of a position-independent program, else a
 * shared object; what else can be executed is a program. RAYTRAIN_ENOTFOUND,
 * RAYTRAIN_EINVAL, with what to do.
 */
int train_func_resolve(char **path, enum train_func_kind *kind, struct error *err);

#endif
