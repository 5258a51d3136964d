/* The status of ranks, text in signal handlers, and the ranks that the report of a hang
 * names. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "protocol/rank_status.h"
#include "scratch.h"
#include "util/async_text.h"
#include "util/fs.h"
#include "watch/watch.h"

static void check_time(int64_t t, const char *expected)
{
    char text[ASYNC_TIME_MAX + 1];

    *async_time(text, t) = '\0';
    assert_string_equal(text, expected);
}

static void times_agree_with_the_calendar(void **state)
{
    (void)state;
    check_time(0, "1970-01-01T00:00:00Z");
    check_time(951827696, "2000-02-29T12:34:56Z");
    check_time(1709251199, "2024-02-29T23:59:59Z");
    check_time(1709251200, "2024-03-01T00:00:00Z");
    check_time(4107542399, "2100-02-28T23:59:59Z");
    check_time(4107542400, "2100-03-01T00:00:00Z");
    check_time(-5, "1970-01-01T00:00:00Z");
}

static void numbers_are_decimal(void **state)
{
    char text[ASYNC_NUMBER_MAX + 1];

    (void)state;
    *async_number(text, 0) = '\0';
    assert_string_equal(text, "0");
    *async_number(text, UINT64_MAX) = '\0';
    assert_string_equal(text, "18446744073709551615");
}

static void what_is_written_is_read(void **state)
{
    struct rank_status *at = rank_status_read(".", RANK_STATUS_WAITING, 2);
    struct rank_status_place zero, two;

    (void)state;
    assert_int_equal(at[0].calls, -1);
    free(at);
    rank_status_place(&zero, ".", 0, 0, 0);
    rank_status_place(&two, ".", 2, 1, 0);
    assert_int_equal(rank_status_write(&zero, RANK_STATUS_WAITING, "x", 1), -1);
    assert_int_equal(rank_status_create(".", 2, 2, NULL), 0);
    assert_int_equal(rank_status_write(&two, RANK_STATUS_WAITING, "report", 1234566),
                     0);
    assert_int_equal(rank_status_write(&two, RANK_STATUS_WAITING, "report", 1234567),
                     0);
    assert_int_equal(rank_status_write(&two, RANK_STATUS_SIGTERM, "SIGTERM", 1), 0);
    assert_int_equal(
        rank_status_write(&zero, RANK_STATUS_WAITING, "a name that is too long", 0), 0);
    at = rank_status_read(".", RANK_STATUS_WAITING, 4);
    assert_int_equal(at[0].times, 1); /* one has failed */
    assert_int_equal(at[2].times, 2);
    assert_int_equal(at[0].calls, 0);
    assert_string_equal(at[0].call, "a name that is");
    assert_int_equal(at[1].calls, -1);
    assert_int_equal(at[2].calls, 1234567);
    assert_string_equal(at[2].call, "report");
    assert_int_equal(at[3].calls, -1);
    free(at);
    at = rank_status_read(".", RANK_STATUS_SIGTERM,
                          2); /* there are more than requested */
    assert_int_equal(at[0].calls, -1);
    free(at);
}

/* 64 KiB is the largest page of file systems and their clients. */
static void nodes_write_to_separate_pages(void **state)
{
    struct rank_status_place last, first;
    struct stat before, after;
    int fd = -1;

    (void)state;
    assert_int_equal(rank_status_create(".", 2, 1024, NULL), 0);
    assert_int_equal(stat(RANK_STATUS_FILE, &before), 0);
    rank_status_place(&last, ".", 1023, 0, 1023);
    rank_status_place(&first, ".", 1024, 1, 0);
    assert_int_equal(rank_status_write(&last, RANK_STATUS_SIGTERM, "x", 1), 0);
    fd = open(RANK_STATUS_FILE, O_RDONLY);
    assert_true(lseek(fd, 65536, SEEK_DATA) >= 65536);
    assert_int_equal(lseek(fd, 65536 + RANK_STATUS_NODE_BYTES, SEEK_DATA), -1);
    assert_int_equal(rank_status_write(&first, RANK_STATUS_SIGTERM, "x", 1), 0);
    assert_int_equal(lseek(fd, 65536 + RANK_STATUS_NODE_BYTES, SEEK_DATA),
                     65536 + RANK_STATUS_NODE_BYTES);
    close(fd);
    assert_int_equal(stat(RANK_STATUS_FILE, &after), 0);
    assert_int_equal(before.st_size, after.st_size); /* and it never grows */
}

