/*
 * data_config.c - the keys of datasets and of DataConfig, and the checks that involve
 * several of them. text_options.c, filter_config.c and rows_config.c have some of the
 * keys; data_files.c finds the files.
 */
#include "config/data_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config_file.h"
#include "config/config_key.h"
#include "config/data_files.h"
#include "config/registry.h"
#include "config/text_options.h"
#include "util/quote.h"
#include "util/suggest.h"

#define FIELD(member) .offset = offsetof(struct dataset_config, member)

static const struct config_choice formats[] = REGISTRY_CHOICES(DATASET_FORMATS);
static const struct config_choice first_indices[] = {
    {"auto", NULL}, {"zero", NULL}, {"one", NULL}, {NULL, NULL}};

/* In the order of enum last_batch. */
static const struct config_choice last_batches[] = {
    {"keep", NULL},
    {"drop", NULL},
    {"pad", NULL},
    {NULL, NULL},
};

static int rows_set(void *object, const struct config_node *node,
                    const struct config_where *where)
{
    return rows_config_set(&((struct dataset_config *)object)->rows, node, where);
}

static void rows_render(const void *object, const char *name, FILE *out, int depth)
{
    rows_config_render(&((const struct dataset_config *)object)->rows, name, out,
                       depth);
}

static const struct config_ops rows_ops = {.set = rows_set, .render = rows_render};

static const struct config_key dataset_keys[] = {
    {.name = "path",
     .doc = "the file, a directory of files, or a pattern",
     .type = CONFIG_STRING,
     FIELD(path)},
    {.name = "label",
     .doc = "the file of the labels, or the column",
     .type = CONFIG_STRING,
     FIELD(label)},
    {.name = "format",
     .doc = "the file's format",
     .type = CONFIG_WORD,
     FIELD(format),
     .choices = formats},
    {.name = "columns",
     .doc = "the columns to read",
     .type = CONFIG_STRINGS,
     FIELD(columns),
     .offset2 = offsetof(struct dataset_config, n_columns),
     .min = 1},
    {.name = "exclude",
     .doc = "the columns to leave out",
     .type = CONFIG_STRINGS,
     FIELD(exclude),
     .offset2 = offsetof(struct dataset_config, n_exclude),
     .min = 1},
    {.name = "shuffle",
     .doc = "a new order in every epoch",
     .type = CONFIG_BOOL,
     FIELD(shuffle)},
    {.name = "shuffle_window",
     .doc = "rows that are mixed with each other, 0: all",
     .type = CONFIG_U64,
     FIELD(shuffle_window)},
    {.name = "last_batch",
     .doc = "what happens to rows that do not fill a batch",
     .type = CONFIG_ENUM,
     FIELD(last_batch),
     .choices = last_batches},
    {.name = "limit",
     .doc = "how many rows are read, 0: all",
     .type = CONFIG_U64,
     FIELD(limit)},
    {.name = "filter",
     .doc = "the rows that are read, by the values of a column",
     .type = CONFIG_GROUP,
     FIELD(filter),
     .table = &filter_config_table},
    {.name = "rows",
     .doc = "the rows that are used, by their numbers",
     .type = CONFIG_CUSTOM,
     .ops = &rows_ops},
    {.name = "made",
     .doc = "its files are written by the workers of the run",
     .type = CONFIG_BOOL,
     FIELD(made)},
    {.name = "preprocess",
     .doc = "whether the run's preprocessors apply to it",
     .type = CONFIG_BOOL,
     FIELD(preprocess)},
    {.name = "header",
     .doc = "whether the text begins with the names of columns",
     .type = CONFIG_CUSTOM,
     .ops = &text_header_ops},
    {.name = "delimiter",
     .doc = "what separates the fields of a CSV file",
     .type = CONFIG_CUSTOM,
     .ops = &text_delimiter_ops},
    {.name = "missing",
     .doc = "the texts that mean a missing value in CSV files",
     .type = CONFIG_STRINGS,
     FIELD(missing),
     .offset2 = offsetof(struct dataset_config, n_missing)},
    {.name = "types",
     .doc = "types of columns of text",
     .type = CONFIG_CUSTOM,
     .ops = &text_types_ops},
    {.name = "first_index",
     .doc = "the number of the first feature in LIBSVM files",
     .type = CONFIG_ENUM,
     FIELD(first_index),
     .choices = first_indices},
};
const struct config_table dataset_config_table = CONFIG_TABLE(dataset_keys);

