#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/metrics.h"
#include "run/metrics_collector.h"
#include "protocol/events.h"
#include "session/reports.h"
#include "util/fs.h"
#include "util/report_number.h"
#include "session/session_life.h"
#include "rank/stop.h"

/* One worker, which talks to itself, and a run directory of its own. */
static char run_dir[64], log_dir[96];
static struct world world = {.size = 1, .local_size = 1, .n_nodes = 1, .host = "here"};
static struct train_config config;
static struct backend backend = {.ops = &backend_none};
static char fast[] = "--fast", operand[] = "x";
static char *args[] = {fast, operand, NULL};
static raytrain_context *ctx;

static void session_start(int attempt)
{
    struct session_env env = {.world = &world,
                              .config = &config,
                              .backend = &backend,
                              .run_dir = run_dir,
                              .log_dir = log_dir,
                              .attempt = attempt,
                              .argc = 2,
                              .argv = args};
    struct error err = {0};

    if (session_create(&env, &ctx, &err) < 0)
        fail_msg("%s", err.text);
}

static void session_stop(void)
{
    session_destroy(ctx, true);
    ctx = NULL;
}

static void config_text(const char *text)
{
    struct error err = {0};

    if (train_config_merge_text(&config, text, "test.cfg", &err) < 0)
        fail_msg("%s", err.text);
}

static int setup(void **state)
{
    (void)state;
    strcpy(run_dir, "/tmp/raytrain-test-XXXXXX");
    if (!mkdtemp(run_dir))
        return -1;
    snprintf(log_dir, sizeof log_dir, "%s/logs/attempt-0", run_dir);
    if (fs_mkdirs(log_dir, 0755, NULL) < 0 || events_create(log_dir, NULL) < 0)
        return -1;
    backend.comm = comm_self_create(NULL);
    train_config_init(&config);
    return backend.comm ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    session_stop();
    comm_free(backend.comm);
    train_config_clear(&config);
    return fs_remove_tree(run_dir, NULL);
}

static int report_loss(double loss, raytrain_checkpoint *ck)
{
    raytrain_metric metric = {"loss", loss};

    return raytrain_report(ctx, &metric, 1, ck);
}

static json_t *reports_load(void)
{
    json_t *reports;
    struct error err;

    if (metrics_load(run_dir, &reports, &err) < 0)
        fail_msg("%s", err.text);
    return reports;
}

static void rank_size_and_arguments_are_known(void **state)
{
    char **argv;

    (void)state;
    session_start(0);
    assert_int_equal(raytrain_rank(ctx), 0);
    assert_int_equal(raytrain_world_size(ctx), 1);
    assert_int_equal(raytrain_node_count(ctx), 1);
    assert_int_equal(raytrain_args(ctx, &argv), 2);
    assert_string_equal(argv[1], "x");
    assert_string_equal(raytrain_last_error(ctx), "");
    assert_int_equal(raytrain_rank(NULL), -1);
    assert_int_equal(raytrain_args(NULL, &argv), 0);
    assert_true(strlen(raytrain_last_error(NULL)) > 0);
}

static void configuration_values_are_found(void **state)
{
    const int64_t fallback[] = {1, 2};
    const int64_t *ints, *again;
    const double *reals;
    const char *text;
    int64_t i;
    double d;
    bool b;
    size_t n;

    (void)state;
    config_text("train_loop_config = { lr = 0.5; epochs = 7; big = 5000000000L; "
                "on = true; name = \"sgd\"; hidden = [256, 128]; "
                "mix = [1.5, 2.5]; optimizer = { momentum = 0.9; }; };");
    session_start(0);
    assert_int_equal(raytrain_config_int(ctx, "epochs", 1, &i), RAYTRAIN_OK);
    assert_int_equal(i, 7);
    assert_int_equal(raytrain_config_int(ctx, "big", 1, &i), RAYTRAIN_OK);
    assert_true(i == 5000000000);
    assert_int_equal(raytrain_config_int(ctx, "missing", -3, &i), RAYTRAIN_OK);
    assert_int_equal(i, -3);
    assert_int_equal(raytrain_config_double(ctx, "optimizer.momentum", 0, &d), 0);
    assert_true(d == 0.9);
    assert_int_equal(raytrain_config_double(ctx, "epochs", 0, &d), RAYTRAIN_OK);
    assert_true(d == 7);
    assert_int_equal(raytrain_config_double(ctx, "optimizer.nesterov", 0.25, &d), 0);
    assert_true(d == 0.25);
    assert_int_equal(raytrain_config_bool(ctx, "on", false, &b), RAYTRAIN_OK);
    assert_true(b);
    assert_int_equal(raytrain_config_string(ctx, "name", "adam", &text), RAYTRAIN_OK);
    assert_string_equal(text, "sgd");
    assert_int_equal(raytrain_config_int_array(ctx, "hidden", fallback, 2, &ints, &n),
                     0);
    assert_int_equal(n, 2);
    assert_int_equal(ints[1], 128);
    assert_int_equal(raytrain_config_int_array(ctx, "hidden", NULL, 0, &again, &n), 0);
    assert_ptr_equal(ints, again);
    assert_int_equal(raytrain_config_double_array(ctx, "hidden", NULL, 0, &reals, &n),
                     0);
    assert_true(reals[0] == 256);
    assert_int_equal(raytrain_config_int_array(ctx, "none", fallback, 2, &ints, &n), 0);
    assert_ptr_equal(ints, fallback);
}

