/*
 * model_export.c - the model of a checkpoint as a file for its own library: the bytes
 * in the checkpoint, or, for another format, what the library converts them to.
 */
#include "inspect/model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gbdt/booster.h"
#include "inspect/output.h"
#include "inspect/views.h"
#include "util/fs.h"
#include "util/quote.h"

static const char *const formats[] = {"ubj", "json", "txt"};

/* "json" of "a/model.json"; NULL: there is none. */
static const char *ending_of(const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    const char *dot = strrchr(base, '.');

    return dot && dot > base && isalpha((unsigned char)dot[1]) ? dot + 1 : NULL;
}

bool model_is_file(const char *name)
{
    const char *ending = ending_of(name);

    for (size_t i = 0; ending && i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(ending, formats[i]) == 0)
            return true;
    return false;
}

int model_check_directory(raytrain_checkpoint *ck, const char *dir, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;
    size_t at;

    if (!ending_of(dir) || stat(dir, &st) == 0 ||
        !checkpoint_item_find(ck, GBDT_TRAINER, &at))
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "--export: a model is written to a file that ends in .ubj, .json or "
        ".txt, and all tensors to a directory whose name has no such "
        "ending; %s is neither",
        quote(dir, quoted));
}

/* ---- The bytes ---- */

static const struct booster_ops *library_find(raytrain_checkpoint *ck, const char *path,
                                              struct error *err)
{
    char *trainer = NULL, quoted[QUOTE_TEXT_MAX];
    const struct booster_ops *ops;

    if (checkpoint_get_string(ck, GBDT_TRAINER, &trainer, err) < 0) {
        if (err->code == RAYTRAIN_ENOTFOUND)
            error_set(err, RAYTRAIN_EINVAL,
                      "--export: %s is not a checkpoint of the trainers xgboost and "
                      "lightgbm, and so has no model to write to a file; to export all "
                      "of its tensors, name a directory",
                      quote(path, quoted));
        return NULL;
    }
    ops = booster_find(trainer);
    if (!ops)
        error_set(err, RAYTRAIN_ENOTSUP,
                  "--export: %s has a model of the trainer \"%s\", which this version "
                  "does not know",
                  quote(path, quoted), trainer);
    free(trainer);
    return ops;
}

static int bytes_read(raytrain_checkpoint *ck, const struct booster_ops *ops,
                      void **bytes, size_t *n, struct error *err)
{
    struct checkpoint_item item;
    char *name;
    size_t i;
    bool found;

    if (asprintf(&name, CHECKPOINT_ATTACHED "/%s", ops->file) < 0)
        return error_no_memory(err);
    found = checkpoint_item_find(ck, name, &i) && checkpoint_item(ck, i, &item);
    free(name);
    if (!found)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s has no model: there is no " CHECKPOINT_ATTACHED
                         "/%s in it",
                         checkpoint_path(ck), ops->file);
    *n = item.bytes;
    *bytes = malloc(*n + 1);
    if (!*bytes)
        return error_no_memory(err);
    return checkpoint_item_read(ck, i, 0, *bytes, *n, err);
}

static void library_says(void *arg, enum gbdt_severity severity, const char *line)
{
    (void)arg;
    (void)severity;
    (void)line;
}

static void library_goes_on(void *arg)
{
    (void)arg;
}

/* Replace the bytes by the model in another format. */
static int bytes_convert(const struct booster_ops *ops, const char *format,
                         void **bytes, size_t *n, struct error *err)
{
    struct gbdt_config cfg = {.params = json_object(), .dmatrix_params = json_object()};
    struct booster b = {.ops = ops,
                        .env = {.threads = 1,
                                .config = &cfg,
                                .say = library_says,
                                .goes_on = library_goes_on}};
    void *converted = NULL;
    size_t length = 0;
    int rc = ops->open(err);

    if (rc == 0) {
        rc = ops->create(&b, err);
        if (rc == 0)
            rc = ops->load(&b, *bytes, *n, err);
        if (rc == 0)
            rc = ops->convert(&b, format, &converted, &length, err);
        ops->destroy(&b, true);
    }
    json_decref(cfg.params);
    json_decref(cfg.dmatrix_params);
    if (rc < 0)
        return error_prefix(err, "--export");
    free(*bytes);
    *bytes = converted;
    *n = length;
    return 0;
}

/* ---- The file ---- */

static int export_place_check(const char *file, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    if (stat(file, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(
            err, RAYTRAIN_EINVAL,
            "--export: %s is not a regular file that the model could replace",
            quote(file, quoted));
    return 0;
}

static int checkpoint_export(raytrain_checkpoint *ck, const char *path,
                             const char *file, json_t **out, struct error *err)
{
    const struct booster_ops *ops = library_find(ck, path, err);
    const char *format = ending_of(file);
    void *bytes = NULL;
    size_t n = 0;
    int rc;

    if (!ops)
        return -1;
    rc = bytes_read(ck, ops, &bytes, &n, err);
    if (rc == 0 && strcmp(format, ending_of(ops->file)) != 0)
        rc = bytes_convert(ops, format, &bytes, &n, err);
    if (rc == 0)
        rc = fs_write_atomic(file, bytes, n, 0666, err);
    free(bytes);
    if (rc < 0)
        return -1;
    *out = json_pack("{s:s, s:o, s:o, s:s, s:I}", "kind", "export", "path",
                     json_text(path), "file", json_text(file), "trainer", ops->name,
                     "bytes", (json_int_t)n);
    return *out ? 0 : error_no_memory(err);
}

json_t *model_export(const char *path, const char *file, struct error *err)
{
    raytrain_checkpoint *ck = NULL;
    json_t *out = NULL;

    if (export_place_check(file, err) == 0 && inspect_open(path, &ck, err) == 0)
        checkpoint_export(ck, path, file, &out, err);
    checkpoint_destroy(ck);
    return out;
}
