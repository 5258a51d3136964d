/* test_shared_storage.c - what a node sees of the files of another one, as --check
 * tries it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/shared_storage.h"
#include "scratch.h"
#include "thread_comm.h"

/* A file system that has flock(), but not the other locks. */
int fcntl(int fd, int cmd, ...)
{
    va_list ap;
    long arg;

    va_start(ap, cmd);
    arg = va_arg(ap, long);
    va_end(ap);
    if (cmd == F_SETLK) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, cmd, arg);
}

static json_t *seen[2];

/* Each rank is a node. */
static int try_it(struct comm *comm, void *arg)
{
    struct world world = {.rank = comm->rank,
                          .size = comm->size,
                          .local_size = 1,
                          .node_rank = comm->rank,
                          .n_nodes = comm->size};
    struct error err;

    (void)arg;
    return shared_storage_try(comm, &world, ".", &seen[comm->rank], &err);
}

static void each_kind_of_lock_is_tried(void **state)
{
    int rc[2] = {-1, -1};

    (void)state;
    thread_comm_run(2, try_it, NULL, rc);
    assert_int_equal(rc[0] | rc[1], 0);
    assert_true(json_is_true(json_object_get(seen[1], "appears")));
    assert_true(json_is_true(json_object_get(seen[1], "renamed")));
    assert_true(json_is_true(json_object_get(seen[1], "flock")));
    assert_true(json_is_string(json_object_get(seen[1], "fcntl")));
    assert_int_equal(scratch_count("."), 0);
    json_decref(seen[0]);
    json_decref(seen[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(each_kind_of_lock_is_tried),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
