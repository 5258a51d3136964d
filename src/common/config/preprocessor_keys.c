/*
 * preprocessor_keys.c - the keys of each kind of preprocessor, the checks of its values,
 * and the table of kinds. column_numbers.c reads numbers of columns.
 */
#include "config/preprocessor_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/column_numbers.h"
#include "config/config_key.h"
#include "config/preprocessor_config.h"
#include "util/quote.h"

#define FIELD(member) .offset = offsetof(struct preprocessor_config, member)

/* ---- Values that are not a single word or integer ---- */

static bool node_is_number(const struct config_node *node, double *value)
{
    *value = node->type == NODE_INT ? (double)node->integer : node->real;
    return node->type == NODE_INT || node->type == NODE_REAL;
}

static int power_set(void *object, const struct config_node *node,
                     const struct config_where *where)
{
    struct preprocessor_config *cfg = object;

    if (!node_is_number(node, &cfg->power))
        return config_expected(where, node, "a number", "the power, lambda");
    cfg->has_power = true;
    return 0;
}

static void power_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct preprocessor_config *cfg = object;

    if (!cfg->has_power)
        return;
    config_render_name(out, depth, name);
    config_render_real(out, cfg->power);
    fputs(";\n", out);
}

static int quantile_range_set(void *object, const struct config_node *node,
                              const struct config_where *where)
{
    struct preprocessor_config *cfg = object;
    double low, high;

    if (node->type != NODE_ARRAY || node->n_items != 2 ||
        !node_is_number(&node->items[0], &low) ||
        !node_is_number(&node->items[1], &high) || !(0 <= low && low < high) ||
        high > 1)
        return config_expected(where, node, "two ascending numbers from 0 to 1",
                               "the quantiles whose distance becomes 1");
    cfg->quantile_range[0] = low;
    cfg->quantile_range[1] = high;
    return 0;
}

static void quantile_range_render(const void *object, const char *name, FILE *out,
                                  int depth)
{
    const struct preprocessor_config *cfg = object;

    config_render_name(out, depth, name);
    fputs("( ", out);
    config_render_real(out, cfg->quantile_range[0]);
    fputs(", ", out);
    config_render_real(out, cfg->quantile_range[1]);
    fputs(" );\n", out);
}

static int fill_value_set(void *object, const struct config_node *node,
                          const struct config_where *where)
{
    struct preprocessor_config *cfg = object;

    cfg->has_fill_number = node_is_number(node, &cfg->fill_number);
    if (node->type == NODE_STRING)
        return config_set_string(&cfg->fill_text, node->string, where);
    if (!cfg->has_fill_number)
        return config_expected(where, node, "a number or a string",
                               "what takes the place of missing values");
    free(cfg->fill_text);
    cfg->fill_text = NULL;
    return 0;
}

static void fill_value_render(const void *object, const char *name, FILE *out,
                              int depth)
{
    const struct preprocessor_config *cfg = object;

    if (!cfg->has_fill_number && !cfg->fill_text)
        return;
    config_render_name(out, depth, name);
    if (cfg->fill_text)
        config_render_string(out, cfg->fill_text);
    else
        config_render_real(out, cfg->fill_number);
    fputs(";\n", out);
}

static void fill_value_clear(void *object)
{
    struct preprocessor_config *cfg = object;

    free(cfg->fill_text);
    cfg->fill_text = NULL;
}

/* Make a string the only one of a list. */
static int column_set(char ***names, size_t *n_names, const char *doc,
                      const struct config_node *node, const struct config_where *where)
{
    struct config_node list = {
        .type = NODE_ARRAY, .items = (struct config_node *)node, .n_items = 1};
    char **columns;
    size_t n;

    if (node->type != NODE_STRING)
        return config_expected(where, node, "a string", doc);
    if (config_strings_get(&list, false, &columns, &n, doc, where))
        return -1;
    config_strings_free(*names, *n_names);
    *names = columns;
    *n_names = n;
    return 0;
}

static void column_clear(char ***names, size_t *n_names)
{
    config_strings_free(*names, *n_names);
    *names = NULL;
    *n_names = 0;
}

static int label_set(void *object, const struct config_node *node,
                     const struct config_where *where)
{
    struct preprocessor_config *cfg = object;

    return column_set(&cfg->columns, &cfg->n_columns, "the column of the labels", node,
                      where);
}

static void label_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct preprocessor_config *cfg = object;

    config_render_name(out, depth, name);
    config_render_string(out, cfg->columns[0]);
    fputs(";\n", out);
}

static void label_clear(void *object)
{
    struct preprocessor_config *cfg = object;

    column_clear(&cfg->columns, &cfg->n_columns);
}

