/* offered_files.c - collect files with their names and sizes, and copy them into the
 * worker's shared memory when it asks. */
#include "config.h"
#include "report/offered_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/quote.h"

/* The same as on the other side: worker/command/checkpoint_offer.h. */
#define ALIGNMENT      64
#define NAME_MAX_BYTES 1000
#define DEPTH_MAX      64

struct walk {
    struct offered_files *files;
    const char *root; /* absolute, without links; NULL: a single file */
};

static int file_refuse(const char *path, const char *why, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_EINVAL, "%s %s", quote(path, quoted), why);
}

static int file_name_check(const char *path, const char *name, struct error *err)
{
    int n = 1;

    if (strlen(name) > NAME_MAX_BYTES)
        return file_refuse(path, "has a name that is too long for a checkpoint", err);
    for (const char *c = name; *c && n > 0; c += n)
        n = printable_length(c);
    if (n == 0)
        return file_refuse(path, "has a name that is not printable UTF-8: rename it",
                           err);
    return 0;
}

static int file_add(struct walk *w, const char *path, const char *name, off_t size,
                    struct error *err)
{
    struct offered_files *f = w->files;
    struct offered_file *more;

    if (file_name_check(path, name, err) < 0)
        return -1;
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->list[i].name, name) == 0)
            return file_refuse(
                path, "is the second file of this name in the checkpoint", err);
    more = reallocarray(f->list, f->n + 1, sizeof *more);
    if (!more)
        return error_no_memory(err);
    f->list = more;
    more[f->n] = (struct offered_file){
        .name = strdup(name), .path = strdup(path), .bytes = (uint64_t)size};
    f->n++;
    if (!more[f->n - 1].name || !more[f->n - 1].path)
        return error_no_memory(err);
    return 0;
}

/* A symbolic link in a directory: it must lead to a file in that directory. */
static int link_check(const struct walk *w, const char *path, const struct stat *target,
                      struct error *err)
{
    char real[PATH_MAX];
    size_t n = w->root ? strlen(w->root) : 0;

    if (!w->root)
        return 0;
    if (S_ISDIR(target->st_mode))
        return file_refuse(
            path, "is a symbolic link to a directory: copy what it refers to", err);
    if (!realpath(path, real) || strncmp(real, w->root, n) != 0 || real[n] != '/')
        return file_refuse(path,
                           "is a symbolic link that leads out of the checkpoint's "
                           "directory: copy what it refers to",
                           err);
    return 0;
}

static int directory_add(struct walk *w, const char *path, const char *name, int depth,
                         struct error *err);

static int path_add(struct walk *w, const char *path, const char *name, int depth,
                    struct error *err)
{
    struct stat here, st;

    if (lstat(path, &here) < 0 || stat(path, &st) < 0)
        return fs_error(err, "read", path);
    if (S_ISLNK(here.st_mode) && link_check(w, path, &st, err) < 0)
        return -1;
    if (S_ISREG(st.st_mode))
        return file_add(w, path, name, st.st_size, err);
    if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
        return directory_add(w, path, name, depth, err);
    return file_refuse(path, "is neither a file nor a directory", err);
}

static int empty_add(struct offered_files *f, const char *path, const char *name,
                     struct error *err)
{
    if (file_name_check(path, name, err) < 0)
        return -1;
    if (!f->directories)
        f->directories = json_array();
    if (json_array_append_new(f->directories, json_string(name)) < 0)
        return error_no_memory(err);
    return 0;
}

static int no_dots(const struct dirent *d)
{
    return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static int member_add(struct walk *w, const char *path, const char *name,
                      const char *member, int depth, struct error *err)
{
    char *inner = NULL, *inner_name = NULL;
    int rc;

    if (asprintf(&inner, "%s/%s", path, member) < 0)
        inner = NULL;
    if (asprintf(&inner_name, *name ? "%s/%s" : "%s%s", name, member) < 0)
        inner_name = NULL;
    rc = inner && inner_name ? path_add(w, inner, inner_name, depth + 1, err)
                             : error_no_memory(err);
    free(inner);
    free(inner_name);
    return rc;
}

static int directory_add(struct walk *w, const char *path, const char *name, int depth,
                         struct error *err)
{
    struct dirent **list;
    int n = scandir(path, &list, no_dots, alphasort), rc = 0;

    if (n < 0)
        return fs_error(err, "read", path);
    if (n == 0 && *name)
        rc = empty_add(w->files, path, name, err);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = member_add(w, path, name, list[i]->d_name, depth, err);
        free(list[i]);
    }
    free(list);
    return rc;
}

int offered_files_add(struct offered_files *f, const char *path, struct error *err)
{
    struct walk w = {.files = f};
    const char *slash = strrchr(path, '/');
    char real[PATH_MAX];
    struct stat st;

    if (stat(path, &st) < 0)
        return fs_error(err, "read", path);
    if (!S_ISDIR(st.st_mode))
        return path_add(&w, path, slash ? slash + 1 : path, 0, err);
    if (!realpath(path, real))
        return fs_error(err, "read", path);
    w.root = real;
    return directory_add(&w, real, "", 0, err);
}

void offered_files_clear(struct offered_files *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->list[i].name);
        free(f->list[i].path);
    }
    free(f->list);
    json_decref(f->directories);
    *f = (struct offered_files){.list = NULL};
}

json_t *offered_files_json(const struct offered_files *f)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < f->n; i++)
        json_array_append_new(
            rows, json_pack("[s, I]", f->list[i].name, (json_int_t)f->list[i].bytes));
    if (json_array_size(rows) != f->n) {
        json_decref(rows);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:o}", "kind", "directory", "entries", rows,
                     "directories",
                     f->directories ? json_incref(f->directories) : json_array());
}

/* ---- The copy ---- */

static int file_read(const struct offered_file *file, unsigned char *to,
                     struct error *err)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    char more;
    int rc = 0;

    if (fd < 0)
        return fs_error(err, "read", file->path);
    if (fs_pread_full(fd, to, file->bytes, 0) < 0)
        rc = errno == ENODATA
                 ? file_refuse(file->path, "has shrunk while it was read", err)
                 : fs_error(err, "read", file->path);
    else if (pread(fd, &more, 1, (off_t)file->bytes) == 1)
        rc = file_refuse(file->path, "has grown while it was read", err);
    close(fd);
    return rc;
}

static int files_read(const struct offered_files *f, unsigned char *memory, size_t room,
                      struct error *err)
{
    size_t end = 0;

    for (size_t i = 0; i < f->n; i++) {
        size_t at = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

        if (at > room || f->list[i].bytes > room - at)
            return error_set(err, RAYTRAIN_EINVAL,
                             "the worker offers too little memory for the checkpoint");
        if (file_read(&f->list[i], memory + at, err) < 0)
            return -1;
        end = at + f->list[i].bytes;
    }
    return 0;
}

int offered_files_copy(const struct offered_files *f,
                       const struct wire_message *question, struct error *err)
{
    json_int_t bytes = json_integer_value(json_object_get(question->text, "bytes"));
    void *memory;
    int rc;

    if (question->n_fds < 1 || bytes <= 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "the worker offers no memory for the checkpoint");
    memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                  question->fds[0], 0);
    if (memory == MAP_FAILED)
        return error_set(err, RAYTRAIN_ENOMEM,
                         "cannot map the memory for the checkpoint: %s",
                         strerror(errno));
    rc = files_read(f, memory, (size_t)bytes, err);
    munmap(memory, (size_t)bytes);
    return rc;
}
