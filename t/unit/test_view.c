/* What is known about a run as a block of 40, 80 and 200 columns, in UTF-8 and ASCII, as
 * lines for a log, and as the summary at the end. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "view/block.h"
#include "view/next_command.h"
#include "view/plain.h"
#include "view/summary.h"

#define NOW 183.5

static struct train_config cfg;
static struct run_state v;
static struct page page;

/* ---- A run ---- */

static void set(const char *assignment)
{
    assert_int_equal(train_config_set(&cfg, assignment, NULL), 0);
}

static void give(json_t *event,
                 void (*take)(struct run_state *, const json_t *, double), double now)
{
    assert_non_null(event);
    take(&v, event, now);
    json_decref(event);
}

static json_t *report_of(int iteration, json_t *metrics)
{
    json_t *r = json_pack("{s:i, s:f, s:f}", "training_iteration", iteration,
                          "time_total_s", (double)iteration, "time_this_iter_s", 1.25);
    json_t *ranks = json_object(), *value;
    const char *name;

    assert_non_null(metrics);
    json_object_foreach(metrics, name, value)
        json_object_set_new(ranks, name, json_object());
    json_object_update(r, metrics);
    json_object_set_new(r, "by_rank", ranks);
    json_decref(metrics);
    return r;
}

static int begin(void **state)
{
    (void)state;
    train_config_init(&cfg);
    set("run_config.name=fashion");
    set("run_config.stop.training_iteration=20");
    run_state_init(&v, &cfg, 100);
    give(json_pack("{s:i, s:i, s:[{}], s:s}", "attempt", 0, "workers", 2, "nodes",
                   "launcher", "local"),
         run_state_attempt_start, 101);
    for (int i = 1; i <= 8; i++)
        give(report_of(i, json_pack("{s:f, s:f, s:f}", "loss", 2.0 - i / 8.0,
                                    "val/accuracy", i / 10.0, "samples_per_s", 1234.5)),
             run_state_report, 170 + i);
    return 0;
}

static int end(void **state)
{
    (void)state;
    page_clear(&page);
    run_state_clear(&v);
    train_config_clear(&cfg);
    return 0;
}

static void draw(int columns, int rows, bool utf8)
{
    const struct page_style style = {.columns = columns - 1, .utf8 = utf8};

    page_clear(&page);
    page_init(&page, &style);
    block_write(&page, &v, rows - 1, NOW);
}

static void assert_fits(int columns, int rows)
{
    assert_true(page.lines < rows);
    for (int i = 0; i < page.lines; i++)
        assert_true(page.widths[i] < columns);
}

/* ---- The block ---- */

static void gpus_are_shown_where_there_is_room(void **state)
{
    static const double gib = 1024.0 * 1024 * 1024;
    json_t *report =
        report_of(9, json_pack("{s:f, s:f, s:f}", "loss", 1.0, "gpu_utilization", 82.6,
                               "gpu_memory_used_bytes", 61.3 * gib));

    (void)state;
    json_object_set_new(report, "gpu_memory_total_bytes", json_real(80 * gib));
    give(report, run_state_report, 180);
    draw(80, 24, true);
    assert_non_null(strstr(page.text, "  GPU 83 % 61/80 GiB\n"));
    assert_null(strstr(page.text, "gpu_"));
    assert_fits(80, 24);
    draw(40, 24, true);
    assert_null(strstr(page.text, "GPU"));
    assert_fits(40, 24);
    /* an instance of a GPU has no utilisation */
    report = report_of(10, json_pack("{s:f}", "gpu_memory_used_bytes", 2 * gib));
    json_object_set_new(report, "gpu_memory_total_bytes", json_real(10 * gib));
    give(report, run_state_report, 181);
    draw(80, 24, true);
    assert_non_null(strstr(page.text, "  GPU 2/10 GiB\n"));
    /* a metric of the user's is one like others */
    give(report_of(11, json_pack("{s:f}", "gpu_utilization", 5.0)), run_state_report,
         182);
    draw(80, 24, true);
    assert_null(strstr(page.text, "GPU "));
    assert_non_null(strstr(page.text, "gpu_utilization"));
}