static void configuration_values_of_other_types_are_errors(void **state)
{
    int64_t i = 99;
    const int64_t *ints = NULL;
    const char *text = NULL;
    size_t n = 0;
    bool b;

    (void)state;
    config_text("train_loop_config = { lr = 0.5; epochs = 7; mix = [1.5, 2.5]; };");
    session_start(0);
    assert_int_equal(raytrain_config_int(ctx, "lr", 1, &i), RAYTRAIN_ETYPE);
    assert_int_equal(i, 99);
    assert_string_equal(raytrain_last_error(ctx),
                        "train_loop_config: \"lr\" must be an integer, not a "
                        "floating-point number");
    assert_int_equal(raytrain_config_bool(ctx, "epochs", 1, &b), RAYTRAIN_ETYPE);
    assert_int_equal(raytrain_config_string(ctx, "epochs", "", &text), RAYTRAIN_ETYPE);
    assert_int_equal(raytrain_config_int(ctx, "lr.decay", 1, &i), RAYTRAIN_ETYPE);
    assert_int_equal(raytrain_config_int_array(ctx, "mix", NULL, 0, &ints, &n),
                     RAYTRAIN_ETYPE);
    assert_int_equal(raytrain_config_int_array(ctx, "lr", NULL, 0, &ints, &n),
                     RAYTRAIN_ETYPE);
    assert_null(ints);
    assert_int_equal(raytrain_config_int(NULL, "lr", 1, &i), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_config_int(ctx, NULL, 1, &i), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_config_int(ctx, "lr", 1, NULL), RAYTRAIN_EINVAL);
}

static void collectives_work_with_one_rank(void **state)
{
    float x[2] = {1, 2};
    int64_t k = 4;

    (void)state;
    session_start(0);
    assert_int_equal(raytrain_allreduce_mean(ctx, x, 2), RAYTRAIN_OK);
    assert_true(x[0] == 1 && x[1] == 2);
    assert_int_equal(raytrain_allreduce(ctx, &k, 1, RAYTRAIN_INT64, RAYTRAIN_SUM), 0);
    assert_int_equal(raytrain_allreduce(ctx, &k, 1, RAYTRAIN_INT64, RAYTRAIN_MEAN),
                     RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_allreduce(ctx, x, 2, RAYTRAIN_INT8, RAYTRAIN_SUM),
                     RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_allreduce(ctx, x, 2, RAYTRAIN_FLOAT32, (raytrain_op)9),
                     RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_allreduce(ctx, NULL, 2, RAYTRAIN_FLOAT32, RAYTRAIN_SUM),
                     RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_allreduce(ctx, NULL, 0, RAYTRAIN_FLOAT32, RAYTRAIN_SUM),
                     0);
    assert_int_equal(raytrain_allreduce_mean(NULL, x, 2), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_broadcast(ctx, x, sizeof x, 0), RAYTRAIN_OK);
    assert_int_equal(raytrain_broadcast(ctx, x, sizeof x, 1), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_broadcast(ctx, x, sizeof x, -1), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_barrier(ctx), RAYTRAIN_OK);
    assert_int_equal(raytrain_barrier(NULL), RAYTRAIN_EINVAL);
}

