/*
 * conversion_key.c - the files and options that a conversion depends on, as JSON, and
 * how two of these differ. What a conversion does is in conversion.c.
 */
#include "convert/conversion_key.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/data_files.h"
#include "util/fs.h"

/* ---- Files ---- */

static int source_add(json_t *sources, const char *path, struct error *err)
{
    struct stat st;
    json_t *source;

    if (stat(path, &st) < 0)
        return fs_error(err, "read", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, RAYTRAIN_EINVAL, "%s is not a regular file", path);
    source = json_pack("{ss sI sI}", "path", path, "size", (json_int_t)st.st_size,
                       "mtime_ns",
                       (json_int_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    if (!source)
        return error_set(err, RAYTRAIN_EINVAL,
                         "the name of a text file is not UTF-8: rename it");
    return json_array_append_new(sources, source) < 0 ? error_no_memory(err) : 0;
}

static int sources_add(json_t *sources, const struct data_files *files,
                       const char *format, bool by_name, struct error *err)
{
    for (size_t i = 0; i < files->n; i++) {
        const char *own = data_files_text_format(files->paths[i]);

        if (by_name && (!own || strcmp(own, format) != 0))
            return error_set(err, RAYTRAIN_EINVAL,
                             "files of different formats: %s is %s, %s is not; set the "
                             "option `format`, or a path that has files of one format",
                             files->paths[0], format, files->paths[i]);
        if (source_add(sources, files->paths[i], err) < 0)
            return -1;
    }
    return 0;
}

/* ---- Options ---- */

static json_t *strings_json(char *const *strings, size_t n)
{
    json_t *list = strings ? json_array() : json_null();

    for (size_t i = 0; strings && i < n; i++)
        json_array_append_new(list, json_string(strings[i]));
    return list;
}

static json_t *types_json(const struct dataset_config *cfg)
{
    json_t *types = json_object();

    for (size_t i = 0; i < cfg->n_types; i++)
        json_object_set_new(types, cfg->types[i].column,
                            json_string(cfg->types[i].type));
    return types;
}

static json_t *key_pack(const struct dataset_config *cfg, const char *format,
                        json_t *sources)
{
    const char delimiter[] = {cfg->delimiter, '\0'};
    json_t *key = json_pack(
        "{ss ss sb so so si so sO}", "format", format, "delimiter", delimiter, "header",
        !cfg->without_header, "missing", strings_json(cfg->missing, cfg->n_missing),
        "types", types_json(cfg), "first_index", cfg->first_index, "columns",
        strings_json(cfg->columns, cfg->n_columns), "sources", sources);

    if (key && cfg->n_words > 0 && cfg->words_matter &&
        json_object_set_new(key, "words", strings_json(cfg->words, cfg->n_words)) < 0) {
        json_decref(key);
        return NULL;
    }
    return key;
}

/* ---- The key ---- */

int conversion_key_make(const struct dataset_config *cfg, json_t **key,
                        struct error *err)
{
    struct data_files files;
    const char *format = cfg->format;
    json_t *sources = NULL;
    int rc = data_files_list(cfg->path, cfg->format, &files, err);

    *key = NULL;
    if (rc < 0)
        return -1;
    if (!format)
        format = data_files_text_format(files.paths[0]);
    if (format && data_files_is_text(format)) {
        sources = json_array();
        rc = sources ? sources_add(sources, &files, format, !cfg->format, err)
                     : error_no_memory(err);
        if (rc == 0 && !(*key = key_pack(cfg, format, sources)))
            rc = error_no_memory(err);
    }
    json_decref(sources);
    data_files_clear(&files);
    return rc;
}

/* ---- Changes ---- */

bool conversion_key_same_options(const json_t *a, const json_t *b)
{
    json_t *own = json_copy((json_t *)(uintptr_t)a);
    bool same = false;

    if (own && json_object_set(own, "sources", json_object_get(b, "sources")) == 0)
        same = json_equal(own, b);
    json_decref(own);
    return same;
}

static const char *source_path(const json_t *source)
{
    const char *path = json_string_value(json_object_get(source, "path"));

    return path ? path : "";
}

static const json_t *source_find(const json_t *sources, const char *path)
{
    for (size_t i = 0; i < json_array_size(sources); i++)
        if (strcmp(source_path(json_array_get(sources, i)), path) == 0)
            return json_array_get(sources, i);
    return NULL;
}

static json_int_t source_size(const json_t *source)
{
    return json_integer_value(json_object_get(source, "size"));
}

/* Compares a file that still exists; true if it has changed. */
static bool source_change(const json_t *before, const json_t *now, char *text,
                          size_t size)
{
    const char *path = source_path(now);

    if (before && json_equal(before, now))
        return false;
    if (!before)
        snprintf(text, size, "%s is new", path);
    else if (source_size(before) != source_size(now))
        snprintf(text, size, "%s has %lld bytes, and had %lld", path,
                 (long long)source_size(now), (long long)source_size(before));
    else
        snprintf(text, size, "%s was written to, or replaced", path);
    return true;
}

void conversion_key_change(const json_t *before, const json_t *now, char *text,
                           size_t size)
{
    const json_t *old = json_object_get(before, "sources");
    const json_t *new = json_object_get(now, "sources");

    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(old); i++) {
        const char *path = source_path(json_array_get(old, i));

        if (!source_find(new, path)) {
            snprintf(text, size, "%s is gone", path);
            return;
        }
    }
    for (size_t i = 0; i < json_array_size(new); i++) {
        const json_t *source = json_array_get(new, i);

        if (source_change(source_find(old, source_path(source)), source, text, size))
            return;
    }
}

const char *conversion_key_format(const json_t *key)
{
    return json_string_value(json_object_get(key, "format"));
}

struct text_source *conversion_key_sources(const json_t *key, size_t *n)
{
    const json_t *list = json_object_get(key, "sources");
    struct text_source *sources = calloc(json_array_size(list) + 1, sizeof *sources);

    *n = json_array_size(list);
    for (size_t i = 0; sources && i < *n; i++)
        sources[i].path =
            json_string_value(json_object_get(json_array_get(list, i), "path"));
    return sources;
}
