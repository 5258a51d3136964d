/*
 * models_dir.h - the directory of --models: each entry is a model, a run's directory or a
 * checkpoint, or a link to one. Its name is that of the model, without ".h5". NAME.cfg is
 * the configuration of the model NAME alone.
 */
#ifndef RAYTRAIN_LIFE_MODELS_DIR_H
#define RAYTRAIN_LIFE_MODELS_DIR_H

#include <stddef.h>

#include "util/error.h"

struct models_entry {
    char *name;
    char *path;   /* of the run or the checkpoint */
    char *config; /* the path of NAME.cfg; NULL: there is none */
};

struct models_dir {
    struct models_entry *entries; /* by name */
    size_t n;
};

/*
 * At least one model. `skip` gets a sentence for each entry that is hidden, or neither a
 * run nor a checkpoint. RAYTRAIN_EINVAL: a name that cannot be in the path of a request,
 * or two models of one name, or a configuration without a model, or `dir` is a run itself;
 * RAYTRAIN_ENOTFOUND: there is no model, or a link leads nowhere; RAYTRAIN_ESTORAGE.
 */
int models_dir_read(const char *dir, struct models_dir *out,
                    void (*skip)(void *arg, const char *sentence), void *arg,
                    struct error *err);
void models_dir_clear(struct models_dir *models);

#endif
