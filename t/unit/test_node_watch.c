/* test_node_watch.c - the observer of nodes, without Slurm and without waiting: the
 * test sets the time; only probes in progress are waited for. */
#include "config.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/train_config.h"
#include "protocol/heartbeats.h"
#include "run/run_dir.h"
#include "t/unit/scratch.h"
#include "util/fs.h"
#include "watch/watch.h"

#define NODES_MAX 1000
#define TIMEOUT   20
#define TICK_S    0.2

static int n_nodes;

static int all_nodes(const struct scaling_config *scaling, struct resources *out,
                     struct error *err)
{
    (void)scaling;
    (void)err;
    *out = (struct resources){.what = "the test", .n_nodes = (size_t)n_nodes};
    out->nodes = calloc((size_t)n_nodes, sizeof *out->nodes);
    assert_non_null(out->nodes);
    for (int i = 0; i < n_nodes; i++) {
        out->nodes[i].cpus = 1;
        assert_true(asprintf(&out->nodes[i].name, "n%d", i) > 0);
    }
    return 0;
}

/* The answer of n1; all others answer. */
static enum node_answer n1_says;

/* Runs in the process of the probe. */
static void n1_is_asked(enum node_purpose purpose, char *const *nodes, size_t n,
                        enum node_answer *answers, struct node_memo *memo)
{
    (void)purpose;
    (void)memo;
    for (size_t i = 0; i < n; i++)
        answers[i] = strcmp(nodes[i], "n1") == 0 ? n1_says : NODE_ANSWERS;
}

static const struct launcher_ops launcher = {.resources = all_nodes,
                                             .ask = n1_is_asked};

/* ---- An attempt to observe ---- */

static struct train_config cfg;
static struct placement plan;
static struct watch_view view;
static void *state_of_watch;
static char notes[4096];

static void note_keep(struct callback *cb, const char *text)
{
    (void)cb;
    snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s\n", text);
}

static const struct callback_ops keeper = {.on_note = note_keep};
static struct callback kept = {.ops = &keeper};
static struct callback_list callbacks = {.callbacks = &kept, .n = 1};

static int beats;        /* the file of heartbeats */
static bool is_reversed; /* its order is not that of the plan */

static void beat(int node, int count)
{
    int place = is_reversed ? n_nodes - 1 - node : node;
    char line[HEARTBEAT_BYTES + 1];
    int n = snprintf(line, sizeof line, "%d %d.000 4711 n%d ", count, count, node);

    assert_int_equal(pwrite(beats, line, (size_t)n, place * HEARTBEATS_NODE_BYTES), n);
}

/* Opens of that file by the observer. */
static int opens;

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list ap;

    va_start(ap, flags);
    if (flags & O_CREAT)
        mode = va_arg(ap, mode_t);
    va_end(ap);
    opens += strstr(path, HEARTBEATS_FILE) != NULL;
    return openat(AT_FDCWD, path, flags, mode);
}

static void begin(int nodes)
{
    n_nodes = nodes;
    n1_says = NODE_SILENT;
    notes[0] = '\0';
    train_config_init(&cfg);
    cfg.scaling_config.num_workers = cfg.scaling_config.max_workers = nodes;
    cfg.run_config.failure_config.node_timeout_s = TIMEOUT;
    view = (struct watch_view){.launcher = &launcher,
                               .cfg = &cfg,
                               .plan = &plan,
                               .callbacks = &callbacks,
                               .log_dir = ".",
                               .now = 1000,
                               .started = 1000};
    assert_int_equal(
        attempt_planner_create(&launcher, &cfg.scaling_config, &view.planner, NULL), 0);
    assert_int_equal(attempt_planner_plan(view.planner, &plan, NULL), 0);
    assert_int_equal((int)plan.n_nodes, nodes);
    assert_int_equal(heartbeats_create(".", (size_t)nodes, NULL), 0);
    beats = open(HEARTBEATS_FILE, O_RDWR | O_CLOEXEC);
    assert_true(beats >= 0);
    opens = 0;
    assert_int_equal(node_watch.create(&view, &state_of_watch, NULL), 0);
    assert_non_null(state_of_watch);
}

static void end(void)
{
    node_watch.destroy(state_of_watch);
    attempt_planner_destroy(view.planner);
    placement_clear(&plan);
    train_config_clear(&cfg);
    assert_int_equal(close(beats), 0);
    is_reversed = false;
}

static enum watch_verdict tick(struct failure *finding)
{
    *finding = (struct failure){.rank = -1};
    return node_watch.tick(state_of_watch, &view, finding);
}

/* Let this time pass; all nodes except `dead` have heartbeats every second. Without a
 * dead one, reports arrive. */
static enum watch_verdict pass(double seconds, int dead, struct failure *finding)
{
    double until = view.now + seconds;
    enum watch_verdict verdict = WATCH_GOES_ON;

    for (int k = 0; view.now < until && verdict == WATCH_GOES_ON; k++) {
        if (k % 5 == 0)
            for (int i = 0; i < n_nodes; i++)
                if (i != dead)
                    beat(i, (int)view.now);
        view.now += TICK_S;
        if (dead < 0)
            view.last_report = view.now;
        verdict = tick(finding);
    }
    return verdict;
}

