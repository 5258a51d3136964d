/*
 * map_function.h - finds the functions of batch mappers: symbols of a shared object,
 * which is loaded and stays loaded, or of the program that this process runs.
 *
 * A chain may come from a checkpoint, which may name any file. So a library is loaded
 * only after map_function_allow(). A function of the user's own object that was not
 * allowed must be defined in that object, not in a library that it is linked with.
 */
#ifndef RAYTRAIN_PREPROCESS_MAP_FUNCTION_H
#define RAYTRAIN_PREPROCESS_MAP_FUNCTION_H

#include "util/error.h"

/* Where the name of a function comes from. */
enum map_origin {
    MAP_OF_USER,      /* the configuration or the command line of this process */
    MAP_OF_CHECKPOINT /* only a checkpoint, and the user allows it */
};

/* Sets where functions without a library are: in the shared object at this path; in
 * this program, "", the default; or nowhere, NULL, if this process has no functions of
 * the user. The string is not copied. Call it before other threads start. */
void map_function_object(const char *path);
/* Allows this function of the library to be called. library may be NULL. */
int map_function_allow(const char *library, const char *name, enum map_origin origin,
                       struct error *err);
/* RAYTRAIN_ENOTFOUND if the file or function does not exist. RAYTRAIN_EINVAL if it may
 * not be loaded: without map_function_allow(), or, for MAP_OF_CHECKPOINT, if the file
 * is a link, belongs to another user, or may be written by others. library may be
 * NULL. */
int map_function_find(const char *library, const char *name,
                      raytrain_map_func *function, struct error *err);
/* Sets RAYTRAIN_ENOTSUP for a function in Python without a client that can call it. */
int map_function_no_python(const char *name, struct error *err);

#endif