static void a_block_of_80_columns_in_utf8(void **state)
{
    (void)state;
    run_state_saved(&v, 6, 3 << 20, 180);
    v.saving = 8;
    run_state_note(&v, "node n3 is back", 120);
    draw(80, 24, true);
    assert_string_equal(
        page.text,
        "fashion  attempt 0  2 workers  1 node  local\n"
        "iteration 8/20  ▕████████████████                        ▏  40%\n"
        "elapsed 1:23  remaining 0:10  1234.5 samples/s  1.25 s/iteration\n"
        "  loss          1          █▇▆▅▄▃▂▁              best 1 (iteration 8)\n"
        "  val/accuracy  0.8        ▁▂▃▄▅▆▇█              best 0.8 (iteration 8)\n"
        "  checkpoint    iteration 6, 3 s ago, saving iteration 8, 3M\n"
        "  last event    node n3 is back  1 min ago\n");
}

static void a_block_of_40_columns_in_ascii(void **state)
{
    (void)state;
    run_state_saved(&v, 6, 3 << 20, 180);
    v.saving = 8;
    run_state_note(&v, "attempt 0 failed: rank 1 on n3: killed by signal 9", 120);
    draw(40, 24, false);
    assert_string_equal(page.text, "fashion  attempt 0  2 workers  1 node\n"
                                   "iteration 8/20  [######.........]  40%\n"
                                   "elapsed 1:23  remaining 0:10\n"
                                   "  loss          1          ^^~--.__\n"
                                   "  val/accuracy  0.8        __.--~^^\n"
                                   "  checkpoint    iteration 6, 3 s ago\n"
                                   "  last event    attempt 0 ..by signal 9\n");
}

static void a_block_of_200_columns_is_not_stretched(void **state)
{
    (void)state;
    draw(200, 24, true);
    assert_fits(200, 24);
    assert_non_null(strstr(page.text, "elapsed 1:23  remaining 0:10  1234.5 samples/s  "
                                      "1.25 s/iteration\n"));
    assert_true(page.widths[1] <= 80);
}

static void every_size_of_terminal_is_obeyed(void **state)
{
    static const int columns[] = {1, 2, 5, 10, 20, 30, 40, 57, 80, 132, 200, 1000};

    (void)state;
    run_state_note(&v, "node 学習学習学習学習学習学習学習 is lost", 120);
    give(report_of(9, json_pack("{s:f, s:s}",
                                "a/very/long/name/of/a/metric/that/exceeds/every/line",
                                1.0, "note", "学習\033[2J")),
         run_state_report, 180);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        for (int rows = 1; rows <= 12; rows++)
            for (int utf8 = 0; utf8 < 2; utf8++) {
                draw(columns[i] + 1, rows, utf8);
                assert_fits(columns[i] + 1, rows);
                assert_null(page.text ? strchr(page.text, '\033') : NULL);
            }
}

static void metrics_that_do_not_fit_are_counted(void **state)
{
    json_t *many = json_object();
    char name[16];

    (void)state;
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "m%d", i);
        json_object_set_new(many, name, json_real(i));
    }
    give(report_of(9, many), run_state_report, 180);
    draw(80, 10, true);
    assert_int_equal(page.lines, 9);
    assert_non_null(strstr(page.text, "\n  22 more metrics\n"));
    draw(40, 10, true);
    assert_non_null(strstr(page.text, "\n  27 more metrics\n"));
    draw(80, 50, true);
    assert_null(strstr(page.text, "more"));
}

static void metrics_share_lines_rather_than_be_left_out(void **state)
{
    json_t *many = json_object();
    char name[40];

    (void)state;
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "a_name/of/a_layer_%02d", i);
        json_object_set_new(many, name, json_real(-0.000123456 * i));
    }
    give(report_of(9, many), run_state_report, 180);
    draw(175, 24, true);
    assert_null(strstr(page.text, "more"));
    assert_non_null(strstr(page.text, "  a_name/of/a_layer_29"));
    assert_fits(175, 24);
    assert_non_null(strstr(page.text, "  -0.0001235\n"));
    draw(90, 24, true);
    assert_null(strstr(page.text, "more"));
    assert_fits(90, 24);
    draw(45, 24, true);
    assert_non_null(strstr(page.text, " more metrics\n"));
}

static void values_that_are_no_numbers_are_shown(void **state)
{
    (void)state;
    give(report_of(9, json_pack("{s:n, s:s, s:[i, i, f], s:I}", "loss", "phase",
                                "fine-tuning", "norms", 1, 2, 0.5, "tokens",
                                (json_int_t)123456789)),
         run_state_report, 180);
    draw(80, 24, true);
    assert_non_null(strstr(page.text, "  loss          NaN        █▇▆▅▄▃▂▁ "));
    assert_non_null(strstr(page.text, "  phase         fine-tuning\n"));
    assert_non_null(strstr(page.text, "  norms         [1, 2, 0.5]\n"));
    assert_non_null(strstr(page.text, "  tokens        123456789\n"));
}