static void reports_are_lines(void **state)
{
    json_t *reports, *line;
    char path[128], *notes;

    (void)state;
    session_start(0);
    assert_int_equal(report_loss(2.5, NULL), RAYTRAIN_OK);
    assert_int_equal(report_loss(NAN, NULL), RAYTRAIN_OK);
    assert_int_equal(raytrain_report(ctx, NULL, 0, NULL), RAYTRAIN_OK);
    assert_int_equal(raytrain_training_iteration(ctx), 3);
    assert_false(raytrain_should_stop(ctx));
    reports = reports_load();
    assert_int_equal(json_array_size(reports), 3);
    line = json_array_get(reports, 0);
    assert_true(json_real_value(json_object_get(line, "loss")) == 2.5);
    assert_int_equal(json_integer_value(json_object_get(line, "world_size")), 1);
    assert_true(json_is_null(json_object_get(json_array_get(reports, 1), "loss")));
    json_decref(reports);
    events_take(log_dir, NULL, NULL);
    snprintf(path, sizeof path, "%s/" EVENTS_FILE, log_dir);
    assert_int_equal(fs_read(path, &notes, NULL, NULL), 0);
    assert_non_null(strstr(notes, "metric loss is NaN at iteration 2"));
    free(notes);
    assert_int_equal(session_finish(ctx, &ctx->error), 0);
}

static void reports_may_have_many_metrics(void **state)
{
    enum { N = 61 };
    raytrain_metric metrics[N];
    char names[N][16];
    json_t *reports;

    (void)state;
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        metrics[i] = (raytrain_metric){names[i], i};
    }
    session_start(0);
    assert_int_equal(raytrain_report(ctx, metrics, N, NULL), RAYTRAIN_OK);
    reports = reports_load();
    for (int i = 0; i < N; i++)
        assert_true(json_real_value(
                        json_object_get(json_array_get(reports, 0), names[i])) == i);
    json_decref(reports);
}

static void bad_reports_are_refused(void **state)
{
    char longest[RAYTRAIN_NAME_MAX + 2];
    const raytrain_metric bad[] = {
        {NULL, 1}, {"", 1},    {"1st", 1},     {"a b", 1},
        {"ä", 1},  {"pid", 1}, {"by_rank", 1}, {longest, 1},
    };
    const raytrain_metric twice[] = {{"loss", 1}, {"loss", 2}};

    (void)state;
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    session_start(0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(raytrain_report(ctx, &bad[i], 1, NULL), RAYTRAIN_EINVAL);
        assert_int_equal(ctx->error.code, RAYTRAIN_EINVAL);
    }
    assert_int_equal(raytrain_report(ctx, twice, 2, NULL), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_report(ctx, NULL, 1, NULL), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_report(NULL, twice, 1, NULL), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_training_iteration(ctx), 0);
    longest[RAYTRAIN_NAME_MAX] = '\0';
    assert_int_equal(raytrain_report(ctx, &bad[7], 1, NULL), RAYTRAIN_OK);
}

static void an_error_begins_with_the_call_that_was_made(void **state)
{
    const raytrain_metric twice[] = {{"a", 1}, {"a", 2}};
    int64_t value;

    (void)state;
    session_start(0);
    assert_int_equal(raytrain_report(ctx, twice, 2, NULL), RAYTRAIN_EINVAL);
    assert_string_equal(raytrain_last_error(ctx),
                        "raytrain_report: metric \"a\" is given twice");
    assert_int_equal(raytrain_report_rank0(ctx, twice, 2, NULL), RAYTRAIN_EINVAL);
    assert_string_equal(raytrain_last_error(ctx),
                        "raytrain_report_rank0: metric \"a\" is given twice");
    assert_int_equal(raytrain_config_int(ctx, NULL, 0, &value), RAYTRAIN_EINVAL);
    assert_string_equal(raytrain_last_error(ctx),
                        "raytrain_config_int: the key is NULL");
    assert_int_equal(raytrain_broadcast(ctx, NULL, 0, 1), RAYTRAIN_EINVAL);
    assert_string_equal(
        raytrain_last_error(ctx),
        "raytrain_broadcast: there is no rank 1 to broadcast from among "
        "1 workers");
}