/* ---- datasets = { NAME = { ... }; } ---- */

static struct dataset_config *dataset_find(struct dataset_config *datasets, size_t n,
                                           const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(datasets[i].name, name))
            return &datasets[i];
    return NULL;
}

static struct dataset_config *dataset_add(struct dataset_config **datasets, size_t *n,
                                          const char *name)
{
    struct dataset_config *all, *added;
    char *copy = strdup(name);

    all = copy ? reallocarray(*datasets, *n + 1, sizeof *all) : NULL;
    if (!all) {
        free(copy);
        return NULL;
    }
    *datasets = all;
    added = &all[(*n)++];
    *added = (struct dataset_config){.name = copy, .preprocess = true};
    return added;
}

static int dataset_set(struct dataset_config **datasets, size_t *n,
                       const struct config_node *node, const struct config_where *where)
{
    struct dataset_config *dataset = dataset_find(*datasets, *n, node->name);

    if (!config_file_is_name(node->name) || strchr(node->name, '*') ||
        strlen(node->name) > RAYTRAIN_NAME_MAX)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "the name of a dataset is a letter, then letters, digits, _ "
                           "and -");
    if (node->type != NODE_GROUP)
        return config_expected(where, node, "a group, { path = \"FILE\"; }", NULL);
    if (!dataset && !(dataset = dataset_add(datasets, n, node->name)))
        return config_fail_memory(where);
    return config_apply(&dataset_config_table, dataset, node, where);
}

int datasets_set(struct dataset_config **datasets, size_t *n,
                 const struct config_node *node, const struct config_where *where)
{
    if (node->type != NODE_GROUP)
        return config_expected(where, node, "a group, { NAME = { path = \"FILE\"; }; }",
                               NULL);
    for (size_t i = 0; i < node->n_items; i++) {
        struct config_where here = config_where_below(where, node->items[i].name);

        if (dataset_set(datasets, n, &node->items[i], &here))
            return -1;
    }
    return 0;
}

void datasets_render(const struct dataset_config *datasets, size_t n, const char *name,
                     FILE *out, int depth)
{
    config_render_name(out, depth, name);
    if (n == 0) {
        fputs("{ };\n", out);
        return;
    }
    fputs("{\n", out);
    for (size_t i = 0; i < n; i++) {
        config_render_name(out, depth + 1, datasets[i].name);
        fputs("{\n", out);
        config_render(&dataset_config_table, &datasets[i], out, depth + 2);
        fprintf(out, "%*s};\n", 4 * (depth + 1), "");
    }
    fprintf(out, "%*s};\n", 4 * depth, "");
}

static int exclude_check(const struct dataset_config *dataset,
                         const struct config_where *where)
{
    if (dataset->columns && dataset->n_exclude > 0)
        return config_fail(where, NULL, RAYTRAIN_EINVAL,
                           "columns names the columns to read, and exclude those to "
                           "leave out of all: leave out one of them");
    for (size_t i = 0; dataset->label && i < dataset->n_exclude; i++)
        if (strcmp(dataset->exclude[i], dataset->label) == 0)
            return config_fail(where, NULL, RAYTRAIN_EINVAL,
                               "exclude has \"%s\", which is the label",
                               dataset->label);
    return 0;
}

