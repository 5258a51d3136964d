/* checkpoint_config.c - the keys of CheckpointConfig, and the checks of its values. */
#include "config.h"

#include "config/checkpoint_config.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "config/config_key.h"
#include "util/api_names.h"
#include "util/quote.h"

#define STRIPES_DEFAULT 32
#define STRIPES_MAX     2000 /* Lustre's own limit */

#define FIELD(member) .offset = offsetof(struct checkpoint_config, member)

static const struct config_choice orders[] = {
    {"max", NULL},
    {"min", NULL},
    {NULL, NULL},
};

static const struct config_choice modes[] = {
    {"async", NULL},
    {"sync", NULL},
    {NULL, NULL},
};

static const struct config_key checkpoint_keys[] = {
    {.name = "mode",
     .doc = "whether training continues while a checkpoint is written",
     .type = CONFIG_WORD_BOOL,
     FIELD(sync),
     .choices = modes},
    {.name = "num_to_keep",
     .doc = "checkpoints that are kept, 0: all",
     .type = CONFIG_INT,
     FIELD(num_to_keep),
     .min = 0,
     .max = INT_MAX},
    {.name = "checkpoint_score_attribute",
     .doc = "the metric that ranks checkpoints",
     .type = CONFIG_STRING,
     FIELD(checkpoint_score_attribute)},
    {.name = "checkpoint_score_order",
     .doc = "whether a high or a low score is good",
     .type = CONFIG_WORD_BOOL,
     FIELD(checkpoint_score_min),
     .offset2 = offsetof(struct checkpoint_config, checkpoint_score_ordered),
     .choices = orders},
    {.name = "checkpoint_frequency",
     .doc = "iterations from one to the next, 0: off",
     .type = CONFIG_INT,
     FIELD(checkpoint_frequency),
     .min = 0,
     .max = INT_MAX},
    {.name = "checkpoint_interval_s",
     .doc = "seconds from one to the next, 0: off",
     .type = CONFIG_INT,
     FIELD(checkpoint_interval_s),
     .min = 0,
     .max = INT_MAX},
    {.name = "replicas",
     .doc = "copies in the memory of another node, 0 or 1",
     .type = CONFIG_INT,
     FIELD(replicas),
     .min = 0,
     .max = 1},
    {.name = "stripe_count",
     .doc = "the most stripes of a checkpoint on Lustre, 0: those of its directory",
     .type = CONFIG_INT,
     FIELD(stripe_count),
     .min = 0,
     .max = STRIPES_MAX},
    {.name = "checkpoint_at_end",
     .doc = "one more at the end, by a built-in loop",
     .type = CONFIG_BOOL,
     FIELD(checkpoint_at_end)},
};
const struct config_table checkpoint_config_table = CONFIG_TABLE(checkpoint_keys);

void checkpoint_config_init(struct checkpoint_config *cfg)
{
    memset(cfg, 0, sizeof *cfg);
    cfg->stripe_count = STRIPES_DEFAULT;
}

/* ---- A score whose order is not set ---- */

#define N(array) (sizeof(array) / sizeof *(array))

static bool is_end_of_word(char c)
{
    return !isalnum((unsigned char)c);
}

/* Is it one of the words that the name consists of? */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = name; (at = strcasestr(at, word)); at++)
        if ((at == name || is_end_of_word(at[-1])) && is_end_of_word(at[n]))
            return true;
    return false;
}

/* Does the name of a metric say that a low value is good? */
static bool says_low_is_good(const char *name)
{
    static const char *const parts[] = {"loss", "error", "perplexity", "nloglik",
                                        "deviance"},
                             *const words[] = {"rmse", "mse", "mae", "mape", "rmsle",
                                               "nll",  "ppl", "wer", "cer",  "err"};

    if (has_word(name, "neg") || has_word(name, "negative"))
        return false;
    for (size_t i = 0; i < N(parts); i++)
        if (strcasestr(name, parts[i]))
            return true;
    for (size_t i = 0; i < N(words); i++)
        if (has_word(name, words[i]))
            return true;
    return false;
}

static int order_check(const struct checkpoint_config *cfg, struct error *err)
{
    const char *score = cfg->checkpoint_score_attribute;

    if (!score || cfg->checkpoint_score_ordered || !says_low_is_good(score))
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "run_config.checkpoint_config.checkpoint_score_attribute: is a low or a high "
        "%s "
        "good? By default a high score is, and checkpoints with a low one are deleted\n"
        "  low is good: --score %s:min, or checkpoint_score_order = \"min\"\n"
        "  high is good: --score %s:max, or checkpoint_score_order = \"max\"",
        score, score, score);
}

/* Rounds may be short, and then a checkpoint for each would be too many by default. */
#define BUILTIN_INTERVAL_S 60

int checkpoint_config_validate(struct checkpoint_config *cfg, bool builtin_loop,
                               struct error *err)
{
    const char *score = cfg->checkpoint_score_attribute;
    char quoted[QUOTE_TEXT_MAX];

    if (cfg->checkpoint_at_end && !builtin_loop)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "run_config.checkpoint_config.checkpoint_at_end: the training "
                         "function decides: it hands a checkpoint to its last "
                         "raytrain_report(); leave it out");
    if (score && !metric_name_is_valid(score))
        return error_set(
            err, RAYTRAIN_EINVAL,
            "run_config.checkpoint_config.checkpoint_score_attribute: %s is "
            "not the name of a metric (letters, digits, and _ . / @ -)",
            quote(score, quoted));
    if (order_check(cfg, err) < 0)
        return -1;
    if (builtin_loop && cfg->checkpoint_frequency == 0 &&
        cfg->checkpoint_interval_s == 0)
        cfg->checkpoint_interval_s = BUILTIN_INTERVAL_S;
    return 0;
}
