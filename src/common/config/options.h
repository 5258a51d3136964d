/*
 * options.h - the command lines of raytrain-run, raytrain-predict and raytrain-serve: flags that are not
 * configuration, and flags that are. The latter go straight into the train_config: flags override --set,
 * --set overrides the file, and the file overrides the defaults, in whatever order they
 * are typed.
 */
#ifndef RAYTRAIN_CONFIG_OPTIONS_H
#define RAYTRAIN_CONFIG_OPTIONS_H

#include <stdbool.h>

#include "config/site_config.h"
#include "config/submit_options.h"
#include "config/train_config.h"

enum progress_style { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_PLAIN, PROGRESS_NONE };

struct options {
    const char *program; /* "run", "predict" or "serve" */
    char *launcher; /* "auto", "slurm", "local" */
    char *
        srun_args; /* --srun-args: one string, split like a shell would, without a shell */
    bool resume; /* --resume: continue the run, or start it */
    bool
        warm; /* --resume=CHECKPOINT: a new run that starts from the checkpoint of another */
    bool fresh; /* --fresh: set an existing run aside and start anew */
    bool dry_run;
    bool check; /* --check: look at the installation and the site */
    char **sweeps; /* --sweep: "KEY=A,B,C"; NULL: none (config/sweep.h) */
    char *
        sweep_task; /* --sweep-task: the one of its runs that this is; NULL: not said */
    struct submit_options submit;
    struct site_config site; /* its arguments and its storage are in the others */
    char *site_wrong;        /* with --check: why the site's file cannot be used */
    bool json;
    char *result_path; /* of fit(): with --json, the file that the Result goes to */
    char *
        checkpoint; /* of raytrain-predict and raytrain-serve: a checkpoint, or a run */
    char *models;   /* --models of raytrain-serve: a directory of these */
    bool where;     /* --where of raytrain-serve */
    bool haproxy;   /* with it: a configuration of HAProxy */
    bool last;      /* of a run, its newest checkpoint, not its best */
    bool keep_run;  /* leave the run directory of a prediction */
    bool quiet;
    bool attended; /* who asks this process to stop says so: it does not */
    enum progress_style progress;
    bool help;     /* --help: print options_help() to stdout, exit 0 */
    bool help_all; /* --help=all */
    bool version;  /* --version */
};

/* Fill opt and cfg, first from the site's file (both are initialised here; on failure nothing is left in them).
 * With --help or --version nothing else is checked. Errors are RAYTRAIN_EUSAGE (unknown
 * flag, missing operand) or those of the configuration. cfg is not validated yet.
 * --score METRIC means --score METRIC:max. Arguments replace those of the file. */
int options_parse(int argc, char *argv[], struct options *opt, struct train_config *cfg,
                  struct error *err);
/* The same for raytrain-predict. */
int options_parse_predict(int argc, char *argv[], struct options *opt,
                          struct train_config *cfg, struct error *err);
/* The same for raytrain-serve, whose first operand is the checkpoint, unless there is
 * --models. */
int options_parse_serve(int argc, char *argv[], struct options *opt,
                        struct train_config *cfg, struct error *err);
/* After an error of the command line: add which words were taken for the function or
 * the command and for its arguments, if there are any. Options that were meant for this
 * program may be among them. */
void options_note_operands(const struct options *opt, struct error *err);
void options_clear(struct options *opt);
/* The text of --help, which fits a screen, or of --help=all: one line for each option, 80
 * columns. The next call overwrites it. */
const char *options_help(bool all);
const char *options_help_predict(bool all);
const char *options_help_serve(bool all);

#endif
