/* h5_facts.h - which HDF5 library this process has, and whether it works here. Only for the
 * thread that calls HDF5. */
#ifndef RAYTRAIN_HDF5_H5_FACTS_H
#define RAYTRAIN_HDF5_H5_FACTS_H

#include <jansson.h>

/*
 *   {"version": at run time, "built": of the header, "parallel": bool,
 *    "filters": names, such as "deflate"}
 *
 * New; NULL without memory.
 */
json_t *h5_facts(void);

/* Write a small dataset to a new file at path, with HDF5 itself, and read it back; the file
 * is removed. A new text of what failed; NULL if all is well. */
char *h5_file_try(const char *path);

#endif
