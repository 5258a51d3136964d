/*
 * submit_options.h - the flags of raytrain-run for a batch job, and the command line
 * that such a job runs.
 */
#ifndef RAYTRAIN_CONFIG_SUBMIT_OPTIONS_H
#define RAYTRAIN_CONFIG_SUBMIT_OPTIONS_H

#include <stdbool.h>

#include "util/error.h"

struct submit_options {
    bool wanted; /* --submit */
    /* NULL: not given. */
    char *array; /* which tasks, "0-2" */
    /* As for sbatch. They also apply to an allocation that raytrain-run takes. */
    char *time, *partition, *account, *qos;
    /* One string, split like a shell would, without a shell. */
    char *sbatch_args;
    /* The path of a file with lines of shell that come before the command. */
    char *prologue;
    /* The flags of the job's command line: those that were given, as --NAME=VALUE with
     * absolute paths, except the flags above, --resume and --fresh. */
    char **line;
    /* The words after the flags; borrowed from argv. */
    char *const *operands;
    bool command;          /* after "--" */
};

/* How a flag appears in the command line of a batch job. */
enum submit_line {
    SUBMIT_SAME,
    /* Its argument is the path of a file. Left out if it has no argument. */
    SUBMIT_PATH,
    SUBMIT_LEFT_OUT /* the job does not need it */
};

/* RAYTRAIN_EUSAGE: a value that sbatch cannot take, or a flag without --submit. If
 * raytrain-run may take an allocation itself, some flags are allowed for that. */
int submit_options_check(const struct submit_options *s, bool may_allocate,
                         struct error *err);
/* Append a flag, whose argument may be NULL, to the job's command line. */
int submit_line_append(const char *flag, enum submit_line what, const char *argument,
                       char ***line, struct error *err);
void submit_options_clear(struct submit_options *s);

#endif
