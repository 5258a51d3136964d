/*
 * options.h - the command lines of raytrain-run, raytrain-predict and raytrain-serve:
 * flags that are configuration, and flags that are not. The former go straight into the
 * train_config: flags override --set, --set overrides the file, and the file overrides
 * the defaults, in any order on the command line.
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
    /* --srun-args: one string, split like a shell would, without a shell. */
    char *srun_args;
    bool resume; /* --resume: continue the run, or start it */
    /* --resume=CHECKPOINT: a new run that starts from the checkpoint of another
     * run. */
    bool warm;
    bool fresh; /* --fresh: set an existing run aside and start anew */
    bool dry_run;
    bool check; /* --check: look at the installation and the site */
    char **sweeps; /* --sweep: "KEY=A,B,C"; NULL: none (config/sweep.h) */
    /* --sweep-task: which of its runs this is; NULL: not given. */
    char *sweep_task;
    struct submit_options submit;
    /* Its arguments and its storage are already in the other members. */
    struct site_config site;
    char *site_wrong;        /* with --check: why the site's file cannot be used */
    bool json;
    /* Of fit(): with --json, the file to which the Result is written. */
    char *result_path;
    /* Of raytrain-predict and raytrain-serve: a checkpoint, or a run. */
    char *checkpoint;
    /* --models of raytrain-serve: a directory of checkpoints. */
    char *models;
    bool where;     /* --where of raytrain-serve */
    bool haproxy;   /* with it: print a configuration of HAProxy */
    bool last;      /* for a run: its newest checkpoint, not its best one */
    bool keep_run;  /* leave the run directory of a prediction */
    bool quiet;
    /* Another process reports why this one is stopped, so this one does not. */
    bool attended;
    enum progress_style progress;
    bool help;     /* --help: print options_help() to stdout, exit 0 */
    bool help_all; /* --help=all */
    bool version;  /* --version */
};

/* Fill opt and cfg, first from the site's file. Both are initialised here, and cleared
 * on failure. With --help or --version nothing else is checked. Errors are
 * RAYTRAIN_EUSAGE (unknown flag, missing operand) or those of the configuration. cfg is
 * not validated yet. --score METRIC means --score METRIC:max. Arguments replace those
 * of the file. */
int options_parse(int argc, char *argv[], struct options *opt, struct train_config *cfg,
                  struct error *err);
/* The same for raytrain-predict. */
int options_parse_predict(int argc, char *argv[], struct options *opt,
                          struct train_config *cfg, struct error *err);
/* The same for raytrain-serve, whose first operand is the checkpoint, unless --models
 * is given. */
int options_parse_serve(int argc, char *argv[], struct options *opt,
                        struct train_config *cfg, struct error *err);
/* After an error of the command line: add which words were taken for the function or
 * the command and for its arguments, if there are any. The user may have meant them as
 * options of this program. */
void options_note_operands(const struct options *opt, struct error *err);
void options_clear(struct options *opt);
/* The text of --help, which fits a screen, or of --help=all: one line of at most 80
 * columns for each option. The next call overwrites it. */
const char *options_help(bool all);
const char *options_help_predict(bool all);
const char *options_help_serve(bool all);

#endif
