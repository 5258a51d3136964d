/*
 * train_func_file.h - the file of the training function: where it is, and of which
 * kind.
 */
#ifndef RAYTRAIN_CONFIG_TRAIN_FUNC_FILE_H
#define RAYTRAIN_CONFIG_TRAIN_FUNC_FILE_H

#include "util/error.h"

enum train_func_kind {
    TRAIN_FUNC_SHARED_OBJECT, /* dlopen, symbol train_func */
    TRAIN_FUNC_PROGRAM,       /* calls raytrain_main() */
    TRAIN_FUNC_COMMAND        /* any command, after -- */
};

/*
 * Make *path absolute and find out its kind. A name without a '/' is a file in the
 * working directory; that of a command is looked for in PATH first, as a shell does.
 *
 * If the user says that it is a command (TRAIN_FUNC_COMMAND), *kind stays, regardless
 * of the file. Otherwise the file decides: an ELF file is a program if it has an
 * interpreter, a fixed address or the mark of a position-independent program, else a
 * shared object; any other file that can be executed is a program. RAYTRAIN_ENOTFOUND,
 * RAYTRAIN_EINVAL, with what to do.
 */
int train_func_resolve(char **path, enum train_func_kind *kind, struct error *err);

/* What a command runs: the script or the module that is given to an interpreter, else
 * the program itself. Returns one of the arguments, or path. */
const char *train_func_subject(const char *path, char *const *args, size_t n);

#endif
