#include "config.h"
#include "saving/saving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm/node_map.h"
#include "rank/notes.h"
#include "run/checkpoint_manager.h"
#include "run/journal.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "saving/snapshot.h"
#include "util/background.h"
#include "util/clock.h"

struct saving {
    char *run_dir, *log_dir;
    struct checkpoint_config config;
    int n_sharing, node, local;
    struct node_map nodes; /* once something was saved; size 0: not yet */
    struct waiting *waiting;
    struct tiers *tiers;
    bool refused_told;

    struct background *thread; /* made at its first use */
    struct comm *background;   /* its communicator; likewise */
    struct snapshot snapshot;
    size_t expected; /* bytes for the snapshot */

    /* The save that has begun; NULL: none. It and all below, the snapshot too, are the
     * thread's while that is at work. */
    struct checkpoint_save *save;
    raytrain_checkpoint *ck;
    int64_t iteration;
    struct comm *comm; /* of RUN */
    bool going;        /* RUN was handed to the thread */
    int rc;
    struct error err;
    double run_s;

    struct saving_figures figures;
};

/* ---- RUN --------------------------------------------------------------------------
 */

static void note_prune(void *arg, const char *text)
{
    const struct saving *s = arg;

    note_add(s->log_dir, NOTE_WARNING, "%s", text);
}

/* Rank 0: the reports before a checkpoint are durable before it is, so that a power
 * failure leaves no gap between them either. */
static int reports_sync(const struct saving *s, struct error *err)
{
    return journal_sync(s->log_dir, METRICS_JOURNAL, err);
}

/* In any thread: write, publish, delete what retention says. */
static void save_run(void *arg)
{
    struct saving *s = arg;
    double start = clock_now();
    struct error why;
    int rc = s->comm->rank == 0 ? reports_sync(s, &s->err) : 0;

    s->rc = comm_agree(s->comm, rc, &s->err);
    if (s->rc == 0 && s->tiers)
        s->rc = tiers_save(s->tiers, s->save, s->comm, s->iteration, &s->err);
    else if (s->rc == 0)
        s->rc = checkpoint_save_run(s->save, s->comm, &s->nodes, &s->err);
    if (s->rc == 0 && !s->tiers && s->comm->rank == 0 &&
        checkpoint_manager_prune(s->run_dir, &s->config, note_prune, s, &why) < 0)
        note_prune(s, why.text);
    s->run_s = clock_now() - start;
}

static void save_clear(struct saving *s)
{
    checkpoint_save_destroy(s->save);
    checkpoint_destroy(s->ck);
    s->save = NULL;
    s->ck = NULL;
}

/* RUN is over: what became of it? */
static int save_end(struct saving *s, struct error *err)
{
    save_clear(s);
    if (s->rc < 0)
        return error_set(err, s->err.code, "%s", s->err.text);
    s->figures.write_s = s->run_s;
    return 0;
}

/* ---- The background ---------------------------------------------------------------
 */

static void thread_await(struct saving *s)
{
    double since = clock_now();

    while (s->thread && !background_wait(s->thread, 1))
        waiting_hook(s->waiting, clock_now() - since);
}

/* What this rank needs to save in the background. */
static int background_prepare(struct saving *s, struct error *err)
{
    if (!s->thread && background_create(&s->thread, err) < 0)
        return -1;
    return snapshot_reserve(&s->snapshot, checkpoint_save_snapshot_bytes(s->save),
                            s->n_sharing, err);
}

static void refusal_tell(struct saving *s, const struct comm *comm,
                         const struct error *why)
{
    if (comm->rank == 0 && !s->refused_told)
        note_add(s->log_dir, NOTE_WARNING,
                 "training waits while checkpoints are saved: %s", why->text);
    s->refused_told = true;
}

/* COLLECTIVE: can all ranks? One that cannot makes this save a synchronous one. */
static bool background_agree(struct saving *s, struct comm *comm)
{
    struct error why;

    if (s->config.sync)
        return false;
    if (comm_agree(comm, background_prepare(s, &why), &why) == 0 &&
        (s->background || comm->ops->dup(comm, &s->background, &why) == 0)) {
        s->background->naps = true;
        return true;
    }
    refusal_tell(s, comm, &why);
    return false;
}

