/*
 * train_config.c - the root table of keys, how files and flags are merged into a
 * configuration, and the checks that involve several of its parts. Each part has a file
 * of its own.
 */
#include "config/train_config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_file.h"
#include "config/config_key.h"
#include "config/python_script.h"
#include "config/registry.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

#define FIELD(member) .offset = offsetof(struct train_config, member)
#define OWN_KEYS      "train_loop_config"

static const struct config_choice trainers[] = {
    {"data_parallel", NULL},
    BOOSTERS(REGISTRY_CHOICE){NULL, NULL},
};

static const struct config_choice backends[] = {
    BACKENDS(REGISTRY_CHOICE){NULL, NULL},
};

static const struct config_choice kinds[] = {
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
     .choices = trainers},
    {.name = "train_func",
     .doc = "the training function's file",
     .type = CONFIG_STRING,
     FIELD(train_func)},
    {.name = "train_func_kind",
     .doc = "what that file is; found out at every start",
     .type = CONFIG_ENUM,
     FIELD(train_func_kind),
     .choices = kinds},
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
     .doc = "what there is to read",
     .type = CONFIG_CUSTOM,
     .ops = &datasets_ops},
    {.name = "data_config",
     .doc = "DataConfig",
     .type = CONFIG_GROUP,
     FIELD(data_config),
     .table = &data_config_table},
    {.name = PREPROCESSORS_KEY,
     .doc = "what is done to the rows of datasets",
     .type = CONFIG_CUSTOM,
     .ops = &preprocessor_ops},
    {.name = "predict",
     .doc = "what becomes of rows",
     .type = CONFIG_GROUP,
     FIELD(predict),
     .table = &predict_config_table},
    {.name = "serve",
     .doc = "how raytrain-serve answers requests",
     .type = CONFIG_GROUP,
     FIELD(serve),
     .table = &serve_config_table},
    {.name = "seed",
     .doc = "of random numbers and of shuffling",
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
     .doc = "columns that are no features of trees",
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
     .doc = "the metric that it looks at, DATASET-METRIC",
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

static bool is_whole(const struct train_config *cfg)
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

/* ---- merging ---- */

static int tree_merge(struct train_config *cfg, const struct config_node *root,
                      const char *source, struct error *err)
{
    struct config_where where = {
        .source = source, .err = err, .all_keys = &train_config_table, .own = OWN_KEYS};

    if (!is_whole(cfg))
        return config_fail_memory(&where);
    if (config_apply(&train_config_table, cfg, root, &where))
        return -1;
    data_config_settle(&cfg->data_config, cfg->datasets, cfg->n_datasets);
    return 0;
}

int train_config_merge_text(struct train_config *cfg, const char *text,
                            const char *source, struct error *err)
{
    struct config_node root;
    int rc;

    if (config_file_parse(text, source, &root, err))
        return -1;
    rc = tree_merge(cfg, &root, source, err);
    config_node_clear(&root);
    return rc;
}

static int bytes_merge(struct train_config *cfg, const char *text, size_t n,
                       const char *path, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (strlen(text) == n)
        return train_config_merge_text(cfg, text, path, err);
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s is not a configuration file: it contains bytes of value 0",
                     quote(path, quoted));
}

int train_config_merge_found(struct train_config *cfg, const char *path,
                             struct error *err)
{
    struct error why;
    char *text;
    size_t n;
    int rc;

    if (record_read_owned(path, &text, &n, &why) < 0)
        return error_set(err, why.code, "%s%s", why.text,
                         why.code == RAYTRAIN_EINVAL
                             ? "\n  to use it, put a copy of your own in its place"
                             : "");
    rc = bytes_merge(cfg, text, n, path, err);
    free(text);
    return rc;
}

int train_config_merge_file(struct train_config *cfg, const char *path,
                            struct error *err)
{
    char *text;
    size_t n;
    int rc;

    if (fs_read(path, &text, &n, err))
        return -1;
    rc = bytes_merge(cfg, text, n, path, err);
    free(text);
    return rc;
}

