/* test_node_watch.c - the watch of nodes, without Slurm and without waiting: time is
 * what the view says; only an answer that is on its way is waited for. */
#include "config.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/train_config.h"
#include "run/run_dir.h"
#include "t/unit/scratch.h"
#include "util/fs.h"
#include "watch/node_liveness.h"

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

/* What n1 says; all others answer. */
static enum node_answer n1_says;

/* Runs in a process of its own. */
static void n1_is_asked(enum node_purpose purpose, char *const *nodes, size_t n,
                        enum node_answer *answers, struct node_memo *memo)
{
    (void)purpose;
    (void)memo;
    for (size_t i = 0; i < n; i++)
        answers[i] = strcmp(nodes[i], "n1") == 0 ? n1_says : NODE_ANSWERS;
}

static const struct launcher_ops launcher = {
    .name = "test", .resources = all_nodes, .ask = n1_is_asked};

/* ---- A run to watch ---------------------------------------------------------------
 */

static struct train_config cfg;
static struct placement plan;
static struct worker_group_spec spec;
static struct watch_view view;
static void *state_of_watch;
static char notes[4096];

static void note_keep(struct callback *cb, const char *text)
{
    (void)cb;
    snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s\n", text);
}

static const struct callback_ops keeper = {.name = "keeper", .on_note = note_keep};
static struct callback kept = {.ops = &keeper};
static struct callback_list callbacks = {.callbacks = &kept, .n = 1};

static void beat(int node, int count)
{
    char path[64];
    FILE *f;

    snprintf(path, sizeof path, "heartbeats/n%d", node);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fprintf(f, "%-*d", RUN_DIR_HEARTBEAT_BYTES, count),
                     RUN_DIR_HEARTBEAT_BYTES);
    assert_int_equal(fclose(f), 0);
}

static void begin(int nodes)
{
    n_nodes = nodes;
    n1_says = NODE_SILENT;
    notes[0] = '\0';
    train_config_init(&cfg);
    cfg.scaling_config.num_workers = cfg.scaling_config.max_workers = nodes;
    cfg.run_config.failure_config.node_timeout_s = TIMEOUT;
    spec =
        (struct worker_group_spec){.launcher = &launcher, .cfg = &cfg, .plan = &plan};
    assert_int_equal(
        attempt_planner_create(&launcher, &cfg.scaling_config, &spec.planner, NULL), 0);
    assert_int_equal(attempt_planner_plan(spec.planner, &plan, NULL), 0);
    assert_int_equal((int)plan.n_nodes, nodes);
    view = (struct watch_view){.spec = &spec,
                               .callbacks = &callbacks,
                               .log_dir = ".",
                               .now = 1000,
                               .started = 1000};
    assert_int_equal(fs_mkdirs("heartbeats", 0777, NULL), 0);
    assert_int_equal(node_watch.create(&view, &state_of_watch, NULL), 0);
    assert_non_null(state_of_watch);
}

static void end(void)
{
    node_watch.destroy(state_of_watch);
    attempt_planner_destroy(spec.planner);
    placement_clear(&plan);
    train_config_clear(&cfg);
}

static enum watch_verdict tick(struct watch_finding *finding)
{
    *finding = (struct watch_finding){.rank = -1};
    return node_watch.tick(state_of_watch, &view, finding);
}

/* Let so much time pass; all nodes but `dead` beat every second, and there are reports.
 */
static enum watch_verdict pass(double seconds, int dead, struct watch_finding *finding)
{
    double until = view.now + seconds;
    enum watch_verdict verdict = WATCH_GOES_ON;

    for (int k = 0; view.now < until && verdict == WATCH_GOES_ON; k++) {
        if (k % 5 == 0)
            for (int i = 0; i < n_nodes; i++)
                if (i != dead)
                    beat(i, (int)view.now);
        view.last_report = view.now += TICK_S;
        verdict = tick(finding);
    }
    return verdict;
}

/* Time stands still until what was asked has been answered, and taken. */
static bool await(bool (*come)(const struct watch_finding *),
                  struct watch_finding *finding)
{
    for (long i = 0; i < 10000000; i++) {
        if (tick(finding) != WATCH_GOES_ON || come(finding))
            return true;
        sched_yield();
    }
    return false;
}

static bool is_noted(const struct watch_finding *finding)
{
    (void)finding;
    return notes[0] != '\0';
}

/* ---- What it finds ----------------------------------------------------------------
 */

static void nodes_that_beat_are_left_alone(void **state)
{
    struct watch_finding finding;

    (void)state;
    begin(3);
    assert_int_equal(pass(5 * TIMEOUT, -1, &finding), WATCH_GOES_ON);
    assert_string_equal(notes, "");
    end();
}

static void one_that_is_silent_and_does_not_answer_is_given_up(void **state)
{
    struct watch_finding finding;

    (void)state;
    begin(3);
    assert_int_equal(pass(TIMEOUT / 2 - 1, 1, &finding), WATCH_GOES_ON);
    if (pass(2 * TIMEOUT, 1, &finding) == WATCH_GOES_ON)
        assert_true(await(is_noted, &finding));
    assert_int_equal(finding.cause, CAUSE_NODE_LOST);
    assert_string_equal(finding.host, "n1");
    assert_true(attempt_planner_is_lost(spec.planner, "n1"));
    assert_false(attempt_planner_is_lost(spec.planner, "n0"));
    assert_string_equal(notes, "");
    end();
}

