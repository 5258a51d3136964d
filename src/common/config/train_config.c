/*
 * train_config.c - the root table of keys, how files and flags are merged into a
 * configuration, and the checks that involve several of its parts. Each part has a file
 * of its own.
 */
#include "config/train_config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config/backend_row.h"
#include "config/config_key.h"
#include "config/registry.h"
#include "config/train_config_impl.h"

#define FIELD(member) .offset = offsetof(struct train_config, member)

static const struct config_choice trainer_choices[] = {
    {"data_parallel", NULL},
    BOOSTERS(REGISTRY_CHOICE){NULL, NULL},
};

#define BACKEND_CHOICE(id, ...) {#id, NULL},
static const struct config_choice backends[] = {
    BACKENDS(BACKEND_CHOICE){NULL, NULL},
};

static const struct config_choice train_func_kinds[] = {
    [TRAIN_FUNC_SHARED_OBJECT] = {"shared_object", NULL},
    [TRAIN_FUNC_PROGRAM] = {"program", NULL},
    [TRAIN_FUNC_COMMAND] = {"command", NULL},
    {NULL, NULL},
};

/* The list of datasets has two members of the struct: pointer and number. */
static int list_set(void *object, const struct config_node *node,
                    const struct config_where *where)
{
    struct train_config *cfg = object;

    return datasets_set(&cfg->datasets, &cfg->n_datasets, node, where);
}

static void list_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct train_config *cfg = object;

    datasets_render(cfg->datasets, cfg->n_datasets, name, out, depth);
}

static int list_check(const void *object, const struct config_where *where)
{
    const struct train_config *cfg = object;

    return datasets_check(cfg->datasets, cfg->n_datasets, where);
}

static void list_clear(void *object)
{
    struct train_config *cfg = object;

    datasets_clear(&cfg->datasets, &cfg->n_datasets);
}

static const struct config_ops datasets_ops = {
    .set = list_set,
    .render = list_render,
    .check = list_check,
    .clear = list_clear,
};

static int preprocessor_set(void *object, const struct config_node *node,
                            const struct config_where *where)
{
    struct train_config *cfg = object;

    return preprocessors_set(&cfg->preprocessors, node, where);
}

static void preprocessor_render(const void *object, const char *name, FILE *out,
                                int depth)
{
    const struct train_config *cfg = object;

    preprocessors_render(&cfg->preprocessors, name, out, depth);
}

static void preprocessor_clear(void *object)
{
    struct train_config *cfg = object;

    preprocessors_clear(&cfg->preprocessors);
}

static const struct config_ops preprocessor_ops = {
    .set = preprocessor_set,
    .render = preprocessor_render,
    .clear = preprocessor_clear,
};

/* The key "group", LightGBM's word for qid. */
static int group_set(void *object, const struct config_node *node,
                     const struct config_where *where)
{
    struct train_config *cfg = object;

    if (node->type != NODE_STRING || !*node->string)
        return config_expected(where, node, "a string",
                               "the column of the rows' queries");
    return config_set_string(&cfg->gbdt.qid, node->string, where);
}

static void group_render(const void *object, const char *name, FILE *out, int depth)
{
    (void)object;
    (void)name;
    (void)out;
    (void)depth; /* it is rendered as qid */
}

static const struct config_ops group_ops = {.set = group_set, .render = group_render};

