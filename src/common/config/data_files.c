/*
 * data_files.c - list the files of a directory or a pattern, and decide by their names
 * which of them are data. The worker's readers look into them.
 */
#include "config/data_files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_node.h"
#include "util/fs.h"
#include "util/quote.h"

/* The use of a file, by its name. The labels of IDX files are found from the names of
 * the images. */
enum name_use {
    NAME_LABELS,
    NAME_DATA,
    NAME_TEXT,     /* data, in a format of text */
    NAME_TEXT_ONLY /* the same, but in directories only if that format is asked for */
};

#define TEXT_NAMES(format, name, use)                                                  \
    {format, name, use}, {format, name ".gz", use},                                    \
    {                                                                                  \
        format, name ".zst", use                                                       \
    }

static const struct {
    const char *format, *name;
    enum name_use use;
} known_names[] = {
    {"idx", "*-labels-idx1-ubyte", NAME_LABELS},
    {"idx", "*-labels-idx1-ubyte.gz", NAME_LABELS},
    {"idx", "*[-.]idx?-ubyte", NAME_DATA},
    {"idx", "*[-.]idx?-ubyte.gz", NAME_DATA},
    {"idx", "*.idx", NAME_DATA},
    {"idx", "*.idx.gz", NAME_DATA},
    {"hdf5", "*.h5", NAME_DATA},
    {"hdf5", "*.hdf5", NAME_DATA},
    {"hdf5", "*.hdf", NAME_DATA},
    {"hdf5", "*.he5", NAME_DATA},
    {"numpy", "*.npy", NAME_DATA},
    {"numpy", "*.npz", NAME_DATA},
    TEXT_NAMES("csv", "*.csv", NAME_TEXT),
    TEXT_NAMES("tsv", "*.tsv", NAME_TEXT),
    TEXT_NAMES("libsvm", "*.libsvm", NAME_TEXT),
    TEXT_NAMES("libsvm", "*.svm", NAME_TEXT),
    TEXT_NAMES("libsvm", "*.svmlight", NAME_TEXT),
    TEXT_NAMES("text", "*.txt", NAME_TEXT_ONLY),
};

#define N_NAMES (sizeof known_names / sizeof *known_names)

static bool row_is_data(size_t i, const char *format)
{
    if (!format)
        return known_names[i].use == NAME_DATA || known_names[i].use == NAME_TEXT;
    return known_names[i].use != NAME_LABELS &&
           strcmp(known_names[i].format, format) == 0;
}

/* Endings may be in upper or lower case, since other systems do not distinguish
 * them. */
static bool name_fits(size_t i, const char *name)
{
    return fnmatch(known_names[i].name, name, FNM_CASEFOLD) == 0;
}

/* The row of a name, N_NAMES if there is none. */
static size_t name_find(const char *name, const char *format)
{
    size_t i = 0;

    while (i < N_NAMES && ((format && strcmp(known_names[i].format, format) != 0) ||
                           !name_fits(i, name)))
        i++;
    return i;
}

const char *data_files_text_format(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < N_NAMES; i++)
        if (known_names[i].use >= NAME_TEXT && name_fits(i, name))
            return known_names[i].format;
    return NULL;
}

bool data_files_is_text(const char *format)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (known_names[i].use >= NAME_TEXT &&
            strcmp(known_names[i].format, format) == 0)
            return true;
    return false;
}

/* "*.h5, *.hdf5", for messages. */
static void names_describe(const char *format, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < N_NAMES; i++)
        if (row_is_data(i, format) && used + strlen(known_names[i].name) + 3 < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     known_names[i].name);
}

/* ---- The list ---- */

/* Takes ownership of path, even on failure. NULL: there was no memory for it. */
static int path_add(char ***list, size_t *n, char *path, struct error *err)
{
    char **grown = path ? reallocarray(*list, *n + 1, sizeof *grown) : NULL;

    if (!grown) {
        free(path);
        return error_no_memory(err);
    }
    *list = grown;
    grown[(*n)++] = path;
    return 0;
}

/* The same; is the file data? */
static int files_add(struct data_files *files, char *path, bool data, struct error *err)
{
    return data ? path_add(&files->paths, &files->n, path, err)
                : path_add(&files->others, &files->n_others, path, err);
}

static void paths_free(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

void data_files_clear(struct data_files *files)
{
    paths_free(files->paths, files->n);
    paths_free(files->others, files->n_others);
    *files = (struct data_files){0};
}

static int path_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- A directory ---- */

/* A link without a target is listed: opening it reports what is wrong. */
static bool entry_is_file(const char *path, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK)
        return entry->d_type == DT_REG;
    return stat(path, &st) < 0 || S_ISREG(st.st_mode);
}