static void one_that_is_silent_but_answers_is_told_of(void **state)
{
    struct watch_finding finding;

    (void)state;
    begin(3);
    assert_int_equal(pass(TIMEOUT, -1, &finding), WATCH_GOES_ON);
    assert_int_equal(pass(TIMEOUT + 6, 2, &finding), WATCH_GOES_ON);
    assert_true(await(is_noted, &finding));
    assert_non_null(strstr(notes, "node n2 has no heartbeat for"));
    assert_non_null(strstr(notes, "but it answers"));
    assert_int_equal(pass(2 * TIMEOUT, 2, &finding), WATCH_GOES_ON);
    assert_false(attempt_planner_is_lost(spec.planner, "n2"));
    end();
}

/* Each tick reads a share of them; nobody who beats is taken for silent. */
static void one_of_a_thousand_is_found(void **state)
{
    struct watch_finding finding;

    (void)state;
    begin(NODES_MAX);
    assert_int_equal(pass(TIMEOUT, -1, &finding), WATCH_GOES_ON);
    assert_int_equal(pass(TIMEOUT + 6, 777, &finding), WATCH_GOES_ON);
    assert_true(await(is_noted, &finding));
    assert_int_equal(strncmp(notes, "node n777 has no heartbeat", 26), 0);
    assert_string_equal(strchr(notes, '\n'), "\n");
    end();
}

/* Its kernel lives, its workers and its slurmd do not. */
static void one_that_refuses_and_is_silent_is_given_up_in_time(void **state)
{
    struct watch_finding finding;
    double died;

    (void)state;
    begin(3);
    n1_says = NODE_REFUSES;
    assert_int_equal(pass(TIMEOUT, -1, &finding), WATCH_GOES_ON);
    died = view.now;
    if (pass(TIMEOUT + 1, 1, &finding) == WATCH_GOES_ON) /* the answer is on its way */
        assert_true(await(is_noted, &finding));
    assert_int_equal(finding.cause, CAUSE_NODE_LOST);
    assert_true(view.now <= died + TIMEOUT + 2);
    assert_non_null(strstr(finding.message, "lost node n1: it refuses connections"));
    assert_true(attempt_planner_is_lost(spec.planner, "n1"));
    assert_string_equal(notes, "");
    end();
}

/* Slurm lets a slurmd be down while jobs run. */
static void one_that_refuses_but_beats_goes_on(void **state)
{
    struct watch_finding finding;

    (void)state;
    begin(3);
    n1_says = NODE_REFUSES;
    assert_int_equal(pass(2 * TIMEOUT, -1, &finding), WATCH_GOES_ON);
    view.last_report = 0;
    for (int i = 0; i < 5 * TIMEOUT; i++) { /* no report: all are asked */
        for (int k = 0; k < n_nodes; k++)
            beat(k, (int)view.now);
        view.now += 1;
        assert_int_equal(tick(&finding), WATCH_GOES_ON);
    }
    assert_false(attempt_planner_is_lost(spec.planner, "n1"));
    assert_string_equal(notes, "");
    end();
}

/* The question took too long: nothing is known. */
static void one_of_which_nothing_is_known_is_not_given_up(void **state)
{
    struct watch_finding finding;

    (void)state;
    begin(3);
    n1_says = NODE_UNKNOWN;
    assert_int_equal(pass(5 * TIMEOUT, 1, &finding), WATCH_GOES_ON);
    assert_false(attempt_planner_is_lost(spec.planner, "n1"));
    end();
}

static bool never(const struct watch_finding *finding)
{
    (void)finding;
    return false;
}

/* Long before its silence tells. */
static void one_that_a_failing_group_waits_for_is_given_up(void **state)
{
    struct watch_finding finding;

    (void)state;
    begin(3);
    assert_int_equal(pass(2, -1, &finding), WATCH_GOES_ON);
    view.failing = view.now;
    assert_int_equal(pass(0.5, 1, &finding), WATCH_GOES_ON);
    if (pass(1, 1, &finding) == WATCH_GOES_ON)
        assert_true(await(never, &finding));
    assert_int_equal(finding.cause, CAUSE_NODE_LOST);
    assert_string_equal(finding.message, "lost node n1: it does not answer");
    assert_true(attempt_planner_is_lost(spec.planner, "n1"));
    assert_false(attempt_planner_is_lost(spec.planner, "n0"));
    end();
}

/* Also one whose kernel refuses: it holds up the end, and can start no other workers.
 * What the others do not send any more, since they are being ended, is not reported. */
static void one_that_refuses_and_holds_up_the_end_is_given_up(void **state)
{
    struct watch_finding finding;

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
    assert_false(attempt_planner_is_lost(spec.planner, "n0"));
    assert_string_equal(notes, "");
    end();
}

static void not_where_it_is_off_or_nodes_cannot_be_asked(void **state)
{
    const struct launcher_ops deaf = {.name = "local", .resources = all_nodes};
    void *watch = NULL;

    (void)state;
    begin(1);
    cfg.run_config.failure_config.node_timeout_s = 0;
    assert_int_equal(node_watch.create(&view, &watch, NULL), 0);
    assert_null(watch);
    cfg.run_config.failure_config.node_timeout_s = TIMEOUT;
    spec.launcher = &deaf;
    assert_int_equal(node_watch.create(&view, &watch, NULL), 0);
    assert_null(watch);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(nodes_that_beat_are_left_alone),
        SCRATCH(one_that_is_silent_and_does_not_answer_is_given_up),
        SCRATCH(one_that_is_silent_but_answers_is_told_of),
        SCRATCH(one_that_refuses_and_is_silent_is_given_up_in_time),
        SCRATCH(one_that_refuses_but_beats_goes_on),
        SCRATCH(one_of_which_nothing_is_known_is_not_given_up),
        SCRATCH(one_that_refuses_and_holds_up_the_end_is_given_up),
        SCRATCH(one_of_a_thousand_is_found),
        SCRATCH(one_that_a_failing_group_waits_for_is_given_up),
        SCRATCH(not_where_it_is_off_or_nodes_cannot_be_asked),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
