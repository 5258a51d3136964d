/* option_values.h - what a command line says that is not configuration. */
#ifndef RAYTRAIN_CONFIG_OPTION_VALUES_H
#define RAYTRAIN_CONFIG_OPTION_VALUES_H

#include <stdbool.h>

#include "config/site_config.h"
#include "config/submit_options.h"

enum progress_style { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_PLAIN, PROGRESS_NONE };

struct options {
    const char *program; /* "run", "predict" or "serve" */
    char *launcher;      /* "auto", "slurm", "local" */
    /* --srun-args: one string, split like a shell would, without a shell. */
    char *srun_args;
    bool resume; /* --resume: continue the run, or start it */
    /* --resume=CHECKPOINT: a new run that starts from the checkpoint of another
     * run. */
    bool warm;
    bool fresh; /* --fresh: set an existing run aside and start over */
    bool dry_run;
    bool check;    /* --check: look at the installation and the site */
    char **sweeps; /* --sweep: "KEY=A,B,C"; NULL: none (config/sweep.h) */
    /* --sweep-task: which of its runs this is; NULL: not given. */
    char *sweep_task;
    struct submit_options submit;
    /* Its arguments and its storage are already in the other members. */
    struct site_config site;
    char *site_wrong; /* with --check: why the site's file cannot be used */
    bool json;
    /* Of fit(): with --json, the file to which the Result is written. */
    char *result_path;
    /* Of raytrain-predict and raytrain-serve: a checkpoint, or a run. */
    char *checkpoint;
    /* --models of raytrain-serve: a directory of checkpoints. */
    char *models;
    bool where;    /* --where of raytrain-serve */
    bool haproxy;  /* with it: print a configuration of HAProxy */
    bool last;     /* for a run: its newest checkpoint, not its best one */
    bool keep_run; /* leave the run directory of a prediction */
    bool quiet;
    /* Another process reports why this one is stopped, so this one does not. */
    bool attended;
    enum progress_style progress;
    bool help;     /* --help: print options_help() to stdout, exit 0 */
    bool help_all; /* --help=all */
    bool version;  /* --version */
};

#endif