static const struct config_key train_keys[] = {
    {.name = "trainer",
     .doc = "what runs the training loop",
     .type = CONFIG_WORD,
     FIELD(trainer),
     .choices = trainer_choices},
    {.name = "train_func",
     .doc = "the training function's file",
     .type = CONFIG_STRING,
     FIELD(train_func)},
    {.name = "train_func_kind",
     .doc = "the kind of that file; determined at each start",
     .type = CONFIG_ENUM,
     FIELD(train_func_kind),
     .choices = train_func_kinds},
    {.name = "args",
     .doc = "the training function's arguments",
     .type = CONFIG_STRINGS,
     FIELD(args),
     .offset2 = offsetof(struct train_config, n_args)},
    {.name = OWN_KEYS,
     .doc = "the training function's own settings",
     .type = CONFIG_JSON,
     FIELD(train_loop_config)},
    {.name = "scaling_config",
     .doc = "ScalingConfig",
     .type = CONFIG_GROUP,
     FIELD(scaling_config),
     .table = &scaling_config_table},
    {.name = "run_config",
     .doc = "RunConfig",
     .type = CONFIG_GROUP,
     FIELD(run_config),
     .table = &run_config_table},
    {.name = "backend",
     .doc = "how the workers communicate",
     .type = CONFIG_WORD,
     FIELD(backend),
     .choices = backends},
    {.name = "backend_config",
     .doc = "the backend's settings",
     .type = CONFIG_GROUP,
     FIELD(backend_config),
     .table = &backend_config_table},
    {.name = "datasets",
     .doc = "the datasets",
     .type = CONFIG_CUSTOM,
     .ops = &datasets_ops},
    {.name = "data_config",
     .doc = "DataConfig",
     .type = CONFIG_GROUP,
     FIELD(data_config),
     .table = &data_config_table},
    {.name = PREPROCESSORS_KEY,
     .doc = "how the rows of datasets are preprocessed",
     .type = CONFIG_CUSTOM,
     .ops = &preprocessor_ops},
    {.name = "predict",
     .doc = "where rows come from, and where predictions go",
     .type = CONFIG_GROUP,
     FIELD(predict),
     .table = &predict_config_table},
    {.name = "serve",
     .doc = "how raytrain-serve answers requests",
     .type = CONFIG_GROUP,
     FIELD(serve),
     .table = &serve_config_table},
    {.name = "seed",
     .doc = "the seed of random numbers and of shuffling",
     .type = CONFIG_U64,
     FIELD(seed)},
    {.name = "resume_from_checkpoint",
     .doc = "a checkpoint that a new run starts from",
     .type = CONFIG_STRING,
     FIELD(resume_from_checkpoint)},
    {.name = "label",
     .doc = "the column of the labels",
     .type = CONFIG_STRING,
     FIELD(gbdt.label)},
    {.name = "weight",
     .doc = "the column of the rows' weights",
     .type = CONFIG_STRING,
     FIELD(gbdt.weight)},
    {.name = "qid",
     .doc = "the column of the rows' queries",
     .type = CONFIG_STRING,
     FIELD(gbdt.qid)},
    {.name = "group",
     .doc = "the same as qid",
     .type = CONFIG_CUSTOM,
     .ops = &group_ops},
    {.name = "base_margin",
     .doc = "the column of the margins to start from",
     .type = CONFIG_STRING,
     FIELD(gbdt.base_margin)},
    {.name = "categorical_features",
     .doc = "columns whose numbers are categories",
     .type = CONFIG_STRINGS,
     FIELD(gbdt.categorical),
     .offset2 = offsetof(struct train_config, gbdt.n_categorical)},
    {.name = "exclude",
     .doc = "columns that are not features of trees",
     .type = CONFIG_STRINGS,
     FIELD(gbdt.exclude),
     .offset2 = offsetof(struct train_config, gbdt.n_exclude)},
    {.name = "params",
     .doc = "the parameters of XGBoost or LightGBM",
     .type = CONFIG_JSON,
     FIELD(gbdt.params)},
    {.name = "dmatrix_params",
     .doc = "the parameters of its matrices",
     .type = CONFIG_JSON,
     FIELD(gbdt.dmatrix_params)},
    {.name = "num_boost_round",
     .doc = "rounds of boosting, in all",
     .type = CONFIG_INT,
     FIELD(gbdt.num_boost_round),
     .min = 1,
     .max = INT_MAX},
    {.name = "early_stopping_rounds",
     .doc = "rounds without progress after which the training stops; 0: never",
     .type = CONFIG_INT,
     FIELD(gbdt.early_stopping_rounds),
     .min = 0,
     .max = INT_MAX},
    {.name = "early_stopping_metric",
     .doc = "the metric that decides this, DATASET-METRIC",
     .type = CONFIG_STRING,
     FIELD(gbdt.early_stopping_metric)},
};
const struct config_table train_config_table = CONFIG_TABLE(train_keys);

/* Without memory some members are NULL. Merging and validation check that. */
void train_config_init(struct train_config *cfg)
{
    memset(cfg, 0, sizeof *cfg);
    scaling_config_init(&cfg->scaling_config);
    run_config_init(&cfg->run_config);
    cfg->trainer = strdup("data_parallel");
    cfg->train_loop_config = json_object();
    gbdt_config_init(&cfg->gbdt);
}

bool train_config_is_whole(const struct train_config *cfg)
{
    return cfg->trainer && cfg->train_loop_config && cfg->gbdt.params &&
           cfg->gbdt.dmatrix_params && cfg->run_config.storage_path &&
           cfg->run_config.callbacks.list;
}

void train_config_clear(struct train_config *cfg)
{
    config_clear(&train_config_table, cfg);
    memset(cfg, 0, sizeof *cfg);
}

/* ---- rendering ---- */

int train_config_render(const struct train_config *cfg, char **text, struct error *err)
{
    char *rendered = NULL;
    size_t n;
    FILE *out;
    bool bad;

    if (!train_config_is_whole(cfg) || !(out = open_memstream(&rendered, &n)))
        return error_no_memory(err);
    config_render(&train_config_table, cfg, out, 0);
    bad = ferror(out) != 0;
    if (fclose(out) || bad) {
        free(rendered);
        return error_no_memory(err);
    }
    *text = rendered;
    return 0;
}