static int label_output_set(void *object, const struct config_node *node,
                            const struct config_where *where)
{
    struct preprocessor_config *cfg = object;

    return column_set(&cfg->output_columns, &cfg->n_output_columns,
                      "a new column for the results", node, where);
}

static void label_output_render(const void *object, const char *name, FILE *out,
                                int depth)
{
    const struct preprocessor_config *cfg = object;

    if (cfg->n_output_columns == 0)
        return;
    config_render_name(out, depth, name);
    config_render_string(out, cfg->output_columns[0]);
    fputs(";\n", out);
}

static void label_output_clear(void *object)
{
    struct preprocessor_config *cfg = object;

    column_clear(&cfg->output_columns, &cfg->n_output_columns);
}

static int bins_set(void *object, const struct config_node *node,
                    const struct config_where *where)
{
    struct preprocessor_config *cfg = object;

    return numbers_by_column_set(&cfg->bins, node, "bins", where);
}

static void bins_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct preprocessor_config *cfg = object;

    numbers_by_column_render(&cfg->bins, name, out, depth);
}

static void bins_clear(void *object)
{
    struct preprocessor_config *cfg = object;

    numbers_by_column_clear(&cfg->bins);
}

static int max_categories_set(void *object, const struct config_node *node,
                              const struct config_where *where)
{
    struct preprocessor_config *cfg = object;

    return numbers_by_column_set(&cfg->max_categories, node, "max_categories", where);
}

static void max_categories_render(const void *object, const char *name, FILE *out,
                                  int depth)
{
    const struct preprocessor_config *cfg = object;

    numbers_by_column_render(&cfg->max_categories, name, out, depth);
}

static void max_categories_clear(void *object)
{
    struct preprocessor_config *cfg = object;

    numbers_by_column_clear(&cfg->max_categories);
}

static const struct config_ops power_ops = {.set = power_set, .render = power_render};
static const struct config_ops quantile_range_ops = {.set = quantile_range_set,
                                                     .render = quantile_range_render};
static const struct config_ops fill_value_ops = {
    .set = fill_value_set, .render = fill_value_render, .clear = fill_value_clear};
static const struct config_ops label_ops = {
    .set = label_set, .render = label_render, .clear = label_clear};
static const struct config_ops label_output_ops = {.set = label_output_set,
                                                   .render = label_output_render,
                                                   .clear = label_output_clear};
static const struct config_ops bins_ops = {
    .set = bins_set, .render = bins_render, .clear = bins_clear};
static const struct config_ops max_categories_ops = {.set = max_categories_set,
                                                     .render = max_categories_render,
                                                     .clear = max_categories_clear};

/* ---- The keys of each kind ---- */

static const struct config_choice norms[] = {
    {"l1", NULL}, {"l2", NULL}, {"max", NULL}, {NULL, NULL}};
static const struct config_choice methods[] = {
    {"yeo-johnson", NULL}, {"box-cox", NULL}, {NULL, NULL}};
static const struct config_choice strategies[] = {
    {"mean", NULL}, {"most_frequent", NULL}, {"constant", NULL}, {NULL, NULL}};
static const struct config_choice duplicates[] = {
    {"raise", NULL}, {"drop", NULL}, {NULL, NULL}};
static const struct config_choice float_types[] = {
    {"float32", NULL}, {"float64", NULL}, {NULL, NULL}};
static const struct config_choice code_types[] = {{"float32", NULL},
                                                  {"float64", NULL},
                                                  {"int32", NULL},
                                                  {"int64", NULL},
                                                  {NULL, NULL}};
static const struct config_choice batch_formats[] = {
    {"numpy", NULL}, {"pandas", NULL}, {NULL, NULL}};

#define COLUMNS                                                                        \
    {                                                                                  \
        .name = "columns", .doc = "the columns that it reads", .type = CONFIG_STRINGS, \
        FIELD(columns), .offset2 = offsetof(struct preprocessor_config, n_columns),    \
        .min = 1                                                                       \
    }
#define OUTPUT_COLUMNS                                                                 \
    {                                                                                  \
        .name = "output_columns",                                                      \
        .doc = "new columns for the results, in the order of columns",                 \
        .type = CONFIG_STRINGS, FIELD(output_columns),                                 \
        .offset2 = offsetof(struct preprocessor_config, n_output_columns), .min = 1    \
    }
#define WORD(key, member, words, text)                                                 \
    {                                                                                  \
        .name = key, .doc = text, .type = CONFIG_ENUM, FIELD(member), .choices = words \
    }
#define FLAG(key, member, text)                                                        \
    {                                                                                  \
        .name = key, .doc = text, .type = CONFIG_BOOL, FIELD(member)                   \
    }
