/*
 * run_record.c - open the files of a run directory without following links, read them,
 * and check whether they may be acted upon. fs.c reads the files that a user names.
 */
#include "util/run_record.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/quote.h"

/* ---- Open ---- */

#define HOW_DIR  (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define HOW_FILE (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) /* a FIFO: no waiting */

/* The last `depth` components of the path. */
static const char *own_parts(const char *path, unsigned depth)
{
    const char *at = path + strlen(path);

    for (; depth > 0 && at > path; depth--) {
        while (at > path && at[-1] == '/')
            at--;
        while (at > path && at[-1] != '/')
            at--;
    }
    return at;
}

/* Open the directory above these components, which may be reached through links. */
static int base_open(const char *path, const char *own)
{
    char *base = own > path     ? strndup(path, (size_t)(own - path))
                 : *path == '/' ? strdup("/")
                                : strdup(".");
    int fd = base ? open(base, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    free(base);
    return fd;
}

/* Open one component of a path in the directory `at`, which is closed. A link is always
 * ELOOP; the kernel reports something else for a link in place of a directory. */
static int part_open(int at, const char *name, int how)
{
    int fd = openat(at, name, how | O_NOFOLLOW), why = errno;
    struct stat st;

    if (fd < 0 && why == ENOTDIR && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(st.st_mode))
        why = ELOOP;
    close(at);
    errno = why;
    return fd;
}

static int parts_open(const char *path, unsigned depth, int how)
{
    const char *own = own_parts(path, depth);
    char *parts, *name;
    int fd, why;

    if (depth <= 1)
        return open(path, how | O_NOFOLLOW);
    name = parts = strdup(own + strspn(own, "/"));
    fd = parts ? base_open(path, own) : -1;
    while (fd >= 0 && name) {
        char *slash = strchr(name, '/'), *next = slash;

        while (next && *next == '/')
            *next++ = '\0';
        next = next && *next ? next : NULL;
        fd = part_open(fd, name, next ? O_PATH | O_DIRECTORY | O_CLOEXEC : how);
        name = next;
    }
    why = errno;
    free(parts);
    errno = why;
    return fd;
}

static int record_file_open(const char *path, unsigned depth)
{
    int fd = parts_open(path, depth, HOW_FILE);
    struct stat st;

    if (fd < 0 && errno == ENXIO) /* a socket */
        errno = EINVAL;
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

int record_open(const char *path, unsigned depth)
{
    int fd = record_file_open(path, depth);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    fs_look_again(path);
    return record_file_open(path, depth);
}

int record_open_dir(const char *path, unsigned depth)
{
    return parts_open(path, depth, HOW_DIR);
}

/* ---- Read ---- */

static int fail_open(const char *path, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (errno == ELOOP)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s is a link, or in a directory that is one: it is not "
                         "followed, since another user may have made it; put a copy of "
                         "the file there",
                         quote(path, quoted));
    if (errno == EINVAL)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s is not a regular file: it is not one of raytrain's; "
                         "remove it",
                         quote(path, quoted));
    return fs_error(err, "open", path);
}

/* If the file grows meanwhile, it is read up to its size at the start. */
static int fd_read(int fd, const char *path, size_t most, char **data, size_t *n,
                   struct error *err)
{
    char quoted[QUOTE_TEXT_MAX], *bytes;
    struct stat st;
    size_t used = 0;
    ssize_t k;

    if (fstat(fd, &st) < 0)
        return fs_error(err, "read", path);
    if ((uint64_t)st.st_size > most)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s has %lld bytes, and a record has at most %zu: it is not "
                         "one of raytrain's; remove it",
                         quote(path, quoted), (long long)st.st_size, most);
    bytes = malloc((size_t)st.st_size + 1);
    if (!bytes)
        return error_no_memory(err);
    while (used < (size_t)st.st_size) {
        k = read(fd, bytes + used, (size_t)st.st_size - used);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            fs_error(err, "read", path);
            free(bytes);
            return -1;
        }
        if (k == 0)
            break;
        used += (size_t)k;
    }
    bytes[used] = '\0';
    *data = bytes;
    if (n)
        *n = used;
    return 0;
}

static int path_read(const char *path, unsigned depth, size_t most, char **data,
                     size_t *n, struct error *err)
{
    int fd = record_open(path, depth), rc;

    if (fd < 0)
        return fail_open(path, err);
    rc = fd_read(fd, path, most, data, n, err);
    close(fd);
    return rc;
}

