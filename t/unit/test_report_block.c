#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rank/collective_wait.h"
#include "session/report_block.h"
#include "session/report_line.h"
#include "util/rank_list.h"
#include "util/report_number.h"

#define RANKS 4

static const raytrain_metric two[] = {{"loss", 1.5}, {"accuracy", 0.5}};
static const raytrain_metric swapped[] = {{"accuracy", 0.5}, {"loss", 1.5}};
static const raytrain_metric with_nan[] = {{"loss", NAN}, {"accuracy", 0.5}};

static struct report reports[RANKS];

static int all_report_two(void **state)
{
    (void)state;
    for (int i = 0; i < RANKS; i++)
        reports[i] = (struct report){.metrics = two, .n_metrics = 2};
    return 0;
}

/* What an allreduce of the ranks' blocks yields. */
static void combine(struct comm_stat out[REPORT_BLOCK_MAX])
{
    struct comm_stat mine[REPORT_BLOCK_MAX];

    report_block_fill(out, &reports[0], 0, RANKS);
    for (int r = 1; r < RANKS; r++) {
        report_block_fill(mine, &reports[r], r, RANKS);
        for (int i = 0; i < REPORT_BLOCK_MAX; i++) {
            out[i].sum += mine[i].sum;
            out[i].min = fmin(out[i].min, mine[i].min);
            out[i].max = fmax(out[i].max, mine[i].max);
        }
    }
}

static void told(struct error *err)
{
    struct report_face faces[RANKS];

    for (int i = 0; i < RANKS; i++)
        report_face_fill(&faces[i], &reports[i], "its metric has no name");
    assert_int_equal(report_disagreement(faces, RANKS, err), -1);
    assert_int_equal(err->code, RAYTRAIN_ECOMM);
}

static void same_reports_agree(void **state)
{
    struct comm_stat block[REPORT_BLOCK_MAX];

    (void)state;
    combine(block);
    assert_true(report_block_agrees(block));
    assert_false(report_block_refused(block));
    assert_true(block[REPORT_LANES].sum == 6.0);
    assert_true(block[LANE_STOP].max == 0);
    assert_true(block[LANE_NAN_RANK].min == RANKS);
}

static void flags_of_one_rank_reach_all(void **state)
{
    struct comm_stat block[REPORT_BLOCK_MAX];

    (void)state;
    reports[2].stop = true;
    reports[0].asks = true;
    reports[3].metrics = with_nan;
    reports[1].time_total_s = 3.25;
    combine(block);
    assert_true(report_block_agrees(block));
    assert_true(block[LANE_STOP].max == 1);
    assert_true(block[LANE_ASKS].max == 1);
    assert_true(block[LANE_NAN_RANK].min == 3);
    assert_true(block[LANE_TIME].max == 3.25);
}

static void early_return_is_a_disagreement(void **state)
{
    struct comm_stat block[REPORT_BLOCK_MAX];
    struct error err;

    (void)state;
    reports[3] = (struct report){.kind = REPORT_FINISH};
    combine(block);
    assert_false(report_block_agrees(block));
    told(&err);
    assert_non_null(strstr(err.text, "ranks 0-2 called raytrain_report()"));
    assert_non_null(strstr(err.text, "of rank 3 had returned"));
}

static void different_metrics_are_a_disagreement(void **state)
{
    struct comm_stat block[REPORT_BLOCK_MAX];
    struct error err;

    (void)state;
    reports[1].metrics = swapped;
    combine(block);
    assert_false(report_block_agrees(block));
    told(&err);
    assert_non_null(strstr(err.text, "rank 0 reported loss, accuracy"));
    assert_non_null(strstr(err.text, "rank 1 reported accuracy, loss"));
    reports[1].metrics = NULL;
    reports[1].n_metrics = 0;
    combine(block);
    assert_false(report_block_agrees(block));
    told(&err);
    assert_non_null(strstr(err.text, "rank 1 reported no metric"));
}

static void checkpoint_of_some_is_a_disagreement(void **state)
{
    struct comm_stat block[REPORT_BLOCK_MAX];
    struct error err;

    (void)state;
    reports[0].has_checkpoint = reports[2].has_checkpoint = true;
    combine(block);
    assert_false(report_block_agrees(block));
    told(&err);
    assert_non_null(strstr(err.text, "ranks 0, 2 reported a checkpoint"));
    assert_non_null(strstr(err.text, "ranks 1, 3 did not"));
}

