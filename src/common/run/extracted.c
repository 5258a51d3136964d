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

static bool is_checkpoint(const char *name)
{
    const char *digits = name + strlen(CHECKPOINT_PREFIX);
    size_t n;

    if (strncmp(name, CHECKPOINT_PREFIX, strlen(CHECKPOINT_PREFIX)) != 0)
        return false;
    n = strspn(digits, "0123456789");
    return n >= 6 && digits[n] == '\0';
}

/* Does something else of the run have this name? These are the names of _OF_RUN in
 * _extracted.py. */
static bool is_of_run(const char *name)
{
    static const char *const own[] = {
        "run.cfg", "progress.csv", "trainer.pkl", "data", "artifacts", "logs", "serve"};
    static const char *const begins[] = {".", "result.", "events."};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return *name == '\0' || strchr(name, '/') || strstr(name, CHECKPOINT_ENDING) ||
           is_checkpoint(name);
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

/* NULL: it cannot be read, or is not to be acted upon. */
static json_t *record_to_act_upon(const char *path)
{
    char *text = NULL;
    struct error foreign, why;
    json_t *record = NULL;

    if (record_read_judged(path, RECORD_OF_RUN, &text, NULL, &foreign, &why) == 0 &&
        foreign.code == RAYTRAIN_OK)
        record = json_loads(text, 0, NULL);
    free(text);
    return record;
}

/* Does this record keep the directory, since its checkpoint is there, or damaged? */
static bool record_keeps(const char *run_dir, int64_t iteration, const char *name,
                         const char *directory)
{
    char *path = run_dir_file(run_dir, name), *its = NULL;
    char *file = run_dir_checkpoint(run_dir, (long)iteration);
    json_t *record = path ? record_to_act_upon(path) : NULL;
    bool keeps = false;

    if (record && file)
        its = directory_path(run_dir, iteration, record);
    if (its && strcmp(its, directory) == 0)
        keeps =
            access(file, F_OK) == 0 || errno != ENOENT || is_from_damaged(record, file);
    json_decref(record);
    free(its);
    free(file);
    free(path);
    return keeps;
}

/* Two records may have the same name, if the directory of the first was removed before
 * that of the second was made. */
static bool is_of_another(const char *run_dir, int64_t iteration, const char *directory)
{
    DIR *d = opendir(run_dir);
    bool kept = d == NULL;
    struct dirent *e;

    while (d && !kept && (e = readdir(d))) {
        int64_t other = extracted_iteration(e->d_name);

        kept = other >= 0 && other != iteration &&
               record_keeps(run_dir, other, e->d_name, directory);
    }
    if (d)
        closedir(d);
    return kept;
}

/* The checkpoint is gone: remove the directory, if it is still its own, and the record.
 * The record last: while it is there, another try finds the directory. */
static int files_remove(const char *run_dir, int64_t iteration, const char *directory,
                        const char *record, struct error *err)
{
    if (is_directory(directory) && !is_of_another(run_dir, iteration, directory) &&
        fs_remove_tree(directory, err) < 0)
        return -1;
    if (unlink(record) < 0 && errno != ENOENT)
        return fs_error(err, "remove", record);
    return 0;
}

static void directory_remove(const char *run_dir, int64_t iteration, const char *name,
                             void (*note)(void *arg, const char *text), void *arg)
{
    char *file = run_dir_checkpoint(run_dir, (long)iteration);
    char *path = run_dir_file(run_dir, name), *directory = NULL;
    json_t *record = NULL;
    struct error why;

    if (file && path && access(file, F_OK) < 0 && errno == ENOENT)
        record = record_to_act_upon(path);
    if (record && !is_from_damaged(record, file))
        directory = directory_path(run_dir, iteration, record);
    if (directory && files_remove(run_dir, iteration, directory, path, &why) < 0 &&
        note)
        note(arg, why.text);
    json_decref(record);
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
