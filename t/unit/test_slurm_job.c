/* What squeue says of the job, and a squeue of our own that says it. */
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

#include "launch/slurm_job.h"
#include "scratch.h"

/* ---- One line ----------------------------------------------------------------------
 */

static const struct {
    int line;
    const char *text;
    bool ours;
    struct slurm_job job;
} rows[] = {
    {__LINE__,
     "7                   1700000000                      N/A    RUNNING   1  1",
     true,
     {.end = 1700000000, .running = true, .batch = true, .requeue = true}},
    {__LINE__,
     "7 1700000000 1699999999 RUNNING 0 1\nmore",
     true,
     {.end = 1700000000, .preempted = true, .running = true, .batch = true}},
    /* no limit, or not known */
    {__LINE__, "7 Unknown N/A RUNNING 1 0", true, {.running = true, .requeue = true}},
    {__LINE__, "7 NONE NONE RUNNING 0 0", true, {.running = true}},
    {__LINE__, "7 N/A Unknown RUNNING 0 0", true, {.running = true}},
    {__LINE__, "7 UNLIMITED UNLIMITED RUNNING 0 0", true, {.running = true}},
    {__LINE__, "7 0 0 RUNNING 0 0", true, {.running = true}},
    /* on its way out */
    {__LINE__, "7 1 N/A COMPLETING 0 0", true, {.end = 1}},
    {__LINE__, "7 1 N/A CANCELLED 0 0", true, {.end = 1}},
    {__LINE__, "7 1 N/A TIMEOUT 0 0", true, {.end = 1}},
    /* nonsense where a time should be is no time */
    {__LINE__, "7 -5 -1 RUNNING 0 0", true, {.running = true}},
    {__LINE__, "7 17x 12:00 RUNNING 0 0", true, {.running = true}},
    {__LINE__, "7 2026-01-01T00:00:00 N/A RUNNING 0 0", true, {.running = true}},
    {__LINE__,
     "7 99999999999999999999999 N/A RUNNING 0 0",
     true,
     {.end = INT64_MAX, .running = true}},
    /* another job's, or none's */
    {__LINE__, "70 1 N/A RUNNING 0 0", false, {0}},
    {__LINE__, "7_1 1 N/A RUNNING 0 0", false, {0}},
    {__LINE__, "7", false, {0}},
    {__LINE__, "7 1 N/A RUNNING 0", false, {0}},
    {__LINE__, "", false, {0}},
    {__LINE__, "\n\n", false, {0}},
    {__LINE__, "slurm_load_jobs error: Invalid job id specified", false, {0}},
    {__LINE__, "777777777777777777777777777777777777777 1 N/A R 0 0", false, {0}},
    {__LINE__, "%s%n %s%n %s %s %s %s", false, {0}},
};

static void lines_of_squeue(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct slurm_job *want = &rows[i].job;
        struct slurm_job job = {0};

        if (slurm_job_parse(rows[i].text, "7", &job) != rows[i].ours ||
            job.end != want->end || job.preempted != want->preempted ||
            job.running != want->running || job.batch != want->batch ||
            job.requeue != want->requeue)
            fail_msg("line %d", rows[i].line);
    }
}

/* ---- The command -------------------------------------------------------------------
 */

static void squeue_is(const char *script)
{
    FILE *f = fopen("squeue", "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod("squeue", 0700), 0);
}

static int enter(void **state)
{
    char here[256], path[1024];

    if (scratch_enter(state) < 0 || !getcwd(here, sizeof here))
        return -1;
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", here);
    setenv("SLURM_JOB_ID", "7", 1);
    return setenv("PATH", path, 1);
}

static void refused(const char *why)
{
    struct slurm_job job;
    struct error err = {0};

    assert_int_equal(slurm_job_ask(&job, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    if (!strstr(err.text, why))
        fail_msg("%s", err.text);
}

/* Of a job array squeue tells of more than one; and what the user has set for his own
 * squeue does not reach ours. */
static void the_job_is_found_among_others(void **state)
{
    struct slurm_job job;
    struct error err;

    (void)state;
    setenv("SQUEUE_FORMAT", "%i", 1);
    setenv("SQUEUE_STATES", "PD", 1);
    setenv("SLURM_TIME_FORMAT", "relative", 1);
    squeue_is("test -z \"$SQUEUE_FORMAT$SQUEUE_STATES\" || exit 1\n"
              "test \"$SLURM_TIME_FORMAT\" = %s || exit 2\n"
              "echo '8 1 N/A RUNNING 1 1'\n"
              "echo '7 1700000000 1700000001 RUNNING 1 1'");
    assert_int_equal(slurm_job_ask(&job, &err), 0);
    assert_int_equal(job.end, 1700000000);
    assert_true(job.preempted);
    unsetenv("SQUEUE_FORMAT");
    unsetenv("SQUEUE_STATES");
    unsetenv("SLURM_TIME_FORMAT");
}

static void an_answer_that_is_none(void **state)
{
    (void)state;
    squeue_is("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2\n"
              "exit 1");
    refused("Unable to contact slurm controller");
    squeue_is("");
    refused("does not know job 7");
    squeue_is("echo '8 1 N/A RUNNING 1 1'");
    refused("does not know job 7");
    squeue_is("printf '\\033[31m\\377\\000\\n'");
    refused("does not know job 7");
    squeue_is("kill -9 $$");
    refused("squeue failed");
    squeue_is("yes '8 1 N/A RUNNING 1 1' | head -c 1000000");
    refused("does not know job 7");
}

static void without_slurm(void **state)
{
    (void)state;
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(slurm_job_ask(&(struct slurm_job){0}, NULL), -1);
    unsetenv("SLURM_JOB_ID");
    assert_null(slurm_job_id());
    refused("no job of Slurm");
    setenv("SLURM_JOB_ID", "", 1);
    assert_null(slurm_job_id());
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, scratch_leave)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_squeue),
        TEST(the_job_is_found_among_others),
        TEST(an_answer_that_is_none),
        TEST(without_slurm),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
