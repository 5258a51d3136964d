/* no_locks.c - to be preloaded: a file system without locks, as some mounts of Lustre are. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static int answer(int fd, int command, long argument)
{
    if (command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
        command == F_OFD_SETLK) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int fcntl(int fd, int command, ...)
{
    va_list ap;
    long argument;

    va_start(ap, command);
    argument = va_arg(ap, long);
    va_end(ap);
    return answer(fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
    va_list ap;
    long argument;

    va_start(ap, command);
    argument = va_arg(ap, long);
    va_end(ap);
    return answer(fd, command, argument);
}

int flock(int fd, int operation)
{
    (void)fd;
    (void)operation;
    errno = ENOSYS;
    return -1;
}
