/*
 * worker.c - the life of a worker, from its environment to its exit status; at the end
 * raytrain_main(), the worker as a function of a user's program.
 *
 * A training function that cannot be loaded fails before the group forms. A worker that
 * fails ends alone: it records the reason, does not let the backend wait for other
 * ranks, and exits; the launcher ends the others.
 */
#include "config.h"
#include "life/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/events.h"
#include "backend/backend.h"
#include "config/storage_advice.h"
#include "config/train_config.h"
#include "loop/loop.h"
#include "protocol/worker_env.h"
#include "protocol/worker_record.h"
#include "rank/failure_record.h"
#include "rank/gpu_share.h"
#include "rank/gpu_watch.h"
#include "rank/heartbeat.h"
#include "rank/event.h"
#include "rank/own_signals.h"
#include "rank/own_words.h"
#include "rank/process_guard.h"
#include "rank/stack_trace.h"
#include "rank/stop.h"
#include "run/run_dir.h"
#include "session/predictions.h"
#include "session/session_life.h"
#include "util/fs.h"
#include "util/process.h"
#include "wireup/wireup.h"

struct worker {
    struct worker_env env;
    struct train_config config;
    struct loop loop;
    struct wireup *wireup;
    struct backend backend;
    raytrain_context *ctx;
    struct rank_status_place place;
    struct heartbeat
        *heartbeat;         /* on local rank 0, if the launcher watches its nodes */
    struct gpu_watch *gpus; /* if the worker has GPUs */
    char *log_dir;
    int task; /* a descriptor of the task whose worker this is; -1: it has none */
    bool exit_now;
};

/* ---- Steps ---- */

/* Before the wireup the rank is known from the launcher's environment only. */
static int rank_guess(void)
{
    static const char *const variables[] = {"PMIX_RANK", "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);

        if (value && *value)
            return atoi(value);
    }
    return -1;
}

/* The handler of SIGXFSZ: a write beyond a limit on file sizes fails, and does not kill
 * the worker. If the signal were ignored, programs that a worker executes would inherit
 * that. */
static void outlive(int signo)
{
    (void)signo;
}

/* The launcher may need the step's number to end it. If storage is missing here, that
 * is reported when the workers join. */
static void step_record(const char *log_dir)
{
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    char name[WORKER_STEP_MAX];

    if (!job || !step || rank_guess() != 0)
        return;
    snprintf(name, sizeof name, "%s.%s", job, step);
    worker_record_step(log_dir, name, NULL);
}

/* Children do not inherit it: a training function that forks must not leave the group
 * for the worker. */
static void task_take(struct worker *w)
{
    const char *number = getenv(WORKER_TASK_DESCRIPTOR);

    w->task = number && *number ? atoi(number) : -1;
    if (w->task >= 0)
        fcntl(w->task, F_SETFD, FD_CLOEXEC);
    unsetenv(WORKER_TASK_DESCRIPTOR);
}

/* A worker that only exits with status 0 has deserted the others. */
static void task_leave(const struct worker *w)
{
    if (w->task >= 0)
        (void)!write(w->task, "", 1);
}

static int worker_prepare(struct worker *w, struct error *err)
{
    task_take(w);
    if (worker_env_decode(&w->env, err) < 0 ||
        gpu_share_take(w->env.gpus, w->env.sharing, err) < 0)
        return -1;
    w->loop.source.predicts = w->env.predicts;
    w->log_dir = run_dir_log_dir(w->env.run_dir, w->env.attempt);
    if (!w->log_dir)
        return error_no_memory(err);
    if (!w->loop.ops->is_users_process)
        signals_restore();
    if (fork_guard_install(err) < 0 ||
        own_signal_install(SIGXFSZ, outlive, SA_RESTART, err) < 0 ||
        stop_install(err) < 0)
        return -1;
    step_record(w->log_dir);
    stack_trace_install(rank_guess());
    return w->loop.ops->open(&w->loop, err);
}

