/*
 * map_function.h - the functions of batch mappers: symbols of a shared object, which is
 * loaded for it and stays loaded, or of the program that this process runs.
 *
 * A chain may come from a checkpoint, which may name any file. So a library is loaded
 * only after map_function_allow(); and a function of the user's own object that was not
 * allowed has to be defined there, not in a library that it is linked with.
 */
#ifndef RAYTRAIN_PREPROCESS_MAP_FUNCTION_H
#define RAYTRAIN_PREPROCESS_MAP_FUNCTION_H

#include "util/error.h"

/* Who has named a function. */
enum map_origin {
    MAP_OF_USER,      /* the configuration or the command line of this process */
    MAP_OF_CHECKPOINT /* only a checkpoint, and the user allows it */
};

/* Where functions without a library are from now on: in the shared object at this path;
 * in this program ("", which is so at first); or nowhere (NULL: this process has no
 * functions of the user). The string is not copied. Before there are other threads. */
void map_function_object(const char *path);
/* From now on this function of the library may be called. library may be NULL. */
int map_function_allow(const char *library, const char *name, enum map_origin origin,
                       struct error *err);
/* RAYTRAIN_ENOTFOUND if there is no such file or function, RAYTRAIN_EINVAL if it may
 * not be loaded: without map_function_allow(), or, for MAP_OF_CHECKPOINT, if the file
 * is a link, another user's, or may be written by others. library may be NULL. */
int map_function_find(const char *library, const char *name,
                      raytrain_map_func *function, struct error *err);
/* RAYTRAIN_ENOTSUP: a function in Python, and no client that would call it. */
int map_function_no_python(const char *name, struct error *err);

#endif