static void a_stop_criterion_finishes_the_run(void **state)
{
    (void)state;
    config_text("run_config = { stop = { loss = 3.0; }; };");
    session_start(0);
    assert_int_equal(report_loss(2.9, NULL), RAYTRAIN_OK);
    assert_false(raytrain_should_stop(ctx));
    assert_int_equal(report_loss(NAN, NULL), RAYTRAIN_OK);
    assert_false(raytrain_should_stop(ctx));
    assert_int_equal(report_loss(3.0, NULL), RAYTRAIN_OK);
    assert_true(raytrain_should_stop(ctx));
    assert_int_equal(session_finish(ctx, &ctx->error), 0);
}

static void iterations_are_a_criterion(void **state)
{
    (void)state;
    config_text("run_config = { stop = { training_iteration = 2; }; };");
    session_start(0);
    assert_int_equal(report_loss(1, NULL), RAYTRAIN_OK);
    assert_false(raytrain_should_stop(ctx));
    assert_int_equal(report_loss(1, NULL), RAYTRAIN_OK);
    assert_true(raytrain_should_stop(ctx));
}

static raytrain_checkpoint *checkpoint_make(double *model);

/* Report as a training function does that asks; the answer it got. */
static bool report_asking(double loss)
{
    double model[2] = {0};
    bool due = raytrain_should_checkpoint(ctx);

    assert_int_equal(report_loss(loss, due ? checkpoint_make(model) : NULL),
                     RAYTRAIN_OK);
    return due;
}

static void a_checkpoint_is_due_every_so_many_iterations(void **state)
{
    (void)state;
    config_text("run_config = { checkpoint_config = { checkpoint_frequency = 3; }; };");
    session_start(0);
    for (int i = 1; i <= 4; i++)
        assert_int_equal(report_asking(1), i == 3);
    session_stop();
    session_start(1); /* from the checkpoint of iteration 3 */
    for (int i = 4; i <= 7; i++)
        assert_int_equal(report_asking(1), i == 6);
}

static void a_checkpoint_is_due_after_so_many_seconds(void **state)
{
    (void)state;
    config_text(
        "run_config = { checkpoint_config = { checkpoint_interval_s = 100; }; };");
    session_start(0);
    assert_false(report_asking(1));
    ctx->started -= 60;
    assert_false(report_asking(1)); /* as long again, and it is due */
    assert_true(report_asking(1));
    assert_false(report_asking(1));
}

static void without_a_setting_a_checkpoint_is_always_due(void **state)
{
    (void)state;
    session_start(0);
    assert_true(report_asking(1));
    assert_true(report_asking(1));
    assert_false(raytrain_should_checkpoint(NULL));
}

static void a_checkpoint_is_due_before_the_last_iteration(void **state)
{
    (void)state;
    config_text("run_config = { stop = { training_iteration = 2; }; "
                "checkpoint_config = { checkpoint_frequency = 100; }; };");
    session_start(0);
    assert_false(report_asking(1));
    assert_true(report_asking(1));
    assert_true(raytrain_should_stop(ctx));
}

static void a_stop_waits_for_the_checkpoint_that_is_due(void **state)
{
    (void)state;
    config_text("run_config = { stop = { loss = 3.0; }; "
                "checkpoint_config = { checkpoint_frequency = 100; }; };");
    session_start(0);
    assert_false(report_asking(1));
    assert_false(report_asking(5));
    assert_false(raytrain_should_stop(ctx));
    assert_true(report_asking(1));
    assert_true(raytrain_should_stop(ctx));
    assert_int_equal(session_finish(ctx, &ctx->error), 0);
}

static void an_unused_frequency_is_reported(void **state)
{
    char path[128], *notes;

    (void)state;
    config_text("run_config = { checkpoint_config = { checkpoint_frequency = 3; }; };");
    session_start(0);
    assert_int_equal(report_loss(1, NULL), RAYTRAIN_OK);
    events_take(log_dir, NULL, NULL);
    snprintf(path, sizeof path, "%s/" EVENTS_FILE, log_dir);
    assert_int_equal(fs_read(path, &notes, NULL, NULL), 0);
    assert_non_null(strstr(notes, "checkpoint_frequency is set"));
    free(notes);
}

/* A model that depends on all that a session keeps. */
static raytrain_checkpoint *checkpoint_make(double *model)
{
    raytrain_tensor tensor = {
        .data = model, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {2}};
    raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);

    assert_non_null(ck);
    assert_int_equal(raytrain_checkpoint_put(ck, "model/w", &tensor), RAYTRAIN_OK);
    return ck;
}

