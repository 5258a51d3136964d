/*
 * saving.c - the steps of a save in their order, and the memory and the thread that a
 * save in the background needs. The copy itself is in snapshot.c, the tiers in tiers.c.
 */
#include "config.h"
#include "saving/saving.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "comm/node_map.h"
#include "device/copies.h"
#include "rank/event.h"
#include "run/journal.h"
#include "run/metrics.h"
#include "saving/background.h"
#include "saving/save_target.h"
#include "saving/snapshot.h"
#include "util/clock.h"

struct saving {
    struct save_target target;
    int n_sharing, node, local;
    struct node_map nodes; /* after the first save; size 0: not yet */
    struct collective_wait *waiting;
    struct tiers *tiers;
    bool refusal_noted;
    struct device_copies
        *copies; /* created at its first use, before a job may use it */

    struct background *thread;    /* created at its first use */
    struct comm *background_comm; /* with the thread */
    struct snapshot snapshot;
    /* The bytes that saving_expect() has asked for: of the snapshot, and on devices. */
    _Atomic size_t expected, expected_devices;
    atomic_bool expects; /* a job that will read them is in the queue */

    struct save_layout *layout; /* of the last save, for the next */

    /* The save that has begun; NULL: none. It, the snapshot and the fields below belong
     * to the thread while it writes. */
    struct checkpoint_save *save;
    raytrain_checkpoint *ck;
    int64_t iteration;
    struct comm *comm; /* for writing it */
    bool going;        /* the thread has the save */
    int taken;         /* -1: this rank could not take its data; err says why */
    bool copying;      /* copies from devices may be under way */
    int rc;
    struct error err;
    double took_s;
    int64_t durable; /* the newest on storage; only if there are no tiers */

    atomic_bool copied; /* the thread has seen the end of the copies */
    struct saving_figures figures;
};

/* Wait for the copies from devices. In any thread. */
static int copies_end(struct saving *s, struct error *err)
{
    int rc = s->copying ? device_copies_wait(s->copies, err) : 0;

    atomic_store(&s->copied, s->copying && rc == 0);
    s->copying = false;
    return rc;
}

static void save_clear(struct saving *s)
{
    copies_end(s, NULL); /* if the save was never written */
    checkpoint_save_destroy(s->save);
    checkpoint_destroy(s->ck);
    s->save = NULL;
    s->ck = NULL;
}

/* ---- Writing, in any thread ---- */

/* Rank 0: sync the reports before the checkpoint, so that a power failure cannot leave
 * a checkpoint without the reports before it. */
static int reports_sync(const struct saving *s, struct error *err)
{
    return journal_sync(s->target.log_dir, METRICS_JOURNAL, err);
}

/* COLLECTIVE: write and publish on storage, then retention. */
static int storage_write(struct saving *s, struct error *err)
{
    const struct node_map *nodes = s->tiers ? tiers_nodes(s->tiers) : &s->nodes;

    if (checkpoint_save_publish(s->save, s->comm, nodes, err) < 0)
        return -1;
    save_target_prune(&s->target, s->comm);
    if (s->tiers)
        tiers_on_storage(s->tiers, s->iteration);
    return 0;
}

/* COLLECTIVE. A save that the tiers have taken is flushed to storage by them. */
static int save_write(struct saving *s, struct error *err)
{
    bool in_tiers = false;
    int rc = s->taken;

    if (rc == 0)
        rc = copies_end(s, err);
    if (rc == 0 && s->comm->rank == 0)
        rc = reports_sync(s, err);
    if (comm_agree(s->comm, rc, err) < 0)
        return -1;
    if (s->tiers &&
        tiers_put(s->tiers, s->save, s->comm, s->iteration, &in_tiers, err) < 0)
        return -1;
    return in_tiers ? 0 : storage_write(s, err);
}

static void save_run(void *arg, int64_t iteration)
{
    struct saving *s = arg;
    double start = clock_now();

    (void)iteration;
    s->rc = save_write(s, &s->err);
    s->took_s = clock_now() - start;
}

/* Return the outcome of the save, once. */
static int save_end(struct saving *s, struct error *err)
{
    save_clear(s);
    if (s->rc < 0)
        return error_set(err, s->err.code, "%s", s->err.text);
    s->figures.write_s = s->took_s;
    s->durable = s->iteration;
    return 0;
}

/* Has the thread written the save? */
static bool save_is_over(const struct saving *s)
{
    return s->going && background_wait(s->thread, 0, 0);
}

/* ---- Memory and thread for the background ---- */

/* GPUs write their bytes, which come first in a snapshot, in whole units: its size is a
 * multiple of this. */
#define UNIT ((size_t)2 << 20)

static size_t units(uint64_t bytes)
{
    return (size_t)((bytes + UNIT - 1) / UNIT * UNIT);
}

static int memory_reserve(struct saving *s, size_t n, struct error *err)
{
    if (s->copies && snapshot_moves(&s->snapshot, n))
        device_copies_forget(s->copies);
    return snapshot_reserve(&s->snapshot, n, s->n_sharing, err);
}

