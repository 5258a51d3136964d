/*
 * reader.c - the table of formats: it chooses a reader for each file, and joins the
 * tables of all files (table_concatenate.c). Each reader has its own file.
 */
#include "table/reader.h"

#include <stdlib.h>
#include <string.h>

#include "config/data_files.h"
#include "util/fs.h"

#define ROW(name) {#name, &reader_##name},

static const struct {
    const char *format;
    const struct reader_ops *ops;
} readers[] = {READER_FORMATS(ROW)};

#define N_READERS (sizeof readers / sizeof *readers)

const char *reader_formats(void)
{
    return &DATASET_FORMATS(REGISTRY_TEXT)[2];
}

static int reader_by_name(const char *format, const struct reader_ops **out,
                          struct error *err)
{
    for (size_t i = 0; i < N_READERS; i++)
        if (strcmp(readers[i].format, format) == 0) {
            *out = readers[i].ops;
            return 0;
        }
    return error_set(err, RAYTRAIN_EINVAL, "unknown format \"%s\": one of %s is needed",
                     format, reader_formats());
}

static const char *reader_name(const struct reader_ops *ops)
{
    size_t i = 0;

    while (readers[i].ops != ops)
        i++;
    return readers[i].format;
}

static int reader_by_content(const struct source *s, const struct reader_ops **out,
                             struct error *err)
{
    unsigned char head[READER_HEAD];
    size_t n = s->size < sizeof head ? (size_t)s->size : sizeof head;

    if (fs_pread_full(s->fd, head, n, 0) < 0)
        return fs_error(err, "read", s->path);
    for (size_t i = 0; i < N_READERS; i++)
        if (readers[i].ops->probe(head, n, s->path)) {
            *out = readers[i].ops;
            return 0;
        }
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s: %s; the known formats are %s (set the option `format` if the "
                     "content does not show it)",
                     s->path,
                     n ? "its content is in no known format" : "the file is empty",
                     reader_formats());
}

static int no_columns(const struct dataset_config *cfg, const struct left_out *l,
                      struct error *err)
{
    char others[1024];

    if (!l || l->n == 0)
        return error_set(err, RAYTRAIN_EINVAL, "%s: it has no columns", cfg->path);
    left_out_describe(l, false, others, sizeof others);
    return error_set(
        err, RAYTRAIN_EINVAL,
        "%s: it has no column that is read: %s; a column has numbers of at "
        "most 64 bits, or one string for each row",
        cfg->path, others);
}

static int configured_columns_check(const struct dataset_config *cfg,
                                    const struct table *t, const struct left_out *l,
                                    struct error *err)
{
    char names[512];

    for (size_t i = 0; i < cfg->n_columns; i++)
        if (!table_column(t, cfg->columns[i])) {
            table_names(t, names, sizeof names);
            return error_set(err, RAYTRAIN_ENOTFOUND,
                             "%s: no column \"%s\"; the columns are: %s", cfg->path,
                             cfg->columns[i], names);
        }
    return t->n_columns == 0 ? no_columns(cfg, l, err) : 0;
}

/* ---- One file ---- */

/* *reader, if not NULL, is that of the earlier files; `first` is one of these. */
static int reader_choose(const struct dataset_config *cfg, const struct source *s,
                         const char *first, const struct reader_ops **reader,
                         struct error *err)
{
    const struct reader_ops *found = NULL;

    if (cfg->format)
        return *reader ? 0 : reader_by_name(cfg->format, reader, err);
    if (reader_by_content(s, &found, err) < 0)
        return -1;
    if (*reader && found != *reader)
        return error_set(err, RAYTRAIN_EINVAL,
                         "files of different formats: %s is %s, %s is %s; set the "
                         "option `format`, or a path that has files of one format",
                         first, reader_name(*reader), s->path, reader_name(found));
    *reader = found;
    return 0;
}

static int first_file_open(const struct reader_job *job, const char *first,
                           const struct reader_ops **reader, struct table *out,
                           struct error *err)
{
    const struct dataset_config *cfg = job->config;
    int fd = reader_open_file(cfg->path, err);
    size_t index;

    if (fd < 0)
        return -1;
    if (table_add_source(out, fd, false, cfg->path, &index, err) < 0 ||
        reader_choose(cfg, &out->sources[index], first, reader, err) < 0 ||
        (*reader)->open(job, out, err) < 0 ||
        configured_columns_check(cfg, out, job->left_out, err) < 0)
        return -1;
    table_prune(out);
    return 0;
}

/* ---- All files ---- */

static int labels_list(const struct dataset_config *cfg, size_t n,
                       struct data_files *labels, struct error *err)
{
    if (!dataset_label_is_path(cfg))
        return 0;
    if (data_files_list(cfg->label, cfg->format, labels, err) < 0)
        return error_prefix(err, "labels");
    if (labels->n == n)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%zu files of labels (%s) for %zu files of rows; each file of "
                     "rows needs one, in the order of their names",
                     labels->n, cfg->label, n);
}

static int files_open(const struct reader_job *job, const struct data_files *files,
                      const struct data_files *labels, struct table *out,
                      struct error *err)
{
    struct table *parts = calloc(files->n, sizeof *parts);
    const struct reader_ops *reader = NULL;
    struct dataset_config one = *job->config;
    struct words_union words = {0};
    struct left_out unwanted = {0}; /* messages need it too */
    struct reader_job job_one = {.config = &one,
                                 .rank = job->rank,
                                 .size = job->size,
                                 .words = &words,
                                 .left_out = job->left_out ? job->left_out : &unwanted};
    int rc = parts ? 0 : error_no_memory(err);

    for (size_t i = 0; i < files->n && rc == 0; i++) {
        one.path = files->paths[i];
        if (labels->n)
            one.label = labels->paths[i];
        rc = first_file_open(&job_one, files->paths[0], &reader, &parts[i], err);
    }
    if (rc == 0)
        rc = table_concatenate(parts, (const char *const *)files->paths, files->n, out,
                               err);
    if (rc == 0)
        rc = words_union_finish(&words, out, err);
    words_union_clear(&words);
    left_out_clear(&unwanted);
    for (size_t i = 0; parts && i < files->n; i++)
        table_clear(&parts[i]);
    free(parts);
    return rc;
}

int reader_open(const struct reader_job *job, struct table *out, struct error *err)
{
    const struct dataset_config *cfg = job->config;
    struct data_files files = {0}, labels = {0};
    int rc = data_files_list(cfg->path, cfg->format, &files, err);

    *out = (struct table){0};
    if (rc == 0)
        rc = labels_list(cfg, files.n, &labels, err);
    if (rc == 0)
        rc = files_open(job, &files, &labels, out, err);
    if (rc == 0 && out->rows == 0)
        rc = error_set(err, RAYTRAIN_EINVAL, "%s: it has no rows", cfg->path);
    if (rc < 0)
        table_clear(out);
    data_files_clear(&labels);
    data_files_clear(&files);
    return rc;
}
