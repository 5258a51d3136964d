/*
 * session_life.c - the life of a session: it starts from a checkpoint or from nothing,
 * ends in order, or is given up.
 */
#include "session/session_life.h"

#include <stdlib.h>

#include "device/device.h"
#include "rank/event.h"
#include "run/checkpoint_manager.h"
#include "run/journal.h"
#include "run/run_dir.h"
#include "session/checkpoints.h"
#include "session/collectives.h"
#include "session/config_calls.h"
#include "session/data_decisions.h"
#include "session/preemption.h"
#include "session/preprocessing.h"
#include "session/reports.h"
#include "util/clock.h"

/* How long a failing worker waits for a save. */
#define LINGER_S 5.0

static void note_start(void *arg, const char *text)
{
    raytrain_context *ctx = arg;

    event_add(ctx->env.log_dir, EVENT_WARNING, "%s", text);
}

/* The newest checkpoint of this run up to iteration `at_most`. Storage is assumed to
 * have each checkpoint whose name is there. */
static int checkpoint_own(raytrain_context *ctx, int64_t at_most, struct error *err)
{
    if (ctx->tiers &&
        tiers_restore(ctx->tiers, ctx->comm, at_most, &ctx->restored, err) < 0)
        return -1;
    if (ctx->restored)
        return 0;
    return checkpoint_manager_latest(ctx->comm, ctx->env.run_dir, note_start, ctx,
                                     &ctx->restored, err);
}

static int64_t restored_iteration(const raytrain_context *ctx)
{
    return ctx->restored ? checkpoint_meta(ctx->restored)->training_iteration : -1;
}

/* If the checkpoint on storage turns out to be damaged, a tier may still have a good
 * one. */
static int checkpoint_find(raytrain_context *ctx, struct error *err)
{
    const char *from = ctx->env.config->resume_from_checkpoint;
    int rc = checkpoint_own(ctx, INT64_MAX, err);

    if ((rc == 0 || err->code == RAYTRAIN_ECORRUPT) &&
        tiers_spare(ctx->tiers) > restored_iteration(ctx)) {
        int64_t at_most = restored_iteration(ctx);

        checkpoint_destroy(ctx->restored);
        ctx->restored = NULL;
        rc = checkpoint_own(ctx, at_most, err);
    }
    if (rc < 0)
        return -1;
    tiers_resume(ctx->tiers, restored_iteration(ctx));
    ctx->restored_own = ctx->restored != NULL;
    if (ctx->restored || !from)
        return 0;
    return checkpoint_open_any(ctx->comm, from, &ctx->restored, err);
}

/* A run that an older version has begun continues without decisions. */
static int decisions_restore(raytrain_context *ctx, struct error *err)
{
    bool has;

    if (data_decisions_load(&ctx->decisions, ctx->restored, &has, err) < 0)
        return -1;
    ctx->decisions.by_file = ctx->restored_own && !has;
    return 0;
}

static int checkpoint_restore(raytrain_context *ctx, struct error *err)
{
    const struct checkpoint_meta *meta;
    bool verified;

    if (!ctx->restored)
        return 0;
    meta = checkpoint_meta(ctx->restored);
    verified = checkpoint_is_verified(ctx->restored);
    if (verified && decisions_restore(ctx, err) < 0)
        return -1;
    if (predict_config_predicts(&ctx->env.config->predict))
        return 0; /* a prediction does not continue the state of the training */
    ctx->iteration = meta->training_iteration;
    ctx->time_before = meta->time_total_s;
    if (verified && session_state_restore(ctx, ctx->restored, err) < 0)
        return -1;
    if (ctx->comm->rank == 0)
        event_add_restored(ctx->env.log_dir, checkpoint_path(ctx->restored),
                           (long)ctx->iteration);
    if (ctx->comm->rank == 0 && !verified)
        event_add(ctx->env.log_dir, EVENT_WARNING,
                  "%s is a plain HDF5 file: it has no checksums, so that damage may go "
                  "unnoticed, and no training state: iterations, random streams and "
                  "datasets start from the beginning",
                  checkpoint_path(ctx->restored));
    return 0;
}