static int worker_join(struct worker *w, struct error *err)
{
    const struct world *world;
    int rc;

    own_signals_before_libraries();
    if (wireup_init(w->env.workers, &w->wireup, err) < 0)
        return -1;
    world = wireup_world(w->wireup);
    rank_status_place(&w->place, w->log_dir, world->rank, world->node_rank,
                      world->local_rank);
    stack_trace_set_place(&w->place);
    stop_set_place(&w->place);
    if (backend_find(w->env.backend, &w->backend.ops, err) < 0)
        return -1;
    w->backend.world = world;
    w->backend.attempt = w->env.attempt;
    rc = w->backend.ops->on_start(&w->backend, w->wireup, err);
    own_signals_after_libraries();
    return rc;
}

/* One rank of each node checks the marker; rank 0 takes the configuration from it. */
static int storage_look(struct worker *w, char **text, size_t *n, struct error *err)
{
    const struct world *world = wireup_world(w->wireup);

    if (world->local_rank != 0 && world->rank != 0)
        return 0;
    if (run_dir_check_marker(w->env.run_dir, w->env.marker, world->host,
                             world->rank == 0 ? text : NULL, err) < 0)
        return -1;
    *n = *text ? strlen(*text) : 0;
    return 0;
}

/* Give rank 0's *n bytes to every rank; the others allocate memory for them first. */
static int text_share(struct comm *comm, char **text, size_t *n, struct error *err)
{
    if (comm->ops->bcast(comm, n, sizeof *n, 0, err) < 0)
        return -1;
    if (comm->rank != 0) {
        *text = malloc(*n + 1);
        if (!*text)
            return error_no_memory(err);
    }
    if (comm->ops->bcast(comm, *text, *n, 0, err) < 0)
        return -1;
    (*text)[*n] = '\0';
    return 0;
}

/* Check that the run directory exists on every node, and give its configuration to all
 * ranks. */
static int worker_configure(struct worker *w, struct error *err)
{
    struct comm *comm = w->backend.comm;
    char *text = NULL;
    size_t n = 0;
    int rc = storage_look(w, &text, &n, err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0 && comm->rank == 0)
        event_add(w->log_dir, EVENT_JOINED, "all workers have joined");
    if (rc == 0)
        rc = text_share(comm, &text, &n, err);
    if (rc == 0)
        rc = train_config_merge_text(&w->config, text, "run.cfg", err);
    free(text);
    if (rc == 0)
        storage_advice_set(&w->config, w->env.run_dir);
    return rc;
}

/* Slurm's name for the node, by which the launcher knows it. */
static const char *node_name(const struct worker *w)
{
    const char *node = getenv("SLURMD_NODENAME");

    return node && *node ? node : wireup_world(w->wireup)->host;
}

/* GPUs are watched, since their state can end a training. */
static void worker_watch_gpus(struct worker *w)
{
    const struct gpu_watch_spec spec = {.log_dir = w->log_dir,
                                        .node = node_name(w),
                                        .run_dir = w->env.run_dir,
                                        .visible = getenv("CUDA_VISIBLE_DEVICES")};

    if (w->env.gpus > 0)
        w->gpus = gpu_watch_start(&spec);
}

/* One worker of each node reports that it is alive. */
static int worker_beat(struct worker *w, struct error *err)
{
    const struct world *world = wireup_world(w->wireup);
    const struct heartbeat_spec spec = {
        .run_dir = w->env.run_dir,
        .log_dir = w->log_dir,
        .attempt = w->env.attempt,
        .node = node_name(w),
        .place = world->node_rank,
        .n_nodes = world->n_nodes,
        .every_s = failure_config_heartbeat_s(&w->config.run_config.failure_config)};

    return world->local_rank == 0 ? heartbeat_start(&spec, &w->heartbeat, err) : 0;
}

