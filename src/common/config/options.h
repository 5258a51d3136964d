/*
 * options.h - the command line of raytrain-run: flags that are not configuration, and
 * flags that are (those go straight into the train_config: a flag beats --set, --set
 * beats the file, the file beats the default, in whatever order they are typed).
 */
#ifndef RAYTRAIN_CONFIG_OPTIONS_H
#define RAYTRAIN_CONFIG_OPTIONS_H

#include <stdbool.h>

#include "config/train_config.h"

enum progress_style { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_PLAIN, PROGRESS_NONE };

struct options {
    char *launcher;  /* "auto", "slurm", "local" */
    char *srun_args; /* --srun-args, one string, split like a shell would, no shell */
    bool resume;     /* --resume: continue the run, or start it */
    bool warm;       /* --resume=CHECKPOINT: a new run that starts from another's */
    bool fresh;      /* --fresh: set an existing run aside and start anew */
    bool dry_run;
    bool json;
    bool quiet;
    enum progress_style progress;
    bool help;    /* --help: print options_help() to stdout, exit 0 */
    bool version; /* --version */
};

/* Fill opt and cfg (both initialised here; nothing is left in them on failure). With
 * --help or --version nothing else is looked at. Errors are RAYTRAIN_EUSAGE (unknown
 * flag, missing operand) or what the config functions say. cfg is not validated yet.
 * --score METRIC is --score METRIC:max. Arguments replace those of the file. */
int options_parse(int argc, char *argv[], struct options *opt, struct train_config *cfg,
                  struct error *err);
void options_clear(struct options *opt);
/* The text of --help: every option, a line each, 80 columns. */
const char *options_help(void);

#endif
