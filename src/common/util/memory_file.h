/* memory_file.h - memory in a file without a name, which other processes can map. */
#ifndef RAYTRAIN_UTIL_MEMORY_FILE_H
#define RAYTRAIN_UTIL_MEMORY_FILE_H

#include <stddef.h>

/*
 * A descriptor of a new file of n_bytes, closed on exec; -1 with errno. `name` is for
 * /proc/PID/maps alone. The file vanishes with its last descriptor and mapping. It is
 * sealed: nothing can shrink what others have mapped. Its pages are not allocated yet,
 * and are zeros.
 */
int memory_file_create(const char *name, size_t n_bytes);

/* Allocate the pages of a part now, near this thread's core, so that using them cannot
 * fail later: 0, or -1 with errno. */
int memory_file_grant(int fd, size_t offset, size_t n_bytes);

#endif