static int memory_prepare(struct saving *s, enum checkpoint_snapshot which,
                          struct error *err)
{
    size_t n = checkpoint_save_snapshot_bytes(s->save, which);
    size_t of_devices = checkpoint_save_snapshot_bytes(s->save, SNAPSHOT_DEVICES);

    if (of_devices > 0 && !s->copies && device_copies_create(&s->copies, err) < 0)
        return -1;
    if (memory_reserve(s, n, err) < 0)
        return -1;
    if (of_devices > 0)
        device_copies_begin(s->copies, s->snapshot.data, units(of_devices));
    return 0;
}

/* Create what this rank needs to save in the background. */
static int background_prepare(struct saving *s, struct error *err)
{
    if (!s->thread && background_create(&s->thread, err) < 0)
        return -1;
    return memory_prepare(s, SNAPSHOT_ALL, err);
}

static void refusal_note(struct saving *s, const struct comm *comm,
                         const struct error *why)
{
    if (comm->rank == 0 && !s->refusal_noted)
        event_add(s->target.log_dir, EVENT_WARNING,
                  "training waits while checkpoints are saved: %s", why->text);
    s->refusal_noted = true;
}

/* COLLECTIVE: can all ranks save in the background? If one cannot, training waits for
 * this save. */
static bool background_agree(struct saving *s, struct comm *comm)
{
    struct error why;

    if (s->target.config.sync)
        return false;
    if (comm_agree(comm, background_prepare(s, &why), &why) == 0 &&
        (s->background_comm || comm->ops->dup(comm, &s->background_comm, &why) == 0)) {
        s->background_comm->naps = true;
        return true;
    }
    refusal_note(s, comm, &why);
    return false;
}

/* ---- Memory ahead of the first save ---- */

/* In the thread. A failure is reported by the save, which tries again. */
static void memory_expect(void *arg, int64_t iteration)
{
    struct saving *s = arg;
    size_t of_devices, bytes;
    struct error why;

    (void)iteration;
    atomic_store(&s->expects, false);
    of_devices = atomic_load(&s->expected_devices);
    bytes = atomic_load(&s->expected);
    if (snapshot_may_expect(&s->snapshot, bytes, s->n_sharing) &&
        memory_reserve(s, bytes, &why) == 0 && of_devices > 0)
        device_copies_pin(s->copies, s->snapshot.data, of_devices);
}

/* Create what the thread needs. */
static int expect_prepare(struct saving *s, const struct saving_need *need,
                          struct error *err)
{
    if ((!s->copies && device_copies_create(&s->copies, err) < 0) ||
        (!s->thread && background_create(&s->thread, err) < 0))
        return -1;
    return need->of_devices > 0
               ? device_copies_expect(s->copies, need->device, need->id, err)
               : 0;
}

/* The job reads the newest sizes, so its queue needs at most one such job. */
void saving_expect(struct saving *s, const struct saving_need *need)
{
    size_t of_devices = snapshot_growth(s->expected_devices, need->of_devices);
    size_t bytes = s->target.config.sync ? 0 : units(need->bytes);
    struct error why;

    if (bytes < of_devices)
        bytes = of_devices;
    if (s->save || s->going ||
        (bytes <= s->expected && of_devices <= s->expected_devices))
        return;
    if (expect_prepare(s, need, &why) < 0)
        return;
    if (bytes > s->expected)
        atomic_store(&s->expected, bytes);
    if (of_devices > s->expected_devices)
        atomic_store(&s->expected_devices, of_devices);
    if (!atomic_exchange(&s->expects, true) &&
        background_add(s->thread, memory_expect, s, 0, &why) < 0)
        atomic_store(&s->expects, false); /* the next one tries again */
}

static void thread_await(struct saving *s)
{
    double since = clock_now();

    while (s->thread && !background_wait(s->thread, 0, 1))
        collective_wait_hook(s->waiting, clock_now() - since);
}

/* ---- The steps ---- */

/* COLLECTIVE at the first call; later ones do nothing. */
static int nodes_learn(struct saving *s, struct comm *comm, struct error *err)
{
    if (s->tiers || s->nodes.size > 0)
        return 0;
    return node_map_make(comm, s->node, s->local, &s->nodes, err);
}

int saving_begin(struct saving *s, struct comm *comm, raytrain_checkpoint *ck,
                 const struct checkpoint_meta *meta, const char *path,
                 struct error *err)
{
    double start = clock_now();
    int rc = saving_settle(s, err);

    s->ck = ck;
    s->comm = comm;
    s->iteration = meta->training_iteration;
    if (rc == 0)
        rc = nodes_learn(s, comm, err);
    if (rc == 0)
        rc = checkpoint_save_begin(ck, comm, meta, path, s->layout, &s->save, err);
    if (rc == 0)
        s->figures.bytes = checkpoint_save_file_bytes(s->save);
    else
        save_clear(s);
    s->figures.stall_s = clock_now() - start;
    return rc;
}

static int copy_start(void *arg, int device, int device_id, const void *from, void *to,
                      size_t n, bool stays, struct error *err)
{
    return device_copies_start(arg, device, device_id, from, to, n, stays, err);
}

