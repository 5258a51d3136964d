/*
 * model_record.h - a model of trees in a checkpoint: the library's own bytes in
 * files/model.ubj or files/model.txt, and its description for users and for the next
 * attempt, by the names of config/gbdt_config.h.
 */
#ifndef RAYTRAIN_GBDT_MODEL_RECORD_H
#define RAYTRAIN_GBDT_MODEL_RECORD_H

#include "gbdt/booster.h"
#include "gbdt/early_stopping.h"

struct model_record {
    int64_t round; /* rounds done; also the number of the next one */
    bool finished;
    struct early_stopping early;
};

/* On rank 0: the model as it is saved. */
struct model_bytes {
    void *bytes;
    size_t n;
    struct gbdt_importance importance;
};
void model_bytes_clear(struct model_bytes *m);

/* The content of the checkpoints of a run. It must not change until the report that
 * has the checkpoint returns. */
struct model_saving {
    const struct booster_ops *ops;
    uint64_t n_features;
    int rank;
    /* JSON; `features` is NULL if they have no names. */
    char *params, *dmatrix, *features, *categorical;
    char version[32];
    struct model_record record;
    int64_t finished;
    struct model_bytes model; /* empty on ranks other than 0 */
};

int model_saving_init(struct model_saving *s, const struct booster_ops *ops, int rank,
                      const struct gbdt_config *cfg,
                      const struct gbdt_features *features, struct error *err);
void model_saving_clear(struct model_saving *s);
/* On every rank: puts record and model into ck. Returns a raytrain_status. */
int model_saving_put(struct model_saving *s, raytrain_checkpoint *ck);

/* On every rank: reads record and model of a checkpoint; the caller frees *bytes.
 * RAYTRAIN_EINVAL if it is not from this trainer. */
int model_record_get(raytrain_checkpoint *ck, const struct booster_ops *ops,
                     struct model_record *record, void **bytes, size_t *n,
                     struct error *err);

#endif
