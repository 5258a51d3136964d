/* Heartbeats: where nodes write, and how often they open files of shared storage. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "protocol/heartbeats.h"
#include "rank/heartbeat.h"
#include "scratch.h"
#include "util/fs.h"

static _Atomic int opens, listings;

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

/* opendir() of the C library, by other means. */
DIR *opendir(const char *path)
{
    int fd = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    listings++;
    return fd < 0 ? NULL : fdopendir(fd);
}

static unsigned long count_of(int fd, size_t place, const char *node)
{
    char line[HEARTBEAT_BYTES + 1], name[HEARTBEAT_NAME_MAX + 1];

    if (!heartbeats_read(fd, place, line))
        return 0;
    assert_true(heartbeats_node(line, name));
    assert_string_equal(name, node);
    return strtoul(line, NULL, 10);
}

/* A node beats until its count is 20. */
static void twenty_beats(int place, int n_nodes)
{
    const struct heartbeat_spec spec = {.run_dir = ".",
                                        .log_dir = ".",
                                        .node = "a-node",
                                        .place = place,
                                        .n_nodes = n_nodes,
                                        .every_s = 0.001};
    struct heartbeat *hb;
    int fd;

    assert_int_equal(heartbeats_create(".", (size_t)n_nodes, NULL), 0);
    fd = openat(AT_FDCWD, HEARTBEATS_FILE, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    opens = listings = 0;
    assert_int_equal(heartbeat_start(&spec, &hb, NULL), 0);
    assert_non_null(hb);
    while (count_of(fd, (size_t)place, "a-node") < 20)
        sched_yield();
    heartbeat_stop(hb);
    assert_int_equal(close(fd), 0);
}

static void a_node_opens_its_file_once(void **state)
{
    (void)state;
    twenty_beats(0, 1);
    assert_int_equal(opens, 1);
    assert_true(listings > 0);
}

static void one_of_many_nodes_rarely_looks_for_a_next_attempt(void **state)
{
    (void)state;
    twenty_beats(7, 10000);
    assert_int_equal(opens, 1);
    assert_int_equal(listings, 0); /* its turn comes in a second, at the earliest */
}

static void all_nodes_together_look_at_a_bounded_rate(void **state)
{
    (void)state;
    for (int n = 1; n <= 4800; n++) {
        unsigned every = heartbeat_look_every(n, 7.5);

        assert_true(every >= 1);
        assert_true(n / (every * 7.5) <= 16);
    }
    assert_int_equal(heartbeat_look_every(1, 7.5), 1);
    assert_int_equal(heartbeat_look_every(60, 7.5), 1);
    assert_int_equal(heartbeat_look_every(100000, 7.5), 80); /* ten minutes */
    assert_int_equal(heartbeat_look_every(100000, 900), 1);
}

static void nodes_write_to_separate_pages(void **state)
{
    struct stat st;
    int fd;

    (void)state;
    assert_int_equal(heartbeats_create(".", 10000, NULL), 0);
    fd = openat(AT_FDCWD, HEARTBEATS_FILE, O_RDWR | O_CLOEXEC);
    assert_int_equal(heartbeats_write(fd, 0, 3, "first"), 0);
    assert_int_equal(heartbeats_write(fd, 9999, 4, "last"), 0);
    assert_int_equal(count_of(fd, 0, "first"), 3);
    assert_int_equal(count_of(fd, 1, "none"), 0);
    assert_int_equal(count_of(fd, 9999, "last"), 4);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 10000L * 65536); /* it never grows */
    assert_true(st.st_blocks * 512 <= 4 * 65536L);
    assert_int_equal(close(fd), 0);
}

static void a_long_name_is_cut(void **state)
{
    char name[3 * HEARTBEAT_NAME_MAX], cut[HEARTBEAT_NAME_MAX + 1];
    int fd;

    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(cut, sizeof cut, "%.*s", HEARTBEAT_NAME_MAX, name);
    assert_int_equal(heartbeats_create(".", 1, NULL), 0);
    fd = openat(AT_FDCWD, HEARTBEATS_FILE, O_RDWR | O_CLOEXEC);
    assert_int_equal(heartbeats_write(fd, 0, 1, name), 0);
    assert_int_equal(count_of(fd, 0, cut), 1);
    assert_int_equal(close(fd), 0);
}

static void without_the_file_there_are_no_heartbeats(void **state)
{
    const struct heartbeat_spec spec = {
        .run_dir = ".", .log_dir = ".", .node = "n", .n_nodes = 1, .every_s = 1};
    struct heartbeat *hb;

    (void)state;
    assert_int_equal(heartbeat_start(&spec, &hb, NULL), 0);
    assert_null(hb);
    assert_int_equal(faccessat(AT_FDCWD, HEARTBEATS_FILE, F_OK, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_node_opens_its_file_once),
        SCRATCH(one_of_many_nodes_rarely_looks_for_a_next_attempt),
        SCRATCH(all_nodes_together_look_at_a_bounded_rate),
        SCRATCH(nodes_write_to_separate_pages),
        SCRATCH(a_long_name_is_cut),
        SCRATCH(without_the_file_there_are_no_heartbeats),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