static void train_one(double *model)
{
    model[0] += raytrain_random_normal(ctx, RAYTRAIN_STREAM_RANK);
    model[1] += raytrain_random_uniform(ctx, RAYTRAIN_STREAM_SHARED);
    assert_int_equal(report_loss(model[0], checkpoint_make(model)), RAYTRAIN_OK);
}

static void a_new_attempt_continues_with_the_same_bits(void **state)
{
    double straight[2] = {0, 0}, resumed[2] = {0, 0}, metric;
    raytrain_tensor tensor = {
        .data = resumed, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {2}};
    raytrain_checkpoint *from;

    (void)state;
    config_text("seed = 11;");
    session_start(0);
    assert_null(raytrain_get_checkpoint(ctx));
    for (int i = 0; i < 3; i++)
        train_one(resumed);
    session_stop();
    session_start(1);
    from = raytrain_get_checkpoint(ctx);
    assert_non_null(from);
    memset(resumed, 0, sizeof resumed);
    assert_int_equal(raytrain_checkpoint_get(from, "model/w", &tensor), RAYTRAIN_OK);
    assert_int_equal(raytrain_training_iteration(ctx), 3);
    assert_int_equal(raytrain_checkpoint_iteration(from), 3);
    assert_int_equal(raytrain_checkpoint_metric(from, "loss", &metric), RAYTRAIN_OK);
    assert_true(metric == resumed[0]);
    assert_int_equal(raytrain_checkpoint_metric(from, "gain", &metric),
                     RAYTRAIN_ENOTFOUND);
    for (int i = 0; i < 2; i++)
        train_one(resumed);
    assert_int_equal(raytrain_training_iteration(ctx), 5);
    session_stop();
    teardown(NULL);
    setup(NULL);
    config_text("seed = 11;");
    session_start(0);
    for (int i = 0; i < 5; i++)
        train_one(straight);
    assert_memory_equal(straight, resumed, sizeof straight);
}

/* As a command's companion does. */
static int loose_make(void *arg, raytrain_checkpoint **out, struct error *err)
{
    (void)err;
    *out = checkpoint_make(arg);
    return 0;
}

/* As if killed between the checkpoint's publication and its line. */
static void what_rank_0_has_reported_is_mended_too(void **state)
{
    static const char reported[] = "{\"loss\":1,\"of\":{\"a b\":[null]}}";
    const raytrain_metric metrics[] = {{"loss", 1}};
    double model[2] = {0, 0};
    struct loose_report report = {.metrics = metrics,
                                  .n_metrics = 1,
                                  .reported = reported,
                                  .has_checkpoint = true,
                                  .make = loose_make,
                                  .make_arg = model};
    struct error err;
    json_t *reports, *again;
    char path[128];

    (void)state;
    session_start(0);
    assert_int_equal(session_report_loose(ctx, &report, &err), 0);
    session_stop();
    snprintf(path, sizeof path, "%s/reports.0", log_dir);
    assert_int_equal(unlink(path), 0);
    session_start(1);
    reports = reports_load();
    assert_int_equal(json_array_size(reports), 1);
    again = json_loads(reported, 0, NULL);
    assert_true(json_equal(
        json_object_get(json_array_get(reports, 0), METRICS_REPORTED), again));
    json_decref(again);
    json_decref(reports);
}

static void a_missing_line_is_mended(void **state)
{
    double model[2] = {0, 0};
    struct metrics_collector *collector;
    char path[128], *text, *last;
    struct error err;
    json_t *reports;

    (void)state;
    session_start(0);
    train_one(model);
    train_one(model);
    session_stop();
    assert_int_equal(metrics_collector_open(run_dir, &collector, &err), 0);
    assert_int_equal(metrics_collector_settle(collector, &err), 0);
    metrics_collector_close(collector);
    /* As if killed between the checkpoint's publication and its line. */
    snprintf(path, sizeof path, "%s/result.json", run_dir);
    assert_int_equal(fs_read(path, &text, NULL, NULL), 0);
    last = strchr(text, '\n') + 1;
    assert_int_equal(truncate(path, last - text), 0);
    free(text);
    session_start(1);
    reports = reports_load();
    assert_int_equal(json_array_size(reports), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(reports, 1),
                                                        "training_iteration")),
                     2);
    assert_true(json_real_value(json_object_get(json_array_get(reports, 1), "loss")) ==
                model[0]);
    json_decref(reports);
    session_stop();
    session_start(2);
    reports = reports_load();
    assert_int_equal(json_array_size(reports), 2);
    json_decref(reports);
}

