/*
 * map_function.h - the functions of batch mappers: symbols of a shared object, which is
 * loaded for it and stays loaded, or of the program that this process runs.
 */
#ifndef RAYTRAIN_PREPROCESS_MAP_FUNCTION_H
#define RAYTRAIN_PREPROCESS_MAP_FUNCTION_H

#include "util/error.h"

/* Where functions without a library are from now on: in the shared object at this path; in
 * this program ("", which is so at first); or nowhere (NULL: this process has no functions
 * of the user). The string is not copied. Before there are other threads. */
void map_function_object(const char *path);
/* RAYTRAIN_ENOTFOUND if there is no such file or function. library may be NULL. */
int map_function_find(const char *library, const char *name,
                      raytrain_map_func *function, struct error *err);
/* RAYTRAIN_ENOTSUP: a function in Python, and no client that would call it. */
int map_function_no_python(const char *name, struct error *err);

#endif
