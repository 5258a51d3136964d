/*
 * program.h - what raytrain-run and raytrain-predict have in common: a program that turns
 * a command line into a run of workers, and the run into an exit status.
 */
#ifndef RAYTRAIN_CMD_PROGRAM_H
#define RAYTRAIN_CMD_PROGRAM_H

#include "config/options.h"

struct program {
    const char *name;
    const char *noun;  /* what it does: "training" */
    const char *go_on; /* after a failure that left something: "to go on from ..."; NULL:
                          another process goes on */
    bool
        always_saves; /* a run that ended early has left something, with a checkpoint or
                          without */
    int (*parse)(int argc, char *argv[], struct options *opt, struct train_config *cfg,
                 struct error *err);
    const char *(*help)(bool all);
    /* Complete the configuration by what was typed, before it is validated. */
    int (*settle)(struct options *opt, struct train_config *cfg, struct error *err);
    /* The run has finished; in an allocation that this process took, too. May be NULL. */
    int (*finish)(const struct options *opt, const struct train_config *cfg,
                  struct error *err);
};

/* All of main(). */
int program_main(const struct program *program, int argc, char *argv[]);

#endif
