/*
 * models_dir.h - the directory of --models: each entry is a model, which is a run's
 * directory, a checkpoint, or a link to one of these. The model has the name of the
 * entry, without ".h5". NAME.cfg is a configuration for the model NAME only.
 */
#ifndef RAYTRAIN_LIFE_MODELS_DIR_H
#define RAYTRAIN_LIFE_MODELS_DIR_H

#include <stddef.h>

#include "util/error.h"

struct models_entry {
    char *name;
    char *path;   /* path of the run or the checkpoint */
    char *config; /* the path of NAME.cfg; NULL: there is none */
};

struct models_dir {
    struct models_entry *entries; /* sorted by name */
    size_t n;
};

/*
 * Read the directory, which must have at least one model. `skip` gets a sentence for
 * each entry that is hidden, or neither a run nor a checkpoint. RAYTRAIN_EINVAL: a name
 * that cannot be in the path of a request, two models of one name, a configuration
 * without a model, or `dir` is itself a run; RAYTRAIN_ENOTFOUND: there is no model, or
 * a link leads nowhere; RAYTRAIN_ESTORAGE.
 */
int models_dir_read(const char *dir, struct models_dir *out,
                    void (*skip)(void *arg, const char *sentence), void *arg,
                    struct error *err);
void models_dir_clear(struct models_dir *models);

#endif