int record_read(const char *path, unsigned depth, char **data, size_t *n,
                struct error *err)
{
    return path_read(path, depth, RECORD_BYTES_MAX, data, n, err);
}

int record_read_large(const char *path, unsigned depth, char **data, size_t *n,
                      struct error *err)
{
    return path_read(path, depth, SIZE_MAX - 1, data, n, err);
}

int record_fail_line(const char *path, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s has a line of more than %zu bytes: it is not one of "
                     "raytrain's; remove it",
                     quote(path, quoted), RECORD_BYTES_MAX);
}

json_t *record_parse_json(int fd)
{
    json_t *json;
    char *text;
    size_t n;

    if (fd_read(fd, "record", RECORD_BYTES_MAX, &text, &n, NULL) < 0)
        return NULL;
    json = json_loadb(text, n, 0, NULL);
    free(text);
    return json;
}

json_t *record_read_json(const char *path, unsigned depth)
{
    int fd = record_open(path, depth);
    json_t *json = fd < 0 ? NULL : record_parse_json(fd);

    if (fd >= 0)
        close(fd);
    return json;
}

/* ---- Whose it is ---- */

int record_check_owner(int fd, const char *path, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    quote(path, quoted);
    if (fstat(fd, &st) < 0)
        return fs_error(err, "look at", path);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s belongs to another user (uid %lu), and is not acted upon",
                         quoted, (unsigned long)st.st_uid);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s may be written by other users, and is not acted upon; if "
                         "it is yours: chmod go-w",
                         quoted);
    return 0;
}

int record_read_judged(const char *path, unsigned depth, char **data, size_t *n,
                       struct error *foreign, struct error *err)
{
    int fd = record_open(path, depth), rc;

    *foreign = (struct error){.code = RAYTRAIN_OK};
    if (fd < 0)
        return fail_open(path, err);
    record_check_owner(fd, path, foreign);
    rc = fd_read(fd, path, RECORD_BYTES_MAX, data, n, err);
    close(fd);
    return rc;
}

int record_read_owned(const char *path, char **data, size_t *n, struct error *err)
{
    int fd = open(path, HOW_FILE), rc;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        close(fd);
        fd = -1;
        errno = EINVAL;
    }
    if (fd < 0)
        return fail_open(path, err);
    rc = record_check_owner(fd, path, err);
    if (rc == 0)
        rc = fd_read(fd, path, RECORD_BYTES_MAX, data, n, err);
    close(fd);
    return rc;
}

/* Who owns the files that this process makes there? Storage may give files of root, or
 * of all users, to an anonymous user. */
static bool seen_as(int dir, uid_t *owner)
{
    unsigned noise = 0;
    struct stat st;
    char name[64];
    bool known;
    int fd;

    (void)!getrandom(&noise, sizeof noise, GRND_NONBLOCK);
    snprintf(name, sizeof name, ".owner.tmp-%ld-%08x", (long)getpid(), noise);
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    known = fstat(fd, &st) == 0;
    *owner = st.st_uid;
    unlinkat(dir, name, 0);
    close(fd);
    return known;
}

static bool is_in_group(gid_t group)
{
    int n = getgroups(0, NULL);
    gid_t *groups = n > 0 ? calloc((size_t)n, sizeof *groups) : NULL;
    bool found = group == getegid();

    n = groups ? getgroups(n, groups) : 0;
    for (int i = 0; i < n && !found; i++)
        found = groups[i] == group;
    free(groups);
    return found;
}

/* Has its owner given this user, but not everyone, write access: by a group, or by an
 * access control list, which shows in the bits of the group? */
static bool is_shared(int fd, const struct stat *st)
{
    if (!(st->st_mode & S_IWGRP) || (st->st_mode & S_IWOTH))
        return false;
    return is_in_group(st->st_gid) ||
           (geteuid() != 0 && faccessat(fd, ".", W_OK, AT_EACCESS) == 0);
}

int record_check_dir(int fd, const char *path, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;
    uid_t mine;

    if (fstat(fd, &st) < 0)
        return fs_error(err, "look at", path);
    if (st.st_uid == geteuid() || st.st_uid == 0 || is_shared(fd, &st) ||
        (seen_as(fd, &mine) && mine == st.st_uid))
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s belongs to another user (uid %lu), who could put other files "
                     "in the place of those that are written there",
                     quote(path, quoted), (unsigned long)st.st_uid);
}
