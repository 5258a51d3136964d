/*
 * predict_config.c - the keys of `predict`, and the checks of its values.
 * predict_inputs.c has the columns of a service.
 */
#include "config/predict_config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/config_key.h"
#include "config/registry.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/suggest.h"

static const struct config_choice outputs[] = {
    TREE_OUTPUTS(REGISTRY_CHOICE){NULL, NULL}};

/* ---- Its keys ---- */

static int inputs_set(void *object, const struct config_node *node,
                      const struct config_where *where)
{
    struct predict_config *cfg = object;

    return predict_inputs_set(&cfg->inputs, node, where);
}

static void inputs_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct predict_config *cfg = object;

    predict_inputs_render(&cfg->inputs, name, out, depth);
}

static void inputs_clear(void *object)
{
    struct predict_config *cfg = object;

    predict_inputs_clear(&cfg->inputs);
}

static const struct config_ops inputs_ops = {
    .set = inputs_set, .render = inputs_render, .clear = inputs_clear};

#define FIELD(member) .offset = offsetof(struct predict_config, member)

static const struct config_key predict_keys[] = {
    {.name = "output",
     .doc = "the file of the predictions: .h5, .csv or .npy",
     .type = CONFIG_STRING,
     FIELD(output)},
    {.name = "columns",
     .doc = "columns of the input that the output has, too",
     .type = CONFIG_STRINGS,
     FIELD(columns),
     .offset2 = offsetof(struct predict_config, n_columns),
     .min = 1},
    {.name = "outputs",
     .doc = "what a model of trees predicts for a row",
     .type = CONFIG_STRINGS,
     FIELD(outputs),
     .offset2 = offsetof(struct predict_config, n_outputs),
     .min = 1,
     .choices = outputs},
    {.name = "batch_size",
     .doc = "rows of a batch; 0: the predictor chooses",
     .type = CONFIG_INT,
     FIELD(batch_size),
     .min = 0,
     .max = INT_MAX},
    {.name = "service",
     .doc = "the socket of a service",
     .type = CONFIG_STRING,
     FIELD(service)},
    {.name = "inputs",
     .doc = "the columns of the rows that a service gets",
     .type = CONFIG_CUSTOM,
     .ops = &inputs_ops},
};
const struct config_table predict_config_table = CONFIG_TABLE(predict_keys);

static const struct {
    const char *ending;
    enum predict_format format;
} endings[] = {
    {".h5", PREDICT_HDF5},
    {".hdf5", PREDICT_HDF5},
    {".csv", PREDICT_CSV},
    {".npy", PREDICT_NPY},
};

int predict_format_of(const char *output, enum predict_format *format,
                      struct error *err)
{
    size_t n = strlen(output);
    char quoted[QUOTE_TEXT_MAX];

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t k = strlen(endings[i].ending);

        if (n > k && strcmp(output + n - k, endings[i].ending) == 0) {
            *format = endings[i].format;
            return 0;
        }
    }
    return error_set(err, RAYTRAIN_EINVAL,
                     "predict.output: the ending of %s does not say its format; write "
                     ".h5, .csv or .npy",
                     quote(output, quoted));
}

/* An absolute path. */
static int place_check(const char *output, struct error *err)
{
    char *dir = strdup(output), quoted[QUOTE_TEXT_MAX];
    struct stat st;
    int rc = 0;

    if (!dir)
        return error_no_memory(err);
    *strrchr(dir, '/') = '\0';
    if (stat(*dir ? dir : "/", &st) < 0 || !S_ISDIR(st.st_mode))
        rc = error_set(err, RAYTRAIN_ENOTFOUND,
                       "predict.output: there is no directory %s; create it first",
                       quote(dir, quoted));
    else if (stat(output, &st) == 0 && !S_ISREG(st.st_mode))
        rc =
            error_set(err, RAYTRAIN_EINVAL,
                      "predict.output: %s is not a regular file, so predictions cannot "
                      "replace it; name another file",
                      quote(output, quoted));
    free(dir);
    return rc;
}

/* Outputs from the command line have not been compared with the choices yet. */
static int output_check(const char *output, struct error *err)
{
    static const char *const words[] = {TREE_OUTPUTS(REGISTRY_WORD)};
    const size_t n = sizeof words / sizeof words[0];
    char quoted[QUOTE_TEXT_MAX];
    const char *near;

    for (size_t i = 0; i < n; i++)
        if (strcmp(output, words[i]) == 0)
            return 0;
    near = suggest_nearest(output, words, n);
    return error_set(err, RAYTRAIN_EINVAL,
                     "predict.outputs: expected one of %s, found %s%s%s%s",
                     &TREE_OUTPUTS(REGISTRY_TEXT)[2], quote(output, quoted),
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int outputs_check(const struct predict_config *cfg, struct error *err)
{
    for (size_t i = 0; i < cfg->n_outputs; i++) {
        if (output_check(cfg->outputs[i], err) < 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(cfg->outputs[i], cfg->outputs[k]) == 0)
                return error_set(err, RAYTRAIN_EINVAL,
                                 "predict.outputs: \"%s\" is there twice",
                                 cfg->outputs[i]);
    }
    return 0;
}

static int service_fail(const char *key, const char *why, struct error *err)
{
    return error_set(err, RAYTRAIN_EINVAL, "%s: %s", key, why);
}

/* The path of a socket has a limit of its own. */
static int service_check(struct predict_config *cfg, struct error *err)
{
    const size_t most = sizeof((struct sockaddr_un){0}.sun_path) - 1;

    if (cfg->output)
        return service_fail("predict.service",
                            "predictions go to a service or to predict.output, not to "
                            "both; leave out one of them",
                            err);
    if (cfg->columns)
        return service_fail("predict.columns",
                            "columns of the input are kept in predict.output, which a "
                            "service does not have; leave them out",
                            err);
    if (path_make_absolute(&cfg->service, err) < 0)
        return -1;
    if (strlen(cfg->service) > most)
        return error_set(err, RAYTRAIN_EINVAL,
                         "predict.service: the path of a socket has at most %zu bytes, "
                         "and this one has %zu; choose a shorter one",
                         most, strlen(cfg->service));
    return 0;
}

bool predict_config_predicts(const struct predict_config *cfg)
{
    return cfg->output || cfg->service;
}

int predict_config_validate(struct predict_config *cfg, struct error *err)
{
    enum predict_format format;

    if (predict_config_predicts(cfg) && outputs_check(cfg, err) < 0)
        return -1;
    if (cfg->service)
        return service_check(cfg, err);
    if (cfg->inputs.n > 0)
        return service_fail("predict.inputs",
                            "these are the columns of a service's rows, and there is "
                            "no predict.service; leave them out",
                            err);
    if (!cfg->output)
        return 0;
    if (predict_format_of(cfg->output, &format, err) < 0 ||
        path_make_absolute(&cfg->output, err) < 0)
        return -1;
    return place_check(cfg->output, err);
}
