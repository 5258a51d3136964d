/*
 * run_config.c - the keys of RunConfig, and the checks of its values.
 * checkpoint_config.c, failure_config.c, sync_config.c and callback_config.c have those
 * of its members.
 */
#include "config/run_config.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_file.h"
#include "config/config_key.h"
#include "util/api_names.h"
#include "util/quote.h"
#include "util/rank_choice.h"

#define NAME_MAX_BYTES            200
#define DEFAULT_STORAGE           "raytrain_results"
#define DEFAULT_SHOW              "rank0"
#define DEFAULT_STOP_BEFORE_END_S 60
#define DEFAULT_EXIT_GRACE_S      10

/* ---- stop: { METRIC = VALUE; } or ( { metric = "..."; value = ...; } ) ---- */
/* The second form is for names that are not valid keys of libconfig ("val/loss"). */

static int stop_put(struct run_config *cfg, const char *metric,
                    const struct config_node *value, const struct config_where *where)
{
    struct stop_criterion *stop = NULL;
    double number = value->type == NODE_INT ? (double)value->integer : value->real;
    char *copy;

    if (!metric_name_is_valid(metric))
        return config_fail(
            where, value, RAYTRAIN_EINVAL,
            "this is not the name of a metric (letters, digits, and _ . / @ -)");
    if (value->type != NODE_INT && value->type != NODE_REAL)
        return config_expected(where, value, "a number",
                               "the run stops when the metric reaches it");
    for (size_t i = 0; i < cfg->n_stop && !stop; i++)
        if (!strcmp(cfg->stop[i].metric, metric))
            stop = &cfg->stop[i];
    if (!stop) {
        stop = reallocarray(cfg->stop, cfg->n_stop + 1, sizeof *stop);
        if (!stop)
            return config_fail_memory(where);
        cfg->stop = stop;
        if (!(copy = strdup(metric)))
            return config_fail_memory(where);
        stop = &cfg->stop[cfg->n_stop++];
        stop->metric = copy;
    }
    stop->value = number;
    return 0;
}

static int stop_set_item(struct run_config *cfg, const struct config_node *item,
                         const struct config_where *where)
{
    const struct config_node *metric = NULL, *value = NULL;

    for (size_t i = 0; item->type == NODE_GROUP && i < item->n_items; i++) {
        if (!strcmp(item->items[i].name, "metric"))
            metric = &item->items[i];
        if (!strcmp(item->items[i].name, "value"))
            value = &item->items[i];
    }
    if (!metric || !value || item->n_items != 2 || metric->type != NODE_STRING)
        return config_expected(where, item, "{ metric = \"NAME\"; value = NUMBER; }",
                               NULL);
    return stop_put(cfg, metric->string, value, where);
}

static int stop_set(void *object, const struct config_node *node,
                    const struct config_where *where)
{
    if (node->type != NODE_GROUP && node->type != NODE_ARRAY)
        return config_expected(where, node, "a group, { metric = value; }",
                               "when the run is to stop");
    for (size_t i = 0; i < node->n_items; i++) {
        const struct config_node *item = &node->items[i];
        struct config_where here = config_where_below(where, item->name);

        if (node->type == NODE_ARRAY ? stop_set_item(object, item, where)
                                     : stop_put(object, item->name, item, &here))
            return -1;
    }
    return 0;
}

static void stop_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct run_config *cfg = object;
    bool names = true;

    for (size_t i = 0; i < cfg->n_stop; i++)
        names = names && config_file_is_name(cfg->stop[i].metric);
    config_render_name(out, depth, name);
    fputs(names ? "{" : "(", out);
    for (size_t i = 0; i < cfg->n_stop; i++) {
        if (names) {
            fprintf(out, " %s = ", cfg->stop[i].metric);
        } else {
            fputs(i ? ", { metric = " : " { metric = ", out);
            config_render_string(out, cfg->stop[i].metric);
            fputs("; value = ", out);
        }
        config_render_real(out, cfg->stop[i].value);
        fputs(names ? ";" : "; }", out);
    }
    fputs(names ? " };\n" : " );\n", out);
}

void run_config_stop_clear(struct run_config *cfg)
{
    for (size_t i = 0; i < cfg->n_stop; i++)
        free(cfg->stop[i].metric);
    free(cfg->stop);
    cfg->stop = NULL;
    cfg->n_stop = 0;
}

static void stop_clear(void *object)
{
    run_config_stop_clear(object);
}

static const struct config_ops stop_ops = {
    .set = stop_set,
    .render = stop_render,
    .clear = stop_clear,
};

/* ---- the keys ---- */

static int callbacks_set(void *object, const struct config_node *node,
                         const struct config_where *where)
{
    struct run_config *cfg = object;

    return callbacks_config_set(&cfg->callbacks, node, where);
}

static void callbacks_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct run_config *cfg = object;

    callbacks_config_render(&cfg->callbacks, name, out, depth);
}

static void callbacks_clear(void *object)
{
    struct run_config *cfg = object;

    callbacks_config_clear(&cfg->callbacks);
}

static const struct config_ops callbacks_ops = {
    .set = callbacks_set,
    .render = callbacks_render,
    .clear = callbacks_clear,
};

#define FIELD(member) .offset = offsetof(struct run_config, member)

static const struct config_choice collectives[] = {
    [COLLECTIVES_NCCL] = {"nccl", NULL},
    [COLLECTIVES_HOST] = {"host", NULL},
    [COLLECTIVES_AUTO] = {"auto", NULL},
    [COLLECTIVES_AUTO + 1] = {NULL, NULL},
};