/* Wait for the answer of the probe, without time passing. */
static bool await(bool (*come)(const struct failure *), struct failure *finding)
{
    for (long i = 0; i < 10000000; i++) {
        if (tick(finding) != WATCH_GOES_ON || come(finding))
            return true;
        sched_yield();
    }
    return false;
}

static bool is_noted(const struct failure *finding)
{
    (void)finding;
    return notes[0] != '\0';
}

/* ---- Findings ---- */

static void nodes_that_beat_are_left_alone(void **state)
{
    struct failure finding;

    (void)state;
    begin(3);
    assert_int_equal(pass(5 * TIMEOUT, -1, &finding), WATCH_GOES_ON);
    assert_string_equal(notes, "");
    end();
}

static void a_silent_node_that_does_not_respond_is_given_up(void **state)
{
    struct failure finding;

    (void)state;
    begin(3);
    assert_int_equal(pass(TIMEOUT / 2 - 1, 1, &finding), WATCH_GOES_ON);
    if (pass(2 * TIMEOUT, 1, &finding) == WATCH_GOES_ON)
        assert_true(await(is_noted, &finding));
    assert_int_equal(finding.cause, CAUSE_NODE_LOST);
    assert_string_equal(finding.host, "n1");
    assert_true(attempt_planner_is_lost(view.planner, "n1"));
    assert_false(attempt_planner_is_lost(view.planner, "n0"));
    assert_string_equal(notes, "");
    end();
}

static void one_that_is_silent_but_answers_is_reported(void **state)
{
    struct failure finding;

    (void)state;
    begin(3);
    n1_says = NODE_ANSWERS;
    assert_int_equal(pass(TIMEOUT, -1, &finding), WATCH_GOES_ON);
    assert_int_equal(pass(TIMEOUT + 6, 2, &finding), WATCH_GOES_ON);
    assert_true(await(is_noted, &finding));
    assert_non_null(strstr(notes, "node n2 has had no heartbeat for"));
    assert_non_null(strstr(notes, "but it answers"));
    assert_int_equal(pass(2 * TIMEOUT, 2, &finding), WATCH_GOES_ON);
    assert_false(attempt_planner_is_lost(view.planner, "n2"));
    end();
}

/* Nodes write no heartbeats then, and none are read: the files are not even there. */
static void reports_stand_for_heartbeats(void **state)
{
    struct failure finding;

    (void)state;
    begin(3);
    for (int i = 0; i < 10 * TIMEOUT; i++) {
        view.last_report = view.now += 0.5;
        assert_int_equal(tick(&finding), WATCH_GOES_ON);
    }
    assert_string_equal(notes, "");
    assert_false(attempt_planner_is_lost(view.planner, "n1"));
    end();
}

/* Each tick reads some of the files; no node with a heartbeat counts as silent. */
static void one_silent_node_of_a_thousand_is_found(void **state)
{
    struct failure finding;

    (void)state;
    begin(NODES_MAX);
    n1_says = NODE_ANSWERS;
    assert_int_equal(pass(TIMEOUT, -1, &finding), WATCH_GOES_ON);
    assert_int_equal(pass(TIMEOUT + 6, 777, &finding), WATCH_GOES_ON);
    assert_true(await(is_noted, &finding));
    assert_int_equal(strncmp(notes, "node n777 has had no heartbeat", 30), 0);
    assert_string_equal(strchr(notes, '\n'), "\n");
    end();
}

/* Names in the heartbeats count, not places: a node that is silent in a group of
 * another order is found. */
static void the_order_of_nodes_does_not_matter(void **state)
{
    struct failure finding;

    (void)state;
    begin(NODES_MAX);
    is_reversed = true;
    n1_says = NODE_ANSWERS;
    assert_int_equal(pass(TIMEOUT, -1, &finding), WATCH_GOES_ON);
    assert_int_equal(pass(TIMEOUT + 6, 777, &finding), WATCH_GOES_ON);
    assert_true(await(is_noted, &finding));
    assert_int_equal(strncmp(notes, "node n777 has had no heartbeat", 30), 0);
    end();
}

/* Without reports all heartbeats are read, with one open per tick at most. */
static int opens_with(int nodes)
{
    struct failure finding;
    int n;

    begin(nodes);
    assert_int_equal(pass(TIMEOUT / 2, nodes, &finding), WATCH_GOES_ON);
    n = opens;
    end();
    return n;
}

static void files_opened_do_not_grow_with_the_number_of_nodes(void **state)
{
    (void)state;
    assert_true(opens_with(4) > 0);
    assert_true(opens_with(NODES_MAX) <= (int)(TIMEOUT / 2 / TICK_S) + 1);
    assert_true(opens_with(10 * NODES_MAX) <= (int)(TIMEOUT / 2 / TICK_S) + 1);
}

