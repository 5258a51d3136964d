/*
 * save_target.c - copies the part of the configuration, and prunes checkpoints with
 * checkpoint_manager.h.
 */
#include "saving/save_target.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/stripes.h"
#include "rank/event.h"
#include "run/checkpoint_manager.h"

int save_target_copy(struct save_target *t, const char *run_dir, const char *log_dir,
                     const struct checkpoint_config *config, struct error *err)
{
    const char *score = config->checkpoint_score_attribute;

    stripes_set(config->stripe_count);
    t->config = *config;
    t->config.checkpoint_score_attribute = score ? strdup(score) : NULL;
    t->run_dir = strdup(run_dir);
    t->log_dir = strdup(log_dir);
    if (t->run_dir && t->log_dir && (!score || t->config.checkpoint_score_attribute))
        return 0;
    save_target_clear(t);
    return error_no_memory(err);
}

void save_target_clear(struct save_target *t)
{
    free(t->config.checkpoint_score_attribute);
    free(t->run_dir);
    free(t->log_dir);
    *t = (struct save_target){0};
}

static void note_warning(void *arg, const char *text)
{
    const struct save_target *t = arg;

    event_add(t->log_dir, EVENT_WARNING, "%s", text);
}

void save_target_prune(struct save_target *t, struct comm *comm)
{
    struct error why;

    if (comm->rank == 0 &&
        checkpoint_manager_prune(t->run_dir, &t->config, note_warning, t, &why) < 0)
        note_warning(t, why.text);
    if (comm->rank == 0 && stripes_failed(&why))
        note_warning(t, why.text);
    /* Otherwise other ranks could list checkpoints that are being deleted. */
    comm_agree(comm, 0, &why);
}
