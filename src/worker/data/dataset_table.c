/*
 * dataset_table.c - finds the columns, the rows and the order of a dataset. converted.c
 * reads text formats, table/reader.c the others; selection.c selects rows.
 */
#include "data/dataset_table.h"

#include <stdlib.h>
#include <string.h>

#include "config/data_files.h"
#include "data/converted.h"
#include "data/selection.h"
#include "table/reader.h"
#include "table/table_share.h"

/* Bytes of all columns of a block of rows. */
#define BLOCK_BYTES (UINT64_C(256) * 1024)

/* Rows of a block: about BLOCK_BYTES, and whole bands of a file that has some. A
 * function of the table alone: it is part of what a position means. */
static uint64_t table_block_rows(const struct table *t)
{
    uint64_t bytes = 0, band = 1, rows;

    for (size_t i = 0; i < t->n_columns; i++)
        bytes += t->columns[i].row_bytes;
    for (size_t i = 0; i < t->n_packings; i++)
        band = t->packings[i].chunk[0] > band ? t->packings[i].chunk[0] : band;
    rows = bytes < BLOCK_BYTES ? BLOCK_BYTES / bytes : 1;
    band = band < t->rows ? band : t->rows;
    rows = (rows + band - 1) / band * band;
    rows = rows < t->rows ? rows : t->rows;
    return rows < WINDOW_ROWS_MAX ? rows : WINDOW_ROWS_MAX;
}

struct order_kind dataset_table_order(const struct dataset_config *cfg,
                                      const struct table *t)
{
    if (!cfg->shuffle || cfg->shuffle_window == 0)
        return (struct order_kind){.block = cfg->shuffle};
    return dataset_table_windows(t, cfg->shuffle_window);
}

struct order_kind dataset_table_windows(const struct table *t, uint64_t rows)
{
    struct order_kind kind = {.block = table_block_rows(t)};
    uint64_t most = WINDOW_ROWS_MAX / kind.block;

    kind.window = (rows - 1) / kind.block + 1;
    kind.window = kind.window < most ? kind.window : most;
    return kind;
}

/* Add the column of the filter to those to read. `more` is cfg, or has *columns. */
static int columns_extend(const struct dataset_config *cfg, struct dataset_config *more,
                          char ***columns, struct error *err)
{
    *more = *cfg;
    *columns = NULL;
    if (cfg->columns && cfg->n_columns == 0)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "columns: the list is empty; leave it out to read all of them");
    if (!cfg->columns || selection_has_column(cfg))
        return 0;
    *columns = calloc(cfg->n_columns + 1, sizeof **columns);
    if (!*columns)
        return error_no_memory(err);
    memcpy(*columns, cfg->columns, cfg->n_columns * sizeof **columns);
    (*columns)[more->n_columns++] = cfg->filter.column;
    more->columns = *columns;
    return 0;
}

/* Remove excluded columns, after the filter, which may need one of them. */
static int exclude_apply(const struct dataset_config *cfg, struct table *t,
                         struct left_out *left_out, struct error *err)
{
    char names[512];

    for (size_t i = 0; i < cfg->n_exclude; i++) {
        const struct column *c = table_column(t, cfg->exclude[i]);

        if (c) {
            table_remove_column(t, (size_t)(c - t->columns));
        } else if (!left_out_forget(left_out, cfg->exclude[i])) {
            table_names(t, names, sizeof names);
            return error_set(err, RAYTRAIN_ENOTFOUND,
                             "exclude: no column \"%s\"; the columns are: %s",
                             cfg->exclude[i], names);
        }
    }
    return t->n_columns > 0
               ? 0
               : error_set(err, RAYTRAIN_EINVAL, "exclude: it leaves no column of %s",
                           cfg->path);
}

int dataset_table_find(const struct dataset_config *cfg, const struct dataset_env *env,
                       int rc, struct table *table, struct left_out *left_out,
                       struct error *err)
{
    struct comm *all = env->all ? env->all : env->node;
    struct dataset_config more;
    const struct reader_job job = {
        .config = &more, .rank = 0, .size = 1, .left_out = left_out};
    char **columns = NULL;
    bool is_text = false;

    if (rc == 0)
        rc = columns_extend(cfg, &more, &columns, err);
    if (all)
        rc = comm_agree(all, rc, err);
    if (rc == 0)
        rc = converted_open(&more, env, &is_text, table, err);
    if (rc < 0) { /* on all ranks */
        free(columns);
        return -1;
    }
    if (!env->node || env->node->rank == 0) {
        if (!is_text)
            rc = reader_open(&job, table, err);
        if (rc == 0)
            rc = selection_apply(cfg, table, err);
        if (rc == 0)
            rc = exclude_apply(cfg, table, left_out, err);
    }
    free(columns);
    return table_share(table, rc, env->node, err);
}

/* Note files that the path seems to mean, but which are not read. */
static int others_find(const struct dataset_config *cfg, struct left_out *left_out,
                       struct error *err)
{
    struct data_files files;
    int rc = data_files_list(cfg->path, cfg->format, &files, err);

    for (size_t i = 0; rc == 0 && i < files.n_others; i++)
        rc = left_out_file(left_out, files.others[i],
                           "has no ending of the format, or is a directory", err);
    if (rc == 0)
        data_files_clear(&files);
    return rc;
}

static void left_out_say(const struct dataset_config *cfg,
                         const struct dataset_env *env, const struct left_out *left_out)
{
    char list[ERROR_TEXT_MAX / 4], text[ERROR_TEXT_MAX / 2];

    for (int files = 0; files < 2; files++) {
        if (left_out_count(left_out, files) == 0)
            continue;
        left_out_describe(left_out, files, list, sizeof list);
        snprintf(text, sizeof text, "dataset \"%s\": %s not read: %s", cfg->name,
                 files ? "these files are" : "these columns are", list);
        env->warn(env->warn_arg, text);
    }
}

int dataset_table_finish(const struct dataset_config *cfg,
                         const struct dataset_env *env, struct left_out *left_out,
                         struct error *err)
{
    const struct comm *all = env->all ? env->all : env->node;

    if (env->node && env->node->rank != 0)
        return 0;
    if (others_find(cfg, left_out, err) < 0)
        return -1;
    if (env->warn && !env->again && (!all || all->rank == 0))
        left_out_say(cfg, env, left_out);
    return 0;
}
