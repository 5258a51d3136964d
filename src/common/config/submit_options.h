/*
 * submit_options.h - the flags of raytrain-run for a batch job, and its own command line
 * as such a job has it.
 */
#ifndef RAYTRAIN_CONFIG_SUBMIT_OPTIONS_H
#define RAYTRAIN_CONFIG_SUBMIT_OPTIONS_H

#include <stdbool.h>

#include "util/error.h"

struct submit_options {
    bool wanted; /* --submit */
    /* NULL: not typed */
    char *array; /* which tasks, "0-2" */
    /* As for sbatch; also for an allocation that raytrain-run takes. */
    char *time, *partition, *account, *qos;
    char *sbatch_args; /* one string, split like a shell would, without a shell */
    char *prologue;    /* path of a file: lines of shell before the command */
    /* The flags of the job's command line: those that were typed, as --NAME=VALUE, with
     * absolute paths, but without the above, --resume and --fresh. */
    char **line;
    char *const *operands; /* what followed the flags; borrowed from argv */
    bool command;          /* after "--" */
};

/* What becomes of a flag in the command line of a batch job. */
enum submit_line {
    SUBMIT_SAME,
    SUBMIT_PATH,    /* its argument is the path of a file; without one it is left out */
    SUBMIT_LEFT_OUT /* the job does not need it */
};

/* RAYTRAIN_EUSAGE: a value that sbatch cannot take, or a flag without --submit. If
 * raytrain-run may take an allocation itself, some flags are for that one. */
int submit_options_check(const struct submit_options *s, bool may_allocate,
                         struct error *err);
/* Append a flag, whose argument may be NULL, to the job's command line. */
int submit_line_append(const char *flag, enum submit_line what, const char *argument,
                       char ***line, struct error *err);
void submit_options_clear(struct submit_options *s);

#endif
