/*
 * tiers.c - creates the tiers, puts checkpoints into them, and flushes them to storage.
 * What an earlier attempt has left is in tiers_restore.c.
 */
#include "config.h"
#include "saving/tiers_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rank/event.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "util/memory.h"

/* Staged checkpoints that may wait to be flushed; with more, a save waits. */
#define STAGED_MAX 32

/* ---- Flushing, in the background ---- */

int tiers_flush(struct tiers *t, struct comm *comm, const struct image_tier *tier,
                int64_t iteration, struct error *err)
{
    char *path = run_dir_checkpoint(t->target.run_dir, (long)iteration);
    int rc = path ? 0 : error_no_memory(err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = image_flush(comm, tier, iteration, path, err);
    free(path);
    return rc;
}

void tiers_release(struct tiers *t)
{
    int64_t there[16], newest, flushed;
    int n;

    if (!t->leader || !tiers_has(&t->memory))
        return;
    pthread_mutex_lock(&t->lock);
    newest = t->newest;
    flushed = t->flushed;
    pthread_mutex_unlock(&t->lock);
    n = image_list(&t->memory.dir, there, 16);
    for (int i = 0; i < n; i++)
        if (there[i] <= flushed && (there[i] < newest || there[i] < flushed))
            image_remove(&t->memory.dir, there[i]);
}

/* Remove what is staged up to this iteration: storage has a checkpoint that is as
 * new. */
static void staged_release(struct tiers *t, int64_t flushed)
{
    int64_t there[2 * STAGED_MAX];
    int n;

    if (!t->leader || !tiers_has(&t->staged))
        return;
    n = image_list(&t->staged.dir, there, 2 * STAGED_MAX);
    for (int i = 0; i < n; i++)
        if (there[i] <= flushed)
            image_remove(&t->staged.dir, there[i]);
}

static void flush_failed(struct tiers *t, const struct error *why)
{
    pthread_mutex_lock(&t->lock);
    t->rc = -1;
    t->err = *why;
    pthread_mutex_unlock(&t->lock);
}

void tiers_on_storage(struct tiers *t, int64_t iteration)
{
    pthread_mutex_lock(&t->lock);
    t->flushed = iteration;
    pthread_mutex_unlock(&t->lock);
    staged_release(t, iteration);
    tiers_release(t);
}

/* In the flusher's thread. */
static void flush(void *arg, int64_t iteration)
{
    struct tiers *t = arg;
    struct error why;

    if (t->rc < 0) /* only this thread changes it */
        return;
    if (tiers_flush(t, t->flush_comm, t->last, iteration, &why) < 0) {
        flush_failed(t, &why);
        return;
    }
    save_target_prune(&t->target, t->flush_comm);
    tiers_on_storage(t, iteration);
}

int tiers_flush_later(struct tiers *t, int64_t iteration, struct error *err)
{
    return background_add(t->flusher, flush, t, iteration, err);
}

bool tiers_have_failed(struct tiers *t)
{
    bool failed;

    if (!t)
        return false;
    pthread_mutex_lock(&t->lock);
    failed = t->rc < 0;
    pthread_mutex_unlock(&t->lock);
    return failed;
}

int64_t tiers_flushed(struct tiers *t)
{
    int64_t flushed;

    pthread_mutex_lock(&t->lock);
    flushed = t->flushed;
    pthread_mutex_unlock(&t->lock);
    return flushed;
}

static int flushes_result(struct tiers *t, struct error *err)
{
    int rc;

    pthread_mutex_lock(&t->lock);
    rc = t->rc;
    if (rc < 0)
        error_set(err, t->err.code, "%s", t->err.text);
    pthread_mutex_unlock(&t->lock);
    return rc;
}

int tiers_settle(struct tiers *t, void (*waiting)(void *arg, double waited_s),
                 void *arg, struct error *err)
{
    double since = clock_now();

    if (!t)
        return 0;
    while (!background_wait(t->flusher, 0, 1))
        if (waiting)
            waiting(arg, clock_now() - since);
    return flushes_result(t, err);
}

bool tiers_linger(struct tiers *t, double seconds)
{
    return !t || background_wait(t->flusher, 0, seconds);
}

/* ---- Putting ---- */

/* COLLECTIVE: wait until at most n_left remain to be flushed on every rank. */
static int flushes_await(struct tiers *t, struct comm *comm, size_t n_left,
                         struct error *err)
{
    while (!background_wait(t->flusher, n_left, 3600))
        continue;
    return comm_agree(comm, flushes_result(t, err), err);
}

/*
 * A tier that has no room, or cannot be written, is skipped, with one warning: the
 * checkpoint goes to the next tier, or to storage. But if that happens at the first
 * checkpoint, the configuration does not fit. 0 if the tier is skipped.
 */
static int refusal_skip(const struct tiers *t, const struct comm *comm, bool *noted,
                        int64_t iteration, const char *how, const struct error *err)
{
    if (!t->under_way || (err->code != RAYTRAIN_EFIT && err->code != RAYTRAIN_ESTORAGE))
        return -1;
    if (comm->rank == 0 && !*noted)
        event_add(t->target.log_dir, EVENT_WARNING,
                  "the checkpoint of iteration %" PRId64
                  " is saved %s, and so are the following ones while this lasts: %s",
                  iteration, how, err->text);
    *noted = true;
    return 0;
}

/* Memory holds two at most: wait until the one before the last is on storage, and
 * removed. */
static int memory_put(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
                      int64_t iteration, bool *placed, struct error *err)
{
    if (flushes_await(t, comm, 1, err) < 0)
        return -1;
    if (image_write(save, comm, &t->memory, iteration, err) < 0)
        return refusal_skip(t, comm, &t->memory_noted, iteration,
                            "without copies in memory", err);
    *placed = true;
    pthread_mutex_lock(&t->lock);
    t->newest = iteration;
    pthread_mutex_unlock(&t->lock);
    tiers_release(t);
    return 0;
}

/* If there is no room, flush the staged ones, and try again. */
static int staged_put(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
                      int64_t iteration, bool *placed, struct error *err)
{
    int rc;

    *placed = false;
    if (flushes_await(t, comm, STAGED_MAX - 1, err) < 0)
        return -1;
    rc = image_write(save, comm, &t->staged, iteration, err);
    if (rc < 0 && err->code == RAYTRAIN_EFIT) {
        if (flushes_await(t, comm, 0, err) < 0)
            return -1;
        rc = image_write(save, comm, &t->staged, iteration, err);
        if (rc < 0 && err->code == RAYTRAIN_EFIT)
            err->code = RAYTRAIN_ESTORAGE;
    }
    if (rc < 0)
        return refusal_skip(t, comm, &t->staged_noted, iteration, "straight to storage",
                            err);
    *placed = true;
    return 0;
}

/* Put the save into each tier; *placed: a tier will flush it to storage. A checkpoint
 * that the start could not use, and that is as new as this one, must not be mixed up
 * with it, nor replaced by it before this one is on storage. */
static int tiers_place(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
                       int64_t iteration, bool *placed, struct error *err)
{
    *placed = false;
    if (iteration <= t->unused)
        return 0;
    if (tiers_has(&t->memory) && memory_put(t, save, comm, iteration, placed, err) < 0)
        return -1;
    if (tiers_has(&t->staged) && staged_put(t, save, comm, iteration, placed, err) < 0)
        return -1;
    return 0;
}

int tiers_put(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
              int64_t iteration, bool *placed, struct error *err)
{
    int rc = comm_agree(comm, flushes_result(t, err), err);

    if (rc < 0 || tiers_place(t, save, comm, iteration, placed, err) < 0)
        return -1;
    t->under_way = true;
    if (!*placed)
        return flushes_await(t, comm, 0, err); /* storage gets checkpoints in order */
    rc = tiers_flush_later(t, iteration, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && t->target.config.sync && !tiers_has(&t->staged))
        rc = flushes_await(t, comm, 0, err);
    return rc;
}

const struct node_map *tiers_nodes(const struct tiers *t)
{
    return &t->nodes;
}

/* ---- Creation ---- */

/* COLLECTIVE: rank 0 reads the run's id for all. */
static int run_id_share(const struct tiers_env *env, struct comm *comm, char *id,
                        struct error *err)
{
    int rc = comm->rank == 0 ? run_dir_id(env->run_dir, id, err) : 0;

    rc = comm_agree(comm, rc, err);
    return rc == 0 ? comm->ops->bcast(comm, id, RUN_ID_LENGTH + 1, 0, err) : rc;
}

static int config_copy(struct tiers *t, const struct tiers_env *env, struct error *err)
{
    const char *staging = env->config->sync_config.staging_path;

    t->leader = env->world->local_rank == 0;
    t->staging_path = staging ? strdup(staging) : NULL;
    if (staging && !t->staging_path)
        return error_no_memory(err);
    return save_target_copy(&t->target, env->run_dir, env->log_dir,
                            &env->config->checkpoint_config, err);
}

static int dirs_enter(struct tiers *t, const char *id, struct error *err)
{
    if (t->target.config.replicas > 0 &&
        image_dir_enter(IMAGE_MEMORY, id, false, &t->memory.dir, err) < 0)
        return -1;
    if (t->staging_path &&
        image_dir_enter(t->staging_path, id, true, &t->staged.dir, err) < 0)
        return -1;
    return 0;
}

/* COLLECTIVE */
static int dirs_check(const struct tiers *t, struct comm *comm, struct error *err)
{
    if (tiers_has(&t->memory) && image_dirs_check(comm, &t->memory, err) < 0)
        return -1;
    return tiers_has(&t->staged) ? image_dirs_check(comm, &t->staged, err) : 0;
}

static int tiers_open(struct tiers *t, const struct tiers_env *env, struct comm *comm,
                      struct error *err)
{
    char id[RUN_ID_LENGTH + 1] = "";
    int rc = config_copy(t, env, err);

    if (comm_agree(comm, rc, err) < 0 || run_id_share(env, comm, id, err) < 0 ||
        comm_agree(comm, dirs_enter(t, id, err), err) < 0 ||
        node_map_make(comm, env->world->node_rank, env->world->local_rank, &t->nodes,
                      err) < 0 ||
        comm->ops->dup(comm, &t->flush_comm, err) < 0)
        return -1;
    t->flush_comm->naps = true;
    t->memory.nodes = t->staged.nodes = &t->nodes;
    t->memory.copies = true;
    t->memory.available = memory_available;
    t->last = tiers_has(&t->staged) ? &t->staged : &t->memory;
    if (dirs_check(t, comm, err) < 0)
        return -1;
    return comm_agree(comm, background_create(&t->flusher, err), err);
}

int tiers_create(const struct tiers_env *env, struct comm *comm, struct tiers **out,
                 struct error *err)
{
    struct tiers *t;
    int rc;

    *out = NULL;
    if (env->config->checkpoint_config.replicas == 0 &&
        !env->config->sync_config.staging_path)
        return 0;
    t = calloc(1, sizeof *t);
    rc = comm_agree(comm, t ? 0 : error_no_memory(err), err);
    if (t) {
        pthread_mutex_init(&t->lock, NULL);
        t->newest = t->flushed = t->spare = t->unused = -1;
    }
    if (rc == 0)
        rc = tiers_open(t, env, comm, err);
    if (rc < 0) {
        tiers_destroy(t, false);
        return -1;
    }
    *out = t;
    return 0;
}

void tiers_forget(struct tiers *t, struct comm *comm)
{
    struct error why;

    if (!t || comm->ops->barrier(comm, &why) < 0 || !t->leader)
        return;
    if (tiers_has(&t->memory) &&
        image_dir_remove(IMAGE_MEMORY, t->memory.dir.id, &why) < 0)
        event_add(t->target.log_dir, EVENT_WARNING, "%s", why.text);
    if (tiers_has(&t->staged) && t->unused <= t->flushed &&
        image_dir_remove(t->staging_path, t->staged.dir.id, &why) < 0)
        event_add(t->target.log_dir, EVENT_WARNING, "%s", why.text);
}

void tiers_destroy(struct tiers *t, bool clean)
{
    if (!t || (t->flusher && !background_wait(t->flusher, 0, 0)))
        return;
    background_destroy(t->flusher);
    if (clean)
        comm_free(t->flush_comm);
    image_dir_leave(&t->memory.dir);
    image_dir_leave(&t->staged.dir);
    node_map_clear(&t->nodes);
    pthread_mutex_destroy(&t->lock);
    save_target_clear(&t->target);
    free(t->staging_path);
    free(t);
}