/* Rank 0 writes the reports. */
static int journal_begin(raytrain_context *ctx, struct error *err)
{
    if (ctx->comm->rank != 0)
        return 0;
    if (journal_open(ctx->env.log_dir, METRICS_JOURNAL, &ctx->journal, err) < 0)
        return -1;
    return session_report_mend(ctx, err);
}

/* Rank 0: delete what a killed attempt may have left: a temporary file, or more
 * checkpoints than retention keeps. A failure does not prevent the start. */
static void checkpoints_tidy(raytrain_context *ctx)
{
    const struct checkpoint_config *cfg =
        &ctx->env.config->run_config.checkpoint_config;
    struct error why;

    if (checkpoint_manager_prune(ctx->env.run_dir, cfg, note_start, ctx, &why) < 0)
        event_add(ctx->env.log_dir, EVENT_WARNING, "%s", why.text);
}

/* COLLECTIVE */
static int tiers_init(raytrain_context *ctx, struct error *err)
{
    const struct session_env *env = &ctx->env;
    struct tiers_env tiers = {.run_dir = env->run_dir,
                              .log_dir = env->log_dir,
                              .config = &env->config->run_config,
                              .world = env->world};

    return tiers_create(&tiers, ctx->comm, &ctx->tiers, err);
}

static int saving_init(raytrain_context *ctx, struct error *err)
{
    const struct session_env *env = &ctx->env;
    struct saving_env saving = {.run_dir = env->run_dir,
                                .log_dir = env->log_dir,
                                .config = &env->config->run_config.checkpoint_config,
                                .n_sharing = env->world->local_size,
                                .node = env->world->node_rank,
                                .local = env->world->local_rank,
                                .waiting = &ctx->waiting,
                                .tiers = ctx->tiers};

    return saving_create(&saving, &ctx->saving, err);
}

/* Expect the next save to be slightly larger than the last. */
static void saving_warm(raytrain_context *ctx)
{
    uint64_t bytes;

    if (!ctx->restored)
        return;
    bytes = checkpoint_file_bytes(ctx->restored) / (uint64_t)ctx->comm->size;
    bytes += bytes / 16 + (1 << 20);
    saving_expect(ctx->saving, &(struct saving_need){.bytes = bytes});
}

static int session_init(raytrain_context *ctx, struct error *err)
{
    const struct session_env *env = &ctx->env;
    size_t n = env->config->n_datasets;

    ctx->comm = env->backend->comm;
    ctx->waiting = (struct collective_wait){.log_dir = env->log_dir,
                                            .place = env->place,
                                            .rank = env->world->rank,
                                            .size = env->world->size};
    ctx->datasets = calloc(n > 0 ? n : 1, sizeof *ctx->datasets);
    if (!ctx->datasets)
        return error_no_memory(err);
    return session_random_init(&ctx->random, env->config->seed, env->world->rank,
                               env->world->size, err);
}

int session_create(const struct session_env *env, raytrain_context **out,
                   struct error *err)
{
    raytrain_context *ctx = calloc(1, sizeof *ctx);
    int rc;

    if (!ctx)
        return error_no_memory(err);
    ctx->env = *env;
    if (session_init(ctx, err) < 0)
        goto failed;
    collective_wait_begin(&ctx->waiting, "the start");
    ctx->comm->waiting = collective_wait_hook;
    ctx->comm->waiting_arg = &ctx->waiting;
    if (tiers_init(ctx, err) < 0 ||
        comm_agree(ctx->comm, saving_init(ctx, err), err) < 0 ||
        checkpoint_find(ctx, err) < 0)
        goto failed;
    rc = checkpoint_restore(ctx, err);
    if (rc == 0)
        rc = data_decisions_start(ctx, err);
    if (rc == 0)
        rc = journal_begin(ctx, err);
    if (rc == 0 && ctx->comm->rank == 0)
        checkpoints_tidy(ctx);
    if (comm_agree(ctx->comm, rc, err) < 0 || !session_user_comm(ctx, err) ||
        preprocessing_start(ctx, err) < 0)
        goto failed;
    saving_warm(ctx);
    ctx->started = ctx->last_report = clock_now();
    session_schedule_start(ctx);
    session_current_set(ctx);
    *out = ctx;
    return 0;
failed:
    session_destroy(ctx, false);
    return -1;
}

