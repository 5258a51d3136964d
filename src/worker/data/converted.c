/*
 * converted.c - opens rows that were converted before, or lets convert/conversion.c
 * convert them, and verifies that rows in use have not changed.
 */
#include "data/converted.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/conversion.h"
#include "convert/conversion_key.h"
#include "convert/json_share.h"
#include "convert/part.h"
#include "convert/part_index.h"
#include "data/same_rows.h"
#include "table/reader.h"
#include "util/fs.h"
#include "util/private_dir.h"

struct opening {
    const struct dataset_config *cfg;
    const struct dataset_env *env;
    struct comm *all, *node;
    const char *directory;
    json_t *key;
    json_t *parts; /* of the rows; NULL: they must be made */
    /* The parts that were made before the text changed; NULL: there are none, or they
     * do not matter. */
    json_t *before;
    char change[1024]; /* how; rank 0 knows */
};

/* ---- Tables ---- */

static int converted_part_open(const struct opening *o, const json_t *part,
                               char path[PATH_MAX], struct table *t, struct error *err)
{
    const char *name = json_string_value(json_object_get(part, "name"));
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
static int parts_open(const struct opening *o, const json_t *parts, struct table *out,
                      struct error *err)
{
    size_t n = json_array_size(parts);
    struct table *tables = calloc(n + 1, sizeof *tables);
    char(*paths)[PATH_MAX] = calloc(n + 1, sizeof *paths);
    const char **names = calloc(n + 1, sizeof *names);
    int rc = tables && paths && names ? 0 : error_no_memory(err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        names[i] = paths[i];
        rc =
            converted_part_open(o, json_array_get(parts, i), paths[i], &tables[i], err);
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
        rc = parts_open(o, o->parts, out, err);
    rc = comm_agree(o->all, rc, err);
    if (rc < 0)
        table_clear(out);
    return rc;
}

/* ---- Converting ---- */

static void warn(void *arg, const char *what)
{
    const struct opening *o = arg;
    const struct dataset_env *env = o->env;
    char text[ERROR_TEXT_MAX + 512];

    if (o->all->rank != 0 || !env->warn)
        return;
    snprintf(text, sizeof text, "dataset \"%s\": %s", o->cfg->name, what);
    env->warn(env->warn_arg, text);
}

/* On rank 0: check that the files have not changed. */
static int sources_compare(const struct opening *o, struct error *err)
{
    char change[sizeof o->change];
    json_t *now = NULL;
    int rc = conversion_key_make(o->cfg, &now, err);

    if (rc == 0) {
        conversion_key_change(o->key, now, change, sizeof change);
        if (change[0])
            rc = error_set(err, RAYTRAIN_ECORRUPT,
                           "%s: the text has changed while it was read: %s; start "
                           "again when it is complete",
                           o->cfg->path, change);
    }
    json_decref(now);
    return rc;
}

/* COLLECTIVE, after a failure: if a file has changed meanwhile, make that the
 * reason. */
static void failure_explain(const struct opening *o, struct error *why)
{
    struct error changed = {0};
    int64_t stopped = why->code == RAYTRAIN_ESTOPPED;

    if (o->all->ops->bcast(o->all, &stopped, sizeof stopped, 0, NULL) < 0 || stopped)
        return;
    if (comm_agree(o->all, o->all->rank == 0 ? sources_compare(o, &changed) : 0,
                   &changed) < 0)
        *why = changed;
}

/* Compare this rank's share of the rows. */
static int rows_compare(const struct opening *o, bool *same, struct error *err)
{
    struct table before = {0}, now = {0};
    int rc = parts_open(o, o->before, &before, err);

    if (rc == 0)
        rc = parts_open(o, o->parts, &now, err);
    if (rc == 0)
        rc = table_ready(&before, err);
    if (rc == 0)
        rc = table_ready(&now, err);
    if (rc == 0)
        rc = same_rows(&before, &now, o->all->rank, o->all->size, same, err);
    table_clear(&before);
    table_clear(&now);
    return rc;
}

/* COLLECTIVE: the run is in the middle of an epoch of the rows, so they must be the
 * same. Rows that can no longer be read are not. */
static int rows_check(const struct opening *o, struct error *err)
{
    int64_t others;
    bool same = false;

    if (!o->before)
        return 0;
    others = rows_compare(o, &same, NULL) < 0 || !same;
    if (o->all->ops->allreduce(o->all, &others, 1, COMM_INT64, COMM_MAX, err) < 0)
        return -1;
    if (others == 0)
        return 0;
    return comm_agree(
        o->all,
        o->all->rank != 0
            ? 0
            : error_set(
                  err, RAYTRAIN_EINVAL,
                  "its rows are not those of which this run has used a part: %s. "
                  "Put the earlier files back, or start a new run. To continue this "
                  "one with the present rows, remove %s",
                  o->change, o->directory),
        err);
}

/* COLLECTIVE: make the new parts the rows. */
static int parts_accept(const struct opening *o, uint64_t rows, struct error *err)
{
    int rc = 0;

    if (o->all->rank == 0)
        rc = sources_compare(o, err);
    rc = comm_agree(o->all, rc, err);
    if (rc == 0)
        rc = rows_check(o, err);
    if (rc == 0) {
        if (o->all->rank == 0)
            rc = part_index_write(o->directory, o->key, o->parts, rows, err);
        return comm_agree(o->all, rc, err);
    }
    if (o->all->rank == 0)
        part_index_discard(o->directory, o->parts);
    return -1;
}

/* COLLECTIVE */
static int converted_make(struct opening *o, struct error *err)
{
    struct conversion_job job = {.cfg = o->cfg,
                                 .key = o->key,
                                 .all = o->all,
                                 .node = o->node,
                                 .directory = o->directory,
                                 .watch = o->env->watch,
                                 .warn = warn,
                                 .warn_arg = o};
    struct conversion_result result;
    struct error why = {0};
    int rc = 0;

    if (o->all->rank == 0)
        rc = part_index_begin(o->directory, &job.number, err);
    if (comm_agree(o->all, rc, err) < 0 ||
        o->all->ops->bcast(o->all, &job.number, sizeof job.number, 0, err) < 0)
        return -1;
    if (conversion_run(&job, &result, &why) < 0) {
        failure_explain(o, &why);
        return error_set(err, why.code, "%s", why.text);
    }
    o->parts = result.parts;
    return parts_accept(o, result.rows, err);
}

/* ---- Opening ---- */

/* Rank 0: find the parts, and the text that they were made from. */
static void parts_look(struct opening *o)
{
    struct part_index index = part_index_read(o->directory);

    if (index.parts && json_equal(index.key, o->key)) {
        o->parts = json_incref(index.parts);
    } else if (index.parts && o->env->goes_on &&
               conversion_key_same_options(index.key, o->key)) {
        o->before = json_incref(index.parts);
        conversion_key_change(index.key, o->key, o->change, sizeof o->change);
    }
    part_index_clear(&index);
}

/* COLLECTIVE: find out what must be converted, and what has been. */
static int converted_look(struct opening *o, struct error *err)
{
    int rc = 0;

    if (o->all->rank == 0) {
        rc = conversion_key_make(o->cfg, &o->key, err);
        if (rc == 0 && o->key && o->directory) /* a private one is empty */
            parts_look(o);
    }
    rc = comm_agree(o->all, rc, err);
    if (rc == 0)
        rc = json_share(o->all, &o->key, err);
    if (rc == 0 && o->key)
        rc = json_share(o->all, &o->parts, err);
    if (rc == 0 && o->key)
        rc = json_share(o->all, &o->before, err);
    return rc;
}

/* COLLECTIVE: verify that the parts are as they were written. Reading all of them takes
 * long, so they are verified once, and not again by attempts after a failure. */
static int parts_verify(struct opening *o, struct table *out, struct error *err)
{
    const char *invocation = o->env->invocation;
    bool verified =
        o->all->rank == 0 && part_index_is_verified(o->directory, invocation);
    int rc = o->all->ops->bcast(o->all, &verified, sizeof verified, 0, err);

    if (rc == 0 && !verified && !o->env->again) {
        rc = part_sums_verify(o->directory, o->parts, o->all, o->env->watch, err);
        rc = comm_agree(o->all, rc, err);
        if (rc == 0 && o->all->rank == 0)
            part_index_set_verified(o->directory, invocation);
    }
    return rc == 0 ? table_open(o, out, err) : rc;
}

static void damage_report(struct opening *o, const struct error *why)
{
    char text[ERROR_TEXT_MAX + 256];

    snprintf(text, sizeof text,
             "its rows are converted again, because those in %s are damaged: %s",
             o->directory, why->text);
    warn(o, text);
}

/* COLLECTIVE: open existing rows; convert them again if they are damaged. */
static int rows_open(struct opening *o, struct table *out, struct error *err)
{
    struct error why = {0};

    if (o->parts) {
        if (parts_verify(o, out, &why) == 0)
            return 0;
        if (why.code == RAYTRAIN_ESTOPPED)
            return error_set(err, why.code, "%s", why.text);
        damage_report(o, &why);
    }
    json_decref(o->parts);
    o->parts = NULL;
    if (converted_make(o, err) < 0)
        return -1;
    return table_open(o, out, err);
}

/* For a process alone: the files are removed as soon as they are open. */
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
    int rc = converted_look(o, err);

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
    struct opening o = {
        .cfg = cfg, .env = env, .node = env->node, .directory = env->directory};
    int rc;

    o.all = env->all ? env->all : env->node;
    if (!o.all)
        o.all = self = comm_self_create(err);
    if (!o.all)
        return -1;
    rc = open_with(&o, is_text, out, err);
    json_decref(o.key);
    json_decref(o.parts);
    json_decref(o.before);
    comm_free(self);
    return rc;
}
