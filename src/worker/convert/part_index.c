/*
 * part_index.c - lists, verifies, replaces and removes the files in a directory of
 * converted rows. What is in a part is known to part_layout.c, part_write.c and
 * part_read.c.
 */
#include "convert/part_index.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/run_record.h"

#define INDEX_NAME    "index.json"
#define INDEX_VERSION 2
#define VERIFIED_NAME "verified"
#define NAME_FORMAT   "part-%" PRIu64 "-%05u.h5"

void part_path(char out[PATH_MAX], const char *directory, uint64_t conversion,
               unsigned part)
{
    snprintf(out, PATH_MAX, "%s/" NAME_FORMAT, directory, conversion, part);
}

void part_path_hidden(char out[PATH_MAX], const char *directory, uint64_t conversion,
                      unsigned part)
{
    snprintf(out, PATH_MAX, "%s/." NAME_FORMAT, directory, conversion, part);
}

static int name_join(char out[PATH_MAX], const char *directory, const char *name,
                     struct error *err)
{
    if ((size_t)snprintf(out, PATH_MAX, "%s/%s", directory, name) < PATH_MAX)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL, "%s: the path is too long", directory);
}

/* ---- Reading ---- */

static bool part_is_there(const char *directory, const json_t *part)
{
    const char *name = json_string_value(json_object_get(part, "name"));
    char path[PATH_MAX];
    struct stat st;

    return name && !strchr(name, '/') && name_join(path, directory, name, NULL) == 0 &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_size == json_integer_value(json_object_get(part, "bytes"));
}

static bool index_is_whole(const json_t *index, const char *directory)
{
    const json_t *parts = json_object_get(index, "parts");

    if (json_integer_value(json_object_get(index, "version")) != INDEX_VERSION ||
        json_array_size(parts) == 0)
        return false;
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (!part_is_there(directory, json_array_get(parts, i)))
            return false;
    return true;
}

struct part_index part_index_read(const char *directory)
{
    struct part_index found = {NULL, NULL};
    char path[PATH_MAX], *text;
    json_t *index;
    size_t n;

    if (name_join(path, directory, INDEX_NAME, NULL) < 0 ||
        record_read(path, RECORD_OF_RUN, &text, &n, NULL) < 0)
        return found;
    index = json_loadb(text, n, 0, NULL);
    free(text);
    if (index && index_is_whole(index, directory)) {
        found.parts = json_incref(json_object_get(index, "parts"));
        found.key = json_incref(json_object_get(index, "made_from"));
    }
    json_decref(index);
    return found;
}

void part_index_clear(struct part_index *index)
{
    json_decref(index->parts);
    json_decref(index->key);
    *index = (struct part_index){NULL, NULL};
}

/* ---- Verified parts ---- */

bool part_index_is_verified(const char *directory, const char *invocation)
{
    char path[PATH_MAX], *text;
    bool same;
    size_t n;

    if (!invocation || name_join(path, directory, VERIFIED_NAME, NULL) < 0 ||
        record_read(path, RECORD_OF_RUN, &text, &n, NULL) < 0)
        return false;
    same = n == strlen(invocation) && memcmp(text, invocation, n) == 0;
    free(text);
    return same;
}

/* If this fails, the parts are verified again. */
void part_index_set_verified(const char *directory, const char *invocation)
{
    char path[PATH_MAX];

    if (invocation && name_join(path, directory, VERIFIED_NAME, NULL) == 0)
        (void)fs_replace(path, invocation, strlen(invocation), 0600, NULL);
}

/* ---- Cleaning up ---- */

static bool name_listed(const json_t *parts, const char *name)
{
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const char *kept =
            json_string_value(json_object_get(json_array_get(parts, i), "name"));

        if (kept && strcmp(kept, name) == 0)
            return true;
    }
    return false;
}

static bool name_begins(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* True for a hidden file, which a conversion has not completed. */
static bool name_hidden(const char *name)
{
    return name_begins(name, ".part-") || name_begins(name, ".rows-") ||
           name_begins(name, ".plain-") || fs_temp_is_left(name);
}

/* Call each(arg, name) for all names. */
static int names_visit(const char *directory,
                       int (*each)(void *arg, const char *name, struct error *err),
                       void *arg, struct error *err)
{
    DIR *d = opendir(directory);
    const struct dirent *entry;
    int rc = 0;

    if (!d)
        return fs_error(err, "read the directory", directory);
    while (rc == 0 && (errno = 0, entry = readdir(d)))
        rc = each(arg, entry->d_name, err);
    if (rc == 0 && errno)
        rc = fs_error(err, "read the directory", directory);
    closedir(d);
    return rc;
}

struct cleaning {
    const char *directory;
    const json_t *parts; /* those to keep; NULL: all */
    uint64_t conversion; /* the highest number so far */
};

static int name_clean(void *arg, const char *name, struct error *err)
{
    struct cleaning *c = arg;
    char path[PATH_MAX];
    uint64_t number;
    unsigned part;
    bool is_part = sscanf(name, NAME_FORMAT, &number, &part) == 2;

    if (is_part && number > c->conversion)
        c->conversion = number;
    if (!name_hidden(name) && !(is_part && c->parts && !name_listed(c->parts, name)))
        return 0;
    if (name_join(path, c->directory, name, err) < 0)
        return -1;
    return fs_remove_tree(path, err);
}

int part_index_begin(const char *directory, uint64_t *conversion, struct error *err)
{
    struct cleaning c = {.directory = directory};

    if (strlen(directory) + 64 > PATH_MAX)
        return error_set(err, RAYTRAIN_EINVAL, "%s: the path is too long", directory);
    if (fs_mkdirs_durable(directory, 0777, err) < 0 ||
        names_visit(directory, name_clean, &c, err) < 0)
        return -1;
    *conversion = c.conversion + 1;
    return 0;
}

void part_index_discard(const char *directory, const json_t *parts)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < json_array_size(parts); i++) {
        const char *name =
            json_string_value(json_object_get(json_array_get(parts, i), "name"));

        if (name && name_join(path, directory, name, NULL) == 0)
            unlink(path);
    }
}

/* ---- Writing ---- */

int part_index_write(const char *directory, const json_t *key, const json_t *parts,
                     uint64_t rows, struct error *err)
{
    struct cleaning c = {.directory = directory, .parts = parts};
    json_t *index = json_pack("{si sI sO sO}", "version", INDEX_VERSION, "rows",
                              (json_int_t)rows, "parts", parts, "made_from", key);
    char *text = index ? json_dumps(index, JSON_INDENT(2)) : NULL;
    char path[PATH_MAX];
    int rc;

    if (!text)
        rc = error_no_memory(err);
    else
        rc = name_join(path, directory, INDEX_NAME, err);
    if (rc == 0)
        rc = fs_write_atomic(path, text, strlen(text), 0666, err);
    free(text);
    json_decref(index);
    return rc < 0 ? -1 : names_visit(directory, name_clean, &c, err);
}
