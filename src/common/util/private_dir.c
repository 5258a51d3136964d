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

enum private_dir_use private_dir_use(const char *path, int *fd)
{
    enum private_dir_use use;

    *fd = dir_open(path);
    if (*fd < 0)
        return PRIVATE_DIR_UNKNOWN;
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return PRIVATE_DIR_UNUSED;
    use = errno == EWOULDBLOCK ? PRIVATE_DIR_USED : PRIVATE_DIR_UNKNOWN;
    close(*fd);
    *fd = -1;
    return use;
}

/* Remove a directory of this user that no process uses. */
static void abandoned_remove(const char *path)
{
    struct stat st;
    int fd;

    if (private_dir_use(path, &fd) != PRIVATE_DIR_UNUSED)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid())
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
 * remove it: -1 and ENOENT. */
static int made_hold(const char *path)
{
    int fd = private_dir_hold(path);

    if (fd < 0 || dir_is_there(fd, path))
        return fd;
    close(fd);
    errno = ENOENT;
    return -1;
}

int private_dir_make_at(const char *path)
{
    int fd;

    do {
        if (mkdir(path, 0700) < 0)
            return -1;
        fd = made_hold(path);
    } while (fd < 0 && errno == ENOENT);
    return fd;
}

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
        fd = made_hold(path);
        if (fd >= 0 || errno != ENOENT)
            return fd;
    }
}
