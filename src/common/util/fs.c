/*
 * fs.c - files and directories by system calls. fs_advice.c knows what to do about a
 * full or closed place; run_record.c reads the files of a run directory.
 */
#include "config.h"

#include "util/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/fs_advice.h"
#include "util/process.h"
#include "util/quote.h"

/* ---- Texts ---- */

#define PERMISSIONS "check the permissions"

static const struct advice {
    int number;
    const char *text;
    bool elsewhere; /* the advice on how to choose another place follows */
} ADVICE[] = {
    {ENOSPC, "free space there or ", true},
    {EDQUOT, "remove files that you no longer need or ", true},
    {EACCES, PERMISSIONS " or ", true},
    {EPERM, PERMISSIONS " or ", true},
    {EROFS, "", true},
    {EFBIG, "raise the limit on file sizes (ulimit -f) or ", true},
    {EMFILE, "raise the limit on open files (ulimit -n)", false},
    {EIO, "the disk or the network file system reports an error; see the system log",
     false},
    {ENOTDIR, "a part of the path is a file, not a directory", false},
    {ENAMETOOLONG, "choose a shorter name", false},
    {ELOOP,
     "a link is not followed here, since another user may have made it; remove it",
     false},
};

/* Another storage does not help if the file exists already. */
static bool is_of_reading(const char *what)
{
    static const char *const verbs[] = {"open", "read", "find", "look at"};

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strncmp(what, verbs[i], strlen(verbs[i])) == 0)
            return true;
    return false;
}

int fs_error(struct error *err, const char *what, const char *path)
{
    int saved = errno;
    char *shown = printable_text(path);
    const char *hint = NULL, *with = "";

    for (size_t i = 0; i < sizeof ADVICE / sizeof *ADVICE; i++) {
        if (ADVICE[i].number != saved)
            continue;
        hint = ADVICE[i].text;
        with = ADVICE[i].elsewhere ? fs_advice(path) : "";
    }
    if (is_of_reading(what) && (saved == EACCES || saved == EPERM)) {
        hint = PERMISSIONS;
        with = "";
    }
    error_set(err, saved == ENOENT ? RAYTRAIN_ENOTFOUND : RAYTRAIN_ESTORAGE,
              "cannot %s %s: %s%s%s%s", what, shown ? shown : "file", strerror(saved),
              hint ? ": " : "", hint ? hint : "", with);
    free(shown);
    errno = saved;
    return -1;
}

/* ---- Bytes ---- */

/* One system call. Only some calls use `offset`. */
typedef ssize_t transfer_step(int fd, void *data, size_t n, off_t offset);

static ssize_t step_write(int fd, void *data, size_t n, off_t offset)
{
    (void)offset;
    return write(fd, data, n);
}

static ssize_t step_pwrite(int fd, void *data, size_t n, off_t offset)
{
    return pwrite(fd, data, n, offset);
}

static ssize_t step_pread(int fd, void *data, size_t n, off_t offset)
{
    return pread(fd, data, n, offset);
}

/* Transfer all n bytes. `none` is the error if a call transfers none. */
static int transfer(transfer_step *step, int none, int fd, const void *data, size_t n,
                    uint64_t offset)
{
    char *p = (char *)(uintptr_t)data;

    while (n > 0) {
        ssize_t k = step(fd, p, n, (off_t)offset);

        if (k < 0 && errno == EINTR)
            continue;
        if (k == 0)
            errno = none;
        if (k <= 0)
            return -1;
        p += k;
        n -= (size_t)k;
        offset += (uint64_t)k;
    }
    return 0;
}

int fs_write_full(int fd, const void *data, size_t n)
{
    return transfer(step_write, EIO, fd, data, n, 0);
}

int fs_pwrite_full(int fd, const void *data, size_t n, uint64_t offset)
{
    return transfer(step_pwrite, EIO, fd, data, n, offset);
}

int fs_pread_full(int fd, void *data, size_t n, uint64_t offset)
{
    return transfer(step_pread, ENODATA, fd, data, n, offset);
}

/* Read up to the end of the file. `guess` is its expected size. */
static int read_to_end(int fd, size_t guess, char **data, size_t *n)
{
    size_t room = guess + 1, used = 0;
    char *buf = malloc(room + 1);

    while (buf) {
        ssize_t k = read(fd, buf + used, room - used);

        if (k == 0)
            break;
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            free(buf);
            return -1;
        }
        used += (size_t)k;
        if (used == room) {
            char *bigger = realloc(buf, 2 * room + 1);

            if (!bigger)
                free(buf);
            buf = bigger;
            room *= 2;
        }
    }
    if (!buf)
        return -1;
    buf[used] = '\0';
    *data = buf;
    *n = used;
    return 0;
}

