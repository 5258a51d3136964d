#include "config.h"
#include "saving/tiers_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rank/notes.h"
#include "run/checkpoint_manager.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "util/memory.h"

#define STAGED_MAX 32 /* that wait to be moved; the next save waits then */

static void note_warning(void *arg, const char *text)
{
    const struct tiers *t = arg;

    note_add(t->log_dir, NOTE_WARNING, "%s", text);
}

/* ---- Moving -----------------------------------------------------------------------
 */

int tiers_move(struct tiers *t, struct comm *comm, const struct image_tier *tier,
               int64_t iteration, struct error *err)
{
    char *path = run_dir_checkpoint(t->run_dir, (long)iteration);
    int rc = path ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = image_move(comm, tier, iteration, path, err);
    free(path);
    return rc;
}

void tiers_release(struct tiers *t)
{
    int64_t there[16], newest, moved;
    int n;

    if (!t->leader || !tiers_has(&t->memory))
        return;
    pthread_mutex_lock(&t->lock);
    newest = t->newest;
    moved = t->moved;
    pthread_mutex_unlock(&t->lock);
    n = image_list(&t->memory.dir, there, 16);
    for (int i = 0; i < n; i++)
        if (there[i] <= moved && (there[i] < newest || there[i] < moved))
            image_remove(&t->memory.dir, there[i]);
}

/* What is staged up to this one goes, too: storage has one as new. */
static void staged_release(struct tiers *t, int64_t moved)
{
    int64_t there[2 * STAGED_MAX];
    int n;

    if (!t->leader || !tiers_has(&t->staged))
        return;
    n = image_list(&t->staged.dir, there, 2 * STAGED_MAX);
    for (int i = 0; i < n; i++)
        if (there[i] <= moved)
            image_remove(&t->staged.dir, there[i]);
}

static void move_failed(struct tiers *t, const struct error *why)
{
    pthread_mutex_lock(&t->lock);
    t->rc = -1;
    t->err = *why;
    pthread_mutex_unlock(&t->lock);
}

/* This iteration is on storage. */
static void move_done(struct tiers *t, const struct comm *comm, int64_t iteration)
{
    struct error why;

    if (comm->rank == 0 &&
        checkpoint_manager_prune(t->run_dir, &t->config, note_warning, t, &why) < 0)
        note_warning(t, why.text);
    pthread_mutex_lock(&t->lock);
    t->moved = iteration;
    pthread_mutex_unlock(&t->lock);
    staged_release(t, iteration);
    tiers_release(t);
}

/* In the mover's thread. */
static void move(void *arg, int64_t iteration)
{
    struct tiers *t = arg;
    struct error why;

    if (t->rc < 0) /* only this thread changes it */
        return;
    if (tiers_move(t, t->moving, t->last, iteration, &why) < 0)
        move_failed(t, &why);
    else
        move_done(t, t->moving, iteration);
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

static int moves_result(struct tiers *t, struct error *err)
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
    while (!mover_wait(t->mover, 0, 1))
        if (waiting)
            waiting(arg, clock_now() - since);
    return moves_result(t, err);
}

bool tiers_linger(struct tiers *t, double seconds)
{
    return !t || mover_wait(t->mover, 0, seconds);
}

/* ---- Saving -----------------------------------------------------------------------
 */

/* COLLECTIVE: at most `left` are still to be moved, on every rank. */
static int moves_await(struct tiers *t, struct comm *comm, size_t left,
                       struct error *err)
{
    while (!mover_wait(t->mover, left, 3600))
        continue;
    return comm_agree(comm, moves_result(t, err), err);
}

/*
 * A tier that has no room, or cannot be written, is passed over with a word to the
 * user, once: its checkpoint goes further down. But where that is so from the
 * beginning, it is the configuration that does not fit. 0 where it is passed over.
 */
static int refusal_pass(const struct tiers *t, const struct comm *comm, bool *told,
                        int64_t iteration, const char *how, const struct error *err)
{
    if (!t->under_way || (err->code != RAYTRAIN_EFIT && err->code != RAYTRAIN_ESTORAGE))
        return -1;
    if (comm->rank == 0 && !*told)
        note_add(t->log_dir, NOTE_WARNING,
                 "the checkpoint of iteration %" PRId64
                 " is saved %s, and so are those "
                 "that follow as long as it is so: %s",
                 iteration, how, err->text);
    *told = true;
    return 0;
}

/* Two in memory at most: the one before the last must be on storage, and gone. */
static int memory_save(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
                       int64_t iteration, bool *placed, struct error *err)
{
    if (moves_await(t, comm, 1, err) < 0)
        return -1;
    if (image_save(save, comm, &t->memory, iteration, err) < 0)
        return refusal_pass(t, comm, &t->memory_told, iteration,
                            "without copies in memory", err);
    *placed = true;
    pthread_mutex_lock(&t->lock);
    t->newest = iteration;
    pthread_mutex_unlock(&t->lock);
    tiers_release(t);
    return 0;
}

