/*
 * gbdt_config.c - checks of the keys of the trainers "xgboost" and "lightgbm", and
 * their parameters as texts. train_config.c has the keys.
 */
#include "config/gbdt_config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_key.h"
#include "config/registry.h"

#define DEFAULT_ROUNDS 10

static const char *const boosters[] = {BOOSTERS(REGISTRY_WORD)};

bool gbdt_config_is_trainer(const char *trainer)
{
    for (size_t i = 0; trainer && i < sizeof boosters / sizeof boosters[0]; i++)
        if (strcmp(trainer, boosters[i]) == 0)
            return true;
    return false;
}

void gbdt_config_init(struct gbdt_config *cfg)
{
    cfg->num_boost_round = DEFAULT_ROUNDS;
    cfg->params = json_object();
    cfg->dmatrix_params = json_object();
}

/* ---- Validation ---- */

/* A column is only used once. */
static int label_columns_check(const struct gbdt_config *cfg, struct error *err)
{
    const struct {
        const char *key, *column;
    } uses[] = {{"label", cfg->label ? cfg->label : GBDT_LABEL},
                {"weight", cfg->weight},
                {"qid", cfg->qid},
                {"base_margin", cfg->base_margin}};
    const size_t n = sizeof uses / sizeof uses[0];

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; uses[i].column && k < i; k++)
            if (uses[k].column && strcmp(uses[i].column, uses[k].column) == 0)
                return error_set(err, RAYTRAIN_EINVAL,
                                 "%s and %s are the same column, \"%s\"", uses[k].key,
                                 uses[i].key, uses[i].column);
        for (size_t k = 0; uses[i].column && k < cfg->n_exclude; k++)
            if (strcmp(uses[i].column, cfg->exclude[k]) == 0)
                return error_set(err, RAYTRAIN_EINVAL,
                                 "exclude: \"%s\" is the column of %s, which is "
                                 "not a feature anyway: leave it out of the list",
                                 cfg->exclude[k], uses[i].key);
        for (size_t k = 0; uses[i].column && k < cfg->n_categorical; k++)
            if (strcmp(uses[i].column, cfg->categorical[k]) == 0)
                return error_set(err, RAYTRAIN_EINVAL,
                                 "categorical_features: \"%s\" is the column of %s, "
                                 "not a feature",
                                 cfg->categorical[k], uses[i].key);
    }
    return 0;
}

/* Each dataset is used as a whole during the training, and the loop distributes its
 * rows. */
static int dataset_check(const struct dataset_config *dataset, struct error *err)
{
    if (dataset->shuffle)
        return error_set(err, RAYTRAIN_EINVAL,
                         "datasets.%s.shuffle: the trainers xgboost and lightgbm use "
                         "all rows in each round, and their order does not matter; "
                         "leave it out",
                         dataset->name);
    if (dataset_label_is_path(dataset))
        return error_set(
            err, RAYTRAIN_EINVAL,
            "datasets.%s.label: for the trainers xgboost and lightgbm, the "
            "label is a column of the dataset",
            dataset->name);
    return 0;
}

int gbdt_config_validate(struct gbdt_config *cfg, const struct dataset_config *datasets,
                         size_t n, struct error *err)
{
    bool has_train = false;

    for (size_t i = 0; i < n; i++) {
        if (dataset_check(&datasets[i], err) < 0)
            return -1;
        has_train = has_train || strcmp(datasets[i].name, GBDT_TRAIN) == 0;
    }
    if (!has_train)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "datasets: there is no dataset \"" GBDT_TRAIN "\" to train on; "
            "add --dataset " GBDT_TRAIN "=PATH, or datasets = { " GBDT_TRAIN
            " = { path = ...; }; } in the configuration file");
    if (cfg->early_stopping_metric && cfg->early_stopping_rounds == 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "early_stopping_metric is set, but early_stopping_rounds is "
                         "not: set the number of rounds without progress after which "
                         "the training stops");
    return label_columns_check(cfg, err);
}

/* ---- Parameters as texts ---- */

static char *param_text(const json_t *value)
{
    if (json_is_string(value))
        return strdup(json_string_value(value));
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

char *gbdt_param_text(const json_t *value, bool lists, size_t i)
{
    if (lists && json_is_array(value))
        return i < json_array_size(value) ? param_text(json_array_get(value, i)) : NULL;
    return i == 0 ? param_text(value) : NULL;
}
