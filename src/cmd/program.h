/*
 * program.h - what raytrain-run and raytrain-predict have in common: a program that turns
 * a command line into a run of workers, and the run into an exit status.
 */
#ifndef RAYTRAIN_CMD_PROGRAM_H
#define RAYTRAIN_CMD_PROGRAM_H

#include "config/options.h"

struct program {
    const char *name;
    const char *noun; /* what it does, such as "training" */
    /* After a failure with something saved, such as "to continue from ..."; NULL:
     * another process continues. */
    const char *go_on;
    /* A run that ended early has saved something, even without a checkpoint. */
    bool always_saves;
    int (*parse)(int argc, char *argv[], struct options *opt, struct train_config *cfg,
                 struct error *err);
    const char *(*help)(bool all);
    /* Complete the configuration by what was typed, before it is validated. */
    int (*settle)(struct options *opt, struct train_config *cfg, struct error *err);
    /* The run has finished, also in an allocation that this process took. May be
     * NULL. */
    int (*finish)(const struct options *opt, const struct train_config *cfg,
                  struct error *err);
};

/* All of main(). */
int program_main(const struct program *program, int argc, char *argv[]);

#endif
