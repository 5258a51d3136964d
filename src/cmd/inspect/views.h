/*
 * views.h - the views of raytrain-inspect: each makes a JSON object of what it looks
 * at; the text is printed from that object, so that both agree.
 *
 * To add one: write a file with functions that make the object and print it.
 * command_line.c has the table of options and the table of views, raytrain-inspect.c
 * the table of their functions.
 */
#ifndef RAYTRAIN_INSPECT_VIEWS_H
#define RAYTRAIN_INSPECT_VIEWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "checkpoint/checkpoint.h"

/* A checkpoint, described by what it says about itself; `tensors`: with the table of
 * tensors. A damaged one yields an object with "error", and the reason in *err. NULL:
 * no memory. */
json_t *inspect_checkpoint(const char *path, bool tensors, bool verify,
                           struct error *err);
void inspect_checkpoint_print(FILE *out, const json_t *checkpoint);

/* A run directory. `verify` reads all checkpoints. NULL on failure. */
json_t *inspect_run(const char *path, bool verify, struct error *err);
/* The same without its reports: kind, path, status, holder, attempts, checkpoints. */
json_t *inspect_run_records(const char *path, bool verify, struct error *err);
void inspect_run_print(FILE *out, const json_t *run);

/* A dataset (data_files.h), or its first rows. */
struct inspect_options {
    uint64_t head;   /* rows; 0: a table of all columns, for which all rows are read */
    char **settings; /* "KEY=VALUE": keys of a dataset, as in raytrain.cfg */
    size_t n_settings;
    bool as_text; /* for inspect_dataset_print(), not for JSON */
};
json_t *inspect_dataset(const char *path, const struct inspect_options *options,
                        struct error *err);
void inspect_dataset_print(FILE *out, const json_t *dataset);

/* Is this the directory of a run? */
bool inspect_is_run(const char *path);

/* A directory of runs: all of them, the most recently active one first. NULL on
 * failure. */
struct run_list;
json_t *inspect_runs(const char *path, const struct run_list *list, struct error *err);
void inspect_runs_print(FILE *out, const json_t *runs);
void inspect_runs_csv(FILE *out, const json_t *runs);

/* Several runs: how they differ. NULL on failure. */
json_t *inspect_compare(const struct run_list *list, struct error *err);
void inspect_compare_print(FILE *out, const json_t *comparison);
void inspect_compare_csv(FILE *out, const json_t *comparison);

/* Print the reports of a run that count, as CSV. */
int reports_csv_print(FILE *out, const char *run, struct error *err);

/* Print what happens to a run until it ends; *status is its exit status. as_json: a
 * JSON object for each line. */
int inspect_follow(FILE *out, const char *run, bool as_json, int *status,
                   struct error *err);

/* Print the logs of the workers of the newest attempt. rank: digits, the only rank to
 * print; NULL: all. follow: until the run ends; *status is its exit status. */
int inspect_logs(FILE *out, const char *run, const char *rank, bool follow, int *status,
                 struct error *err);

/* Write the tensors of a checkpoint to a directory that does not exist or is empty: all
 * or nothing. Returns an object that describes what was written; NULL on failure. */
json_t *inspect_export(const char *path, const char *dir, struct error *err);
void inspect_export_print(FILE *out, const json_t *export);

/* Compare the tensors of two checkpoints; "same" in the object: all have the same bits.
 * NULL on failure. */
json_t *inspect_diff(const char *a, const char *b, struct error *err);
void inspect_diff_print(FILE *out, const json_t *diff);

/* Open and verify a checkpoint. */
int inspect_open(const char *path, raytrain_checkpoint **ck, struct error *err);

#endif
