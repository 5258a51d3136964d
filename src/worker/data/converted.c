/* converted.c - see converted.h. */
#include "data/converted.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/conversion.h"
#include "data/conversion_key.h"
#include "data/part.h"
#include "data/part_index.h"
#include "data/reader.h"
#include "util/fs.h"
#include "util/private_dir.h"

struct opening {
    const struct dataset_config *cfg;
    struct comm *all, *node;
    const char *directory;
    const struct text_watch *watch;
    json_t *key;
    json_t *parts; /* of the rows; NULL: they are to be made */
};

static int no_memory(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

/* COLLECTIVE: rank 0's value, or NULL, becomes that of all. */
static int json_share(struct comm *all, json_t **value, struct error *err)
{
    void *text = NULL;
    size_t n = 0;
    int rc = 0;

    if (all->rank == 0 && *value) {
        text = json_dumps(*value, JSON_COMPACT);
        n = text ? strlen(text) : 0;
        rc = text ? 0 : no_memory(err);
    }
    rc = comm_agree(all, rc, err);
    if (rc == 0)
        rc = all->ops->bcast(all, &n, sizeof n, 0, err);
    if (rc == 0 && n > 0)
        rc = comm_bcast_alloc(all, &text, n, 0, err);
    if (rc == 0 && n > 0) {
        if (all->rank != 0)
            *value = json_loadb(text, n, 0, NULL);
        rc = comm_agree(all, *value ? 0 : no_memory(err), err);
    }
    free(text);
    return rc;
}

/* ---- Converting ---- */

/* Rank 0: have the files stayed as they were? */
static int sources_compare(const struct opening *o, struct error *err)
{
    json_t *now = NULL;
    int rc = conversion_key_make(o->cfg, &now, err);

    if (rc == 0 && (!now || !json_equal(now, o->key)))
        rc = error_set(err, RAYTRAIN_ECORRUPT,
                       "%s: a file was written to while it was read; start again when "
                       "it is complete",
                       o->cfg->path);
    json_decref(now);
    return rc;
}

/* COLLECTIVE */
static int convert(struct opening *o, struct error *err)
{
    struct conversion_job job = {.cfg = o->cfg,
                                 .key = o->key,
                                 .all = o->all,
                                 .node = o->node,
                                 .directory = o->directory,
                                 .watch = o->watch};
    struct conversion_result result;
    int rc = 0;

    if (o->all->rank == 0)
        rc = part_index_begin(o->directory, &job.number, err);
    if (comm_agree(o->all, rc, err) < 0 ||
        o->all->ops->bcast(o->all, &job.number, sizeof job.number, 0, err) < 0 ||
        conversion_run(&job, &result, err) < 0)
        return -1;
    o->parts = result.parts;
    if (o->all->rank == 0) {
        rc = sources_compare(o, err);
        if (rc == 0)
            rc = part_index_write(o->directory, o->key, o->parts, result.rows, err);
    }
    return comm_agree(o->all, rc, err);
}

/* ---- Opening ---- */

static int part_open(const struct opening *o, size_t i, char path[PATH_MAX],
                     struct table *t, struct error *err)
{
    const char *name =
        json_string_value(json_object_get(json_array_get(o->parts, i), "name"));
    size_t index;
    int fd;

    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", o->directory, name ? name : "") >=
        PATH_MAX)
        return error_set(err, RAYTRAIN_EINVAL, "%s: the path is too long",
                         o->directory);
    fs_look_again(path);
    fd = reader_open_file(path, err);
    if (fd < 0 || table_add_source(t, fd, false, path, &index, err) < 0)
        return -1;
    return part_read(t, err);
}

/* One table of all parts. */
static int parts_open(const struct opening *o, struct table *out, struct error *err)
{
    size_t n = json_array_size(o->parts);
    struct table *tables = calloc(n + 1, sizeof *tables);
    char(*paths)[PATH_MAX] = calloc(n + 1, sizeof *paths);
    const char **names = calloc(n + 1, sizeof *names);
    int rc = tables && paths && names ? 0 : no_memory(err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        names[i] = paths[i];
        rc = part_open(o, i, paths[i], &tables[i], err);
    }
    if (rc == 0)
        rc = table_concatenate(tables, names, n, out, err);
    for (size_t i = 0; tables && i < n; i++)
        table_clear(&tables[i]);
    free(names);
    free(paths);
    free(tables);
    return rc;
}

/* COLLECTIVE: the first rank of each node gets the table. */
static int table_open(struct opening *o, struct table *out, struct error *err)
{
    int rc = 0;

    if (!o->node || o->node->rank == 0)
        rc = parts_open(o, out, err);
    rc = comm_agree(o->all, rc, err);
    if (rc < 0)
        table_clear(out);
    return rc;
}

/* ---- The whole ---- */

/* COLLECTIVE: what is to be converted, and what has been. */
static int look(struct opening *o, struct error *err)
{
    int rc = 0;

    if (o->all->rank == 0) {
        rc = conversion_key_make(o->cfg, &o->key, err);
        if (rc == 0 && o->key && o->directory) /* a private one is empty */
            o->parts = part_index_find(o->directory, o->key);
    }
    rc = comm_agree(o->all, rc, err);
    if (rc == 0)
        rc = json_share(o->all, &o->key, err);
    if (rc == 0 && o->key)
        rc = json_share(o->all, &o->parts, err);
    return rc;
}

/* COLLECTIVE: rows that are there already are made anew if they are damaged. */
static int rows_open(struct opening *o, struct table *out, struct error *err)
{
    if (o->parts && table_open(o, out, NULL) == 0)
        return 0;
    json_decref(o->parts);
    o->parts = NULL;
    if (convert(o, err) < 0)
        return -1;
    return table_open(o, out, err);
}

/* A process alone: the files vanish as soon as they are open. */
static int private_open(struct opening *o, struct table *out, struct error *err)
{
    char path[PATH_MAX];
    int lock, rc;

    if (o->all->size > 1)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "%s: several processes share converted rows only in a run",
                         o->cfg->path);
    lock = private_dir_make(path, sizeof path - 64);
    if (lock < 0)
        return fs_error(err, "create", path);
    o->directory = path;
    rc = rows_open(o, out, err);
    o->directory = NULL;
    fs_remove_tree(path, NULL);
    close(lock);
    return rc;
}

static int open_with(struct opening *o, bool *is_text, struct table *out,
                     struct error *err)
{
    int rc = look(o, err);

    *is_text = rc == 0 && o->key;
    if (!*is_text)
        return rc;
    if (!o->directory)
        return private_open(o, out, err);
    return rows_open(o, out, err);
}

int converted_open(const struct dataset_config *cfg, const struct dataset_env *env,
                   bool *is_text, struct table *out, struct error *err)
{
    struct comm *self = NULL;
    struct opening o = {.cfg = cfg,
                        .node = env->node,
                        .directory = env->directory,
                        .watch = env->watch};
    int rc;

    o.all = env->all ? env->all : env->node;
    if (!o.all)
        o.all = self = comm_self_create(err);
    if (!o.all)
        return -1;
    rc = open_with(&o, is_text, out, err);
    json_decref(o.key);
    json_decref(o.parts);
    comm_free(self);
    return rc;
}
