/*
 * registry.h - what the user can choose by a name: each implementation is named here,
 * and nowhere else. The configuration takes the words that it accepts from these lists,
 * and each hall its table of implementations: a name without one does not link.
 *
 *   BACKENDS         X(mpi): struct backend_ops backend_mpi, worker/backend
 *   LAUNCHERS        X(slurm): struct launcher_ops launcher_slurm, launcher/launch; in the
 *                    order in which "auto" asks them
 *   CALLBACKS        X(json): struct callback_ops callback_json, launcher/callback
 *   DATASET_FORMATS  X(idx): struct reader_ops reader_idx, worker/data; in the order in
 *                    which they are asked whether a file is theirs
 *
 * The names in ..._LATER are known, and refused as not available in this version.
 */
#ifndef RAYTRAIN_CONFIG_REGISTRY_H
#define RAYTRAIN_CONFIG_REGISTRY_H

#define BACKENDS(X) X(mpi) X(none)
#define BACKENDS_LATER(X)                                                              \
    X(torch) X(tensorflow) X(jax) X(horovod) X(xgboost) X(lightgbm)

#define LAUNCHERS(X) X(slurm) X(local)

#define CALLBACKS(X)       X(json)
#define CALLBACKS_LATER(X) X(csv) X(tensorboard)

#define DATASET_FORMATS(X)       X(idx) X(hdf5)
#define DATASET_FORMATS_LATER(X) X(csv) X(libsvm) X(numpy)

/* Uses of a list: all that a key accepts, as an array of config_choice (config_key.h);
 * the names as strings, with a comma after each; and as one string for messages, which
 * begins with ", ". */
#define REGISTRY_CHOICES(LIST)                                                         \
    {                                                                                  \
        LIST(REGISTRY_CHOICE) LIST##_LATER(REGISTRY_LATER)                             \
        {                                                                              \
            NULL, NULL                                                                 \
        }                                                                              \
    }
#define REGISTRY_CHOICE(name) {#name, NULL},
#define REGISTRY_LATER(name)  {#name, CONFIG_LATER},
#define REGISTRY_WORD(name)   #name,
#define REGISTRY_TEXT(name)   ", " #name

#endif
