#include "config.h"
#include "worker/tiers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/checkpoint_manager.h"
#include "store/image_tier.h"
#include "store/run_dir.h"
#include "util/clock.h"
#include "util/memory.h"
#include "worker/mover.h"
#include "worker/notes.h"

#define STAGED_MAX 32 /* that wait to be moved; the next save waits then */

struct tiers {
    char *run_dir, *log_dir, *staging_path;
    struct checkpoint_config config;
    bool leader; /* of this node's ranks */
    struct node_map nodes;
    struct image_tier memory, staged; /* dir.path NULL: not that one */
    const struct image_tier *last;    /* what is moved to storage is moved from here */

    struct comm *moving; /* the mover's */
    struct mover *mover;
    pthread_mutex_t lock; /* for what follows */
    int rc;               /* of the moves; once one has failed, the rest stay */
    struct error err;
    int64_t newest; /* complete in memory on all nodes */
    int64_t moved;  /* on storage */
};

static bool has(const struct image_tier *tier)
{
    return tier->dir.path != NULL;
}

static void note_warning(void *arg, const char *text)
{
    const struct tiers *t = arg;

    note_add(t->log_dir, NOTE_WARNING, "%s", text);
}

/* ---- Moving -----------------------------------------------------------------------
 */

/* COLLECTIVE over comm: a complete set of images to storage. */
static int images_move(struct tiers *t, struct comm *comm,
                       const struct image_tier *tier, int64_t iteration,
                       struct error *err)
{
    char *path = run_dir_checkpoint(t->run_dir, (long)iteration);
    struct survey survey = {0};
    int rc = path ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = survey_make(comm, tier, iteration, false, &survey, err);
    if (rc == 0 && survey.missing > 0)
        rc = error_set(err, RAYTRAIN_ENOTFOUND, "a node that had a part of it is gone");
    if (rc == 0)
        rc = image_publish(comm, tier, &survey, path, err);
    survey_clear(&survey);
    free(path);
    return rc;
}

/* The older of two in memory goes once it is on storage. */
static void memory_release(struct tiers *t)
{
    int64_t there[16], newest, moved;
    int n;

    if (!t->leader || !has(&t->memory))
        return;
    pthread_mutex_lock(&t->lock);
    newest = t->newest;
    moved = t->moved;
    pthread_mutex_unlock(&t->lock);
    n = image_list(&t->memory.dir, there, 16);
    for (int i = 0; i < n; i++)
        if (there[i] < newest && there[i] <= moved)
            image_remove(&t->memory.dir, there[i]);
}

static void move_failed(struct tiers *t, const struct error *why)
{
    pthread_mutex_lock(&t->lock);
    t->rc = -1;
    t->err = *why;
    pthread_mutex_unlock(&t->lock);
}

static void move_done(struct tiers *t, int64_t iteration)
{
    struct error why;

    if (t->moving->rank == 0 &&
        checkpoint_manager_prune(t->run_dir, &t->config, note_warning, t, &why) < 0)
        note_warning(t, why.text);
    pthread_mutex_lock(&t->lock);
    t->moved = iteration;
    pthread_mutex_unlock(&t->lock);
    if (t->leader && has(&t->staged))
        image_remove(&t->staged.dir, iteration);
    memory_release(t);
}