static void the_lowest_waiting_rank_is_found(void **state)
{
    struct rank_status_place place[3];

    (void)state;
    assert_int_equal(rank_status_create(".", 3, 1, NULL), 0);
    for (int i = 0; i < 3; i++)
        rank_status_place(&place[i], ".", i, i, 0);
    rank_status_write(&place[2], RANK_STATUS_WAITING, "report", 7);
    rank_status_write(&place[0], RANK_STATUS_WAITING, "report", 6);
    assert_true(rank_status_is_lowest(&place[2], RANK_STATUS_WAITING, "report", 7));
    rank_status_write(&place[1], RANK_STATUS_WAITING, "report", 7);
    assert_false(rank_status_is_lowest(&place[2], RANK_STATUS_WAITING, "report", 7));
    assert_true(rank_status_is_lowest(&place[1], RANK_STATUS_WAITING, "report", 7));
}

static void invalid_contents_are_ignored(void **state)
{
    static const char *const lines[] = {"\033[2Jxxxxxxxxxxx 0 7 1", "report -1 2 3",
                                        "report          1 -7 1", "report nothing"};
    struct rank_status *at;
    int fd;

    (void)state;
    assert_int_equal(rank_status_create(".", 4, 1, NULL), 0);
    fd = open(RANK_STATUS_FILE, O_WRONLY);
    for (int i = 0; i < 4; i++)
        assert_true(pwrite(fd, lines[i], strlen(lines[i]),
                           65536 + (off_t)i * RANK_STATUS_NODE_BYTES) > 0);
    at = rank_status_read(".", RANK_STATUS_WAITING, 3);
    assert_null(strchr(at[0].call, '\033'));
    assert_int_equal(at[1].calls, -1);
    assert_int_equal(at[2].calls, -1);
    free(at);
    assert_true(pwrite(fd, "2000000000 -1", 13, 0) > 0);
    close(fd);
    at = rank_status_read(".", RANK_STATUS_WAITING, 3);
    assert_int_equal(at[0].calls, -1);
    free(at);
}

static void check_hang(const struct rank_status at[], int size, int rank,
                       const char *expected)
{
    char text[ERROR_TEXT_MAX];

    assert_int_equal(hang_sentence(at, size, 60, text, sizeof text), rank);
    assert_string_equal(text, expected);
}

#define SILENCE                                                                        \
    {                                                                                  \
        "", -1, 0                                                                      \
    }

static void a_hang_names_ranks_that_are_behind_or_silent(void **state)
{
    (void)state;
    check_hang((struct rank_status[]){{"report", 7, 1}, {"barrier", 6, 1}}, 2, 1,
               "no report for 60 s: rank 1 has not reached report, where rank 0 is; "
               "the stacks are in the logs");
    check_hang((struct rank_status[]){{"report", 7, 1}, SILENCE, {"report", 7, 1}}, 3,
               1,
               "no report for 60 s: rank 1 does not answer (stopped, or blocked in a "
               "system call); ranks 0, 2 have reached report, and no further; the "
               "stacks are in the logs");
    check_hang((struct rank_status[]){{"start", 0, 1}, {"report", 7, 1}, SILENCE}, 3, 2,
               "no report for 60 s: rank 2 does not answer (stopped, or blocked in a "
               "system call); rank 0 has not reached report, where rank 1 is; the "
               "stacks are in the logs");
    check_hang((struct rank_status[]){SILENCE, SILENCE}, 2, 0,
               "no report for 60 s: ranks 0-1 do not answer (stopped, or blocked in a "
               "system call)");
    check_hang((struct rank_status[]){{"report", 7, 1}, {"report", 7, 1}}, 2, -1,
               "no report for 60 s: ranks 0-1 have reached report, and no further; the "
               "stacks are in the logs");
    check_hang((struct rank_status[]){{"report", 7, 1}}, 1, 0,
               "no report for 60 s: rank 0 has reached report, and no further; the "
               "stacks are in the logs");
}

/* Many ranks, a short buffer: the rest is left out. */
static void a_sentence_fits_its_buffer(void **state)
{
    struct rank_status *at = calloc(5000, sizeof *at);
    char text[200];

    (void)state;
    for (int i = 0; i < 5000; i++)
        at[i] = (struct rank_status){"report", i % 3 - 1, 1};
    assert_int_equal(hang_sentence(at, 5000, 60, text, sizeof text), 0);
    assert_true(strlen(text) < sizeof text);
    free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_agree_with_the_calendar),
        cmocka_unit_test(numbers_are_decimal),
        SCRATCH(what_is_written_is_read),
        SCRATCH(nodes_write_to_separate_pages),
        SCRATCH(the_lowest_waiting_rank_is_found),
        SCRATCH(invalid_contents_are_ignored),
        cmocka_unit_test(a_hang_names_ranks_that_are_behind_or_silent),
        cmocka_unit_test(a_sentence_fits_its_buffer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