static int regular_read(int fd, char **data, size_t *n)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    return read_to_end(fd, (size_t)st.st_size, data, n);
}

/* O_NONBLOCK: do not wait if the file is a FIFO. */
static int reader_open(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int open_fresh(const char *path)
{
    int fd = reader_open(path);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    fs_look_again(path);
    return reader_open(path);
}

int fs_read(const char *path, char **data, size_t *n, struct error *err)
{
    int fd = open_fresh(path);
    size_t size = 0;
    int rc;

    if (fd < 0)
        return fs_error(err, "open", path);
    rc = regular_read(fd, data, &size);
    if (rc < 0)
        fs_error(err, "read", path);
    else if (n)
        *n = size;
    close(fd);
    return rc;
}

/* ---- Directories ---- */

int fs_sync_file(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;

    if (fd < 0)
        return fs_error(err, "open", path);
    rc = fsync(fd);
    if (rc < 0)
        fs_error(err, "write", path);
    close(fd);
    return rc;
}

int fs_sync_dir(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc;

    if (fd < 0)
        return fs_error(err, "open directory", path);
    rc = fsync(fd);
    /* Some network file systems cannot sync a directory, and need not. */
    if (rc < 0 && (errno == EINVAL || errno == ENOTSUP || errno == EBADF))
        rc = 0;
    if (rc < 0)
        fs_error(err, "sync directory", path);
    close(fd);
    return rc;
}

static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    if (slash == path)
        return strdup("/");
    return strndup(path, (size_t)(slash - path));
}

void fs_look_again(const char *path)
{
    char *dir = parent_of(path);
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0)
        close(fd);
    free(dir);
}

int fs_sync_parent(const char *path, struct error *err)
{
    char *dir = parent_of(path);
    int rc;

    if (!dir)
        return error_no_memory(err);
    rc = fs_sync_dir(dir, err);
    free(dir);
    return rc;
}

/* 1: made; 0: it existed. */
static int dir_make(const char *path, mode_t mode, struct error *err)
{
    struct stat st;

    if (mkdir(path, mode) == 0)
        return 1;
    /* Some file systems report EROFS or EACCES rather than EEXIST. */
    int why = errno;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return 0;
        why = ENOTDIR;
    }
    errno = why;
    return fs_error(err, "create directory", path);
}

/* If we may create directories here but not read them, there is nothing more to
 * check. */
static int made_sync(const char *path, struct error *err)
{
    int rc = fs_sync_parent(path, err);

    return rc < 0 && errno == EACCES ? 0 : rc;
}

static int dirs_make(const char *path, mode_t mode, bool durable, struct error *err)
{
    char *copy = strdup(path);
    int rc = 0;

    if (!copy)
        return error_no_memory(err);
    /* Up to each '/' after a name, and up to the end. */
    for (char *p = copy + (copy[0] == '/'); rc == 0; p++) {
        char there = *p;

        if (there && (there != '/' || p[-1] == '/'))
            continue;
        *p = '\0';
        rc = dir_make(copy, mode, err);
        if (rc > 0)
            rc = durable ? made_sync(copy, err) : 0;
        *p = there;
        if (!there)
            break;
    }
    free(copy);
    return rc;
}

int fs_mkdirs(const char *path, mode_t mode, struct error *err)
{
    return dirs_make(path, mode, false, err);
}

int fs_mkdirs_durable(const char *path, mode_t mode, struct error *err)
{
    return dirs_make(path, mode, true, err);
}

static int tree_remove_at(int dir, const char *name, const char *path,
                          struct error *err);

/* Empty the directory open as fd, and close it. */
static int dir_empty(int fd, const char *path, struct error *err)
{
    DIR *d = fdopendir(fd);
    struct dirent *e;
    int rc = 0;

    if (!d) {
        fs_error(err, "open directory", path);
        close(fd);
        return -1;
    }
    while ((e = readdir(d))) {
        char *inner = NULL;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (asprintf(&inner, "%s/%s", path, e->d_name) < 0)
            inner = NULL;
        /* Only the first failure is reported. */
        if (tree_remove_at(dirfd(d), e->d_name, inner ? inner : path,
                           rc == 0 ? err : NULL) < 0)
            rc = -1;
        free(inner);
    }
    closedir(d);
    return rc;
}

static int tree_remove_at(int dir, const char *name, const char *path,
                          struct error *err)
{
    int fd;

    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return fs_error(err, "remove", path);
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fs_error(err, "remove", path);
    if (dir_empty(fd, path, err) < 0)
        return -1;
    if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return fs_error(err, "remove directory", path);
    return 0;
}

int fs_remove_tree(const char *path, struct error *err)
{
    return tree_remove_at(AT_FDCWD, path, path, err);
}

