/*
 * serve_choice.h - a model that raytrain-serve is asked to serve: what the user has typed,
 * with the configuration that is for this model alone.
 */
#ifndef RAYTRAIN_CMD_SERVE_CHOICE_H
#define RAYTRAIN_CMD_SERVE_CHOICE_H

#include "config/options.h"

struct choice {
    struct options opt; /* opt.checkpoint: its run, or its checkpoint */
    struct train_config cfg;
    char *name;       /* in the paths of requests */
    char *checkpoint; /* the one to begin with */
    int64_t newest;   /* when all of the run were last looked at */
};

/* Merge the file that is for one of several models, if it is one to act upon
 * (util/run_record.h). Its function takes the place of the one
 * that was typed, with arguments. */
int choice_configure(struct train_config *cfg, const char *path, struct error *err);
/* After that, and before it is settled: RAYTRAIN_EINVAL if it has what is for all models
 * alike. `typed` is without the file. */
int choice_compare(const struct choice *c, const struct train_config *typed,
                   struct error *err);
/* Find the checkpoint, and complete the configuration; not that of all models. Its name is
 * that of the run or the checkpoint, unless there is one. */
int choice_settle(struct choice *c, struct error *err);
/* The checkpoint that is to be served now, malloc'ed. RAYTRAIN_ENOTFOUND: there is no newer
 * one. All of the run are opened only if there is. RAYTRAIN_EINVAL, which is also printed: its
 * name is that of another iteration. */
int choice_newer(struct choice *c, char **checkpoint, struct error *err);
bool choice_is_run(const struct choice *c);
void choice_clear(struct choice *c);

/* A copy of `value` in place of *text. */
int text_set(char **text, const char *value, struct error *err);

#endif
