/*
 * extracted.c - find directories that were made from checkpoints, and remove those
 * whose checkpoint is gone or another one.
 */
#include "run/extracted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run_dir.h"
#include "util/fs.h"
#include "util/run_record.h"

#define ENDING  ".extracted"
#define DAMAGED ".damaged"

/* ---- The record ---- */

int64_t extracted_iteration(const char *name)
{
    return *name == '.' ? checkpoint_name_iteration(name + 1, ENDING) : -1;
}

static char *record_path(const char *run_dir, int64_t iteration)
{
    char *path = checkpoint_name_path(run_dir, iteration, ENDING), *hidden = NULL;
    int base = path ? (int)(strrchr(path, '/') + 1 - path) : 0;

    if (path && asprintf(&hidden, "%.*s.%s", base, path, path + base) < 0)
        hidden = NULL;
    free(path);
    return hidden;
}

/* Does something else of the run have this name? */
static bool is_of_run(const char *name)
{
    static const char *const own[] = {"data", "artifacts", "logs", "serve"};
    const char *digits = name + strlen(CHECKPOINT_PREFIX);

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    return *name == '\0' || *name == '.' || strchr(name, '/') ||
           (strncmp(name, CHECKPOINT_PREFIX, strlen(CHECKPOINT_PREFIX)) == 0 &&
            digits[strspn(digits, "0123456789")] == '\0');
}

/* The directory that a record is about; malloc'ed, NULL without memory. */
static char *directory_path(const char *run_dir, int64_t iteration,
                            const json_t *record)
{
    const char *name = json_string_value(json_object_get(record, "directory"));

    return name && !is_of_run(name) ? run_dir_file(run_dir, name)
                                    : checkpoint_name_path(run_dir, iteration, "");
}

/* Was it made from this file? */
static bool is_from(const json_t *record, const char *file)
{
    const json_t *bytes = json_object_get(record, "bytes"),
                 *mtime = json_object_get(record, "mtime_ns");
    struct stat st;

    return lstat(file, &st) == 0 && S_ISREG(st.st_mode) && json_is_integer(bytes) &&
           json_integer_value(bytes) == (json_int_t)st.st_size &&
           json_integer_value(mtime) ==
               (json_int_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* ---- Its size ---- */

static uint64_t bytes_at(int dir, const char *name);

/* Closes fd. */
static uint64_t bytes_in(int fd)
{
    DIR *d = fdopendir(fd);
    uint64_t bytes = 0;
    struct dirent *e;

    if (!d)
        close(fd);
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            bytes += bytes_at(dirfd(d), e->d_name);
    if (d)
        closedir(d);
    return bytes;
}

static uint64_t bytes_at(int dir, const char *name)
{
    struct stat st;
    int fd;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISREG(st.st_mode))
        return (uint64_t)st.st_size;
    if (!S_ISDIR(st.st_mode))
        return 0;
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? 0 : bytes_in(fd);
}

static bool is_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void extracted_find(const char *run_dir, int64_t iteration, struct extracted *out)
{
    char *path = record_path(run_dir, iteration), *text = NULL;
    char *file = run_dir_checkpoint(run_dir, (long)iteration);
    json_t *record;

    *out = (struct extracted){NULL, 0, false};
    if (path && file && record_read(path, RECORD_OF_RUN, &text, NULL, NULL) == 0) {
        record = json_loads(text, 0, NULL);
        out->path = directory_path(run_dir, iteration, record);
        out->is_old = !is_from(record, file);
        json_decref(record);
    }
    if (out->path && is_directory(out->path))
        out->bytes = bytes_at(AT_FDCWD, out->path);
    else
        extracted_clear(out);
    free(text);
    free(file);
    free(path);
}

void extracted_clear(struct extracted *x)
{
    free(x->path);
    x->path = NULL;
}

/* ---- Removing ---- */

/* The files of a damaged checkpoint may be all that is left of it. */
static bool is_from_damaged(const json_t *record, const char *file)
{
    char *aside = NULL;
    bool from = asprintf(&aside, "%s" DAMAGED, file) >= 0 && is_from(record, aside);

    free(aside);
    return from;
}

/* NULL: it stays, or the record is not to be acted upon, or there is no memory. */
static char *directory_to_remove(const char *run_dir, int64_t iteration,
                                 const char *record_name, const char *file)
{
    char *text = NULL, *path = NULL;
    struct error foreign, why;
    json_t *record;

    if (record_read_judged(record_name, RECORD_OF_RUN, &text, NULL, &foreign, &why) ==
            0 &&
        foreign.code == RAYTRAIN_OK) {
        record = json_loads(text, 0, NULL);
        if (!is_from_damaged(record, file))
            path = directory_path(run_dir, iteration, record);
        json_decref(record);
    }
    free(text);
    return path;
}

static void directory_remove(const char *run_dir, int64_t iteration, const char *record,
                             void (*note)(void *arg, const char *text), void *arg)
{
    char *file = run_dir_checkpoint(run_dir, (long)iteration);
    char *path = run_dir_file(run_dir, record), *directory = NULL;
    struct error why;

    if (file && path && access(file, F_OK) < 0 && errno == ENOENT)
        directory = directory_to_remove(run_dir, iteration, path, file);
    /* The record last: while it is there, another try finds the directory. */
    if (directory && fs_remove_tree(directory, &why) == 0)
        unlink(path);
    else if (directory && note)
        note(arg, why.text);
    free(directory);
    free(path);
    free(file);
}

void extracted_tidy(const char *run_dir, void (*note)(void *arg, const char *text),
                    void *arg)
{
    DIR *d = opendir(run_dir);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        int64_t iteration = extracted_iteration(e->d_name);

        if (iteration >= 0)
            directory_remove(run_dir, iteration, e->d_name, note, arg);
    }
    if (d)
        closedir(d);
}
