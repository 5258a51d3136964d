#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/run_dir.h"
#include "train/failure_diagnosis.h"
#include "util/fs.h"

static char log_dir[64];
static struct failure_log tail;

static int make_log_dir(void **state)
{
    (void)state;
    strcpy(log_dir, "/tmp/test_train_failure.XXXXXX");
    return mkdtemp(log_dir) ? 0 : -1;
}

static int remove_log_dir(void **state)
{
    (void)state;
    return fs_remove_tree(log_dir, NULL);
}

static void write_log(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", log_dir, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_signal_is_named(void **state)
{
    struct failure f = {.rank = 1, .host = "n2", .signal = 9};

    (void)state;
    failure_diagnose(&f, log_dir, 2, &tail);
    assert_int_equal(f.rank, 1);
    assert_string_equal(f.host, "n2");
    assert_string_equal(f.message, "killed by signal 9 (Killed)");
    assert_false(f.final);
    assert_int_equal(f.code, RAYTRAIN_EFAILED);
}

static void lack_of_memory_is_named(void **state)
{
    struct failure f = {.rank = 1, .host = "n2", .signal = 9, .cause = CAUSE_OOM};

    (void)state;
    failure_diagnose(&f, log_dir, 2, &tail);
    assert_int_equal(strncmp(f.message, "out of memory: the kernel killed it", 35), 0);
    assert_int_equal(f.signal, 9);
    assert_false(f.final);
}

static void the_workers_record_names_the_cause(void **state)
{
    struct failure f = {.rank = 0, .host = "n1", .exit_status = 1};

    (void)state;
    write_log("error.json", "{\"rank\": 3, \"host\": \"n4\", \"kind\": \"storage\","
                            " \"exit_status\": 5, \"message\": \"no space\"}");
    failure_diagnose(&f, log_dir, 4, &tail);
    assert_int_equal(f.rank, 3);
    assert_string_equal(f.host, "n4");
    assert_string_equal(f.message, "no space");
    assert_int_equal(f.code, RAYTRAIN_ESTORAGE);
    assert_true(f.final);
}

static void a_training_function_may_use_any_status(void **state)
{
    struct failure f = {.rank = 0, .exit_status = 3};

    (void)state;
    write_log("error.json",
              "{\"rank\": 0, \"kind\": \"train_func\", \"exit_status\": 3,"
              " \"message\": \"returned 3\"}");
    failure_diagnose(&f, log_dir, 1, &tail);
    assert_false(f.final);
    assert_int_equal(f.code, RAYTRAIN_EFAILED);
}

static void a_rank_that_lost_a_killed_worker_is_not_blamed(void **state)
{
    struct failure f = {.rank = 2, .host = "n3", .signal = 9};

    (void)state;
    write_log("error.json", "{\"rank\": 3, \"kind\": \"comm\", \"exit_status\": 1,"
                            " \"message\": \"endpoint timeout\"}");
    failure_diagnose(&f, log_dir, 4, &tail);
    assert_int_equal(f.rank, 2);
    assert_int_equal(f.signal, 9);
}

static void a_launch_may_fail_because_of_storage(void **state)
{
    struct failure f = {.never_started = true,
                        .code = RAYTRAIN_ESTORAGE,
                        .rank = 1,
                        .host = "n2",
                        .message = "node n2 cannot write"};

    (void)state;
    failure_diagnose(&f, log_dir, 2, &tail);
    assert_int_equal(f.code, RAYTRAIN_ESTORAGE);
    assert_true(f.final);
}

static void a_broken_record_is_ignored(void **state)
{
    struct failure f = {.rank = 2, .exit_status = 7};

    (void)state;
    write_log("error.json", "{\"rank\": ");
    failure_diagnose(&f, log_dir, 4, &tail);
    assert_int_equal(f.rank, 2);
    assert_string_equal(f.message, "ended with exit status 7");
}

static void the_tail_is_ten_printable_lines(void **state)
{
    struct failure f = {.rank = 0, .exit_status = 1};
    char text[4096] = "";

    (void)state;
    for (int i = 0; i < 40; i++)
        sprintf(text + strlen(text), "line %d\n", i);
    strcat(text, "\033[2Jred \302\2331m \351 na\303\257ve\n\n");
    write_log("rank-00000.err", text);
    failure_diagnose(&f, log_dir, 1, &tail);
    assert_ptr_equal(strstr(tail.tail, "line 31\n"), tail.tail);
    assert_non_null(strstr(tail.tail, "\\x1b[2Jred \\xc2\\x9b1m \\xe9 na\303\257ve"));
    assert_null(strchr(tail.tail, '\033'));
}

static void what_comes_before_a_stack_is_shown(void **state)
{
    struct failure f = {.rank = 0, .signal = 6};
    char text[8192] = "early\nterminate called\n  what():  no such column\n"
                      "raytrain: worker rank 0 died of SIGABRT; the innermost call:\n";

    (void)state;
    for (int i = 0; i < 60; i++)
        sprintf(text + strlen(text), "libc.so.6(frame_%d+0x10) [0x7f0000000000]\n", i);
    write_log("rank-00000.err", text);
    failure_diagnose(&f, log_dir, 1, &tail);
    assert_non_null(strstr(tail.tail, "what():  no such column"));
    assert_non_null(strstr(tail.tail, "died of SIGABRT"));
    assert_non_null(strstr(tail.tail, "frame_4"));
    assert_null(strstr(tail.tail, "frame_5"));
}

static void of_a_long_stack_the_innermost_calls_are_shown(void **state)
{
    static const char *const heads[] = {
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent "
        "call "
        "first):",
        "==9==ERROR: AddressSanitizer: heap-use-after-free on address 0x6",
        "==== backtrace (tid:   123) ====", "[n1:9] *** Process received signal ***"};
    struct failure f;
    char *text = malloc(1 << 16);

    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        f = (struct failure){.rank = 0, .signal = 11};
        sprintf(text, "epoch 7\n%s\n", heads[i]);
        for (int k = 0; k < 700; k++)
            sprintf(text + strlen(text),
                    "  File \"/model/layer.py\", line %d in step\n", k);
        write_log("rank-00000.err", text);
        failure_diagnose(&f, log_dir, 1, &tail);
        assert_non_null(strstr(tail.tail, "epoch 7"));
        assert_non_null(strstr(tail.tail, "line 1 in step"));
        assert_null(strstr(tail.tail, "line 7 in step"));
    }
    free(text);
}