/* Where there is no room, what is there must be moved first. */
static int staged_save(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
                       int64_t iteration, bool *placed, struct error *err)
{
    int rc;

    *placed = false;
    if (moves_await(t, comm, STAGED_MAX - 1, err) < 0)
        return -1;
    rc = image_save(save, comm, &t->staged, iteration, err);
    if (rc < 0 && err->code == RAYTRAIN_EFIT) {
        if (moves_await(t, comm, 0, err) < 0)
            return -1;
        rc = image_save(save, comm, &t->staged, iteration, err);
        if (rc < 0 && err->code == RAYTRAIN_EFIT)
            err->code = RAYTRAIN_ESTORAGE;
    }
    if (rc < 0)
        return refusal_pass(t, comm, &t->staged_told, iteration, "straight to storage",
                            err);
    *placed = true;
    return 0;
}

/* Into the tiers; *placed where it will be moved to storage from there. What the start
 * could not use, and is as new, is not to be mixed up with this one, nor replaced by it
 * before it is on storage. */
static int tiers_place(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
                       int64_t iteration, bool *placed, struct error *err)
{
    *placed = false;
    if (iteration <= t->unused)
        return 0;
    if (tiers_has(&t->memory) && memory_save(t, save, comm, iteration, placed, err) < 0)
        return -1;
    if (tiers_has(&t->staged) && staged_save(t, save, comm, iteration, placed, err) < 0)
        return -1;
    return 0;
}

/* In order: what is still to be moved goes first. */
static int storage_save(struct tiers *t, struct checkpoint_save *save,
                        struct comm *comm, int64_t iteration, struct error *err)
{
    if (moves_await(t, comm, 0, err) < 0 ||
        checkpoint_save_run(save, comm, &t->nodes, err) < 0)
        return -1;
    move_done(t, comm, iteration);
    return 0;
}

int tiers_save(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
               int64_t iteration, struct error *err)
{
    bool placed;
    int rc = comm_agree(comm, moves_result(t, err), err);

    if (rc < 0 || tiers_place(t, save, comm, iteration, &placed, err) < 0)
        return -1;
    t->under_way = true;
    if (!placed)
        return storage_save(t, save, comm, iteration, err);
    rc = mover_add(t->mover, iteration, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && t->config.sync && !tiers_has(&t->staged))
        rc = moves_await(t, comm, 0, err);
    return rc;
}

/* ---- Life -------------------------------------------------------------------------
 */

/* COLLECTIVE: rank 0 knows it. */
static int id_share(const struct tiers_env *env, struct comm *comm, char *id,
                    struct error *err)
{
    int rc = comm->rank == 0 ? run_dir_id(env->run_dir, id, err) : 0;

    rc = comm_agree(comm, rc, err);
    return rc == 0 ? comm->ops->bcast(comm, id, RUN_ID_LENGTH + 1, 0, err) : rc;
}

static int config_copy(struct tiers *t, const struct tiers_env *env, struct error *err)
{
    const struct checkpoint_config *config = &env->config->checkpoint_config;
    const char *score = config->checkpoint_score_attribute;
    const char *staging = env->config->sync_config.staging_path;

    t->config = *config;
    t->config.checkpoint_score_attribute = score ? strdup(score) : NULL;
    t->staging_path = staging ? strdup(staging) : NULL;
    t->run_dir = strdup(env->run_dir);
    t->log_dir = strdup(env->log_dir);
    t->leader = env->world->local_rank == 0;
    if (!t->run_dir || !t->log_dir || (staging && !t->staging_path) ||
        (score && !t->config.checkpoint_score_attribute))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    return 0;
}

static int dirs_enter(struct tiers *t, const char *id, struct error *err)
{
    if (t->config.replicas > 0 &&
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

    if (comm_agree(comm, rc, err) < 0 || id_share(env, comm, id, err) < 0 ||
        comm_agree(comm, dirs_enter(t, id, err), err) < 0 ||
        node_map_make(comm, env->world->node_rank, env->world->local_rank, &t->nodes,
                      err) < 0 ||
        comm->ops->dup(comm, &t->moving, err) < 0)
        return -1;
    t->moving->naps = true;
    t->memory.nodes = t->staged.nodes = &t->nodes;
    t->memory.copies = true;
    t->memory.available = memory_available;
    t->last = tiers_has(&t->staged) ? &t->staged : &t->memory;
    if (dirs_check(t, comm, err) < 0)
        return -1;
    return comm_agree(comm, mover_create(move, t, &t->mover, err), err);
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
    rc =
        comm_agree(comm, t ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory"), err);
    if (t) {
        pthread_mutex_init(&t->lock, NULL);
        t->newest = t->moved = t->spare = t->unused = -1;
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
        note_warning(t, why.text);
    if (tiers_has(&t->staged) && t->unused <= t->moved &&
        image_dir_remove(t->staging_path, t->staged.dir.id, &why) < 0)
        note_warning(t, why.text);
}

void tiers_destroy(struct tiers *t, bool clean)
{
    if (!t || (t->mover && !mover_wait(t->mover, 0, 0)))
        return;
    mover_destroy(t->mover);
    if (clean)
        comm_free(t->moving);
    image_dir_leave(&t->memory.dir);
    image_dir_leave(&t->staged.dir);
    node_map_clear(&t->nodes);
    pthread_mutex_destroy(&t->lock);
    free(t->config.checkpoint_score_attribute);
    free(t->staging_path);
    free(t->run_dir);
    free(t->log_dir);
    free(t);
}
