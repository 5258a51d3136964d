/* serve_choice.c - settle the configuration of one of several models, find its
 * checkpoint and its name, and look for newer checkpoints. How a directory of models is
 * read is in serve/life/models_dir.c. */
#include "serve_choice.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "checkpoint/checkpoint.h"
#include "event/outlet.h"
#include "prediction.h"
#include "run/checkpoint_manager.h"
#include "util/quote.h"

int text_set(char **text, const char *value, struct error *err)
{
    char *copy = strdup(value);

    if (!copy)
        return error_no_memory(err);
    free(*text);
    *text = copy;
    return 0;
}

/* ---- A configuration ---- */

/* The function, and its arguments. */
struct func {
    char *path, **args;
    size_t n_args;
    enum train_func_kind kind;
};

static struct func func_take(struct train_config *cfg)
{
    const struct func func = {cfg->train_func, cfg->args, cfg->n_args,
                              cfg->train_func_kind};

    cfg->train_func = NULL;
    cfg->args = NULL;
    cfg->n_args = 0;
    cfg->train_func_kind = TRAIN_FUNC_SHARED_OBJECT;
    return func;
}

static void func_clear(struct func *func)
{
    for (size_t i = 0; i < func->n_args; i++)
        free(func->args[i]);
    free(func->args);
    free(func->path);
}

/* Without one in the file, the typed function remains. */
static void func_settle(struct train_config *cfg, struct func *typed)
{
    struct func read;

    if (cfg->train_func) {
        func_clear(typed);
        return;
    }
    read = func_take(cfg);
    func_clear(&read);
    cfg->train_func = typed->path;
    cfg->args = typed->args;
    cfg->n_args = typed->n_args;
    cfg->train_func_kind = typed->kind;
}

/* The space for workers is planned for models of equal size. */
static bool same_workers(const struct scaling_config *a, const struct scaling_config *b)
{
    return a->num_workers == b->num_workers && a->max_workers == b->max_workers &&
           a->use_gpu == b->use_gpu && a->cpus_per_worker == b->cpus_per_worker &&
           a->gpus_per_worker == b->gpus_per_worker && a->gpu_parts == b->gpu_parts &&
           a->memory_per_worker == b->memory_per_worker &&
           (a->accelerator_type && b->accelerator_type
                ? strcmp(a->accelerator_type, b->accelerator_type) == 0
                : a->accelerator_type == b->accelerator_type);
}

int choice_configure(struct train_config *cfg, const char *path, struct error *err)
{
    struct func typed = func_take(cfg);
    int rc = train_config_merge_found(cfg, path, err);

    func_settle(cfg, &typed);
    return rc;
}

int choice_compare(const struct choice *c, const struct train_config *typed,
                   struct error *err)
{
    const char *key = serve_config_conflict(&c->cfg.serve, &typed->serve);

    if (key)
        return error_set(err, RAYTRAIN_EINVAL,
                         "serve.%s is one for all models, and cannot be in the "
                         "configuration of this one; set it on the command line",
                         key);
    if (!same_workers(&c->cfg.scaling_config, &typed->scaling_config))
        return error_set(err, RAYTRAIN_EINVAL,
                         "scaling_config is one for all models, and cannot be in the "
                         "configuration of this one; use --workers and the like");
    return 0;
}

/* ---- Its checkpoint ---- */

bool choice_is_run(const struct choice *c)
{
    struct stat st;

    return stat(c->opt.checkpoint, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Workers report the iteration in the file, and are expected to report that of its
 * name. A file that cannot be opened is left to the workers to refuse. */
static int iteration_check(const char *checkpoint, struct error *err)
{
    int64_t named = checkpoint_manager_iteration(checkpoint), found;
    char quoted[QUOTE_TEXT_MAX];
    raytrain_checkpoint *ck;

    if (checkpoint_open_layout(checkpoint, &ck, NULL) < 0)
        return 0;
    found = checkpoint_meta(ck)->training_iteration;
    checkpoint_destroy(ck);
    if (found == named)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s is left out: it is from iteration %" PRId64
                     "; rename it to checkpoint_%06" PRId64 ".h5",
                     quote(checkpoint, quoted), found, found);
}

int choice_newer(struct choice *c, char **checkpoint, struct error *err)
{
    int64_t newest = checkpoint_manager_newest(c->opt.checkpoint);

    if (newest < 0 || newest == c->newest)
        return error_set(err, RAYTRAIN_ENOTFOUND, "there is no newer checkpoint");
    if (prediction_checkpoint(&c->opt, checkpoint, err) < 0)
        return -1;
    c->newest = newest;
    if (iteration_check(*checkpoint, err) == 0)
        return 0;
    if (!c->opt.quiet)
        outlet_print(outlet_messages(), "raytrain-serve: %s\n", err->text);
    free(*checkpoint);
    *checkpoint = NULL;
    return -1;
}

/* ---- Its name ---- */

/* The name of the run's directory or of the checkpoint's file, without characters that
 * a path of a request cannot have. */
static char *model_name(const char *path)
{
    size_t n = strlen(path);
    char *name;

    while (n > 1 && path[n - 1] == '/')
        n--;
    name = strndup(path, n);
    if (name && strrchr(name, '/'))
        memmove(name, strrchr(name, '/') + 1, strlen(strrchr(name, '/')));
    if (name && strlen(name) > 3 && strcmp(name + strlen(name) - 3, ".h5") == 0)
        name[strlen(name) - 3] = '\0';
    for (char *c = name; c && *c; c++)
        if (!isalnum((unsigned char)*c) && (c == name || !strchr("_.-@", *c)))
            *c = '_';
    if (name && isdigit((unsigned char)*name))
        *name = '_';
    return name;
}

static int name_settle(struct choice *c, struct error *err)
{
    if (c->name)
        return 0;
    c->name =
        c->cfg.serve.name ? strdup(c->cfg.serve.name) : model_name(c->opt.checkpoint);
    return c->name ? 0 : error_no_memory(err);
}

/* ---- Life ---- */

int choice_settle(struct choice *c, struct error *err)
{
    if (prediction_checkpoint(&c->opt, &c->checkpoint, err) < 0 ||
        text_set(&c->cfg.resume_from_checkpoint, c->checkpoint, err) < 0 ||
        text_set(&c->cfg.predict.service, "/", err) < 0 ||
        prediction_function(&c->cfg, err) < 0)
        return -1;
    if (prediction_reduce(&c->cfg, err) < 0 ||
        train_config_validate(&c->cfg, err) < 0 ||
        train_config_check_start(&c->cfg, err) < 0)
        return -1;
    serve_config_complete(&c->cfg.serve);
    c->newest = checkpoint_manager_iteration(c->checkpoint);
    return name_settle(c, err);
}

void choice_clear(struct choice *c)
{
    options_clear(&c->opt);
    train_config_clear(&c->cfg);
    free(c->name);
    free(c->checkpoint);
    *c = (struct choice){.name = NULL};
}