static void a_refused_call_is_reported_to_all(void **state)
{
    struct comm_stat block[REPORT_BLOCK_MAX];
    struct error err;

    (void)state;
    reports[2] = (struct report){.refused = true};
    combine(block);
    assert_true(report_block_refused(block));
    told(&err);
    assert_string_equal(err.text,
                        "the report of rank 2 was refused: its metric has no name");
}

static void ranks_are_listed_compactly(void **state)
{
    static const struct {
        const char *in, *out;
    } table[] = {
        {"....", "no rank"},           {"..x.", "rank 2"}, {"xxxx", "ranks 0-3"},
        {"x.xx.x", "ranks 0, 2-3, 5"}, {"x", "rank 0"},
    };
    char out[RANK_LIST_MAX];
    bool many[500];

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        bool in[8];
        int n = (int)strlen(table[i].in);

        for (int r = 0; r < n; r++)
            in[r] = table[i].in[r] == 'x';
        assert_string_equal(rank_list(in, n, out), table[i].out);
    }
    for (int r = 0; r < 500; r++)
        many[r] = r % 2;
    rank_list(many, 500, out);
    assert_true(strlen(out) < RANK_LIST_MAX);
    assert_string_equal(out + strlen(out) - 5, ", ...");
}

/* A group of three: rank 0 is missing, the others wait. */
static void the_lowest_waiting_rank_names_the_missing(void **state)
{
    struct collective_wait w = {.rank = 1, .size = 3};
    struct rank_status at[] = {{"", -1, 1}, {"report", 12, 1}, {"report", 12, 1}};
    char text[256];

    (void)state;
    for (int i = 0; i < 12; i++)
        collective_wait_begin(&w, "report");
    assert_true(collective_wait_sentence(&w, at, 60.2, text, sizeof text));
    assert_string_equal(text, "report has waited 60 s for rank 0");
    w.rank = 2;
    assert_false(collective_wait_sentence(&w, at, 60.2, text, sizeof text));
    /* What rank 2 said of an earlier call does not count. */
    w.rank = 1;
    at[2].calls = 11;
    assert_true(collective_wait_sentence(&w, at, 60.2, text, sizeof text));
    assert_string_equal(text, "report has waited 60 s for ranks 0, 2");
    at[2] = (struct rank_status){"allreduce", 12, 1};
    assert_true(collective_wait_sentence(&w, at, 60.2, text, sizeof text));
    assert_string_equal(
        text, "report has waited 60 s for ranks 0, 2; rank 2 waits in allreduce");
}

static void two_that_wait_in_different_calls_never_come_back(void **state)
{
    struct collective_wait w = {.rank = 1, .size = 3};
    struct rank_status at[] = {
        {"", -1, 1}, {"reducer wait", 3, 1}, {"reducer wait", 3, 1}};
    struct error err;

    (void)state;
    for (int i = 0; i < 3; i++)
        collective_wait_begin(&w, "reducer wait");
    assert_int_equal(collective_wait_disagreement(&w, at, &err), 0);
    at[0] = (struct rank_status){"report", 2, 1}; /* an earlier call */
    assert_int_equal(collective_wait_disagreement(&w, at, &err), 0);
    at[0].calls = 3;
    assert_int_equal(collective_wait_disagreement(&w, at, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ECOMM);
    assert_non_null(
        strstr(err.text, "rank 1 waits in reducer wait, but rank 0 in report"));
}

static void without_missing_ranks_nothing_is_reported(void **state)
{
    struct collective_wait w = {.rank = 0, .size = 2};
    struct rank_status at[] = {{"barrier", 1, 1}, {"barrier", 1, 1}};
    char text[256];

    (void)state;
    collective_wait_begin(&w, "barrier");
    assert_false(collective_wait_sentence(&w, at, 61, text, sizeof text));
}

static json_t *json_of(const struct report_line *line)
{
    struct json_writer w = {0};
    json_t *json;

    report_line_write(line, &w);
    json = json_loadb(w.text, w.n, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    json_writer_clear(&w);
    return json;
}

static void a_line_has_the_metrics_and_the_fixed_keys(void **state)
{
    static const struct checkpoint_metric means[] = {{"loss", 1.5}, {"grad/norm", NAN}};
    static const raytrain_metric rank0[] = {{"loss", 1.25}, {"grad/norm", NAN}};
    static const struct comm_stat stats[] = {{6, 1, 2}, {NAN, 3, INFINITY}};
    struct report_line line = {.training_iteration = 7,
                               .hostname = "n1",
                               .world_size = 4,
                               .attempt = 1,
                               .checkpoint = "checkpoint_000007.h5",
                               .values = means,
                               .n_metrics = 2,
                               .rank0 = rank0,
                               .stats = stats,
                               .stat_ranks = 4};
    json_t *json = json_of(&line), *by;

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(json, "training_iteration")),
                     7);
    assert_string_equal(json_string_value(json_object_get(json, "checkpoint")),
                        "checkpoint_000007.h5");
    assert_true(json_is_false(json_object_get(json, "done")));
    assert_true(json_real_value(json_object_get(json, "loss")) == 1.5);
    assert_true(json_is_null(json_object_get(json, "grad/norm")));
    by = json_object_get(json_object_get(json, "by_rank"), "loss");
    assert_true(json_real_value(json_object_get(by, "rank0")) == 1.25);
    assert_true(json_real_value(json_object_get(by, "max")) == 2);
    assert_null(json_object_get(by, "mean"));
    by = json_object_get(json_object_get(json, "by_rank"), "grad/norm");
    assert_string_equal(json_string_value(json_object_get(by, "max")), "Infinity");
    assert_true(json_real_value(json_object_get(by, "min")) == 3);
    json_decref(json);
    line.checkpoint = NULL;
    line.stats = NULL;
    json = json_of(&line);
    assert_true(json_is_null(json_object_get(json, "checkpoint")));
    assert_null(json_object_get(json, "by_rank"));
    json_decref(json);
}

