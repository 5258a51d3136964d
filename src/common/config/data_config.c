#include "config/data_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config_file.h"
#include "config/config_key.h"
#include "config/registry.h"
#include "util/quote.h"

#define FIELD(member) .offset = offsetof(struct dataset_config, member)

static const struct config_choice formats[] = REGISTRY_CHOICES(DATASET_FORMATS);

static const struct config_key dataset_keys[] = {
    {.name = "path", .doc = "the file", .type = CONFIG_STRING, FIELD(path)},
    {.name = "label",
     .doc = "IDX: the file of the labels; others: the column",
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
    {.name = "shuffle",
     .doc = "a new order in every epoch",
     .type = CONFIG_BOOL,
     FIELD(shuffle)},
};
static const struct config_table dataset_table = CONFIG_TABLE(dataset_keys);

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
    *added = (struct dataset_config){.name = copy};
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
    return config_apply(&dataset_table, dataset, node, where);
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
        config_render(&dataset_table, &datasets[i], out, depth + 2);
        fprintf(out, "%*s};\n", 4 * (depth + 1), "");
    }
    fprintf(out, "%*s};\n", 4 * depth, "");
}

int datasets_check(const struct dataset_config *datasets, size_t n,
                   const struct config_where *where)
{
    for (size_t i = 0; i < n; i++) {
        struct config_where here = config_where_below(where, datasets[i].name);

        if (config_check(&dataset_table, &datasets[i], &here))
            return -1;
    }
    return 0;
}

void datasets_clear(struct dataset_config **datasets, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        config_clear(&dataset_table, &(*datasets)[i]);
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

/* Is the label a file? So it is for IDX, or if it turns out to be IDX because there is
 * such a file. */
static bool label_is_file(const struct dataset_config *dataset)
{
    if (!dataset->label)
        return false;
    if (dataset->format)
        return !strcmp(dataset->format, "idx");
    return strchr(dataset->label, '/') || !access(dataset->label, F_OK);
}

static int dataset_validate(struct dataset_config *dataset, struct error *err)
{
    char what[RAYTRAIN_NAME_MAX + 32];

    snprintf(what, sizeof what, "datasets.%s", dataset->name);
    if (!dataset->path)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: it has no path; add path = \"FILE\"", what);
    if (path_make_absolute(&dataset->path, err) ||
        path_check_file(what, dataset->path, err))
        return -1;
    if (!label_is_file(dataset))
        return 0;
    snprintf(what, sizeof what, "datasets.%s.label", dataset->name);
    if (path_make_absolute(&dataset->label, err))
        return -1;
    return path_check_file(what, dataset->label, err);
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
    for (size_t i = 0; i < n; i++)
        if (dataset_validate(&datasets[i], err))
            return -1;
    if (split_validate(cfg, datasets, n, err))
        return -1;
    data_config_settle(cfg, datasets, n);
    return 0;
}