#define DTYPE(words)                                                                   \
    {                                                                                  \
        .name = "dtype", .doc = "the type of the result", .type = CONFIG_WORD,         \
        FIELD(dtype), .choices = words                                                 \
    }
#define CUSTOM(key, functions)                                                         \
    {                                                                                  \
        .name = key, .doc = key, .type = CONFIG_CUSTOM, .ops = &functions              \
    }
#define COUNT(key, member, text)                                                       \
    {                                                                                  \
        .name = key, .doc = text, .type = CONFIG_INT, FIELD(member), .min = 1,         \
        .max = INT32_MAX                                                               \
    }
#define STRING(key, member, text)                                                      \
    {                                                                                  \
        .name = key, .doc = text, .type = CONFIG_STRING, FIELD(member)                 \
    }
#define OUTPUT_COLUMN_NAME                                                             \
    STRING("output_column_name", output_column_name, "the new column")

static const struct config_key keys_of_standard_scaler[] = {
    COLUMNS,
    OUTPUT_COLUMNS,
    {.name = "ddof",
     .doc = "what is subtracted from the number of rows in the variance",
     .type = CONFIG_INT,
     FIELD(ddof),
     .min = 0,
     .max = 1000000},
};
static const struct config_key keys_of_min_max_scaler[] = {COLUMNS, OUTPUT_COLUMNS};
static const struct config_key keys_of_max_abs_scaler[] = {COLUMNS, OUTPUT_COLUMNS};
static const struct config_key keys_of_robust_scaler[] = {
    COLUMNS, OUTPUT_COLUMNS, CUSTOM("quantile_range", quantile_range_ops)};
static const struct config_key keys_of_normalizer[] = {
    COLUMNS, OUTPUT_COLUMNS, WORD("norm", norm, norms, "the length that becomes 1")};
static const struct config_key keys_of_power_transformer[] = {
    COLUMNS, OUTPUT_COLUMNS, CUSTOM("power", power_ops),
    WORD("method", method, methods, "the transform")};
static const struct config_key keys_of_simple_imputer[] = {
    COLUMNS, OUTPUT_COLUMNS,
    WORD("strategy", strategy, strategies, "what takes the place of missing values"),
    CUSTOM("fill_value", fill_value_ops)};
#define BINS                                                                           \
    COLUMNS, OUTPUT_COLUMNS, CUSTOM("bins", bins_ops),                                 \
        FLAG("right", right, "whether a bin includes its upper edge"),                 \
        FLAG("include_lowest", include_lowest,                                         \
             "whether the first bin includes its lower edge"),                         \
        WORD("duplicates", duplicates, duplicates, "edges that are equal"),            \
        DTYPE(code_types)
static const struct config_key keys_of_uniform_kbins_discretizer[] = {BINS};
static const struct config_key keys_of_custom_kbins_discretizer[] = {BINS};
static const struct config_key keys_of_concatenator[] = {
    COLUMNS,
    {.name = "exclude",
     .doc = "columns to leave alone",
     .type = CONFIG_STRINGS,
     FIELD(exclude),
     .offset2 = offsetof(struct preprocessor_config, n_exclude)},
    OUTPUT_COLUMN_NAME,
    DTYPE(float_types),
    FLAG("raise_if_missing", raise_if_missing, "whether a missing column is an error")};
static const struct config_key keys_of_categorizer[] = {COLUMNS, OUTPUT_COLUMNS};
static const struct config_key keys_of_ordinal_encoder[] = {COLUMNS, OUTPUT_COLUMNS,
                                                            DTYPE(code_types)};
static const struct config_key keys_of_one_hot_encoder[] = {
    COLUMNS, OUTPUT_COLUMNS, CUSTOM("max_categories", max_categories_ops)};
static const struct config_key keys_of_multi_hot_encoder[] = {
    COLUMNS, OUTPUT_COLUMNS, CUSTOM("max_categories", max_categories_ops)};
static const struct config_key keys_of_label_encoder[] = {
    CUSTOM("label_column", label_ops), CUSTOM("output_column", label_output_ops),
    DTYPE(code_types)};

static const struct config_key keys_of_tokenizer[] = {COLUMNS, OUTPUT_COLUMNS};
static const struct config_key keys_of_count_vectorizer[] = {
    COLUMNS, OUTPUT_COLUMNS,
    COUNT("max_features", max_features,
          "how many of the most frequent tokens to keep")};
static const struct config_key keys_of_hashing_vectorizer[] = {
    COLUMNS, OUTPUT_COLUMNS,
    COUNT("num_features", num_features, "the length of vectors")};
static const struct config_key keys_of_feature_hasher[] = {
    COLUMNS, OUTPUT_COLUMN_NAME,
    COUNT("num_features", num_features, "the length of vectors")};