int session_create_alone(const struct session_env *env, raytrain_context **out,
                         struct error *err)
{
    raytrain_context *ctx = calloc(1, sizeof *ctx);

    if (!ctx)
        return error_no_memory(err);
    ctx->env = *env;
    if (session_init(ctx, err) < 0 || !session_user_comm(ctx, err)) {
        session_destroy(ctx, false);
        return -1;
    }
    session_current_set(ctx);
    *out = ctx;
    return 0;
}

int session_finish(raytrain_context *ctx, struct error *err)
{
    int rc;

    if (session_report_finish(ctx, err) < 0 || saving_drain(ctx->saving, err) < 0)
        return -1;
    rc = ctx->journal ? journal_sync(ctx->env.log_dir, METRICS_JOURNAL, err) : 0;
    if (comm_agree(ctx->comm, rc, err) < 0)
        return -1;
    tiers_forget(ctx->tiers, ctx->comm);
    if (ctx->should_stop && ctx->stop_reason == STOP_ASKED &&
        (ctx->stop_asked || !preemption_goes_on(ctx)))
        return error_set(err, RAYTRAIN_ESTOPPED,
                         "stopped on request after iteration %lld",
                         (long long)ctx->iteration);
    return 0;
}

static bool saves_linger(raytrain_context *ctx)
{
    return saving_linger(ctx->saving, LINGER_S) && tiers_linger(ctx->tiers, LINGER_S);
}

/* GPU collectives are aborted first: a save may wait for one that will never
 * complete. */
bool session_linger(raytrain_context *ctx)
{
    device_groups_abort();
    return !ctx || saves_linger(ctx);
}

/* Not clean: datasets are not closed, since that would wait for copies to a GPU, which
 * may never complete. */
static void datasets_close(raytrain_context *ctx, bool clean)
{
    for (size_t i = 0; ctx->datasets && i < ctx->env.config->n_datasets; i++) {
        raytrain_dataset *ds = ctx->datasets[i].shard;

        if (clean || (ds && !dataset_has_place(ds)))
            dataset_close(ds);
    }
    free(ctx->datasets);
}

void session_destroy(raytrain_context *ctx, bool clean)
{
    bool lingered;

    if (!ctx)
        return;
    if (session_current() == ctx)
        session_current_set(NULL);
    lingered = clean ? saves_linger(ctx) : session_linger(ctx);
    if (!clean)
        device_abandon();
    if (lingered) {
        saving_destroy(ctx->saving, clean);
        tiers_destroy(ctx->tiers, clean);
    }
    if (ctx->comm)
        ctx->comm->waiting = NULL;
    collective_wait_begin(&ctx->waiting, "the shutdown");
    datasets_close(ctx, clean);
    predictor_destroy(ctx->predictor);
    chain_clear(&ctx->chain);
    data_decisions_clear(&ctx->decisions);
    checkpoint_destroy(ctx->restored);
    session_opened_clear(ctx);
    journal_close(ctx->journal);
    session_config_clear(ctx);
    json_decref(ctx->keys_asked);
    json_decref(ctx->typed);
    json_writer_clear(&ctx->line);
    free(ctx->artifacts);
    session_preemption_clear(ctx);
    session_random_clear(&ctx->random);
    if (clean) {
        device_group_destroy(ctx->devices.group);
        device_end();
        if (!ctx->devices.lost)
            comm_free(ctx->user);
        comm_free(ctx->store);
        comm_free(ctx->node);
        comm_free(ctx->predictions);
    }
    free(ctx);
}