static void slow_copies_note(struct saving *s)
{
    struct error why;

    if (device_copies_refused(s->copies, &why) && s->comm->rank == 0)
        event_add(s->target.log_dir, EVENT_WARNING,
                  "training waits while tensors on GPUs are copied for checkpoints, "
                  "since the memory for the copy cannot be pinned: %s",
                  why.text);
}

/* Take the snapshot. Copies of tensors that stay as they are may be under way on
 * return. */
static int snapshot_take(struct saving *s, enum checkpoint_snapshot which,
                         struct error *err)
{
    bool has_devices = checkpoint_save_snapshot_bytes(s->save, SNAPSHOT_DEVICES) > 0;
    const struct checkpoint_fetch fetch = {copy_start, s->copies};
    int rc;

    s->copying = has_devices;
    rc = checkpoint_save_snapshot(s->save, which, s->snapshot.data, &fetch, err);
    if (rc == 0 && has_devices)
        rc = device_copies_settle(s->copies, err);
    if (rc < 0)
        copies_end(s, NULL);
    if (has_devices)
        slow_copies_note(s);
    return rc;
}

/* Copy what is on devices: it cannot be written from there. */
static int devices_take(struct saving *s, struct error *err)
{
    if (checkpoint_save_snapshot_bytes(s->save, SNAPSHOT_DEVICES) == 0)
        return 0;
    if (memory_prepare(s, SNAPSHOT_DEVICES, err) < 0)
        return -1;
    return snapshot_take(s, SNAPSHOT_DEVICES, err);
}

/* If this rank cannot take its data, save_write() says so to all: writing begins with
 * an agreement. */
int saving_take(struct saving *s, struct error *err)
{
    double start = clock_now();
    int rc = 0;

    if (background_agree(s, s->comm)) {
        s->comm = s->background_comm;
        s->taken = snapshot_take(s, SNAPSHOT_ALL, &s->err);
    } else {
        s->taken = devices_take(s, &s->err);
        save_run(s, s->iteration);
        rc = save_end(s, err);
    }
    s->figures.stall_s += clock_now() - start;
    return rc;
}

void saving_go(struct saving *s)
{
    if (!s->save || s->going)
        return;
    s->going = true;
    if (background_add(s->thread, save_run, s, s->iteration, &s->err) < 0)
        s->rc = -1; /* else the thread sets it */
}

int saving_settle(struct saving *s, struct error *err)
{
    bool went = s->going;

    thread_await(s);
    s->going = false;
    if (went)
        return save_end(s, err);
    save_clear(s); /* if the last save was never released */
    return 0;
}

int saving_drain(struct saving *s, struct error *err)
{
    if (saving_settle(s, err) < 0)
        return -1;
    return tiers_settle(s->tiers, collective_wait_hook, s->waiting, err);
}

bool saving_has_failed(const struct saving *s)
{
    return (save_is_over(s) && s->rc < 0) || tiers_have_failed(s->tiers);
}

void saving_release(struct saving *s)
{
    if (save_is_over(s) && s->rc == 0) {
        save_end(s, NULL);
        s->going = false;
    } else if (s->going && atomic_load(&s->copied)) {
        checkpoint_release_devices(s->ck); /* the thread does not look at these */
    }
}

int saving_fence(struct saving *s, struct error *err)
{
    return s->copies ? device_copies_fence(s->copies, err) : 0;
}

int64_t saving_durable(const struct saving *s)
{
    if (s->tiers)
        return tiers_flushed(s->tiers);
    return save_is_over(s) && s->rc == 0 ? s->iteration : s->durable;
}

void saving_figures(const struct saving *s, struct saving_figures *figures)
{
    *figures = s->figures;
}

/* ---- Creation ---- */

int saving_create(const struct saving_env *env, struct saving **out, struct error *err)
{
    struct saving *s = calloc(1, sizeof *s);

    if (!s)
        return error_no_memory(err);
    s->layout = save_layout_create(err);
    if (!s->layout || save_target_copy(&s->target, env->run_dir, env->log_dir,
                                       env->config, err) < 0) {
        save_layout_destroy(s->layout);
        free(s);
        return -1;
    }
    s->n_sharing = env->n_sharing;
    s->node = env->node;
    s->local = env->local;
    s->waiting = env->waiting;
    s->tiers = env->tiers;
    s->durable = -1;
    atomic_init(&s->copied, false);
    atomic_init(&s->expected, 0);
    atomic_init(&s->expected_devices, 0);
    atomic_init(&s->expects, false);
    s->figures.write_s = NAN;
    *out = s;
    return 0;
}

bool saving_linger(struct saving *s, double seconds)
{
    return !s || !s->thread || background_wait(s->thread, 0, seconds);
}

void saving_destroy(struct saving *s, bool clean)
{
    if (!s)
        return;
    background_destroy(s->thread);
    save_clear(s);
    save_layout_destroy(s->layout);
    device_copies_destroy(s->copies);
    snapshot_clear(&s->snapshot);
    node_map_clear(&s->nodes);
    if (clean)
        comm_free(s->background_comm);
    save_target_clear(&s->target);
    free(s);
}
