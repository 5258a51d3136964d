/* test_stripes.c - lfs is a script here, and statfs() says what file system it is. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "checkpoint/new_file.h"
#include "checkpoint/stripes.h"
#include "t/unit/scratch.h"
#include "util/fs.h"

#define GIB    (UINT64_C(1) << 30)
#define LUSTRE 0x0bd00bd0
#define EXT4   0xef53

#define GETSTRIPE "getstripe -d -c ./\n"

static long type_of_all = LUSTRE;

int statfs(const char *path, struct statfs *fs)
{
    (void)path;
    memset(fs, 0, sizeof *fs);
    fs->f_type = type_of_all;
    return 0;
}

/* So that a long file needs no space. */
int fallocate(int fd, int mode, off_t from, off_t n)
{
    (void)fd;
    (void)mode;
    (void)from;
    (void)n;
    errno = EOPNOTSUPP;
    return -1;
}

/* It logs its arguments in `asked`; getstripe and setstripe are commands of a shell. */
static void lfs_write(const char *getstripe, const char *setstripe)
{
    FILE *f = fopen("bin/lfs", "w");

    assert_non_null(f);
    fprintf(f,
            "#!/bin/sh\n"
            "echo \"$*\" >>asked\n"
            "case $1 in\n"
            "getstripe) %s ;;\n"
            "setstripe) %s ;;\n"
            "esac\n",
            getstripe, setstripe);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod("bin/lfs", 0755), 0);
}

static int enter(void **state)
{
    char here[4096], path[8192];

    if (scratch_enter(state) < 0 || !getcwd(here, sizeof here))
        return -1;
    snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", here);
    type_of_all = LUSTRE;
    stripes_set(32);
    return mkdir("bin", 0700) < 0 ? -1 : setenv("PATH", path, 1);
}

/* Make a file, publish it, and compare what lfs was asked for: NULL: nothing; else first
 * for the layout of the directory, and then what begins as `expected`, if that is not
 * empty. */
static void file_makes(uint64_t bytes, const char *expected)
{
    struct new_file f = NEW_FILE("./file");
    char *asked = NULL;
    struct error err;
    struct stat st;

    unlink("asked");
    assert_int_equal(new_file_name(&f, &err), 0);
    assert_int_equal(new_file_create(&f, bytes, &err), 0);
    assert_int_equal(new_file_publish(&f, &err), 0);
    new_file_clear(&f);
    assert_int_equal(stat("file", &st), 0);
    assert_int_equal(st.st_size, bytes);
    if (access("asked", F_OK) == 0)
        assert_int_equal(fs_read("asked", &asked, NULL, &err), 0);
    if (!expected) {
        assert_null(asked);
    } else {
        assert_non_null(asked);
        assert_int_equal(strncmp(asked, GETSTRIPE, strlen(GETSTRIPE)), 0);
        if (*expected)
            assert_non_null(strstr(asked, expected));
        else
            assert_string_equal(asked, GETSTRIPE);
    }
    free(asked);
    unlink("file");
}

static void a_file_has_a_stripe_for_each_gib(void **state)
{
    (void)state;
    assert_int_equal(stripes_choose(32, 0), 0);
    assert_int_equal(stripes_choose(32, GIB), 1);
    assert_int_equal(stripes_choose(32, GIB + 1), 2);
    assert_int_equal(stripes_choose(32, 100 * GIB), 32);
    assert_int_equal(stripes_choose(0, 100 * GIB), 0);
    assert_int_equal(stripes_choose(2000, UINT64_MAX), 2000);
}

static void lfs_creates_the_file(void **state)
{
    struct error why;

    (void)state;
    lfs_write("echo 1", "touch \"$4\"");
    file_makes(3 * GIB, "setstripe -c 3 ./");
    file_makes(100 * GIB, "setstripe -c 32 ./");
    lfs_write("echo 'some warning' >&2; echo 0", "touch \"$4\"");
    file_makes(3 * GIB, "setstripe -c 3 ./");
    assert_false(stripes_failed(&why));
}

static void other_files_are_created_as_usual(void **state)
{
    struct error why;

    (void)state;
    lfs_write("echo 1", "touch \"$4\"");
    file_makes(GIB, NULL); /* one stripe */
    stripes_set(0);
    file_makes(3 * GIB, NULL);
    stripes_set(32);
    type_of_all = EXT4;
    file_makes(3 * GIB, NULL);
    type_of_all = LUSTRE;
    lfs_write("echo 4", "touch \"$4\"");
    file_makes(3 * GIB, ""); /* its directory has a layout */
    assert_int_equal(unlink("bin/lfs"), 0);
    file_makes(3 * GIB, NULL); /* there is no lfs */
    assert_false(stripes_failed(&why));
}

static void a_failure_of_lfs_is_reported_once(void **state)
{
    struct error why;

    (void)state;
    lfs_write("echo 1", "touch \"$4\"; echo 'no such pool' >&2; exit 1");
    file_makes(3 * GIB, "setstripe -c 3 ./");
    assert_true(stripes_failed(&why));
    assert_non_null(strstr(why.text, "lfs failed: \"no such pool\""));
    lfs_write("echo 1", "exit 0"); /* it has not made the file */
    file_makes(3 * GIB, "setstripe -c 3 ./");
    lfs_write("exit 3", "");
    file_makes(3 * GIB, "");
    assert_false(stripes_failed(&why));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, scratch_leave)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_a_stripe_for_each_gib),
        TEST(lfs_creates_the_file),
        TEST(other_files_are_created_as_usual),
        TEST(a_failure_of_lfs_is_reported_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
