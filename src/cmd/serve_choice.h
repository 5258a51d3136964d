/*
 * serve_choice.h - a model to serve: what the user has typed, merged with the
 * configuration for this model alone.
 */
#ifndef RAYTRAIN_CMD_SERVE_CHOICE_H
#define RAYTRAIN_CMD_SERVE_CHOICE_H

#include "config/options.h"

struct choice {
    struct options opt; /* opt.checkpoint: its run, or its checkpoint */
    struct train_config cfg;
    char *name;       /* in the paths of requests */
    char *checkpoint; /* the one to begin with */
    int64_t newest;   /* when all checkpoints of the run were last looked at */
};

/* Merge the file for one of several models, if it may be acted upon
 * (util/run_record.h). Its function, with arguments, replaces the typed one. */
int choice_configure(struct train_config *cfg, const char *path, struct error *err);
/* Call it after merging and before settling: RAYTRAIN_EINVAL if the file sets what is
 * common to all models. `typed` is without the file. */
int choice_compare(const struct choice *c, const struct train_config *typed,
                   struct error *err);
/* Find the checkpoint and complete this model's configuration. Unless it has a name, it
 * gets that of the run or the checkpoint. */
int choice_settle(struct choice *c, struct error *err);
/* The checkpoint to serve now, malloc'ed. RAYTRAIN_ENOTFOUND: there is no newer one;
 * the checkpoints of the run are opened only if there is. RAYTRAIN_EINVAL, which is
 * also printed: its name is that of another iteration. */
int choice_newer(struct choice *c, char **checkpoint, struct error *err);
bool choice_is_run(const struct choice *c);
void choice_clear(struct choice *c);

/* Put a copy of `value` in place of *text. */
int text_set(char **text, const char *value, struct error *err);

#endif
