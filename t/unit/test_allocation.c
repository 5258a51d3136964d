#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "train/allocation.h"

#define EXITED(status) ((status) << 8)

/* What salloc's status and the records of the run say together. */
static const struct {
    int line, wait_status;
    bool asked;
    enum run_standing standing;
    int exit_status;
    bool settled, cut_off;
} rows[] = {
    /* the command's own word */
    {__LINE__, EXITED(0), false, RUN_HAS_FINISHED, 0, false, false},
    {__LINE__, EXITED(1), false, RUN_HAS_FAILED, 1, false, false},
    {__LINE__, EXITED(75), false, RUN_HAS_STOPPED, 75, false, false},
    {__LINE__, EXITED(75), true, RUN_HAS_STOPPED, 75, false, false},
    {__LINE__, EXITED(3), false, RUN_NOT_BEGUN, 3, false, false},
    {__LINE__, EXITED(5), false, RUN_INTERRUPTED, 5, false, false},
    /* salloc makes 0 of a SIGKILL */
    {__LINE__, EXITED(0), false, RUN_INTERRUPTED, 1, true, true},
    {__LINE__, EXITED(0), false, RUN_NOT_BEGUN, 1, true, true},
    {__LINE__, EXITED(0), false, RUN_HAS_STOPPED, 75, true, false},
    {__LINE__, EXITED(0), false, RUN_HAS_FAILED, 1, true, false},
    /* and 1 of other signals; but 1 is also an allocation that there was not */
    {__LINE__, EXITED(1), false, RUN_INTERRUPTED, 1, true, true},
    {__LINE__, EXITED(1), false, RUN_NOT_BEGUN, 1, false, false},
    {__LINE__, EXITED(1), false, RUN_HAS_STOPPED, 1, false, false},
    {__LINE__, EXITED(1), false, RUN_HAS_FINISHED, 1, false, false},
    /* asked to stop before it could have heard of it */
    {__LINE__, EXITED(1), true, RUN_NOT_BEGUN, 75, true, false},
    {__LINE__, EXITED(1), true, RUN_INTERRUPTED, 75, true, false},
    {__LINE__, EXITED(0), true, RUN_INTERRUPTED, 75, true, false},
    {__LINE__, EXITED(1), true, RUN_HAS_FAILED, 1, true, false},
    {__LINE__, EXITED(0), true, RUN_HAS_FINISHED, 0, false, false},
    /* salloc itself is killed */
    {__LINE__, SIGKILL, false, RUN_INTERRUPTED, 1, true, true},
    {__LINE__, SIGKILL, false, RUN_HAS_FINISHED, 0, true, false},
    {__LINE__, SIGKILL, false, RUN_HAS_STOPPED, 75, true, false},
};

static void every_end_of_an_allocation_has_its_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct allocation_end end =
            allocation_judge(rows[i].wait_status, rows[i].asked, rows[i].standing);

        if (end.exit_status != rows[i].exit_status || end.settled != rows[i].settled ||
            end.cut_off != rows[i].cut_off)
            fail_msg("line %d: status %d, settled %d, cut off %d", rows[i].line,
                     end.exit_status, end.settled, end.cut_off);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_of_an_allocation_has_its_verdict)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
