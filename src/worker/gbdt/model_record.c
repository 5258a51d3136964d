/*
 * model_record.c - writes a model and its description into a checkpoint, and reads
 * them. The model is in the library's own format.
 */
#include "gbdt/model_record.h"

#include <stdlib.h>
#include <string.h>

#include "session/session.h"

void model_bytes_clear(struct model_bytes *m)
{
    free(m->bytes);
    free(m->importance.gain);
    free(m->importance.splits);
    memset(m, 0, sizeof *m);
}

/* ---- What does not change during a run ---- */

static char *list_text(char *const *names, size_t n)
{
    json_t *list = json_array();
    char *text = NULL;
    int rc = list ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = json_array_append_new(list, json_string(names[i]));
    if (rc == 0)
        text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

int model_saving_init(struct model_saving *s, const struct booster_ops *ops, int rank,
                      const struct gbdt_config *cfg,
                      const struct gbdt_features *features, struct error *err)
{
    *s = (struct model_saving){.ops = ops, .rank = rank, .n_features = features->n};
    if (ops->version)
        ops->version(s->version);
    s->params = json_dumps(cfg->params, JSON_COMPACT);
    s->dmatrix = json_dumps(cfg->dmatrix_params, JSON_COMPACT);
    s->categorical = list_text(cfg->categorical, cfg->n_categorical);
    if (features->names)
        s->features = list_text(features->names, features->n);
    if (s->params && s->dmatrix && s->categorical && (s->features || !features->names))
        return 0;
    model_saving_clear(s);
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory for the names of features");
}

void model_saving_clear(struct model_saving *s)
{
    free(s->params);
    free(s->dmatrix);
    free(s->features);
    free(s->categorical);
    model_bytes_clear(&s->model);
    memset(s, 0, sizeof *s);
}

/* ---- Writing ---- */

static int put_number(raytrain_checkpoint *ck, const char *name, raytrain_dtype dtype,
                      void *number)
{
    const raytrain_tensor t = {.data = number, .dtype = dtype};

    return raytrain_checkpoint_put(ck, name, &t);
}

/* Put a vector that only rank 0 has. */
static int put_vector(const struct model_saving *s, raytrain_checkpoint *ck,
                      const char *name, double *values)
{
    const raytrain_tensor t = {
        .data = values, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {s->n_features}};
    const raytrain_slab slab = {.count = {s->rank == 0 ? s->n_features : 0}};

    return raytrain_checkpoint_put_shard(ck, name, &t, &slab);
}

static int put_texts(const struct model_saving *s, raytrain_checkpoint *ck)
{
    const struct {
        const char *name, *text;
    } strings[] = {{GBDT_TRAINER, s->ops->name},
                   {GBDT_LIBRARY, s->version[0] ? s->version : NULL},
                   {GBDT_PARAMS, s->params},
                   {GBDT_DMATRIX, s->dmatrix},
                   {GBDT_CATEGORICAL, s->categorical},
                   {GBDT_BEST_METRIC, s->record.early.metric},
                   {GBDT_FEATURES, s->features}};

    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        int rc = strings[i].text ? raytrain_checkpoint_put_string(ck, strings[i].name,
                                                                  strings[i].text)
                                 : RAYTRAIN_OK;

        if (rc)
            return rc;
    }
    return RAYTRAIN_OK;
}

static int put_numbers(struct model_saving *s, raytrain_checkpoint *ck)
{
    struct early_stopping *early = &s->record.early;
    int rc;

    s->finished = s->record.finished;
    if ((rc = put_number(ck, GBDT_ROUND, RAYTRAIN_INT64, &s->record.round)) ||
        (rc = put_number(ck, GBDT_FINISHED, RAYTRAIN_INT64, &s->finished)) ||
        (rc = put_number(ck, GBDT_BEST_ROUND, RAYTRAIN_INT64, &early->best_round)) ||
        (rc = put_number(ck, GBDT_BEST_SCORE, RAYTRAIN_FLOAT64, &early->best_score)))
        return rc;
    if ((rc = put_vector(s, ck, GBDT_GAIN, s->model.importance.gain)))
        return rc;
    return put_vector(s, ck, GBDT_SPLITS, s->model.importance.splits);
}

int model_saving_put(struct model_saving *s, raytrain_checkpoint *ck)
{
    int rc = put_texts(s, ck);

    if (!rc)
        rc = put_numbers(s, ck);
    if (!rc && s->rank == 0)
        rc =
            raytrain_checkpoint_put_bytes(ck, s->ops->file, s->model.bytes, s->model.n);
    return rc;
}

/* ---- Reading ---- */

static int trainer_check(raytrain_checkpoint *ck, const struct booster_ops *ops,
                         struct error *err)
{
    char *trainer = NULL;
    int rc = 0;

    if (raytrain_checkpoint_get_string(ck, GBDT_TRAINER, &trainer))
        return error_set(err, RAYTRAIN_EINVAL,
                         "the checkpoint is not from the trainer \"%s\": it has no "
                         "model of trees",
                         ops->name);
    if (strcmp(trainer, ops->name) != 0)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "the checkpoint is from the trainer \"%s\", not from \"%s\"",
                       trainer, ops->name);
    free(trainer);
    return rc;
}

static int get_number(raytrain_checkpoint *ck, const char *name, raytrain_dtype dtype,
                      void *number)
{
    const raytrain_tensor t = {.data = number, .dtype = dtype};

    return raytrain_checkpoint_get(ck, name, &t);
}

static int numbers_get(raytrain_checkpoint *ck, struct model_record *r)
{
    int64_t finished = 0;
    char *metric = NULL;

    if (get_number(ck, GBDT_ROUND, RAYTRAIN_INT64, &r->round) ||
        get_number(ck, GBDT_FINISHED, RAYTRAIN_INT64, &finished) ||
        get_number(ck, GBDT_BEST_ROUND, RAYTRAIN_INT64, &r->early.best_round) ||
        get_number(ck, GBDT_BEST_SCORE, RAYTRAIN_FLOAT64, &r->early.best_score) ||
        raytrain_checkpoint_get_string(ck, GBDT_BEST_METRIC, &metric))
        return -1;
    r->finished = finished != 0;
    snprintf(r->early.metric, sizeof r->early.metric, "%s", metric);
    free(metric);
    return r->round < 0 || r->early.best_round > r->round ? -1 : 0;
}

int model_record_get(raytrain_checkpoint *ck, const struct booster_ops *ops,
                     struct model_record *record, void **bytes, size_t *n,
                     struct error *err)
{
    if (trainer_check(ck, ops, err) < 0)
        return -1;
    if (numbers_get(ck, record) < 0 ||
        raytrain_checkpoint_get_bytes(ck, ops->file, bytes, n))
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "the checkpoint has no complete model: %s",
                         session_error(NULL)->text);
    return 0;
}
