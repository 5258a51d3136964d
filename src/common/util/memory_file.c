/* memory_file.c - memfd_create(2), with seals, and fallocate(2). */
#include "config.h"

#include "util/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int memory_file_create(const char *name, size_t n_bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), saved;

    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)n_bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int memory_file_grant(int fd, size_t offset, size_t n_bytes)
{
    while (fallocate(fd, 0, (off_t)offset, (off_t)n_bytes) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}