static int fail_key(const char *key, const struct config_where *where)
{
    char quoted[QUOTE_TEXT_MAX];

    return config_fail(where, NULL, RAYTRAIN_EINVAL,
                       "%s is not a key; keys look like run_config.name",
                       quote(key, quoted));
}

/* Below run_config.stop, the rest of a key is a single name, since names of metrics may
 * contain dots. */
static bool key_is_metric(const char *key, const char *left)
{
    static const char stop[] = "run_config.stop.";

    return !strncmp(key, stop, sizeof stop - 1) &&
           left - key >= (ptrdiff_t)sizeof stop - 1;
}

/* Make the groups of a dotted key, each in the one before. *value is the innermost,
 * still to be filled. On failure there is nothing to clear. */
static int key_nodes(const char *key, struct config_node *root,
                     struct config_node **value, const struct config_where *where)
{
    const char *left = key;
    int rc = 0;

    memset(root, 0, sizeof *root);
    *value = root;
    for (int depth = 0; !rc; depth++) {
        bool metric = key_is_metric(key, left);
        size_t n = metric ? strlen(left) : strcspn(left, ".");
        char *part = strndup(left, n);

        if (!part || !(*value = config_node_add(*value, part)))
            rc = config_fail_memory(where);
        else if ((!metric && !config_file_is_name(part)) || depth == CONFIG_DEPTH_MAX)
            rc = fail_key(key, where);
        free(part);
        if (rc || !left[n])
            break;
        left += n + 1;
    }
    if (rc)
        config_node_clear(root);
    return rc;
}

/* Blanks around the key and before the value are ignored. */
static int assignment_split(const char *assignment, char **key, const char **value,
                            const struct config_where *where)
{
    const char *equals = strchr(assignment, '=');
    char quoted[QUOTE_TEXT_MAX];
    size_t n;

    if (!equals)
        return config_fail(where, NULL, RAYTRAIN_EINVAL,
                           "%s has no '='; write --set KEY=VALUE",
                           quote(assignment, quoted));
    *value = equals + 1 + strspn(equals + 1, " \t");
    assignment += strspn(assignment, " \t");
    for (n = (size_t)(equals - assignment); n && strchr(" \t", assignment[n - 1]);)
        n--;
    *key = strndup(assignment, n);
    return *key ? 0 : config_fail_memory(where);
}

int train_config_set(struct train_config *cfg, const char *assignment,
                     struct error *err)
{
    struct config_where where = {.source = "--set", .err = err};
    struct config_node root, *node;
    const char *value = NULL;
    char *key;
    int rc;

    if (assignment_split(assignment, &key, &value, &where))
        return -1;
    rc = key_nodes(key, &root, &node, &where);
    free(key);
    if (rc)
        return -1;
    rc = config_file_parse_value(value, node, &where);
    if (!rc)
        rc = tree_merge(cfg, &root, where.source, err);
    config_node_clear(&root);
    return rc;
}

static bool is_integer(const char *text)
{
    const char *digits = text + (*text == '-');

    errno = 0;
    (void)strtoll(text, NULL, 10);
    return *digits && strspn(digits, "0123456789") == strlen(digits) && errno == 0;
}

int train_config_set_text(struct train_config *cfg, const char *key, const char *text,
                          const char *source, struct error *err)
{
    struct config_where where = {.source = source, .err = err};
    struct config_node root, *value;
    int rc;

    if (key_nodes(key, &root, &value, &where))
        return -1;
    value->type = is_integer(text) ? NODE_INT : NODE_STRING;
    value->integer = strtoll(text, NULL, 10);
    value->string = strdup(text);
    value->raw = strdup(text);
    rc = value->string && value->raw ? tree_merge(cfg, &root, source, err)
                                     : config_fail_memory(&where);
    config_node_clear(&root);
    return rc;
}

int train_config_set_bool(struct train_config *cfg, const char *key, bool value,
                          const char *source, struct error *err)
{
    struct config_where where = {.source = source, .err = err};
    struct config_node root, *node;
    int rc;

    if (key_nodes(key, &root, &node, &where))
        return -1;
    node->type = NODE_BOOL;
    node->boolean = value;
    rc = tree_merge(cfg, &root, source, err);
    config_node_clear(&root);
    return rc;
}

