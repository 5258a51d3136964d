/*
 * scaling_config.c - the keys of ScalingConfig, with ranges of workers and fractions of
 * GPUs.
 */
#include "config/scaling_config.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_key.h"

#define WORKERS_MAX 1000000
#define UNITS_MAX   1000000 /* CPUs or GPUs for one worker */

/* "4" or "2:8". */
static bool workers_read(const char *text, int *least, int *most)
{
    long value[2] = {0, 0};
    int part = 0;

    for (const char *p = text; *p; p++) {
        if (*p == ':' && part == 0 && p > text) {
            part = 1;
        } else if (*p >= '0' && *p <= '9') {
            value[part] = value[part] * 10 + (*p - '0');
            if (value[part] > WORKERS_MAX)
                return false;
        } else {
            return false;
        }
    }
    *least = (int)value[0];
    *most = (int)value[part];
    return *least >= 1 && *most >= *least;
}

static int workers_set(void *object, const struct config_node *node,
                       const struct config_where *where)
{
    struct scaling_config *cfg = object;

    if (node->type == NODE_INT && node->integer >= 1 && node->integer <= WORKERS_MAX) {
        cfg->num_workers = cfg->max_workers = (int)node->integer;
        return 0;
    }
    if (node->type == NODE_STRING &&
        workers_read(node->string, &cfg->num_workers, &cfg->max_workers))
        return 0;
    return config_expected(where, node,
                           "an integer from 1 to 1000000, or a range \"MIN:MAX\"",
                           "how many workers");
}

static void workers_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct scaling_config *cfg = object;

    config_render_name(out, depth, name);
    if (cfg->max_workers == cfg->num_workers)
        fprintf(out, "%d;\n", cfg->num_workers);
    else
        fprintf(out, "\"%d:%d\";\n", cfg->num_workers, cfg->max_workers);
}

static const struct config_ops workers_ops = {
    .set = workers_set,
    .render = workers_render,
};

/* ---- GPUs ----
 * Ray's rules: a fraction below 1, of which a GPU has as many workers as fit, or a whole
 * number. */

/* The fraction of a GPU in GPU_PARTS; 0: a worker cannot have this fraction. Digits
 * after the fourth are cut off, so that 0.33333 is a third. */
static int parts_of(double gpus)
{
    return gpus > 0 && gpus < 1 ? (int)(gpus * GPU_PARTS + 1e-6) : 0;
}

/* A number that is not an integer, from a file or from a flag. */
static bool real_get(const struct config_node *node, double *real)
{
    char *end;

    *real = -1;
    if (node->type == NODE_REAL)
        *real = node->real;
    else if (node->type == NODE_STRING && node->raw &&
             node->raw[strspn(node->raw, "0123456789.")] == '\0') {
        *real = strtod(node->raw, &end);
        *real = *end || end == node->raw ? -1 : *real;
    }
    return *real >= 0 && *real <= UNITS_MAX;
}

static int gpu_set(void *object, const struct config_node *node,
                   const struct config_where *where)
{
    struct scaling_config *cfg = object;
    int64_t whole = -1;
    double real = -1;

    if (node->type == NODE_INT)
        whole = node->integer;
    else if (real_get(node, &real) && real == (double)(int64_t)real)
        whole = (int64_t)real;
    if (whole >= 0 && whole <= UNITS_MAX) {
        cfg->gpus_per_worker = (int)whole;
        cfg->gpu_parts = 0;
        return 0;
    }
    if (parts_of(real) > 0) {
        cfg->gpus_per_worker = 1;
        cfg->gpu_parts = parts_of(real);
        return 0;
    }
    return config_expected(where, node,
                           "a whole number from 0 to 1000000, or a fraction of a GPU "
                           "from 0.0001 on, such as 0.5",
                           "GPUs of each worker");
}

static void gpu_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct scaling_config *cfg = object;

    if (cfg->gpus_per_worker < 0)
        return;
    config_render_name(out, depth, name);
    if (cfg->gpu_parts > 0)
        config_render_real(out, (double)cfg->gpu_parts / GPU_PARTS);
    else
        config_render_integer(out, cfg->gpus_per_worker);
    fputs(";\n", out);
}

static const struct config_ops gpu_ops = {.set = gpu_set, .render = gpu_render};