static const struct config_key run_keys[] = {
    {.name = "name",
     .doc = "the run's name, and its directory's",
     .type = CONFIG_STRING,
     FIELD(name)},
    {.name = "storage_path",
     .doc = "the directory that holds the runs",
     .type = CONFIG_STRING,
     FIELD(storage_path)},
    {.name = "stop",
     .doc = "when the run is to stop",
     .type = CONFIG_CUSTOM,
     .ops = &stop_ops},
    {.name = "stop_before_end_s",
     .doc = "seconds before the allocation ends, 0: off",
     .type = CONFIG_INT,
     FIELD(stop_before_end_s),
     .min = 0,
     .max = INT_MAX},
    {.name = "grace_s",
     .doc = "seconds that a stop may take, 0: not bounded",
     .type = CONFIG_INT,
     FIELD(grace_s),
     .min = 0,
     .max = INT_MAX},
    {.name = "exit_grace_s",
     .doc = "seconds that a script has after an exception",
     .type = CONFIG_INT,
     FIELD(exit_grace_s),
     .min = 1,
     .max = INT_MAX},
    {.name = "requeue_on_stop",
     .doc = "a job that is stopped goes back to the queue",
     .type = CONFIG_BOOL,
     FIELD(requeue_on_stop)},
    {.name = "allow_code",
     .doc = "load code that only a checkpoint names",
     .type = CONFIG_BOOL,
     FIELD(allow_code)},
    {.name = "device_collectives",
     .doc = "how tensors on GPUs travel between workers",
     .type = CONFIG_ENUM,
     FIELD(device_collectives),
     .choices = collectives},
    {.name = "show",
     .doc = "whose output is printed: none, rank0, all, or ranks",
     .type = CONFIG_STRING,
     FIELD(show)},
    {.name = "failure_config",
     .doc = "FailureConfig",
     .type = CONFIG_GROUP,
     FIELD(failure_config),
     .table = &failure_config_table},
    {.name = "checkpoint_config",
     .doc = "CheckpointConfig",
     .type = CONFIG_GROUP,
     FIELD(checkpoint_config),
     .table = &checkpoint_config_table},
    {.name = "sync_config",
     .doc = "SyncConfig",
     .type = CONFIG_GROUP,
     FIELD(sync_config),
     .table = &sync_config_table},
    {.name = "callbacks",
     .doc = "what reports are passed to",
     .type = CONFIG_CUSTOM,
     .ops = &callbacks_ops},
};
const struct config_table run_config_table = CONFIG_TABLE(run_keys);

void run_config_init(struct run_config *cfg)
{
    memset(cfg, 0, sizeof *cfg);
    failure_config_init(&cfg->failure_config);
    checkpoint_config_init(&cfg->checkpoint_config);
    sync_config_init(&cfg->sync_config);
    cfg->stop_before_end_s = DEFAULT_STOP_BEFORE_END_S;
    cfg->exit_grace_s = DEFAULT_EXIT_GRACE_S;
    cfg->storage_path = strdup(DEFAULT_STORAGE);
    cfg->show = strdup(DEFAULT_SHOW);
    callbacks_config_init(&cfg->callbacks);
}

/* ---- validation ---- */

static int run_name_check(const char *name, struct error *err)
{
    const char *wrong = NULL;
    char quoted[QUOTE_TEXT_MAX];

    if (!*name || strlen(name) > NAME_MAX_BYTES)
        wrong = "its length is not 1 to 200 bytes";
    else if (!strcmp(name, ".") || !strcmp(name, ".."))
        wrong = "this is a directory";
    for (const char *p = name; *p && !wrong; p++) {
        if (*p == '/')
            wrong = "it holds a '/'; give the directory with --storage";
        else if ((unsigned char)*p < 0x20 || *p == 0x7f)
            wrong = "it holds a control character";
    }
    if (!wrong)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "run_config.name: %s cannot be the name of a run: %s; choose one "
                     "with --name",
                     quote(name, quoted), wrong);
}

/* "s3://bucket": there is no such directory, and it must not be created. */
static int storage_check(const char *path, struct error *err)
{
    size_t scheme = strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    char quoted[QUOTE_TEXT_MAX];

    if (scheme == 0 || strncmp(path + scheme, "://", 3) != 0)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "run_config.storage_path: %s is a URL, and runs are stored in a "
                     "directory; name a directory that all nodes see with --storage, "
                     "such as one where that storage is mounted",
                     quote(path, quoted));
}

static int show_check(const struct run_config *cfg, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (cfg->show && rank_choice_is_valid(cfg->show))
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "run_config.show: expected " RANK_CHOICE_FORM ", found %s",
                     quote(cfg->show ? cfg->show : "", quoted));
}

char *run_config_default_name(const char *train_func)
{
    static const char *const endings[] = {".so", ".py", ".sh", ".R", ".jl", ".pl"};
    const char *base = strrchr(train_func, '/');
    size_t n;

    base = base ? base + 1 : train_func;
    n = strlen(base);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);

        if (n > ending && !strcmp(base + n - ending, endings[i]))
            return strndup(base, n - ending);
    }
    return strndup(base, n);
}

int run_config_validate(struct run_config *cfg, const char *train_func,
                        struct error *err)
{
    if (!cfg->name && !(cfg->name = run_config_default_name(train_func)))
        return error_no_memory(err);
    if (run_name_check(cfg->name, err) || storage_check(cfg->storage_path, err) ||
        show_check(cfg, err))
        return -1;
    if (cfg->sync_config.staging_path && !*cfg->sync_config.staging_path) {
        free(cfg->sync_config.staging_path); /* as if it were not set */
        cfg->sync_config.staging_path = NULL;
    }
    if (cfg->sync_config.staging_path &&
        path_make_absolute(&cfg->sync_config.staging_path, err))
        return -1;
    return path_make_absolute(&cfg->storage_path, err);
}
