#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/shm_tidy.h"

static char *path_of(const char *dir, const char *name)
{
    char *path;

    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    return path;
}

/* Make a file; descriptor. */
static int file_make(const char *dir, const char *name)
{
    char *path = path_of(dir, name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    free(path);
    return fd;
}

static int file_exists(const char *dir, const char *name)
{
    char *path = path_of(dir, name);
    int there = access(path, F_OK) == 0;

    free(path);
    return there;
}

static void only_unused_files_are_removed(void **state)
{
    static const char *const names[] = {"mpich_shar_tmpOPEN", "mpich_shar_tmpMAPPED",
                                        "mpich_shar_tmpGONE", "ucx_shm_posix_gone",
                                        "vader_segment.gone", "other",
                                        "my_mpich_shar_tmp"};
    char dir[] = "/dev/shm/raytrain-test-XXXXXX";
    int fd[7];
    void *map;

    (void)state;
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < 7; i++)
        fd[i] = file_make(dir, names[i]);
    map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd[1], 0);
    assert_true(map != MAP_FAILED);
    for (int i = 1; i < 7; i++)
        close(fd[i]);
    shm_tidy_directory(dir);
    assert_true(file_exists(dir, names[0]));
    assert_true(file_exists(dir, names[1]));
    assert_false(file_exists(dir, names[2]));
    assert_false(file_exists(dir, names[3]));
    assert_false(file_exists(dir, names[4]));
    assert_true(file_exists(dir, names[5]));
    assert_true(file_exists(dir, names[6]));

    close(fd[0]);
    munmap(map, 4096);
    shm_tidy_directory(dir);
    assert_false(file_exists(dir, names[0]));
    assert_false(file_exists(dir, names[1]));
    for (int i = 5; i < 7; i++) {
        char *path = path_of(dir, names[i]);

        assert_int_equal(unlink(path), 0);
        free(path);
    }
    assert_int_equal(rmdir(dir), 0);
    shm_tidy_directory(dir); /* not there: nothing happens */
}

/* Links are not followed, and only plain files are touched. */
static void other_files_are_left_alone(void **state)
{
    char dir[] = "/dev/shm/raytrain-test-XXXXXX", *link, *fifo, *target;

    (void)state;
    assert_non_null(mkdtemp(dir));
    close(file_make(dir, "target"));
    target = path_of(dir, "target");
    link = path_of(dir, "mpich_shar_tmplink");
    fifo = path_of(dir, "ucx_shm_posix_fifo");
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(mknod(fifo, S_IFIFO | 0600, 0), 0);
    shm_tidy_directory(dir);
    assert_true(file_exists(dir, "target"));
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(fifo), 0);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(rmdir(dir), 0);
    free(link);
    free(fifo);
    free(target);
}

static void mapped_files_lose_their_names(void **state)
{
    static const char *const names[] = {"vader_segment.mapped", "other_segment.mapped",
                                        "vader_segment.open"};
    char dir[] = "/dev/shm/raytrain-test-XXXXXX", *path;
    char *map[2];
    int fd[3];

    (void)state;
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < 3; i++)
        fd[i] = file_make(dir, names[i]);
    for (int i = 0; i < 2; i++) {
        map[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd[i], 0);
        assert_true(map[i] != MAP_FAILED);
    }
    shm_unname("vader_segment.");
    assert_false(file_exists(dir, names[0]));
    assert_true(file_exists(dir, names[1]));
    assert_true(file_exists(dir, names[2]));
    map[0][4095] = 1;
    shm_unname("vader_segment."); /* it has no name any more: nothing happens */

    for (int i = 0; i < 3; i++)
        close(fd[i]);
    for (int i = 0; i < 2; i++)
        munmap(map[i], 4096);
    for (int i = 1; i < 3; i++) {
        path = path_of(dir, names[i]);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_unused_files_are_removed),
        cmocka_unit_test(other_files_are_left_alone),
        cmocka_unit_test(mapped_files_lose_their_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