static const struct config_choice placement_strategies[] = {
    [PLACEMENT_PACK] = {"PACK", NULL},
    [PLACEMENT_SPREAD] = {"SPREAD", NULL},
    [PLACEMENT_STRICT_PACK] = {"STRICT_PACK", NULL},
    [PLACEMENT_STRICT_SPREAD] = {"STRICT_SPREAD", NULL},
    {NULL, NULL},
};

#define FIELD(member) .offset = offsetof(struct scaling_config, member)

static const struct config_key resource_keys[] = {
    {.name = "cpu",
     .doc = "CPUs of each worker",
     .type = CONFIG_INT,
     FIELD(cpus_per_worker),
     .min = 1,
     .max = UNITS_MAX},
    {.name = "gpu",
     .doc = "GPUs of each worker",
     .type = CONFIG_CUSTOM,
     .ops = &gpu_ops},
    {.name = "memory",
     .doc = "memory of each worker, 0: not limited",
     .type = CONFIG_SIZE,
     FIELD(memory_per_worker)},
};
/* Its members are in scaling_config itself. */
static const struct config_table resources_table = CONFIG_TABLE(resource_keys);

static const struct config_key scaling_keys[] = {
    {.name = "num_workers",
     .doc = "how many workers",
     .type = CONFIG_CUSTOM,
     .ops = &workers_ops},
    {.name = "use_gpu",
     .doc = "whether workers get GPUs",
     .type = CONFIG_BOOL,
     FIELD(use_gpu)},
    {.name = "resources_per_worker",
     .doc = "what each worker gets",
     .type = CONFIG_GROUP,
     .table = &resources_table},
    {.name = "placement_strategy",
     .doc = "how workers are distributed over nodes",
     .type = CONFIG_ENUM,
     FIELD(placement_strategy),
     .choices = placement_strategies},
    {.name = "spare_nodes",
     .doc = "nodes that are left free at first, for when one is lost",
     .type = CONFIG_INT,
     FIELD(spare_nodes),
     .min = 0,
     .max = WORKERS_MAX},
    {.name = "elastic_resize_monitor_interval_s",
     .doc =
         "how often a group that is smaller than its maximum tries to grow, 0: never",
     .type = CONFIG_INT,
     FIELD(elastic_resize_monitor_interval_s),
     .min = 0,
     .max = INT_MAX},
    {.name = "accelerator_type",
     .doc = "the type of GPU",
     .type = CONFIG_STRING,
     FIELD(accelerator_type)},
};
const struct config_table scaling_config_table = CONFIG_TABLE(scaling_keys);

void scaling_config_init(struct scaling_config *cfg)
{
    memset(cfg, 0, sizeof *cfg);
    cfg->num_workers = cfg->max_workers = 1;
    cfg->cpus_per_worker = 1;
    cfg->gpus_per_worker = -1;
    cfg->placement_strategy = PLACEMENT_PACK;
    cfg->elastic_resize_monitor_interval_s = 60;
}

bool scaling_config_is_elastic(const struct scaling_config *cfg)
{
    return cfg->max_workers > cfg->num_workers;
}

int scaling_config_workers_per_gpu(const struct scaling_config *cfg)
{
    return cfg->gpu_parts > 0 ? GPU_PARTS / cfg->gpu_parts : 1;
}

const char *scaling_config_gpu_text(const struct scaling_config *cfg,
                                    char text[GPU_TEXT_MAX])
{
    int n = cfg->gpus_per_worker;

    if (cfg->gpu_parts > 0)
        snprintf(text, GPU_TEXT_MAX, "%g of a GPU", (double)cfg->gpu_parts / GPU_PARTS);
    else
        snprintf(text, GPU_TEXT_MAX, "%d GPU%s", n, n == 1 ? "" : "s");
    return text;
}

int scaling_config_validate(struct scaling_config *cfg, struct error *err)
{
    char text[GPU_TEXT_MAX];

    if (!cfg->use_gpu && cfg->gpus_per_worker > 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "scaling_config: each worker is to get %s, but use_gpu is "
                         "false; add --gpu (use_gpu = true)",
                         scaling_config_gpu_text(cfg, text));
    if (cfg->use_gpu && cfg->gpus_per_worker == 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "scaling_config: use_gpu is true but each worker gets 0 GPUs; "
                         "leave out resources_per_worker.gpu for one GPU per worker");
    if (cfg->gpus_per_worker < 0)
        cfg->gpus_per_worker = cfg->use_gpu ? 1 : 0;
    return 0;
}
