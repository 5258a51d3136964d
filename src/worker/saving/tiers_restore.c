/*
 * tiers_restore.c - what an earlier attempt has left in the tiers.
 *
 * An image that cannot be used stays: its other parts may be on a node that is not
 * available now. It is removed once storage has a checkpoint that is as new. But if no
 * node has a complete part of it, it never was a checkpoint, and is removed at once.
 */
#include "config.h"
#include "saving/tiers_impl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "rank/event.h"
#include "run/checkpoint_manager.h"

static void __attribute__((format(printf, 3, 4)))
note(const struct tiers *t, const struct comm *comm, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    if (comm->rank != 0)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    event_add(t->target.log_dir, EVENT_NOTE, "%s", text);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* COLLECTIVE: the newest up to at_most whose name is on storage; -1: none. */
static int storage_newest(const struct tiers *t, struct comm *comm, int64_t at_most,
                          int64_t *newest, struct error *err)
{
    int64_t *iterations = NULL;
    size_t n = 0;
    int rc = 0;

    if (comm->rank == 0)
        rc = checkpoint_manager_list(t->target.run_dir, &iterations, &n, err);
    while (n > 0 && iterations[n - 1] > at_most)
        n--;
    *newest = n > 0 ? iterations[n - 1] : -1;
    free(iterations);
    rc = comm_agree(comm, rc, err);
    return rc == 0 ? comm->ops->bcast(comm, newest, sizeof *newest, 0, err) : rc;
}

/* An image cannot be used. Skip it with a note, or return -1 if the error is a reason
 * to give up rather than to look for an older one. */
static int pass_over(struct tiers *t, struct comm *comm, const struct image_tier *tier,
                     int64_t iteration, const struct error *why, struct error *err)
{
    if (why->code == RAYTRAIN_ECORRUPT)
        t->unused = later(t->unused, iteration);
    else if (why->code != RAYTRAIN_ENOTFOUND)
        return error_set(err, why->code, "%s", why->text);
    else if (t->leader)
        image_remove(&tier->dir, iteration);
    note(t, comm, "the checkpoint of iteration %" PRId64 " %s is passed over: %s",
         iteration, tier == &t->memory ? "in memory" : "in the staging area",
         why->text);
    return 0;
}

/* ---- Staged ---- */

/* COLLECTIVE: flush those that are newer than storage's newest, oldest first. */
static int staged_restore(struct tiers *t, struct comm *comm, int64_t *newest,
                          struct error *err)
{
    int64_t *found = NULL;
    size_t n = 0;
    int rc = image_inventory(comm, &t->staged, &found, &n, err);

    while (rc == 0 && n > 0) {
        int64_t iteration = found[--n];
        struct error why;

        if (iteration <= *newest) {
            t->spare = later(t->spare, iteration);
        } else if (tiers_flush(t, comm, &t->staged, iteration, &why) == 0) {
            *newest = iteration;
            note(t, comm,
                 "the staged checkpoint of iteration %" PRId64 " is on storage now",
                 iteration);
        } else {
            rc = pass_over(t, comm, &t->staged, iteration, &why, err);
        }
    }
    free(found);
    return rc;
}

/* ---- In memory ---- */

/* COLLECTIVE: open one candidate in memory, after every node has the whole file.
 * RAYTRAIN_ECORRUPT if something is missing, RAYTRAIN_EFIT if a node has no room for
 * the whole. */
static int memory_open(struct tiers *t, struct comm *comm, int64_t iteration,
                       raytrain_checkpoint **out, struct error *err)
{
    char *path = image_path(&t->memory.dir, iteration);
    struct survey survey = {0};
    int rc = path ? 0 : error_no_memory(err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = survey_make(comm, &t->memory, iteration, true, &survey, err);
    if (rc == 0) {
        rc = survey_complete(&survey, err);
        if (rc == 0)
            rc = image_assemble(comm, &t->memory, iteration, &survey, err);
        if (rc == 0)
            rc = checkpoint_open(comm, path, out, err);
        if (rc < 0 && err->code == RAYTRAIN_ENOTFOUND)
            err->code = RAYTRAIN_ESTORAGE; /* it was there a moment ago */
    }
    survey_clear(&survey);
    free(path);
    return rc;
}

/* COLLECTIVE: flush an image that is complete, but for which a node has no room:
 * training will read it from storage. */
static int memory_to_storage(struct tiers *t, struct comm *comm, int64_t iteration,
                             int64_t newest, const struct error *why, struct error *err)
{
    if (iteration <= newest) {
        t->spare = later(t->spare, iteration);
        return 0;
    }
    note(t, comm,
         "the checkpoint of iteration %" PRId64 " in memory is written to storage, and "
         "restored from there: %s",
         iteration, why->text);
    return tiers_flush(t, comm, &t->memory, iteration, err);
}

/* Make it the newest in memory, and flush it if storage has none that is as new. */
static int memory_taken(struct tiers *t, struct comm *comm, int64_t iteration,
                        int64_t newest, struct error *err)
{
    int rc = 0;

    note(t, comm, "the checkpoint of iteration %" PRId64 " is taken from memory",
         iteration);
    t->newest = iteration;
    if (iteration > newest)
        rc = tiers_flush_later(t, iteration, err);
    return comm_agree(comm, rc, err);
}

static int memory_restore(struct tiers *t, struct comm *comm, int64_t newest,
                          raytrain_checkpoint **out, struct error *err)
{
    int64_t *found = NULL;
    size_t n = 0;
    bool settled = false;
    int rc = image_inventory(comm, &t->memory, &found, &n, err);

    for (size_t i = 0; rc == 0 && !settled && i < n; i++) {
        struct error why;

        if (found[i] < newest) {
            t->spare = later(t->spare, found[i]);
            settled = true;
        } else if (memory_open(t, comm, found[i], out, &why) == 0) {
            rc = memory_taken(t, comm, found[i], newest, err);
            settled = true;
        } else if (why.code == RAYTRAIN_EFIT) {
            rc = memory_to_storage(t, comm, found[i], newest, &why, err);
            settled = true;
        } else {
            rc = pass_over(t, comm, &t->memory, found[i], &why, err);
        }
    }
    free(found);
    return rc;
}

/* ---- Both ---- */

int tiers_restore(struct tiers *t, struct comm *comm, int64_t at_most,
                  raytrain_checkpoint **out, struct error *err)
{
    int64_t newest;

    t->spare = t->unused = -1;
    if (storage_newest(t, comm, at_most, &newest, err) < 0)
        return -1;
    if (tiers_has(&t->staged) && staged_restore(t, comm, &newest, err) < 0)
        return -1;
    t->flushed = newest;
    return tiers_has(&t->memory) ? memory_restore(t, comm, newest, out, err) : 0;
}

int64_t tiers_spare(const struct tiers *t)
{
    return t ? t->spare : -1;
}

void tiers_resume(struct tiers *t, int64_t iteration)
{
    bool from_memory;

    if (!t)
        return;
    from_memory = t->newest >= 0;
    t->under_way = iteration >= 0;
    if (t->unused <= iteration)
        t->unused = -1;
    if (!t->leader)
        return;
    /* A checkpoint from memory need not be on storage: staged ones are kept. */
    if (tiers_has(&t->staged))
        image_tidy(&t->staged.dir, from_memory ? -1 : iteration);
    if (tiers_has(&t->memory))
        image_tidy(&t->memory.dir, from_memory ? -1 : iteration);
    tiers_release(t);
}