static const struct config_key keys_of_batch_mapper[] = {
    STRING("function", function, "the function in C, raytrain_map_func"),
    STRING("library", library, "the shared object that has it"),
    STRING("python", python, "the function in Python, MODULE:NAME"),
    COUNT("batch_size", batch_size, "how many rows it gets at most, in Python"),
    {.name = "batch_format",
     .doc = "what it gets, in Python",
     .type = CONFIG_WORD,
     FIELD(batch_format),
     .choices = batch_formats},
};

/* ---- Checks of values together ---- */

static int check_fill_value(const struct preprocessor_config *cfg,
                            const struct config_node *node,
                            const struct config_where *where)
{
    if (cfg->strategy != IMPUTER_CONSTANT || cfg->has_fill_number || cfg->fill_text)
        return 0;
    return config_fail(where, node, RAYTRAIN_EINVAL,
                       "strategy \"constant\" needs a fill_value");
}

static int check_num_features(const struct preprocessor_config *cfg,
                              const struct config_node *node,
                              const struct config_where *where)
{
    if (cfg->num_features >= 1)
        return 0;
    return config_fail(where, node, RAYTRAIN_EINVAL,
                       "it needs num_features, the length of its vectors");
}

/* Of the column at index i. */
static int bins_of(const struct preprocessor_config *cfg, size_t i,
                   const struct config_node *node, const struct config_where *where,
                   const struct column_numbers **bins)
{
    char quoted[QUOTE_TEXT_MAX];

    *bins = column_numbers_find(&cfg->bins, cfg->columns[i]);
    return *bins ? 0
                 : config_fail(where, node, RAYTRAIN_EINVAL,
                               "bins has nothing for column %s",
                               quote(cfg->columns[i], quoted));
}

static int check_uniform_bins(const struct preprocessor_config *cfg,
                              const struct config_node *node,
                              const struct config_where *where)
{
    const struct column_numbers *bins;

    for (size_t i = 0; i < cfg->n_columns; i++) {
        if (bins_of(cfg, i, node, where, &bins))
            return -1;
        if (bins->list || bins->values[0] < 1 || bins->values[0] > 1e6 ||
            bins->values[0] != floor(bins->values[0]))
            return config_fail(where, node, RAYTRAIN_EINVAL,
                               "bins is the number of bins, from 1 to 1000000");
    }
    return 0;
}

static int check_edges(const struct preprocessor_config *cfg,
                       const struct column_numbers *bins,
                       const struct config_node *node, const struct config_where *where)
{
    if (!bins->list || bins->n < 2)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "bins is a list of at least two edges, ( 0, 1, 5.5 )");
    for (size_t i = 1; i < bins->n; i++) {
        bool equal = bins->values[i] == bins->values[i - 1];

        if (bins->values[i] < bins->values[i - 1])
            return config_fail(where, node, RAYTRAIN_EINVAL,
                               "the edges in bins are not in ascending order");
        if (equal && cfg->duplicates == DUPLICATES_RAISE)
            return config_fail(
                where, node, RAYTRAIN_EINVAL,
                "the edges in bins are not unique; duplicates = \"drop\" "
                "ignores repeated ones");
    }
    return 0;
}

static int check_custom_bins(const struct preprocessor_config *cfg,
                             const struct config_node *node,
                             const struct config_where *where)
{
    const struct column_numbers *bins;

    for (size_t i = 0; i < cfg->n_columns; i++)
        if (bins_of(cfg, i, node, where, &bins) || check_edges(cfg, bins, node, where))
            return -1;
    return 0;
}

static int check_mapper(const struct preprocessor_config *cfg,
                        const struct config_node *node,
                        const struct config_where *where)
{
    const char *colon = cfg->python ? strchr(cfg->python, ':') : NULL;

    if (!cfg->function == !cfg->python)
        return config_fail(
            where, node, RAYTRAIN_EINVAL,
            "it needs a function: function = \"NAME\", in C, or python = "
            "\"MODULE:NAME\"");
    if (cfg->function && (cfg->batch_size > 0 || cfg->batch_format))
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "batch_size and batch_format are for functions in Python");
    if (cfg->python && cfg->library)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "library is for functions in C");
    if (cfg->python && (!colon || colon == cfg->python || !colon[1]))
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "python is \"MODULE:NAME\", such as \"maps:scale\"");
    return 0;
}

/* ---- The table ---- */

#define PREPROCESSOR_ROW(id, ...)                                                      \
    {.name = #id, .keys = CONFIG_TABLE(keys_of_##id), __VA_ARGS__},

const struct preprocessor_row preprocessor_rows[PREPROCESSOR_KINDS] = {
    PREPROCESSORS(PREPROCESSOR_ROW)};
