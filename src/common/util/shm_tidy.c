/*
 * shm_tidy.c - remove files of shared memory that no process has open.
 *
 * The kernel is asked whether a file is in use, since /proc would be slow and out of
 * date: a write lease is granted only if no other process has the file open or mapped.
 * The owner of a file has it open from its creation on, so a file with a lease has lost
 * its owner, and no other process will open it.
 */
#include "config.h"

#include "util/shm_tidy.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const prefixes[] = {"mpich_shar_tmp", "ucx_shm_posix_",
                                       "vader_segment."};

static bool is_ours(const char *name)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* If another process opens the file while we hold the lease, the kernel makes it
 * wait and sends us a signal. We choose one that is ignored in place of SIGIO,
 * which kills. */
static bool is_abandoned(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

static void file_tidy(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (is_abandoned(fd))
        unlinkat(dir, name, 0);
    close(fd);
}

void shm_tidy_directory(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (is_ours(entry->d_name))
            file_tidy(dirfd(dir), entry->d_name);
    closedir(dir);
}

void shm_tidy(void)
{
    shm_tidy_directory("/dev/shm");
}

void shm_unname(const char *prefix)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    size_t room = 0;
    char *line = NULL, *path;

    while (maps && getline(&line, &room, maps) > 0) {
        line[strcspn(line, "\n")] = '\0';
        path = strchr(line, '/');
        if (path && strncmp(strrchr(path, '/') + 1, prefix, strlen(prefix)) == 0)
            unlink(path);
    }
    free(line);
    if (maps)
        fclose(maps);
}
