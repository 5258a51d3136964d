/* private_dir.c - make, lock and remove the private directories of workers. */
#include "util/private_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/fs_advice.h"

#define PREFIX PRIVATE_DIR_PREFIX
#define HOLE   "XXXXXX"

static const char *parent_dir(size_t most)
{
    const char *tmp = getenv("TMPDIR");

    if (tmp && tmp[0] == '/' && strlen(tmp) + sizeof "/" PREFIX HOLE <= most)
        return tmp;
    return "/tmp";
}

static int dir_open(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Remove a directory of this user if an exclusive lock can be had on it: then no
 * process uses it. */
static void abandoned_remove(const char *path)
{
    struct stat st;
    int fd = dir_open(path);

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        fs_remove_tree(path, NULL);
    close(fd);
}

static void all_abandoned_remove(const char *parent)
{
    const size_t n = sizeof PREFIX - 1;
    DIR *dir = opendir(parent);
    struct dirent *e;
    char path[PATH_MAX];

    while (dir && (e = readdir(dir)))
        if (strncmp(e->d_name, PREFIX, n) == 0 &&
            strlen(e->d_name) == n + sizeof HOLE - 1 &&
            (size_t)snprintf(path, sizeof path, "%s/%s", parent, e->d_name) <
                sizeof path)
            abandoned_remove(path);
    if (dir)
        closedir(dir);
}

/* Is fd still the directory with that name? */
static bool dir_is_there(int fd, const char *path)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 && lstat(path, &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

int private_dir_hold(const char *path)
{
    int fd = dir_open(path);

    /* If the file system has no locks, no process removes the directory either. */
    while (fd >= 0 && flock(fd, LOCK_SH) < 0 && errno == EINTR)
        continue;
    return fd;
}

/* Before the lock is taken, another process may consider the directory abandoned and
 * remove it; then try again. */
int private_dir_make(char path[PATH_MAX], size_t most)
{
    const char *parent = parent_dir(most);
    int fd;

    all_abandoned_remove(parent);
    for (;;) {
        if ((size_t)snprintf(path, PATH_MAX, "%s/" PREFIX HOLE, parent) >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (!mkdtemp(path))
            return -1;
        fd = private_dir_hold(path);
        if (fd >= 0 && dir_is_there(fd, path))
            return fd;
        if (fd < 0 && errno != ENOENT)
            return -1;
        if (fd >= 0)
            close(fd);
    }
}