static int worker_open_session(struct worker *w, struct error *err)
{
    struct session_env env = {.world = wireup_world(w->wireup),
                              .wireup = w->wireup,
                              .config = &w->config,
                              .backend = &w->backend,
                              .invocation = w->env.marker,
                              .run_dir = w->env.run_dir,
                              .log_dir = w->log_dir,
                              .place = &w->place,
                              .attempt = w->env.attempt,
                              .argc = w->loop.source.argc,
                              .argv = w->loop.source.argv};

    if (session_create(&env, &w->ctx, err) < 0)
        return -1;
    w->backend.config = &w->config;
    if (!w->backend.ops->on_training_start)
        return 0;
    return w->backend.ops->on_training_start(&w->backend, err);
}

/* If the function returns the status of the call that failed, the worker fails with
 * that status and the call's message. Any other number is the function's own, with
 * exceptions, since many functions "return 1" after any failure: if storage has failed
 * or memory is too short for a checkpoint, another attempt would fail, too; a call may
 * have ended because a stop was requested; and if a worker could not reach another one,
 * the launcher may know which of them has failed. */
static int train_failed(struct worker *w, int returned, struct error *err)
{
    const char *what = w->env.predicts ? "predict" : "training";
    const struct error *last = &w->ctx->error;
    raytrain_status code = RAYTRAIN_EFAILED;

    if (last->code == RAYTRAIN_OK)
        return error_set(err, code, "the %s function returned %d", what, returned);
    if (returned == (int)last->code)
        return error_set(err, last->code, "%s", last->text);
    if (last->code == RAYTRAIN_ESTORAGE || last->code == RAYTRAIN_EFIT ||
        last->code == RAYTRAIN_ECOMM || last->code == RAYTRAIN_ESTOPPED)
        code = last->code;
    return error_set(
        err, code,
        "the %s function returned %d; the last call of raytrain that failed: %s", what,
        returned, last->text);
}

/* ---- Failure ---- */

/* If the run directory is missing, only the worker's log has the reason. */
static void worker_record(const struct worker *w, const char *kind, int status,
                          const char *message)
{
    const struct world *world = w->wireup ? wireup_world(w->wireup) : NULL;
    struct failure failure = {.rank = world ? world->rank : rank_guess(),
                              .exit_status = status};
    struct error unrecorded;

    snprintf(failure.kind, sizeof failure.kind, "%s", kind);
    snprintf(failure.message, sizeof failure.message, "%s", message);
    if (world)
        snprintf(failure.host, sizeof failure.host, "%s", world->host);
    else if (gethostname(failure.host, sizeof failure.host - 1) < 0)
        failure.host[0] = '\0';
    if (w->log_dir)
        failure_record(w->log_dir, &failure, &unrecorded);
}

/* The training function has called exit(): a failure, not a normal end. */
static void worker_exited(void *arg, int status)
{
    static const char advice[] = "return from train_func instead";
    const struct worker *w = arg;
    char message[128];

    snprintf(message, sizeof message, "the training function called exit(%d); %s",
             status, advice);
    worker_record(w, "exit", 1, message);
    raytrain_worker_say("raytrain: %s", message);
    session_linger(w->ctx);
}

static int worker_train(struct worker *w, struct error *err)
{
    int returned, rank = wireup_world(w->wireup)->rank;

    if (stop_install_sigterm(err) < 0)
        return -1;
    if (rank == 0)
        event_add(w->log_dir, EVENT_STARTED, "the training begins");
    if (w->env.predicts && session_predict_begin(w->ctx, &w->loop.predictor, err) < 0)
        return -1;
    exit_guard_enter(worker_exited, w);
    returned = w->loop.ops->run(&w->loop, w->ctx);
    exit_guard_leave(returned);
    if (returned != 0)
        return train_failed(w, returned, err);
    return w->env.predicts ? session_predict_end(w->ctx, err) : 0;
}

/* ---- Life ---- */

