/* Journals: files of a fixed size, one writer, many readers on other nodes. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/journal.h"
#include "scratch.h"

struct heard {
    int n;
    size_t bytes;
    char last[32];
};

static void hear(void *arg, const char *line, size_t n)
{
    struct heard *heard = arg;

    assert_int_equal(strlen(line), n);
    heard->n++;
    heard->bytes += n;
    snprintf(heard->last, sizeof heard->last, "%.31s", line);
}

static struct journal *writer(void)
{
    struct journal *j;
    struct error err;

    if (journal_open(".", "j", &j, &err) < 0)
        fail_msg("%s", err.text);
    return j;
}

static struct journal_reader *reader(void)
{
    struct journal_reader *r;
    struct error err;

    assert_int_equal(journal_reader_open(".", "j", &r, &err), 0);
    return r;
}

static void put(struct journal *j, const char *line)
{
    struct error err;

    if (journal_append(j, line, strlen(line), &err) < 0)
        fail_msg("%s", err.text);
}

static struct heard heard_of(struct journal_reader *r)
{
    struct heard heard = {0};
    struct error err;

    if (journal_poll(r, hear, &heard, &err) < 0)
        fail_msg("%s", err.text);
    return heard;
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void what_is_written_is_read_once(void **state)
{
    struct journal_reader *r = reader();
    struct journal *j;
    off_t size;

    (void)state;
    assert_int_equal(heard_of(r).n, 0);
    j = writer();
    size = size_of("j.0");
    assert_true(size > 0);
    assert_int_equal(heard_of(r).n, 0);
    put(j, "one");
    put(j, "two");
    assert_int_equal(heard_of(r).n, 2);
    assert_int_equal(heard_of(r).n, 0);
    put(j, "");
    put(j, "three");
    assert_string_equal(heard_of(r).last, "three");
    assert_int_equal(size_of("j.0"), size); /* it never grows */
    journal_close(j);
    j = writer(); /* continues after the last line */
    put(j, "four");
    assert_int_equal(heard_of(r).n, 1);
    journal_close(j);
    journal_reader_close(r);
    assert_int_equal(journal_sync(".", "j", NULL), 0);
    assert_int_equal(scratch_count("."), 1);
    journal_remove(".", "j");
    assert_int_equal(scratch_count("."), 0);
    assert_int_equal(journal_sync(".", "j", NULL), 0);
}

static void many_lines_and_long_ones_take_several_files(void **state)
{
    struct journal_reader *follows = reader(), *comes_late = reader();
    struct journal *j = writer();
    struct heard heard;
    char *big = malloc(300001);
    int followed = 0;
    char line[64];

    (void)state;
    memset(big, 'x', 300000);
    big[300000] = '\0';
    for (int i = 0; i < 20000; i++) {
        snprintf(line, sizeof line, "a line with the number %d", i);
        put(j, line);
        if (i % 97 == 0)
            followed += heard_of(follows).n;
    }
    put(j, big);
    put(j, "end");
    followed += heard_of(follows).n;
    assert_int_equal(followed, 20002);
    heard = heard_of(comes_late);
    assert_int_equal(heard.n, 20002);
    assert_string_equal(heard.last, "end");
    assert_true(heard.bytes > 300000);
    assert_true(scratch_count(".") > 2 && scratch_count(".") < 8);
    assert_int_equal(journal_sync(".", "j", NULL), 0);
    journal_remove(".", "j");
    assert_int_equal(scratch_count("."), 0);
    free(big);
    journal_close(j);
    journal_reader_close(follows);
    journal_reader_close(comes_late);
}

/* A page may become visible later than the page after it. */
static void last_is(const char *begins, size_t length)
{
    struct error err;
    char *line;

    assert_int_equal(journal_last_line(".", "j", &line, &err), 0);
    assert_non_null(line);
    assert_int_equal(strlen(line), length);
    assert_memory_equal(line, begins, strlen(begins));
    free(line);
}

static void the_last_line_is_found_from_the_end(void **state)
{
    struct error err;
    struct journal *j;
    char *line, *length = calloc(1, 300001);

    (void)state;
    assert_int_equal(journal_last_line(".", "j", &line, &err), 0);
    assert_null(line);
    j = writer();
    assert_int_equal(journal_last_line(".", "j", &line, &err), 0);
    assert_null(line);
    put(j, "one");
    last_is("one", 3);
    put(j, "two, longer");
    last_is("two, longer", 11);
    memset(length, 'x', 300000);
    put(j, length);
    last_is("xxx", 300000);
    /* A file that has no line yet follows the one with the last line. */
    while (size_of("j.3") < 0)
        put(j, length);
    put(j, "end");
    last_is("end", 3);
    assert_int_equal(truncate("j.3", 0), 0);
    assert_int_equal(truncate("j.3", 1000), 0);
    last_is("xxx", 300000);
    journal_close(j);
    free(length);
}

static void a_line_with_a_hole_is_waited_for(void **state)
{
    struct journal_reader *r = reader();
    struct journal *j = writer();
    int fd = open("j.0", O_WRONLY);

    (void)state;
    put(j, "first");
    assert_int_equal(pwrite(fd, "{\0\0}\nnext\n", 10, 6), 10);
    assert_string_equal(heard_of(r).last, "first");
    assert_int_equal(heard_of(r).n, 0);
    assert_int_equal(pwrite(fd, "ab", 2, 7), 2);
    assert_int_equal(heard_of(r).n, 2);
    close(fd);
    journal_close(j);
    journal_reader_close(r);
}

static void a_line_that_failed_is_not_there(void **state)
{
    struct journal_reader *r = reader();
    struct journal *j = writer();
    struct rlimit before, small;
    struct error err;
    char long_line[101] = "";

    (void)state;
    memset(long_line, 'x', 100);
    put(j, "first");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 50;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(journal_append(j, long_line, 100, &err), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_int_equal(heard_of(r).n, 1);
    put(j, "y");
    put(j, "z");
    assert_int_equal(heard_of(r).n, 2);
    journal_close(j);
    journal_reader_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(what_is_written_is_read_once),
        SCRATCH(many_lines_and_long_ones_take_several_files),
        SCRATCH(the_last_line_is_found_from_the_end),
        SCRATCH(a_line_with_a_hole_is_waited_for),
        SCRATCH(a_line_that_failed_is_not_there),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