static void what_the_message_says_is_not_shown_again(void **state)
{
    struct failure f = {.rank = 3, .exit_status = 3};

    (void)state;
    write_log("error.json", "{\"rank\": 3, \"kind\": \"storage\", \"exit_status\": 5,"
                            " \"message\": \"no column x\\n  add it\"}");
    write_log("rank-00003.err", "epoch 1\nraytrain: no column x\n  add it\n");
    failure_diagnose(&f, log_dir, 8, &tail);
    assert_string_equal(f.message, "no column x\n  add it");
    assert_string_equal(tail.tail, "epoch 1");
    f = (struct failure){.rank = 3, .exit_status = 3};
    write_log("rank-00003.err", "raytrain: no column x\n  add it\n");
    failure_diagnose(&f, log_dir, 8, &tail);
    assert_string_equal(tail.tail, "");
    assert_non_null(strstr(tail.path, "rank-00003.err"));
}

static void output_is_shown_if_there_are_no_errors(void **state)
{
    struct failure f = {.rank = 5, .exit_status = 1};

    (void)state;
    write_log("rank-00005.err", "");
    write_log("rank-00005.out", "loss 3\n");
    failure_diagnose(&f, log_dir, 8, &tail);
    assert_string_equal(tail.tail, "loss 3");
}

static void with_many_workers_the_log_is_that_of_the_node(void **state)
{
    struct failure f = {.rank = 300, .host = "n7", .signal = 11};

    (void)state;
    write_log("node-n7.err", "boom\n");
    failure_diagnose(&f, log_dir, RUN_DIR_RANK_LOGS_MAX + 44, &tail);
    assert_string_equal(tail.tail, "boom");
}

static void only_temporaries_of_the_record_are_removed(void **state)
{
    char path[128];
    char *data;

    (void)state;
    write_log(".error.json.tmp-1-0000abcd", "{");
    write_log("error.json", "{}");
    write_log(".error.json.tmp-x", "{");
    failure_tidy(log_dir);
    snprintf(path, sizeof path, "%s/.error.json.tmp-1-0000abcd", log_dir);
    assert_int_equal(fs_read(path, &data, NULL, NULL), -1);
    snprintf(path, sizeof path, "%s/.error.json.tmp-x", log_dir);
    assert_int_equal(fs_read(path, &data, NULL, NULL), 0);
    free(data);
    snprintf(path, sizeof path, "%s/error.json", log_dir);
    assert_int_equal(fs_read(path, &data, NULL, NULL), 0);
    free(data);
    failure_tidy("/nowhere/at/all");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_log_dir, remove_log_dir)
    const struct CMUnitTest tests[] = {
        TEST(a_signal_is_named),
        TEST(lack_of_memory_is_named),
        TEST(the_workers_record_names_the_cause),
        TEST(a_training_function_may_use_any_status),
        TEST(a_rank_that_lost_a_killed_worker_is_not_blamed),
        TEST(a_launch_may_fail_because_of_storage),
        TEST(a_broken_record_is_ignored),
        TEST(the_tail_is_ten_printable_lines),
        TEST(what_comes_before_a_stack_is_shown),
        TEST(what_the_message_says_is_not_shown_again),
        TEST(of_a_long_stack_the_innermost_calls_are_shown),
        TEST(output_is_shown_if_there_are_no_errors),
        TEST(with_many_workers_the_log_is_that_of_the_node),
        TEST(only_temporaries_of_the_record_are_removed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