/* The means are beside the values, those of figures of the library are the values. */
static void a_line_of_rank_0_has_what_it_reported_and_the_means(void **state)
{
    static const struct checkpoint_metric values[] = {{"loss", 0.7}, {"top", INFINITY}};
    static const raytrain_metric rank0[] = {{"loss", 0.7}, {"top", INFINITY}};
    static const struct comm_stat stats[] = {{NAN, NAN, NAN}, {INFINITY, 1, INFINITY}};
    static const struct comm_stat gpus[REPORT_GPU_FIGURES] = {
        {60, 10, 50}, {-2, -1, -1}, {-2, -1, -1}};
    static const double rank0_gpus[REPORT_GPU_FIGURES] = {50, -1, -1};
    const struct report_line line = {.hostname = "n1",
                                     .world_size = 2,
                                     .values = values,
                                     .n_metrics = 2,
                                     .reported = "{\"loss\":0.7,\"of\":{\"top\":1}}",
                                     .rank0 = rank0,
                                     .stats = stats,
                                     .stat_ranks = 2,
                                     .gpus = gpus,
                                     .rank0_gpus = rank0_gpus};
    json_t *json = json_of(&line), *by, *of;

    (void)state;
    by = json_object_get(json, "by_rank");
    assert_true(json_real_value(json_object_get(json, "loss")) == 0.7);
    assert_true(json_is_null(json_object_get(json_object_get(by, "loss"), "mean")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(by, "top"), "mean")),
        "Infinity");
    assert_true(json_real_value(json_object_get(json, "gpu_utilization")) == 30);
    assert_null(json_object_get(json_object_get(by, "gpu_utilization"), "mean"));
    of = json_object_get(json_object_get(json, METRICS_REPORTED), "of");
    assert_int_equal(json_integer_value(json_object_get(of, "top")), 1);
    json_decref(json);
}

static void rank_0_alone_decides_whose_values_count(void **state)
{
    struct comm_stat block[REPORT_BLOCK_MAX];

    (void)state;
    reports[1].keeps_rank0 = true;
    combine(block);
    assert_true(report_block_agrees(block));
    assert_false(block[LANE_RANK0].max > 0);
    reports[0].keeps_rank0 = true;
    combine(block);
    assert_true(report_block_agrees(block));
    assert_true(block[LANE_RANK0].max > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(same_reports_agree, all_report_two),
        cmocka_unit_test_setup(flags_of_one_rank_reach_all, all_report_two),
        cmocka_unit_test_setup(early_return_is_a_disagreement, all_report_two),
        cmocka_unit_test_setup(different_metrics_are_a_disagreement, all_report_two),
        cmocka_unit_test_setup(checkpoint_of_some_is_a_disagreement, all_report_two),
        cmocka_unit_test_setup(a_refused_call_is_reported_to_all, all_report_two),
        cmocka_unit_test(ranks_are_listed_compactly),
        cmocka_unit_test(the_lowest_waiting_rank_names_the_missing),
        cmocka_unit_test(two_that_wait_in_different_calls_never_come_back),
        cmocka_unit_test(without_missing_ranks_nothing_is_reported),
        cmocka_unit_test(a_line_has_the_metrics_and_the_fixed_keys),
        cmocka_unit_test(a_line_of_rank_0_has_what_it_reported_and_the_means),
        cmocka_unit_test_setup(rank_0_alone_decides_whose_values_count, all_report_two),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