/* Its kernel is alive, its workers and its slurmd are not. */
static void a_silent_node_that_refuses_is_given_up(void **state)
{
    struct failure finding;
    double died;

    (void)state;
    begin(3);
    n1_says = NODE_REFUSES;
    assert_int_equal(pass(TIMEOUT, -1, &finding), WATCH_GOES_ON);
    died = view.now;
    if (pass(TIMEOUT + 1, 1, &finding) == WATCH_GOES_ON) /* the probe is in progress */
        assert_true(await(is_noted, &finding));
    assert_int_equal(finding.cause, CAUSE_NODE_LOST);
    assert_true(view.now <= died + TIMEOUT + 2);
    assert_non_null(strstr(finding.message, "lost node n1: it refuses connections"));
    assert_true(attempt_planner_is_lost(view.planner, "n1"));
    assert_string_equal(notes, "");
    end();
}

/* A slurmd may be down while jobs run. */
static void one_that_refuses_but_has_a_heartbeat_goes_on(void **state)
{
    struct failure finding;

    (void)state;
    begin(3);
    n1_says = NODE_REFUSES;
    assert_int_equal(pass(2 * TIMEOUT, -1, &finding), WATCH_GOES_ON);
    view.last_report = 0;
    for (int i = 0; i < 5 * TIMEOUT; i++) { /* no report: all are probed */
        for (int k = 0; k < n_nodes; k++)
            beat(k, (int)view.now);
        view.now += 1;
        assert_int_equal(tick(&finding), WATCH_GOES_ON);
    }
    assert_false(attempt_planner_is_lost(view.planner, "n1"));
    assert_string_equal(notes, "");
    end();
}

/* The probe took too long: nothing is known. */
static void a_node_of_unknown_state_is_kept(void **state)
{
    struct failure finding;

    (void)state;
    begin(3);
    n1_says = NODE_UNKNOWN;
    assert_int_equal(pass(5 * TIMEOUT, 1, &finding), WATCH_GOES_ON);
    assert_false(attempt_planner_is_lost(view.planner, "n1"));
    end();
}

static bool never(const struct failure *finding)
{
    (void)finding;
    return false;
}

/* Long before its silence counts. */
static void a_silent_node_of_a_failing_group_is_given_up(void **state)
{
    struct failure finding;

    (void)state;
    begin(3);
    assert_int_equal(pass(2, -1, &finding), WATCH_GOES_ON);
    view.failing = view.now;
    assert_int_equal(pass(0.5, 1, &finding), WATCH_GOES_ON);
    if (pass(1, 1, &finding) == WATCH_GOES_ON)
        assert_true(await(never, &finding));
    assert_int_equal(finding.cause, CAUSE_NODE_LOST);
    assert_string_equal(finding.message, "lost node n1: it does not answer");
    assert_true(attempt_planner_is_lost(view.planner, "n1"));
    assert_false(attempt_planner_is_lost(view.planner, "n0"));
    end();
}

/* Also one whose kernel refuses: it delays the end, and can start no other workers.
 * That the others have no heartbeat any more, since they are being killed, is not
 * reported. */
static void a_node_that_delays_the_end_is_given_up(void **state)
{
    struct failure finding;

    (void)state;
    begin(3);
    n1_says = NODE_REFUSES;
    assert_int_equal(pass(2, -1, &finding), WATCH_GOES_ON);
    view.now += TIMEOUT;
    view.failing = view.now;
    view.now += 2;
    if (tick(&finding) == WATCH_GOES_ON)
        assert_true(await(never, &finding));
    assert_int_equal(finding.cause, CAUSE_NODE_LOST);
    assert_string_equal(finding.host, "n1");
    assert_false(attempt_planner_is_lost(view.planner, "n0"));
    assert_string_equal(notes, "");
    end();
}

static void not_if_it_is_off_or_nodes_cannot_be_asked(void **state)
{
    const struct launcher_ops deaf = {.resources = all_nodes};
    void *watch = NULL;

    (void)state;
    begin(1);
    cfg.run_config.failure_config.node_timeout_s = 0;
    assert_int_equal(node_watch.create(&view, &watch, NULL), 0);
    assert_null(watch);
    cfg.run_config.failure_config.node_timeout_s = TIMEOUT;
    view.launcher = &deaf;
    assert_int_equal(node_watch.create(&view, &watch, NULL), 0);
    assert_null(watch);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(nodes_that_beat_are_left_alone),
        SCRATCH(a_silent_node_that_does_not_respond_is_given_up),
        SCRATCH(one_that_is_silent_but_answers_is_reported),
        SCRATCH(a_silent_node_that_refuses_is_given_up),
        SCRATCH(one_that_refuses_but_has_a_heartbeat_goes_on),
        SCRATCH(a_node_of_unknown_state_is_kept),
        SCRATCH(a_node_that_delays_the_end_is_given_up),
        SCRATCH(reports_stand_for_heartbeats),
        SCRATCH(the_order_of_nodes_does_not_matter),
        SCRATCH(files_opened_do_not_grow_with_the_number_of_nodes),
        SCRATCH(one_silent_node_of_a_thousand_is_found),
        SCRATCH(a_silent_node_of_a_failing_group_is_given_up),
        SCRATCH(not_if_it_is_off_or_nodes_cannot_be_asked),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
