/* raytrain-run.c - run a training function on N workers; program.c does nearly all of
 * it. */
#include "program.h"

#include "train/run_name.h"
#include "train/sweep_runs.h"

/* A training refuses the keys of a prediction. */
static int training_settle(struct options *opt, struct train_config *cfg,
                           struct error *err)
{
    if (!predict_config_predicts(&cfg->predict))
        return sweep_settle(opt, cfg, err) < 0 ? -1 : run_name_settle(opt, cfg, err);
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s: raytrain-run trains; to predict, type raytrain-predict",
                     cfg->predict.output ? "predict.output" : "predict.service");
}

int main(int argc, char *argv[])
{
    const struct program program = {
        .name = "raytrain-run",
        .noun = "training",
        .go_on = "to continue from the latest checkpoint",
        .parse = options_parse,
        .help = options_help,
        .settle = training_settle,
    };

    return program_main(&program, argc, argv);
}