static void a_run_without_reports_or_total_has_a_block(void **state)
{
    (void)state;
    run_state_clear(&v);
    run_config_stop_clear(&cfg.run_config);
    run_state_init(&v, &cfg, 100);
    draw(80, 24, true);
    assert_string_equal(page.text, "fashion  starting\nnot running\nelapsed 1:23\n");
    give(json_pack("{s:i, s:i, s:[{},{}], s:s}", "attempt", 3, "workers", 1, "nodes",
                   "launcher", "slurm"),
         run_state_attempt_start, 101);
    draw(80, 24, true);
    assert_string_equal(page.text, "fashion  attempt 3  1 worker  2 nodes  slurm\n"
                                   "no report yet\nelapsed 1:23\n");
}

static void what_remains_is_not_known_after_one_iteration(void **state)
{
    char *line;

    (void)state;
    give(json_pack("{s:i, s:i, s:[{}], s:s}", "attempt", 1, "workers", 2, "nodes",
                   "launcher", "local"),
         run_state_attempt_start, 179);
    give(report_of(9, json_pack("{s:f}", "loss", 1.0)), run_state_report, 180);
    line = plain_report(&v, NOW);
    assert_string_equal(line, "iteration 9 of 20  loss 1  9.0 s");
    free(line);
    give(report_of(10, json_pack("{s:f}", "loss", 1.0)), run_state_report, 181);
    line = plain_report(&v, NOW);
    assert_string_equal(line, "iteration 10 of 20  loss 1  10.0 s  remaining 0:10");
    free(line);
}

static void a_prediction_has_rows(void **state)
{
    json_t *metrics = json_pack("{s:f, s:f, s:f, s:f}", "rows", 250.0, "rows_total",
                                1000.0, "rows_per_s", 50.0, "time_left_s", 15.0);
    char *line;

    (void)state;
    run_state_clear(&v);
    set("trainer=xgboost");
    set("predict.output=p.csv");
    run_state_init(&v, &cfg, 100);
    give(json_pack("{s:i, s:i, s:[{}], s:s}", "attempt", 0, "workers", 2, "nodes",
                   "launcher", "local"),
         run_state_attempt_start, 101);
    line = plain_attempt(&v);
    assert_string_equal(line, "2 workers on 1 node, launcher local");
    free(line);
    give(report_of(1, metrics), run_state_report, 183);
    line = plain_report(&v, NOW);
    assert_string_equal(line, "rows 250 of 1000  rows_per_s 50  1.0 s  remaining 0:15");
    free(line);
    draw(80, 24, false);
    assert_string_equal(page.text,
                        "fashion  2 workers  1 node  local\n"
                        "rows 250/1000  [##########.............................."
                        "]  25%\n"
                        "elapsed 1:23  remaining 0:15  50 rows/s\n");
}

static void restarts_are_in_the_head(void **state)
{
    (void)state;
    give(json_pack("{s:s, s:s}", "outcome", "failed", "cause", "worker"),
         run_state_attempt_end, 180);
    give(json_pack("{s:i, s:i, s:[{}], s:s}", "attempt", 1, "workers", 2, "nodes",
                   "launcher", "local"),
         run_state_attempt_start, 181);
    cfg.run_config.failure_config.max_failures = 3;
    draw(80, 24, true);
    assert_non_null(strstr(page.text, "attempt 1  1 restart  2 workers"));
    cfg.run_config.failure_config.reset_on_progress = false;
    draw(80, 24, true);
    assert_non_null(strstr(page.text, "attempt 1  1 of 3 restarts  2 workers"));
}

/* ---- Lines ---- */

static void lines_for_a_log_are_plain(void **state)
{
    char *line = plain_attempt(&v);

    (void)state;
    assert_string_equal(line, "attempt 0: 2 workers on 1 node, launcher local");
    free(line);
    line = plain_report(&v, NOW);
    assert_string_equal(line, "iteration 8 of 20  loss 1  val/accuracy 0.8  "
                              "samples_per_s 1234.5  8.0 s  remaining 0:10");
    free(line);
    v.saving = 9;
    give(report_of(9, json_pack("{s:s}", "note", "a\033[31mb")), run_state_report, 180);
    line = plain_report(&v, NOW);
    assert_non_null(strstr(line, "  note a\\x1b[31mb  9.0 s"));
    assert_null(strstr(line, "loss")); /* it was not in this report */
    assert_non_null(strstr(line, "  checkpoint"));
    free(line);
}

