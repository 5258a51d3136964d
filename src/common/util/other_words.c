/*
 * other_words.c - the tables of options and keys of other programs, and of parameters
 * of trees. long_option.c and config_key.c make messages from them.
 */
#include "util/other_words.h"

#include <ctype.h>
#include <string.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

#define OF_ALL_NODES "it counts the workers of all nodes together"
#define NOT_NEEDED                                                                     \
    "workers find each other without it; with --backend torch, a command has the "     \
    "variables of torchrun"

static const struct other_word options[] = {
    {"nproc_per_node", "workers", OF_ALL_NODES},
    {"nproc", "workers", NULL},
    {"np", "workers", NULL},
    {"num_workers", "workers", NULL},
    {"num_processes", "workers", OF_ALL_NODES},
    {"ntasks", "workers", NULL},
    {"ntasks_per_node", "workers", OF_ALL_NODES},
    {"nnodes", NULL,
     "the nodes are those of the allocation (salloc -N, sbatch -N), and --workers "
     "counts "
     "the workers of all of them"},
    {"nodes", NULL,
     "the nodes are those of the allocation (salloc -N, sbatch -N), and --workers "
     "counts "
     "the workers of all of them"},
    {"num_machines", NULL,
     "the nodes are those of the allocation (salloc -N, sbatch -N), and --workers "
     "counts "
     "the workers of all of them"},
    {"node_rank", NULL, "it is started once, for all nodes"},
    {"machine_rank", NULL, "it is started once, for all nodes"},
    {"rdzv_backend", NULL, NOT_NEEDED},
    {"rdzv_endpoint", NULL, NOT_NEEDED},
    {"rdzv_id", NULL, NOT_NEEDED},
    {"master_addr", NULL, NOT_NEEDED},
    {"master_port", NULL, NOT_NEEDED},
    {"standalone", "launcher", "--launcher local keeps the workers on this machine"},
    {"use_gpu", "gpu", NULL},
    {"gpus", "gpu", "each worker has one, or --gpus-per-worker N"},
    {"gpus_per_task", "gpus-per-worker", "with --gpu"},
    {"resources_per_worker", "cpus-per-worker", NULL},
    {"cpus_per_task", "cpus-per-worker", NULL},
    {"mem", "mem-per-worker", NULL},
    {"mem_per_cpu", "mem-per-worker", NULL},
    {"max_restarts", "max-failures", NULL},
    {"max_retries", "max-failures", NULL},
    {"storage_path", "storage", NULL},
    {"output_dir", "storage", NULL},
    {"log_dir", "storage", "logs are in the run directory there"},
    {"checkpoint_dir", "storage", "checkpoints are in the run directory there"},
    {"job_name", "name", NULL},
    {"run_name", "name", NULL},
    {"experiment_name", "name", NULL},
    {"num_to_keep", "keep", NULL},
    {"module", NULL, "type it after --: -- python3 -m MODULE"},
    {"hyperparameters", "set", "--set train_loop_config.KEY=VALUE"},
    {"restore", "resume", NULL},
    {"overwrite", "fresh", NULL},
};

static const struct other_word top_keys[] = {
    {"label_column", "label", NULL},
    {"target", "label", NULL},
    {"labels", "label", NULL},
    {"weight_column", "weight", NULL},
    {"sample_weight", "weight", NULL},
    {"qid_column", "qid", NULL},
    {"group_column", "qid", NULL},
    {"base_margin_column", "base_margin", NULL},
    {"enable_categorical", "categorical_features", NULL},
    {"categorical_feature", "categorical_features", NULL},
    {"drop_columns", "exclude", NULL},
    {"ignore_column", "exclude", NULL},
    {"xgb", "params", "with --trainer xgboost"},
    {"xgboost", "params", "with --trainer xgboost"},
    {"xgb_params", "params", NULL},
    {"xgboost_params", "params", NULL},
    {"lightgbm", "params", "with --trainer lightgbm"},
    {"lgb_params", "params", NULL},
    {"n_estimators", "num_boost_round", NULL},
    {"num_round", "num_boost_round", NULL},
    {"nrounds", "num_boost_round", NULL},
    {"num_iterations", "num_boost_round", NULL},
    {"n_iter", "num_boost_round", NULL},
    {"early_stopping", "early_stopping_rounds", NULL},
    {"stop", "run_config.stop", NULL},
    {"name", "run_config.name", NULL},
    {"config", "train_loop_config", NULL},
};

static const struct other_word dataset_keys[] = {
    {"drop_columns", "exclude", NULL},
    {"drop", "exclude", NULL},
    {"ignore", "exclude", NULL},
    {"select_columns", "columns", NULL},
    {"usecols", "columns", NULL},
    {"features", "columns", NULL},
    {"label_column", "label", NULL},
    {"target", "label", NULL},
    {"sep", "delimiter", NULL},
    {"na_values", "missing", NULL},
    {"dtype", "types", NULL},
    {"dtypes", "types", NULL},
    {"random_shuffle", "shuffle", NULL},
    {"nrows", "limit", NULL},
    {"file", "path", NULL},
    {"paths", "path", NULL},
    {"drop_last", "last_batch", "last_batch = \"drop\""},
};

static const char *const tree_parameters[] = {
    "objective",        "eta",
    "learning_rate",    "eval_metric",
    "metric",           "booster",
    "boosting",         "tree_method",
    "max_depth",        "max_leaves",
    "num_leaves",       "max_bin",
    "min_child_weight", "gamma",
    "lambda",           "alpha",
    "reg_lambda",       "reg_alpha",
    "subsample",        "colsample_bytree",
    "bagging_fraction", "num_class",
    "scale_pos_weight", "feature_fraction",
    "grow_policy",      "min_split_loss",
    "nthread",          "min_data_in_leaf",
};

static bool name_is_word(const char *word, const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((name[i] == '-' ? '_' : tolower((unsigned char)name[i])) != word[i])
            return false;
    return word[n] == '\0';
}

static const struct other_word *word_find(const struct other_word *words,
                                          size_t n_words, const char *name, size_t n)
{
    for (size_t i = 0; i < n_words; i++)
        if (name_is_word(words[i].word, name, n))
            return &words[i];
    return NULL;
}

const struct other_word *other_option(const char *name, size_t n)
{
    return word_find(options, N(options), name, n);
}

const struct other_word *other_key(const char *name, bool top)
{
    return top ? word_find(top_keys, N(top_keys), name, strlen(name))
               : word_find(dataset_keys, N(dataset_keys), name, strlen(name));
}

bool is_tree_parameter(const char *name)
{
    for (size_t i = 0; i < N(tree_parameters); i++)
        if (name_is_word(tree_parameters[i], name, strlen(name)))
            return true;
    return false;
}