int fs_rename_new(const char *from, const char *to)
{
    struct stat st;

    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL)
        return -1;
    if (lstat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return errno == ENOENT ? rename(from, to) : -1;
}

/* ---- Atomic replacement ---- */

#define TEMP_MARK ".tmp-"

char *fs_temp_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash + 1 - path) : 0;
    uint32_t noise;
    char *name;

    if (getrandom(&noise, sizeof noise, GRND_NONBLOCK) != sizeof noise) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        noise = (uint32_t)now.tv_nsec;
    }
    if (asprintf(&name, "%.*s.%.190s" TEMP_MARK "%ld-%08x-%08x-%llu", dir, path,
                 path + dir, (long)getpid(), noise, place_number(),
                 process_birth(getpid())) < 0)
        return NULL;
    return name;
}

/* If the name was made at this place, its pid is valid here: is it still the same
 * process? Pids are reused, even that of this process: containers, and nodes that have
 * restarted, use the same few numbers again. */
static bool writer_lives(long pid, unsigned long long born)
{
    unsigned long long birth = process_birth((pid_t)pid);

    /* 0: /proc could not be read, then or now */
    if (pid == (long)getpid() && (born == 0 || birth == 0))
        return true;
    return born != 0 && birth == born;
}

bool fs_temp_is_left(const char *name)
{
    const char *mark = name[0] == '.' ? strstr(name, TEMP_MARK) : NULL;
    unsigned long long born;
    unsigned noise, place;
    long pid;
    int n = mark ? sscanf(mark + strlen(TEMP_MARK), "%ld-%8x-%8x-%llu", &pid, &noise,
                          &place, &born)
                 : 0;

    if (n < 4) /* it may come from an earlier version, without a place */
        return n >= 2 && pid != (long)getpid();
    return place != place_number() || !writer_lives(pid, born);
}

/* Is it a temporary file for BASE? */
static bool temp_is_of(const char *name, const char *base)
{
    size_t n = strlen(base);

    return fs_temp_is_left(name) && strncmp(name + 1, base, n) == 0 &&
           strncmp(name + 1 + n, TEMP_MARK, strlen(TEMP_MARK)) == 0;
}

void fs_remove_temps(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = parent_of(path);
    DIR *d = dir ? opendir(dir) : NULL;
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (temp_is_of(e->d_name, slash ? slash + 1 : path))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    free(dir);
}

/* What a new file contains: n bytes, then zeros up to its length. */
struct contents {
    const void *data;
    size_t n;
    uint64_t length; /* at least n */
    mode_t mode;
};

static int temp_fill(const char *temp, const struct contents *c, bool durable)
{
    int fd = open(temp, FS_CREATE | O_EXCL, c->mode);
    int rc;

    if (fd < 0)
        return -1;
    rc = fs_write_full(fd, c->data, c->n);
    /* After the bytes, because a write at the end of a file never reads a page
     * first. */
    if (rc == 0 && c->length > c->n)
        rc = ftruncate(fd, (off_t)c->length);
    if (rc == 0 && durable)
        rc = fsync(fd);
    int why = errno;
    if (close(fd) < 0 && rc == 0)
        return -1;
    errno = why;
    return rc;
}

static int file_publish(const char *path, const struct contents *contents, bool durable,
                        int (*publish)(const char *from, const char *to),
                        struct error *err)
{
    char *temp = fs_temp_name(path);
    bool filled;

    if (!temp)
        return error_no_memory(err);
    filled = temp_fill(temp, contents, durable) == 0;
    if (!filled || publish(temp, path) < 0) {
        int why = errno;

        fs_error(err, "write", path);
        if (filled || why != EEXIST) /* otherwise the file is not ours */
            unlink(temp);
        free(temp);
        errno = why;
        return -1;
    }
    free(temp);
    return 0;
}

int fs_write_atomic(const char *path, const void *data, size_t n, mode_t mode,
                    struct error *err)
{
    const struct contents contents = {data, n, n, mode};
    int rc = file_publish(path, &contents, true, rename, err);

    return rc < 0 ? -1 : fs_sync_parent(path, err);
}

int fs_replace(const char *path, const void *data, size_t n, mode_t mode,
               struct error *err)
{
    return fs_replace_padded(path, data, n, n, mode, err);
}

int fs_replace_padded(const char *path, const void *data, size_t n, uint64_t length,
                      mode_t mode, struct error *err)
{
    const struct contents contents = {data, n, length, mode};

    return file_publish(path, &contents, false, rename, err);
}

int fs_create(const char *path, const void *data, size_t n, mode_t mode,
              struct error *err)
{
    const struct contents contents = {data, n, n, mode};

    return file_publish(path, &contents, false, fs_rename_new, err);
}

int fs_hold_stdio(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return -1;
    return 0;
}