int datasets_check(const struct dataset_config *datasets, size_t n,
                   const struct config_where *where)
{
    for (size_t i = 0; i < n; i++) {
        struct config_where here = config_where_below(where, datasets[i].name);

        if (config_check(&dataset_config_table, &datasets[i], &here) ||
            exclude_check(&datasets[i], &here))
            return -1;
    }
    return 0;
}

void datasets_clear(struct dataset_config **datasets, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        config_clear(&dataset_config_table, &(*datasets)[i]);
        free((*datasets)[i].name);
    }
    free(*datasets);
    *datasets = NULL;
    *n = 0;
}

/* ---- data_config ---- */

/* "all", or a list of names. */
static int split_set(void *object, const struct config_node *node,
                     const struct config_where *where)
{
    struct data_config *cfg = object;
    char **names = NULL;
    size_t n = 0;

    if (node->type == NODE_STRING && strcmp(node->string, "all") != 0)
        return config_expected(where, node, "\"all\" or a list of names of datasets",
                               "datasets that are split over the workers");
    if (node->type != NODE_STRING &&
        config_strings_get(node, false, &names, &n,
                           "datasets that are split over the workers; or \"all\"",
                           where))
        return -1;
    config_strings_free(cfg->datasets_to_split, cfg->n_datasets_to_split);
    cfg->datasets_to_split = names;
    cfg->n_datasets_to_split = n;
    return 0;
}

static void split_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct data_config *cfg = object;

    config_render_name(out, depth, name);
    if (cfg->datasets_to_split)
        config_render_strings(out, cfg->datasets_to_split, cfg->n_datasets_to_split);
    else
        config_render_string(out, "all");
    fputs(";\n", out);
}

static void split_clear(void *object)
{
    struct data_config *cfg = object;

    config_strings_free(cfg->datasets_to_split, cfg->n_datasets_to_split);
    cfg->datasets_to_split = NULL;
    cfg->n_datasets_to_split = 0;
}

static const struct config_ops split_ops = {
    .set = split_set,
    .render = split_render,
    .clear = split_clear,
};

static const struct config_key data_keys[] = {
    {.name = "datasets_to_split",
     .doc = "datasets that are split over the workers",
     .type = CONFIG_CUSTOM,
     .ops = &split_ops},
};
const struct config_table data_config_table = CONFIG_TABLE(data_keys);

/* ---- both together ---- */

int data_config_training_set(const struct dataset_config *datasets, size_t n,
                             const struct dataset_config **found, struct error *err)
{
    *found = n == 1 ? datasets : NULL;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(datasets[i].name, "train"))
            *found = &datasets[i];
    if (!*found)
        return error_set(err, RAYTRAIN_EINVAL,
                         "preprocessor: there is no dataset to learn from: name %s "
                         "\"train\", as in --dataset train=PATH",
                         n == 0 ? "one" : "one of them");
    if (!(*found)->preprocess)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "preprocessor: dataset \"%s\", which preprocessors learn from, "
            "has preprocess = false",
            (*found)->name);
    return 0;
}

void data_config_settle(const struct data_config *cfg, struct dataset_config *datasets,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        datasets[i].split = !cfg->datasets_to_split;
        for (size_t k = 0; k < cfg->n_datasets_to_split; k++)
            if (!strcmp(datasets[i].name, cfg->datasets_to_split[k]))
                datasets[i].split = true;
    }
}

bool dataset_label_is_path(const struct dataset_config *dataset)
{
    const char *format = dataset->format;

    if (!format && dataset->path)
        format = data_files_text_format(dataset->path);
    if (!dataset->label ||
        (format && (!strcmp(format, "hdf5") || data_files_is_text(format))))
        return false;
    if (dataset->format && !strcmp(dataset->format, "idx"))
        return true;
    return strchr(dataset->label, '/') || data_files_exist(dataset->label);
}

/* Make a path of files absolute, and check each of the files. */
static int files_validate(const char *what, char **path, const char *format, size_t *n,
                          struct error *err)
{
    struct data_files files;
    int rc = 0;