static int entry_add(const char *directory, const struct dirent *entry,
                     const char *format, struct data_files *out, struct error *err)
{
    size_t n = strlen(directory), row = name_find(entry->d_name, format);
    bool data = row < N_NAMES && row_is_data(row, format);
    char *path;

    if (entry->d_name[0] == '.' ||
        (row < N_NAMES && known_names[row].use == NAME_LABELS))
        return 0;
    while (n > 1 && directory[n - 1] == '/')
        n--;
    if (asprintf(&path, "%.*s/%s", (int)n, directory, entry->d_name) < 0)
        return error_no_memory(err);
    return files_add(out, path, data && entry_is_file(path, entry), err);
}

static int directory_list(const char *path, const char *format, struct data_files *out,
                          struct error *err)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    char wanted[256];
    int rc = 0;

    if (!directory)
        return fs_error(err, "read the directory", path);
    while (rc == 0 && (errno = 0, entry = readdir(directory)))
        rc = entry_add(path, entry, format, out, err);
    if (rc == 0 && errno)
        rc = fs_error(err, "read the directory", path);
    closedir(directory);
    if (rc < 0 || out->n > 0)
        return rc;
    names_describe(format, wanted, sizeof wanted);
    return error_set(
        err, RAYTRAIN_ENOTFOUND,
        "there are no data files in the directory %s: these would be %s; a "
        "pattern takes files of other names, as in path = \"%s/*\"",
        path, wanted, path);
}

/* ---- A pattern ---- */

static bool pattern_is(const char *path)
{
    return strpbrk(path, "*?[") != NULL;
}

/* The first directory that glob() could not read. Its callback has no argument. */
static __thread struct {
    char path[1024];
    int error;
} unreadable;

static int pattern_fail(const char *path, int error)
{
    if (error == ENOTDIR || error == ENOENT)
        return 0;
    snprintf(unreadable.path, sizeof unreadable.path, "%s", path);
    unreadable.error = error;
    return 1;
}

static int matches_add(const glob_t *found, struct data_files *out, struct error *err)
{
    for (size_t i = 0; i < found->gl_pathc; i++) {
        struct stat st;
        bool directory = stat(found->gl_pathv[i], &st) == 0 && S_ISDIR(st.st_mode);

        if (files_add(out, strdup(found->gl_pathv[i]), !directory, err) < 0)
            return -1;
    }
    return 0;
}

static int pattern_list(const char *path, struct data_files *out, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    glob_t found = {0};
    int rc = glob(path, GLOB_NOSORT, pattern_fail, &found);

    if (rc == GLOB_ABORTED) {
        errno = unreadable.error;
        rc = fs_error(err, "read the directory", unreadable.path);
    } else if (rc != 0 && rc != GLOB_NOMATCH) {
        rc = error_no_memory(err);
    } else {
        rc = rc == 0 ? matches_add(&found, out, err) : 0;
    }
    globfree(&found);
    if (rc == 0 && out->n == 0)
        return error_set(err, RAYTRAIN_ENOTFOUND, "no file matches %s",
                         quote(path, quoted));
    return rc;
}

/* ---- Any of them ---- */

int data_files_list(const char *path, const char *format, struct data_files *out,
                    struct error *err)
{
    struct stat st;
    int rc, found = stat(path, &st);

    *out = (struct data_files){0};
    if (found == 0 && S_ISDIR(st.st_mode))
        rc = directory_list(path, format, out, err);
    else if (found < 0 && pattern_is(path))
        rc = pattern_list(path, out, err);
    else
        rc = files_add(out, strdup(path), true, err);
    if (rc < 0) {
        data_files_clear(out);
        return -1;
    }
    qsort(out->paths, out->n, sizeof *out->paths, path_compare);
    if (out->n_others)
        qsort(out->others, out->n_others, sizeof *out->others, path_compare);
    return 0;
}

bool data_files_exist(const char *path)
{
    struct data_files files;
    int rc = access(path, F_OK);

    if (rc == 0 || !pattern_is(path))
        return rc == 0;
    rc = data_files_list(path, NULL, &files, NULL);
    data_files_clear(&files);
    return rc == 0;
}

/* The working directory, with the characters that have a meaning in patterns
 * escaped. */
static int directory_escape(char *out, size_t size, struct error *err)
{
    char cwd[PATH_MAX];
    size_t n = 0;

    if (!getcwd(cwd, sizeof cwd))
        return error_set(err, RAYTRAIN_ESTORAGE,
                         "cannot find the working directory: %s", strerror(errno));
    for (const char *from = cwd; *from && n + 3 < size; from++) {
        if (strchr("*?[\\", *from))
            out[n++] = '\\';
        out[n++] = *from;
    }
    out[n] = '\0';
    return 0;
}

int data_files_absolute(char **path, struct error *err)
{
    char directory[2 * PATH_MAX + 2], *joined;

    if (!*path || **path == '/' || !pattern_is(*path) || access(*path, F_OK) == 0)
        return path_make_absolute(path, err);
    if (directory_escape(directory, sizeof directory, err) < 0)
        return -1;
    if (asprintf(&joined, "%s/%s", directory, *path) < 0)
        return error_no_memory(err);
    free(*path);
    *path = joined;
    return 0;
}
