/* memory_file.h - memory in an unnamed file, which other processes can map. */
#ifndef RAYTRAIN_UTIL_MEMORY_FILE_H
#define RAYTRAIN_UTIL_MEMORY_FILE_H

#include <stddef.h>

/*
 * A descriptor of a new file of n_bytes, closed on exec; -1 with errno. `name` only
 * appears in /proc/PID/maps. The file vanishes with its last descriptor and mapping. It
 * is sealed: no process can shrink the file that others have mapped. Its pages are not
 * allocated yet, and read as zeros.
 */
int memory_file_create(const char *name, size_t n_bytes);

/* Allocate the pages of a range now, near this thread's core, so that using them cannot
 * fail later. 0, or -1 with errno. */
int memory_file_grant(int fd, size_t offset, size_t n_bytes);

#endif