/* ---- validation ---- */

static int fail_starts_workers(const char *path, const char *trainer, struct error *err)
{
    char shown[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_EINVAL,
                     "train_func: %s starts its workers itself, by fit() of %s; run it "
                     "without raytrain-run: python3 %s",
                     quote(path, shown), trainer, path);
}

/* The command "python3 SCRIPT ARG..." */
static int script_command(struct train_config *cfg, struct error *err)
{
    char **args, *python;

    if (path_make_absolute(&cfg->train_func, err) < 0)
        return -1;
    args = calloc(cfg->n_args + 2, sizeof *args);
    python = strdup("python3");
    if (!args || !python) {
        free(args);
        free(python);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    args[0] = cfg->train_func;
    for (size_t i = 0; i < cfg->n_args; i++)
        args[i + 1] = cfg->args[i];
    free(cfg->args);
    cfg->args = args;
    cfg->n_args++;
    cfg->train_func = python;
    cfg->train_func_kind = TRAIN_FUNC_COMMAND;
    cfg->is_script = true;
    return 0;
}

/* If a Python script is named in place of a training function in C, run it by python3,
 * with the backend of the framework that it imports. */
static int script_take(struct train_config *cfg, struct error *err)
{
    struct python_script script;

    if (cfg->train_func_kind == TRAIN_FUNC_COMMAND ||
        !python_script_is(cfg->train_func) ||
        !python_script_read(cfg->train_func, &script))
        return 0;
    if (script.trainer)
        return fail_starts_workers(cfg->train_func, script.trainer, err);
    if (script.backend && !cfg->backend && !(cfg->backend = strdup(script.backend)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    return script_command(cfg, err);
}

static int train_func_validate(struct train_config *cfg, struct error *err)
{
    if (gbdt_config_is_trainer(cfg->trainer)) {
        if (!cfg->train_func)
            return 0;
        return error_set(err, RAYTRAIN_EUSAGE,
                         "trainer: \"%s\" has a training loop of its own, and \"%s\" "
                         "is a training function; leave out one of them",
                         cfg->trainer, cfg->train_func);
    }
    if (!cfg->train_func)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "no training function: name a .so or a program on the command "
                         "line, or set train_func in the configuration");
    if (script_take(cfg, err) < 0)
        return -1;
    if (train_func_resolve(&cfg->train_func, &cfg->train_func_kind, err) == 0)
        return 0;
    return cfg->train_func_later && !strchr(cfg->train_func, '/') &&
                   err->code == RAYTRAIN_ENOTFOUND
               ? 0
               : -1;
}

/* Which backends are for a command, and which for a function of libraytrain. */
static const struct {
    const char *backend;
    bool of_command, of_function;
} uses[] = {
    {"mpi", true, true},         {"none", false, true},     {"torch", true, false},
    {"tensorflow", true, false}, {"jax", true, false},      {"horovod", true, false},
    {"xgboost", true, false},    {"lightgbm", true, false}, {"command", true, false},
};

static bool is_booster(const char *name)
{
    return !strcmp(name, "xgboost") || !strcmp(name, "lightgbm");
}

static int backend_use_check(const struct train_config *cfg, struct error *err)
{
    bool command = cfg->train_func_kind == TRAIN_FUNC_COMMAND;

    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        if (strcmp(uses[i].backend, cfg->backend) != 0)
            continue;
        if (command ? uses[i].of_command : uses[i].of_function)
            return 0;
        return error_set(
            err, RAYTRAIN_EINVAL,
            is_booster(cfg->backend)
                ? "backend: \"%s\" is for a command in Python: raytrain-run [OPTIONS] "
                  "-- python3 TRAIN.py; --trainer xgboost or lightgbm trains trees "
                  "without a training function"
            : command ? "backend: \"%s\" is not for a command, which has the backend "
                        "\"command\" by default"
                      : "backend: \"%s\" is for a command: raytrain-run [OPTIONS] -- "
                        "COMMAND [ARG...]; a training function in C has \"mpi\"",
            cfg->backend);
    }
    return 0;
}

/* After the training function, since the default depends on its kind. */
static int backend_validate(struct train_config *cfg, struct error *err)
{
    bool command = cfg->train_func_kind == TRAIN_FUNC_COMMAND;

    if (!cfg->backend)
        cfg->backend = strdup(command ? "command" : "mpi");
    if (!cfg->backend)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (backend_use_check(cfg, err) < 0 ||
        backend_config_validate(&cfg->backend_config, cfg->backend, err) < 0)
        return -1;
    if (!strcmp(cfg->backend, "none") && cfg->scaling_config.max_workers > 1)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "backend: \"none\" connects no workers, so there can be only 1, "
            "not %d; use \"mpi\"",
            cfg->scaling_config.max_workers);
    return 0;
}