static void lines_of_many_metrics_are_short(void **state)
{
    json_t *many = json_object();
    char name[16], *line;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "m%d", i);
        json_object_set_new(many, name, json_real(i));
    }
    give(report_of(9, many), run_state_report, 180);
    line = plain_report(&v, NOW);
    assert_non_null(strstr(line, "  m11 11  and 988 more  9.0 s"));
    free(line);
}

static void texts_are_cut_between_characters(void **state)
{
    char text[201] = "";
    char *line;

    (void)state;
    for (int i = 0; i < 100; i++)
        strcat(text, "é");
    give(report_of(9, json_pack("{s:s}", "note", text)), run_state_report, 180);
    line = plain_report(&v, NOW);
    assert_non_null(strstr(line, "é  9.0 s"));
    assert_null(strstr(line, "\\x"));
    free(line);
}

/* ---- The summary ---- */

static json_t *result_of(const char *status, int attempts)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:i}", "status", status, "path",
                     "/r/fashion", "checkpoint", "/r/fashion/checkpoint_000020.h5",
                     "best_checkpoint", "/r/fashion/checkpoint_000008.h5", "attempts",
                     attempts);
}

static void assert_summary(json_t *result, const char *inspect, bool color,
                           const char *expected)
{
    char *text = summary_text(&v, result, inspect, color, NOW);

    assert_non_null(result);
    assert_string_equal(text, expected);
    free(text);
    json_decref(result);
}

static void a_summary_has_the_final_and_best_metrics(void **state)
{
    (void)state;
    give(report_of(9, json_pack("{s:f, s:f}", "loss", 1.5, "val/accuracy", 0.9)),
         run_state_report, 180);
    assert_summary(result_of("finished", 1), "raytrain-inspect /r/fashion", false,
                   "raytrain: finished after 1:23, 9 iterations\n"
                   "  metrics     loss 1.5 (best 1 at iteration 8)\n"
                   "              val/accuracy 0.9 (the best)\n"
                   "              samples_per_s 1234.5\n"
                   "  run         /r/fashion\n"
                   "  checkpoint  /r/fashion/checkpoint_000020.h5\n"
                   "  best        /r/fashion/checkpoint_000008.h5\n"
                   "  logs        /r/fashion/logs/attempt-0\n"
                   "  look at it  raytrain-inspect /r/fashion\n");
}

static void a_summary_counts_attempts_and_failures(void **state)
{
    char *text;
    json_t *result = result_of("failed", 4);

    (void)state;
    v.attempts = 2;
    v.failures = 2;
    text = summary_text(&v, result, NULL, true, NOW);
    assert_non_null(strstr(text, "raytrain: \033[1;31mfailed\033[m after 1:23"));
    assert_non_null(strstr(text, "  attempts    4; of the last 2, 2 failed\n"));
    assert_null(strstr(text, "look at it"));
    free(text);
    v.attempts = 4;
    text = summary_text(&v, result, NULL, false, NOW);
    assert_non_null(strstr(text, "  attempts    4, of which 2 failed\n"));
    free(text);
    json_decref(result);
}

static void the_next_command_is_quoted_and_found(void **state)
{
    char *line;

    (void)state;
    setenv("PATH", "/nowhere:/bin", 1);
    line = next_command("ls", "/r/it's mine");
    assert_non_null(line);
    assert_memory_equal(line, "ls ", 3);
    assert_non_null(strpbrk(line + 3, "'\"\\"));
    free(line);
    setenv("PATH", "/nowhere", 1);
    line = next_command("test_view", "/r"); /* this program is beside itself */
    assert_int_equal(*line, '/');
    free(line);
    line = next_command("no-such-program", "/r");
    assert_string_equal(line, "no-such-program /r");
    free(line);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_block_of_80_columns_in_utf8),
        TEST(gpus_are_shown_where_there_is_room),
        TEST(a_block_of_40_columns_in_ascii),
        TEST(a_block_of_200_columns_is_not_stretched),
        TEST(every_size_of_terminal_is_obeyed),
        TEST(metrics_that_do_not_fit_are_counted),
        TEST(metrics_share_lines_rather_than_be_left_out),
        TEST(values_that_are_no_numbers_are_shown),
        TEST(a_run_without_reports_or_total_has_a_block),
        TEST(restarts_are_in_the_head),
        TEST(what_remains_is_not_known_after_one_iteration),
        TEST(a_prediction_has_rows),
        TEST(lines_for_a_log_are_plain),
        TEST(lines_of_many_metrics_are_short),
        TEST(texts_are_cut_between_characters),
        TEST(a_summary_has_the_final_and_best_metrics),
        TEST(a_summary_counts_attempts_and_failures),
        TEST(the_next_command_is_quoted_and_found),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
