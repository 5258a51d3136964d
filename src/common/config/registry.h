/*
 * registry.h - what the user can choose by a name: each implementation is named here,
 * and nowhere else. The configuration takes the words that it accepts from these lists,
 * and each hall its table of implementations: a name without one does not link.
 *
 *   BACKENDS         config/backend_row.h: a row each; backend_mpi, worker/backend
 *   BOOSTERS         X(xgboost): struct booster_ops booster_xgboost, worker/xgboost; a trainer
 *   LAUNCHERS        X(slurm): struct launcher_ops launcher_slurm, launcher/launch; in the
 *                    order in which "auto" asks them
 *   CALLBACKS        X(json): struct callback_ops callback_json, launcher/callback;
 *                    those of CALLBACKS_BY_NAME need no settings
 *   READER_FORMATS   X(idx): struct reader_ops reader_idx, worker/table; in the order
 *                    in which they are asked whether a file is theirs
 *   TEXT_FORMATS     X(csv): csv_job() in worker/convert/text_formats.c
 *   DATASET_FORMATS  both
 *   COLUMN_TYPES     X(int64): what a column of text can be declared as; the names of enum
 *                    csv_type, worker/text
 *   PREPROCESSORS    config/preprocessor_row.h: a row each; preprocessor_normalizer,
 *                    worker/preprocess
 *   TREE_OUTPUTS     X(leaf): what a model of trees can make of a row; the order is that of
 *                    enum gbdt_output, worker/gbdt
 *
 * The names in ..._LATER are known, and refused as not available in this version.
 */
#ifndef RAYTRAIN_CONFIG_REGISTRY_H
#define RAYTRAIN_CONFIG_REGISTRY_H

#define BOOSTERS(X) X(xgboost) X(lightgbm)

#define LAUNCHERS(X) X(slurm) X(local)

#define CALLBACKS_BY_NAME(X) X(json) X(csv) X(tensorboard) X(prometheus)
#define CALLBACKS(X)         CALLBACKS_BY_NAME(X) X(command) X(library)
#define CALLBACKS_LATER(X)

#define READER_FORMATS(X)  X(idx) X(hdf5) X(numpy)
#define TEXT_FORMATS(X)    X(csv) X(tsv) X(libsvm) X(text)
#define DATASET_FORMATS(X) READER_FORMATS(X) TEXT_FORMATS(X)
#define DATASET_FORMATS_LATER(X)

#define COLUMN_TYPES(X) X(bool) X(int64) X(float64) X(float32) X(words) X(text)

#define TREE_OUTPUTS(X)                                                                \
    X(value) X(probability) X(class) X(margin) X(leaf) X(contribution)

/* Uses of a list: the words that a key accepts, as an array of config_choice
 * (config_key.h); the names as strings, each followed by a comma; and all in one string
 * for messages, which begins with ", ". */
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
#define REGISTRY_ENTRY(name)  #name ", "
#define REGISTRY_TEXT(name)   ", " #name

#endif