/* In the mover's thread. */
static void move(void *arg, int64_t iteration)
{
    struct tiers *t = arg;
    struct error why;

    if (t->rc < 0) /* only this thread changes it */
        return;
    if (images_move(t, t->moving, t->last, iteration, &why) < 0)
        move_failed(t, &why);
    else
        move_done(t, iteration);
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

/* Two in memory at most: the one before the last must be on storage, and gone. */
static int memory_save(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
                       int64_t iteration, struct error *err)
{
    if (!has(&t->memory))
        return 0;
    if (moves_await(t, comm, 1, err) < 0 ||
        image_save(save, comm, &t->memory, iteration, err) < 0)
        return -1;
    pthread_mutex_lock(&t->lock);
    t->newest = iteration;
    pthread_mutex_unlock(&t->lock);
    memory_release(t);
    return 0;
}

/* Where there is no room, what is there must be moved first. */
static int staged_save(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
                       int64_t iteration, struct error *err)
{
    int rc;

    if (!has(&t->staged))
        return 0;
    if (moves_await(t, comm, STAGED_MAX - 1, err) < 0)
        return -1;
    rc = image_save(save, comm, &t->staged, iteration, err);
    if (rc == 0 || err->code != RAYTRAIN_EFIT)
        return rc;
    if (moves_await(t, comm, 0, err) < 0)
        return -1;
    rc = image_save(save, comm, &t->staged, iteration, err);
    if (rc < 0 && err->code == RAYTRAIN_EFIT)
        err->code = RAYTRAIN_ESTORAGE;
    return rc;
}

int tiers_save(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
               int64_t iteration, struct error *err)
{
    int rc = comm_agree(comm, moves_result(t, err), err);

    if (rc < 0 || memory_save(t, save, comm, iteration, err) < 0 ||
        staged_save(t, save, comm, iteration, err) < 0)
        return -1;
    rc = mover_add(t->mover, iteration, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && t->config.sync && !has(&t->staged))
        rc = moves_await(t, comm, 0, err);
    return rc;
}

/* ---- The start --------------------------------------------------------------------
 */

/* Is this a reason to look for an older one, rather than to give up? */
static bool is_passed_over(const struct error *err)
{
    return err->code == RAYTRAIN_ECORRUPT || err->code == RAYTRAIN_ENOTFOUND ||
           err->code == RAYTRAIN_EFIT;
}

/* COLLECTIVE: the newest that storage has a name of; -1: none. */
static int storage_newest(const struct tiers *t, struct comm *comm, int64_t *newest,
                          struct error *err)
{
    int64_t *iterations = NULL;
    size_t n = 0;
    int rc = 0;

    if (comm->rank == 0)
        rc = checkpoint_manager_list(t->run_dir, &iterations, &n, err);
    *newest = n > 0 ? iterations[n - 1] : -1;
    free(iterations);
    rc = comm_agree(comm, rc, err);
    return rc == 0 ? comm->ops->bcast(comm, newest, sizeof *newest, 0, err) : rc;
}

static void __attribute__((format(printf, 3, 4)))
tell(const struct tiers *t, const struct comm *comm, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    if (comm->rank != 0)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    note_add(t->log_dir, NOTE, "%s", text);
}

/* COLLECTIVE: those that are newer than storage's go there, oldest first. */
static int staged_restore(struct tiers *t, struct comm *comm, int64_t newest,
                          struct error *err)
{
    int64_t *found = NULL;
    size_t n = 0;
    int rc = image_inventory(comm, &t->staged, &found, &n, err);

    while (rc == 0 && n > 0) {
        int64_t iteration = found[--n];
        struct error why;

        if (iteration <= newest)
            continue;
        if (images_move(t, comm, &t->staged, iteration, &why) == 0)
            tell(t, comm,
                 "the staged checkpoint of iteration %" PRId64 " is on storage now",
                 iteration);
        else if (is_passed_over(&why))
            tell(t, comm,
                 "the staged checkpoint of iteration %" PRId64 " is passed over: %s",
                 iteration, why.text);
        else
            rc = error_set(err, why.code, "%s", why.text);
    }
    if (rc == 0 && t->leader)
        image_tidy(&t->staged.dir, NULL, 0);
    free(found);
    return rc;
}

/* COLLECTIVE: one candidate in memory, whole on every node, open. */
static int memory_open(struct tiers *t, struct comm *comm, int64_t iteration,
                       raytrain_checkpoint **out, struct error *err)
{
    char *path = image_path(&t->memory.dir, iteration);
    struct survey survey = {0};
    int rc = path ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = survey_make(comm, &t->memory, iteration, true, &survey, err);
    if (rc == 0 && survey.missing > 0)
        rc = error_set(err, RAYTRAIN_ENOTFOUND,
                       "%" PRIu64 " of its %" PRIu64 " pieces are on no node",
                       survey.missing, survey.n_chunks);
    if (rc == 0)
        rc = image_assemble(comm, &t->memory, iteration, &survey, err);
    if (rc == 0)
        rc = checkpoint_open(comm, path, out, err);
    survey_clear(&survey);
    free(path);
    return rc;
}

/* It counts as the newest in memory, and goes to storage if that has none like it. */
static int memory_taken(struct tiers *t, struct comm *comm, int64_t iteration,
                        int64_t newest, struct error *err)
{
    int rc = 0;

    tell(t, comm, "the checkpoint of iteration %" PRId64 " is taken from memory",
         iteration);
    t->newest = iteration;
    if (iteration > newest)
        rc = mover_add(t->mover, iteration, err);
    return comm_agree(comm, rc, err);
}

static int memory_restore(struct tiers *t, struct comm *comm, int64_t newest,
                          raytrain_checkpoint **out, struct error *err)
{
    int64_t *found = NULL, taken = -1;
    size_t n = 0;
    int rc = image_inventory(comm, &t->memory, &found, &n, err);

    for (size_t i = 0; rc == 0 && !*out && i < n && found[i] >= newest; i++) {
        struct error why;

        if (memory_open(t, comm, found[i], out, &why) == 0)
            taken = found[i];
        else if (is_passed_over(&why))
            tell(t, comm,
                 "the checkpoint of iteration %" PRId64 " in memory is passed over: %s",
                 found[i], why.text);
        else
            rc = error_set(err, why.code, "%s", why.text);
    }
    if (rc == 0 && t->leader)
        image_tidy(&t->memory.dir, &taken, taken < 0 ? 0 : 1);
    if (rc == 0 && *out)
        rc = memory_taken(t, comm, taken, newest, err);
    free(found);
    return rc;
}

int tiers_restore(struct tiers *t, struct comm *comm, raytrain_checkpoint **out,
                  struct error *err)
{
    int64_t newest;

    if (storage_newest(t, comm, &newest, err) < 0)
        return -1;
    if (has(&t->staged) && (staged_restore(t, comm, newest, err) < 0 ||
                            storage_newest(t, comm, &newest, err) < 0))
        return -1;
    t->moved = newest;
    return has(&t->memory) ? memory_restore(t, comm, newest, out, err) : 0;
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
    t->last = has(&t->staged) ? &t->staged : &t->memory;
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
        t->newest = t->moved = -1;
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
    if (has(&t->memory) && image_dir_remove(IMAGE_MEMORY, t->memory.dir.id, &why) < 0)
        note_warning(t, why.text);
    if (has(&t->staged) &&
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