/* Fitted preprocessors may also come from a checkpoint that the run starts from. */
static int preprocessor_validate(const struct train_config *cfg, struct error *err)
{
    const struct dataset_config *found;

    if (cfg->preprocessors.n == 0 || cfg->resume_from_checkpoint)
        return 0;
    return data_config_training_set(cfg->datasets, cfg->n_datasets, &found, err);
}

int train_config_check_start(const struct train_config *cfg, struct error *err)
{
    return cfg->resume_from_checkpoint
               ? path_check_file("resume_from_checkpoint", cfg->resume_from_checkpoint,
                                 err)
               : 0;
}

/* What a run is named after by default. */
static const char *subject(const struct train_config *cfg)
{
    if (!cfg->train_func)
        return cfg->trainer;
    if (cfg->train_func_kind != TRAIN_FUNC_COMMAND)
        return cfg->train_func;
    return train_func_subject(cfg->train_func, cfg->args, cfg->n_args);
}

char *train_config_default_name(const struct train_config *cfg)
{
    return run_config_default_name(subject(cfg));
}

/* The keys of trainers with their own loop. */
static int gbdt_validate(struct train_config *cfg, struct error *err)
{
    if (!gbdt_config_is_trainer(cfg->trainer))
        return json_object_size(cfg->gbdt.params) == 0
                   ? 0
                   : error_set(err, RAYTRAIN_EINVAL,
                               "params are for the trainers xgboost and lightgbm; add "
                               "--trainer xgboost, or trainer = \"xgboost\" in the "
                               "configuration file");
    if (predict_config_predicts(&cfg->predict))
        return 0;
    return gbdt_config_validate(&cfg->gbdt, cfg->datasets, cfg->n_datasets, err);
}

int train_config_validate(struct train_config *cfg, struct error *err)
{
    /* A prediction decides itself when to save. */
    bool builtin_loop =
        gbdt_config_is_trainer(cfg->trainer) && !predict_config_predicts(&cfg->predict);
    struct config_where where = {.source = "configuration", .err = err};

    if (!is_whole(cfg))
        return config_fail_memory(&where);
    if (config_check(&train_config_table, cfg, &where) ||
        scaling_config_validate(&cfg->scaling_config, err) ||
        train_func_validate(cfg, err) || backend_validate(cfg, err) ||
        run_config_validate(&cfg->run_config, subject(cfg), err) ||
        checkpoint_config_validate(&cfg->run_config.checkpoint_config, builtin_loop,
                                   err) ||
        data_config_validate(&cfg->data_config, cfg->datasets, cfg->n_datasets, err) ||
        preprocessor_validate(cfg, err) || gbdt_validate(cfg, err) ||
        predict_config_validate(&cfg->predict, err) ||
        serve_config_validate(&cfg->serve, err))
        return -1;
    return path_make_absolute(&cfg->resume_from_checkpoint, err);
}

/* ---- rendering ---- */

int train_config_render(const struct train_config *cfg, char **text, struct error *err)
{
    char *rendered = NULL;
    size_t n;
    FILE *out;
    bool bad;

    if (!is_whole(cfg) || !(out = open_memstream(&rendered, &n)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    config_render(&train_config_table, cfg, out, 0);
    bad = ferror(out) != 0;
    if (fclose(out) || bad) {
        free(rendered);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    *text = rendered;
    return 0;
}