    if (data_files_absolute(path, err))
        return -1;
    if (data_files_list(*path, format, &files, err))
        return error_prefix(err, "%s", what);
    for (size_t i = 0; i < files.n && rc == 0; i++)
        rc = path_check_file(what, files.paths[i], err);
    *n = files.n;
    data_files_clear(&files);
    return rc;
}

static int rows_validate(const struct dataset_config *dataset, const char *what,
                         struct error *err)
{
    if (filter_config_validate(&dataset->filter, err))
        return error_prefix(err, "%s", what);
    if (dataset->shuffle_window > SHUFFLE_WINDOW_MAX)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "%s.shuffle_window: a window has at most %llu rows; 0 mixes all "
            "rows with each other",
            what, (unsigned long long)SHUFFLE_WINDOW_MAX);
    if (dataset->shuffle_window && !dataset->shuffle)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s.shuffle_window: the rows are not shuffled; add shuffle = "
                         "true",
                         what);
    return 0;
}

/* The name of a dataset that the one without a path may be meant for; NULL: none is
 * near. */
static const char *name_meant(const struct dataset_config *datasets, size_t n,
                              const char *typed)
{
    const char **names = malloc((n + 1) * sizeof *names), *near;
    size_t n_names = 0;

    for (size_t i = 0; names && i < n; i++)
        if (datasets[i].path)
            names[n_names++] = datasets[i].name;
    near = names ? suggest_nearest(typed, names, n_names) : NULL;
    free(names);
    return near;
}

int data_config_check_paths(const struct dataset_config *datasets, size_t n,
                            struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = datasets[i].name, *near;

        if (datasets[i].path)
            continue;
        near = name_meant(datasets, n, name);
        if (near)
            return error_set(err, RAYTRAIN_EINVAL,
                             "datasets.%s: it has no path; did you mean datasets.%s? "
                             "Otherwise add path = \"FILE\"",
                             name, near);
        return error_set(err, RAYTRAIN_EINVAL,
                         "datasets.%s: it has no path; add path = \"FILE\"", name);
    }
    return 0;
}

static int dataset_validate(struct dataset_config *dataset, struct error *err)
{
    char what[RAYTRAIN_NAME_MAX + 32];
    bool label_is_path = dataset_label_is_path(dataset);
    size_t n, n_labels;

    snprintf(what, sizeof what, "datasets.%s", dataset->name);
    if (rows_validate(dataset, what, err))
        return -1;
    if (dataset->made)
        return data_files_absolute(&dataset->path, err);
    if (files_validate(what, &dataset->path, dataset->format, &n, err))
        return -1;
    if (!label_is_path)
        return 0;
    snprintf(what, sizeof what, "datasets.%s.label", dataset->name);
    if (files_validate(what, &dataset->label, dataset->format, &n_labels, err))
        return -1;
    if (n == n_labels)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s: %zu files of labels for %zu files of rows; each file of rows "
                     "needs one, in the order of their names",
                     what, n_labels, n);
}

static int split_validate(const struct data_config *cfg,
                          struct dataset_config *datasets, size_t n, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    for (size_t k = 0; k < cfg->n_datasets_to_split; k++)
        if (!dataset_find(datasets, n, cfg->datasets_to_split[k]))
            return error_set(err, RAYTRAIN_EINVAL,
                             "data_config.datasets_to_split: there is no dataset %s",
                             quote(cfg->datasets_to_split[k], quoted));
    return 0;
}

int data_config_validate(const struct data_config *cfg, struct dataset_config *datasets,
                         size_t n, struct error *err)
{
    if (data_config_check_paths(datasets, n, err))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (dataset_validate(&datasets[i], err))
            return -1;
    if (split_validate(cfg, datasets, n, err))
        return -1;
    data_config_settle(cfg, datasets, n);
    return 0;
}