static void memory_expect(void *arg)
{
    struct saving *s = arg;
    struct error why; /* the save will tell */

    snapshot_reserve(&s->snapshot, s->expected, s->n_sharing, &why);
}

void saving_expect(struct saving *s, uint64_t bytes)
{
    struct error why;

    if (s->config.sync || background_create(&s->thread, &why) < 0)
        return;
    s->expected = (size_t)bytes;
    background_run(s->thread, memory_expect, s);
}

/* ---- A save -----------------------------------------------------------------------
 */

/* COLLECTIVE, the first time. Tiers know for themselves. */
static int nodes_learn(struct saving *s, struct comm *comm, struct error *err)
{
    if (s->tiers || s->nodes.size > 0)
        return 0;
    return node_map_make(comm, s->node, s->local, &s->nodes, err);
}

static int save_begin(struct saving *s, struct comm *comm,
                      const struct checkpoint_meta *meta, const char *path,
                      struct error *err)
{
    if (nodes_learn(s, comm, err) < 0 ||
        checkpoint_save_begin(s->ck, comm, meta, path, &s->save, err) < 0)
        return -1;
    s->figures.bytes = checkpoint_save_file_bytes(s->save);
    if (background_agree(s, comm)) {
        s->comm = s->background;
        checkpoint_save_snapshot(s->save, s->snapshot.data);
        return 0;
    }
    s->comm = comm;
    save_run(s);
    return save_end(s, err);
}

int saving_begin(struct saving *s, struct comm *comm, raytrain_checkpoint *ck,
                 const struct checkpoint_meta *meta, const char *path,
                 struct error *err)
{
    double start = clock_now();
    int rc = saving_settle(s, err);

    s->ck = ck;
    s->iteration = meta->training_iteration;
    if (rc == 0)
        rc = save_begin(s, comm, meta, path, err);
    if (rc < 0)
        save_clear(s);
    s->figures.stall_s = clock_now() - start;
    return rc;
}

void saving_go(struct saving *s)
{
    if (!s->save || s->going)
        return;
    s->going = true;
    background_run(s->thread, save_run, s);
}

bool saving_has_failed(const struct saving *s)
{
    return (s->going && background_is_idle(s->thread) && s->rc < 0) ||
           tiers_have_failed(s->tiers);
}

int saving_settle(struct saving *s, struct error *err)
{
    bool went = s->going;

    thread_await(s);
    s->going = false;
    if (went)
        return save_end(s, err);
    save_clear(s); /* one that did not go */
    return 0;
}

int saving_drain(struct saving *s, struct error *err)
{
    if (saving_settle(s, err) < 0)
        return -1;
    return tiers_settle(s->tiers, waiting_hook, s->waiting, err);
}

void saving_figures(const struct saving *s, struct saving_figures *figures)
{
    *figures = s->figures;
}

/* ---- Life -------------------------------------------------------------------------
 */

int saving_create(const struct saving_env *env, struct saving **out, struct error *err)
{
    struct saving *s = calloc(1, sizeof *s);
    const char *score = env->config->checkpoint_score_attribute;

    if (!s)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    s->config = *env->config;
    s->config.checkpoint_score_attribute = score ? strdup(score) : NULL;
    s->run_dir = strdup(env->run_dir);
    s->log_dir = strdup(env->log_dir);
    s->n_sharing = env->n_sharing;
    s->node = env->node;
    s->local = env->local;
    s->waiting = env->waiting;
    s->tiers = env->tiers;
    s->figures.write_s = NAN;
    if (!s->run_dir || !s->log_dir ||
        (score && !s->config.checkpoint_score_attribute)) {
        saving_destroy(s, true);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    *out = s;
    return 0;
}

bool saving_linger(struct saving *s, double seconds)
{
    return !s || !s->thread || background_wait(s->thread, seconds);
}

void saving_destroy(struct saving *s, bool clean)
{
    if (!s)
        return;
    background_destroy(s->thread);
    save_clear(s);
    snapshot_clear(&s->snapshot);
    node_map_clear(&s->nodes);
    if (clean)
        comm_free(s->background);
    free(s->config.checkpoint_score_attribute);
    free(s->run_dir);
    free(s->log_dir);
    free(s);
}