static void checkpoints_are_for_reading_or_for_writing(void **state)
{
    double model[2] = {0, 0};
    raytrain_tensor tensor = {
        .data = model, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {2}};
    raytrain_checkpoint *ck, *from;

    (void)state;
    session_start(0);
    train_one(model);
    session_stop();
    session_start(1);
    from = raytrain_get_checkpoint(ctx);
    ck = checkpoint_make(model);
    assert_int_equal(raytrain_checkpoint_put(from, "x", &tensor), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_checkpoint_get(ck, "model/w", &tensor), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_checkpoint_put(ck, "raytrain/x", &tensor),
                     RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_checkpoint_put(ck, NULL, &tensor), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_checkpoint_put(ck, "x", NULL), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_checkpoint_put_shard(ck, "x", &tensor, NULL),
                     RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_checkpoint_put(NULL, "x", &tensor), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_checkpoint_get(from, "nothing", &tensor),
                     RAYTRAIN_ENOTFOUND);
    assert_int_equal(raytrain_report(ctx, NULL, 0, from), RAYTRAIN_EINVAL);
    raytrain_checkpoint_discard(from);
    raytrain_checkpoint_discard(NULL);
    raytrain_checkpoint_discard(ck);
    assert_int_equal(raytrain_checkpoint_get(from, "model/w", &tensor), RAYTRAIN_OK);
}

static void missing_datasets_are_reported(void **state)
{
    uint64_t rows;

    (void)state;
    session_start(0);
    assert_null(raytrain_get_dataset_shard(ctx, "train"));
    assert_int_equal(ctx->error.code, RAYTRAIN_ENOTFOUND);
    assert_null(raytrain_get_dataset_shard(NULL, "train"));
    assert_null(raytrain_get_dataset_shard(ctx, NULL));
    assert_int_equal(raytrain_dataset_next(NULL, &rows), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_dataset_rows(NULL), 0);
}

/* Last: the flag stays. */
static void a_signal_stops_at_the_next_report(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(stop_install(&err), 0);
    session_start(0);
    assert_int_equal(report_loss(1, NULL), RAYTRAIN_OK);
    raise(SIGUSR1);
    assert_false(raytrain_should_stop(ctx));
    assert_int_equal(report_loss(1, NULL), RAYTRAIN_OK);
    assert_true(raytrain_should_stop(ctx));
    assert_int_equal(session_finish(ctx, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTOPPED);
    session_stop();
    config_text(
        "run_config = { checkpoint_config = { checkpoint_frequency = 100; }; };");
    session_start(0);
    assert_false(report_asking(1)); /* the flag is up since before */
    assert_false(raytrain_should_stop(ctx));
    assert_true(report_asking(1));
    assert_true(raytrain_should_stop(ctx));
    assert_int_equal(session_finish(ctx, &err), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rank_size_and_arguments_are_known),
        TEST(configuration_values_are_found),
        TEST(configuration_values_of_other_types_are_errors),
        TEST(collectives_work_with_one_rank),
        TEST(reports_are_lines),
        TEST(reports_may_have_many_metrics),
        TEST(bad_reports_are_refused),
        TEST(an_error_begins_with_the_call_that_was_made),
        TEST(a_stop_criterion_finishes_the_run),
        TEST(iterations_are_a_criterion),
        TEST(a_checkpoint_is_due_every_so_many_iterations),
        TEST(a_checkpoint_is_due_after_so_many_seconds),
        TEST(without_a_setting_a_checkpoint_is_always_due),
        TEST(a_checkpoint_is_due_before_the_last_iteration),
        TEST(a_stop_waits_for_the_checkpoint_that_is_due),
        TEST(an_unused_frequency_is_reported),
        TEST(a_new_attempt_continues_with_the_same_bits),
        TEST(a_missing_line_is_mended),
        TEST(what_rank_0_has_reported_is_mended_too),
        TEST(checkpoints_are_for_reading_or_for_writing),
        TEST(missing_datasets_are_reported),
        TEST(a_signal_stops_at_the_next_report),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