static int worker_live(struct worker *w, struct error *err)
{
    if (worker_prepare(w, err) < 0)
        return -1;
    if (worker_join(w, err) < 0)
        return -1;
    if (worker_configure(w, err) < 0)
        return -1;
    if (worker_beat(w, err) < 0)
        return -1;
    worker_watch_gpus(w);
    if (worker_open_session(w, err) < 0)
        return -1;
    if (worker_train(w, err) < 0)
        return -1;
    return session_finish(w->ctx, err);
}

/* From now on ranks do not depend on each other, so rank 0 records the end. */
static int end_record(struct worker *w, enum worker_end end, int rank, int size,
                      struct error *err)
{
    struct error why;

    if (rank != 0 || worker_record_end(w->log_dir, end, size, &why) == 0)
        return 0;
    worker_record(w, failure_kind(why.code), error_exit_status(why.code), why.text);
    return error_set(err, why.code, "%s", why.text);
}

/* end: how all ranks have ended together; NONE if this rank has failed. Then it does
 * not finalize PMIx: the server sees that the group has failed, and Slurm's server ends
 * the other ranks at once instead of after KillWait (30 s). */
static int worker_end(struct worker *w, enum worker_end end, struct error *err)
{
    const struct world *world = w->wireup ? wireup_world(w->wireup) : NULL;
    int rank = world ? world->rank : -1, size = world ? world->size : 0, rc = 0;
    bool clean = end != WORKER_END_NONE;

    loop_close(&w->loop, clean);
    session_destroy(w->ctx, clean);
    heartbeat_stop(w->heartbeat);
    gpu_watch_stop(w->gpus);
    if (w->backend.comm)
        w->backend.ops->on_shutdown(&w->backend, clean, &w->exit_now);
    if (clean) {
        wireup_finalize(w->wireup);
        w->wireup = NULL;
        task_leave(w);
        rc = end_record(w, end, rank, size, err);
    } else if (w->wireup) {
        w->exit_now = true;
    }
    train_config_clear(&w->config);
    worker_env_clear(&w->env);
    free(w->log_dir);
    return rc;
}

int raytrain_worker_run(const struct loop_source *source,
                        void (*last_words)(int status, const struct error *err),
                        struct error *err)
{
    struct worker w = {.task = -1};
    enum worker_end end = WORKER_END_FINISHED;
    int status = 0;

    own_words_init();
    loop_init(&w.loop, source);
    train_config_init(&w.config);
    if (worker_live(&w, err) < 0) {
        status = error_exit_status(err->code);
        end = err->code == RAYTRAIN_ESTOPPED ? WORKER_END_STOPPED : WORKER_END_NONE;
    }
    if (end == WORKER_END_NONE)
        gpu_watch_settle(w.gpus);
    if (end == WORKER_END_NONE)
        worker_record(&w, failure_kind(err->code), status, err->text);
    if (worker_end(&w, end, err) < 0)
        status = error_exit_status(err->code);
    if (!w.exit_now)
        return status;
    if (last_words)
        last_words(status, err);
    exit_now(status, end != WORKER_END_NONE);
}

/* ---- A program that is a worker ---- */

/* Print the error, unless the worker was stopped on request. */
static void last_words(int status, const struct error *err)
{
    if (status != 0 && err->code != RAYTRAIN_ESTOPPED)
        raytrain_worker_say("raytrain: %s", err->text);
}

int raytrain_main(int argc, char *argv[], raytrain_train_func train_func)
{
    return raytrain_main_functions(argc, argv, train_func, NULL);
}

int raytrain_main_functions(int argc, char *argv[], raytrain_train_func train_func,
                            raytrain_predict_func predict_func)
{
    struct loop_source source = {.train_func = train_func,
                                 .predict_func = predict_func};
    struct error err = {0};
    int status;

    if (argc > 0 && argv) {
        source.argc = argc - 1;
        source.argv = argv + 1;
    }
    status = raytrain_worker_run(&source, last_words, &err);
    last_words(status, &err);
    return status;
}
