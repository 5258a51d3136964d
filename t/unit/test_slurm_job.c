/* test_slurm_job.c - lines of squeue, and questions to a fake squeue and scontrol. */
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

#include "scratch.h"
#include "slurm/job.h"
#include "slurm/slurm_tool.h"
#include "util/argv.h"
#include "event/attention.h"

/* ---- One line ---- */

static const struct {
    int line;
    const char *text;
    bool ours;
    struct batch_job job;
} rows[] = {
    {__LINE__,
     "7 7 N/A 1699000000 1700000000                      N/A    RUNNING   1  1",
     true,
     {.end = 1700000000, .running = true, .has_script = true, .may_requeue = true}},
    {__LINE__,
     "7 7 N/A 1699000000 1700000000 1699999999 RUNNING 0 1\nmore",
     true,
     {.end = 1700000000, .preempted = true, .running = true, .has_script = true}},
    /* put back into the queue by Slurm */
    {__LINE__,
     "7 7 N/A 1699000000 1 N/A RUNNING 1 2",
     true,
     {.end = 1, .running = true, .has_script = true, .may_requeue = true}},
    /* no limit, or an unknown one */
    {__LINE__,
     "7 7 N/A 1699000000 Unknown N/A RUNNING 1 0",
     true,
     {.running = true, .may_requeue = true}},
    {__LINE__, "7 7 N/A 1699000000 NONE NONE RUNNING 0 0", true, {.running = true}},
    {__LINE__, "7 7 N/A 1699000000 N/A Unknown RUNNING 0 0", true, {.running = true}},
    {__LINE__,
     "7 7 N/A 1699000000 UNLIMITED UNLIMITED RUNNING 0 0",
     true,
     {.running = true}},
    {__LINE__, "7 7 N/A 1699000000 0 0 RUNNING 0 0", true, {.running = true}},
    /* its nodes are being prepared */
    {__LINE__,
     "7 7 N/A 1699000000 1 N/A RUNNING 0 0  Prolog  ",
     true,
     {.end = 1, .running = true, .preparing = true}},
    {__LINE__,
     "7 7 N/A 1699000000 1 N/A CONFIGURING 0 0 None",
     true,
     {.end = 1, .preparing = true}},
    {__LINE__,
     "7 7 N/A 1699000000 1 N/A RUNNING 0 0 \n8 Prolog",
     true,
     {.end = 1, .running = true}},
    {__LINE__,
     "7 7 N/A 1699000000 1 N/A RUNNING 0 0 None",
     true,
     {.end = 1, .running = true}},
    /* completing */
    {__LINE__, "7 7 N/A 1699000000 1 N/A COMPLETING 0 0", true, {.end = 1}},
    {__LINE__, "7 7 N/A 1699000000 1 N/A CANCELLED 0 0", true, {.end = 1}},
    {__LINE__, "7 7 N/A 1699000000 1 N/A TIMEOUT 0 0", true, {.end = 1}},
    /* a malformed time counts as none */
    {__LINE__, "7 7 N/A 1699000000 -5 -1 RUNNING 0 0", true, {.running = true}},
    {__LINE__, "7 7 N/A 1699000000 17x 12:00 RUNNING 0 0", true, {.running = true}},
    {__LINE__,
     "7 7 N/A 1699000000 2026-01-01T00:00:00 N/A RUNNING 0 0",
     true,
     {.running = true}},
    {__LINE__,
     "7 7 N/A 1699000000 99999999999999999999999 N/A RUNNING 0 0",
     true,
     {.end = INT64_MAX, .running = true}},
    /* the task of a job array */
    {__LINE__,
     "7 5 2 1699000000 1 N/A RUNNING 1 1",
     true,
     {.end = 1,
      .running = true,
      .has_script = true,
      .may_requeue = true,
      .name = "5_2",
      .array = "5",
      .task = "2"}},
    {__LINE__,
     "7 7 0 1699000000 1 N/A RUNNING 0 0",
     true,
     {.end = 1, .running = true, .name = "7_0", .array = "7", .task = "0"}},
    /* of another job, or of none */
    {__LINE__, "70 7 N/A 1699000000 1 N/A RUNNING 0 0", false, {0}},
    {__LINE__, "7_1 7 N/A 1699000000 1 N/A RUNNING 0 0", false, {0}},
    {__LINE__, "7", false, {0}},
    {__LINE__, "7 7 N/A 1699000000 1 N/A RUNNING 0", false, {0}},
    {__LINE__, "", false, {0}},
    {__LINE__, "\n\n", false, {0}},
    {__LINE__, "slurm_load_jobs error: Invalid job id specified", false, {0}},
    {__LINE__,
     "777777777777777777777777777777777777777 7 N/A 1699000000 1 N/A R 0 0",
     false,
     {0}},
    {__LINE__, "%s%n %s%n %s %s %s %s %s %s", false, {0}},
};

static void lines_of_squeue_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct batch_job *want = &rows[i].job;
        struct batch_job job = {0};

        if (slurm_job_parse(rows[i].text, "7", &job) != rows[i].ours ||
            job.end != want->end || job.preempted != want->preempted ||
            job.running != want->running || job.preparing != want->preparing ||
            job.has_script != want->has_script ||
            job.may_requeue != want->may_requeue ||
            (want->end && strcmp(job.name, want->name[0] ? want->name : "7") != 0) ||
            strcmp(job.array, want->array) != 0 || strcmp(job.task, want->task) != 0)
            fail_msg("line %d", rows[i].line);
    }
}

/* ---- The command ---- */

static void script_write(const char *name, const char *script)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(name, 0700), 0);
}

static void squeue_is(const char *script)
{
    script_write("squeue", script);
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
    struct batch_job job;
    struct error err = {0};

    assert_int_equal(batch_slurm.ask(&job, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    if (!strstr(err.text, why))
        fail_msg("%s", err.text);
}

/* For a job array squeue lists more than one job; and a user's settings for squeue do
 * not apply. */
static void the_job_is_found_among_others(void **state)
{
    struct batch_job job;
    struct error err;

    (void)state;
    setenv("SQUEUE_FORMAT", "%i", 1);
    setenv("SQUEUE_STATES", "PD", 1);
    setenv("SLURM_TIME_FORMAT", "relative", 1);
    squeue_is("test -z \"$SQUEUE_FORMAT$SQUEUE_STATES\" || exit 1\n"
              "test \"$SLURM_TIME_FORMAT\" = %s || exit 2\n"
              "echo '8 8 N/A 1699000000 1 N/A RUNNING 1 1'\n"
              "echo '7 7 N/A 1699000000 1700000000 1700000001 RUNNING 1 1'");
    assert_int_equal(batch_slurm.ask(&job, &err), 0);
    assert_int_equal(job.end, 1700000000);
    assert_true(job.preempted);
    unsetenv("SQUEUE_FORMAT");
    unsetenv("SQUEUE_STATES");
    unsetenv("SLURM_TIME_FORMAT");
}

/* Nor do settings for other Slurm commands; those that locate the controller do. */
static void user_settings_do_not_apply(void **state)
{
    static const char *const cleared[] = {
        "SCANCEL_INTERACTIVE=1", "SCANCEL_STATE=PENDING", "SQUEUE_FORMAT2=JobID",
        "SINFO_FORMAT=%n",       "SCONTROL_FEDERATION=1", "SLURM_JSON=compact",
        "SLURM_BITSTR_LEN=3",    "SLURM_DEBUG_FLAGS=all", "SLURM_CLUSTERS=other",
        "SLURM_TIME_FORMAT=%H",  "SLURM_FUTURE=1"};
    static const char *const kept[] = {"SLURM_CONF=/etc/x", "SLURM_CONF_SERVER=host",
                                       "SLURM_JWT=token", "HOME=/home"};
    char **env = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cleared / sizeof *cleared; i++)
        assert_int_equal(putenv((char *)cleared[i]), 0);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_int_equal(putenv((char *)kept[i]), 0);
    assert_int_equal(slurm_tool_env(&env, NULL), 0);
    for (size_t i = 0; i < sizeof cleared / sizeof *cleared; i++)
        assert_false(argv_has(env, cleared[i]));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_true(argv_has(env, kept[i]));
    assert_true(argv_has(env, "SLURM_TIME_FORMAT=%s"));
    argv_free(env);
    /* The allocation is on another cluster. */
    assert_int_equal(setenv("SLURM_WORKING_CLUSTER", "other:host:6817:9472", 1), 0);
    assert_int_equal(slurm_tool_env(&env, NULL), 0);
    assert_true(argv_has(env, "SLURM_CLUSTERS=other"));
    argv_free(env);
    unsetenv("SLURM_WORKING_CLUSTER");
    for (size_t i = 0; i < sizeof cleared / sizeof *cleared; i++) {
        char name[64];

        snprintf(name, sizeof name, "%.*s", (int)strcspn(cleared[i], "="), cleared[i]);
        unsetenv(name);
    }
    for (size_t i = 0; i < 3; i++) {
        char name[64];

        snprintf(name, sizeof name, "%.*s", (int)strcspn(kept[i], "="), kept[i]);
        unsetenv(name);
    }
}

/* ---- A controller that is away ---- */

static int said;

static void say(const char *text)
{
    assert_non_null(strstr(text, "controller does not answer"));
    said++;
}

/* Away for the first two questions of `scontrol show config`. */
static void an_absent_controller_is_waited_for_and_reported(void **state)
{
    struct batch_job job;
    struct error err;

    (void)state;
    said = 0;
    script_write("scontrol", "echo >>asked; test $(wc -l <asked) -gt 2 || exit 1");
    script_write("squeue", "test -e asked && test $(wc -l <asked) -gt 2 || exit 1\n"
                           "echo '7 7 N/A 1699000000 1700000000 N/A RUNNING 1 1'");
    batch_patience_set(60, say);
    assert_int_equal(batch_slurm.await(&job, &err), 0);
    assert_int_equal(said, 1);
    batch_patience_set(0, NULL);
}

/* It answers other questions: retrying would not help. */
static void a_refused_question_is_final(void **state)
{
    struct batch_job job;
    struct error err;

    (void)state;
    said = 0;
    script_write("scontrol", "exit 0");
    script_write("squeue", "echo Invalid job id specified; exit 1");
    batch_patience_set(60, say);
    assert_int_equal(batch_slurm.await(&job, &err), -1);
    assert_non_null(strstr(err.text, "Invalid job id"));
    assert_int_equal(said, 0);
    /* And so is a command that does not exist. */
    assert_int_equal(remove("scontrol"), 0);
    assert_int_equal(remove("squeue"), 0);
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_int_equal(batch_slurm.await(&job, &err), -1);
    assert_int_equal(said, 0);
    batch_patience_set(0, NULL);
}

static void waiting_for_the_controller_has_a_limit(void **state)
{
    struct batch_job job;
    struct error err;

    (void)state;
    said = 0;
    script_write("scontrol", "exit 1");
    script_write("squeue", "exit 1");
    batch_patience_set(0.1, say);
    assert_int_equal(batch_slurm.await(&job, &err), -1);
    assert_non_null(strstr(err.text, "has not answered for"));
    assert_int_equal(said, 1);
    batch_patience_set(0, NULL);
}

/* While the controller does not answer, requests to stop are noticed. */
static void a_request_to_stop_ends_the_wait(void **state)
{
    struct batch_job job;
    struct error err;
    int ends[2];

    (void)state;
    alarm(20); /* a hang is a failure */
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "!", 1), 1);
    script_write("scontrol", "exec sleep 1000");
    script_write("squeue", "exec sleep 1000");
    batch_patience_set(600, say);
    assert_int_equal(attention_set(ends[0]), -1);
    assert_int_equal(batch_slurm.await(&job, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTOPPED);
    assert_int_equal(batch_slurm.ask(&job, &err), -1);
    assert_null(slurm_job_step_nodes("name"));
    assert_int_equal(attention_set(-1), ends[0]);
    batch_patience_set(0, NULL);
    alarm(0);
    close(ends[0]);
    close(ends[1]);
}

/* ---- A record of scontrol ---- */

static void the_right_record_of_a_job_array(void **state)
{
    char text[] = "JobId=12 ArrayJobId=10 ArrayTaskId=2 NodeList=n2\n"
                  "JobId=11 ArrayJobId=10 ArrayTaskId=1 NodeList=n1\n"
                  "JobId=10 ArrayJobId=10 ArrayTaskId=3 NodeList=n3\n";
    char copy[sizeof text], value[8];
    char *record;

    (void)state;
    memcpy(copy, text, sizeof text);
    record = slurm_job_record(copy, "10");
    assert_non_null(record);
    assert_true(slurm_job_field(record, "NodeList", value, sizeof value));
    assert_string_equal(value, "n3");
    memcpy(copy, text, sizeof text);
    record = slurm_job_record(copy, "11");
    assert_true(slurm_job_field(record, "NodeList", value, sizeof value));
    assert_string_equal(value, "n1");
    memcpy(copy, text, sizeof text);
    assert_null(slurm_job_record(copy, "1"));
}

/* A job that was submitted from within the task of an array has the variables of that
 * array; and the last task has the id of the whole array. */
static void slurm_knows_the_task_of_an_array(void **state)
{
    struct batch_job job;

    (void)state;
    setenv("SLURM_ARRAY_JOB_ID", "5", 1);
    setenv("SLURM_ARRAY_TASK_ID", "1", 1);
    setenv("SLURM_JOB_ID", "9", 1);
    squeue_is("exit 1");
    assert_string_equal(batch_slurm.number(BATCH_TASK), "1"); /* without an answer */
    assert_string_equal(slurm_job_name(), "9");
    squeue_is("echo '9 9 N/A 1699000000 1 N/A RUNNING 1 1'");
    assert_null(batch_slurm.number(BATCH_TASK));
    assert_null(batch_slurm.number(BATCH_ARRAY));
    assert_string_equal(batch_slurm.number(BATCH_JOB), "9");
    assert_string_equal(slurm_job_name(), "9");
    setenv("SLURM_JOB_ID", "5", 1);
    setenv("SLURM_ARRAY_TASK_ID", "2", 1);
    squeue_is("echo '6 5 1 1699000000 1 N/A RUNNING 1 1'; echo '5 5 2 1699000000 1 N/A "
              "RUNNING 1 1'");
    assert_string_equal(batch_slurm.number(BATCH_TASK), "2");
    assert_string_equal(batch_slurm.number(BATCH_ARRAY), "5");
    assert_string_equal(slurm_job_name(), "5_2");
    script_write("scontrol", "echo \"$*\" >said");
    assert_int_equal(batch_slurm.ask(&job, NULL), 0);
    assert_int_equal(batch_slurm.requeue(&job, NULL), 0);
    assert_int_equal(system("grep -qx 'requeue 5_2' said"), 0);
    unsetenv("SLURM_ARRAY_JOB_ID");
    unsetenv("SLURM_ARRAY_TASK_ID");
}

static void the_time_and_kill_wait_of_the_controller(void **state)
{
    struct batch_limits limits;

    (void)state;
    assert_true(slurm_limits_parse("Configuration data as of 1700000000\n"
                                   "AccountingStorageBackupHost = (null)\n"
                                   "KillOnBadExit           = 0\n"
                                   "KillWait                = 30 sec\n",
                                   &limits));
    assert_true(limits.now == 1700000000 && limits.kill_wait_s == 30);
    assert_false(slurm_limits_parse("Configuration data as of 1700000000\n", &limits));
    assert_false(slurm_limits_parse(
        "Configuration data as of 2026-01-01T00:00:00\nKillWait = 30 sec\n", &limits));
    assert_false(slurm_limits_parse("", &limits));
}

static void nodes_of_steps_are_found_by_name(void **state)
{
    char **nodes;

    (void)state;
    squeue_is(
        "test \"$2\" = --steps || { echo 7 5 2 1699000000 1 N/A RUNNING 1 1; exit; }\n"
        "echo '5_2.0|other|n9'; echo '5_2.1|my|run|n[1-2]'; echo '5_2.3|my|run|n4'\n"
        "echo '5_1.1|my|run|n8'; echo '5_22.1|my|run|n8'; echo; echo x");
    nodes = slurm_job_step_nodes("my|run");
    assert_int_equal(argv_count(nodes), 3);
    assert_true(argv_has(nodes, "n1") && argv_has(nodes, "n2") &&
                argv_has(nodes, "n4"));
    argv_free(nodes);
    assert_null(slurm_job_step_nodes("my"));
    squeue_is("exit 1");
    assert_null(slurm_job_step_nodes("my|run"));
}

static void malformed_answers(void **state)
{
    (void)state;
    squeue_is("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2\n"
              "exit 1");
    refused("Unable to contact slurm controller");
    squeue_is("");
    refused("does not know job 7");
    squeue_is("echo '8 8 N/A 1699000000 1 N/A RUNNING 1 1'");
    refused("does not know job 7");
    squeue_is("printf '\\033[31m\\377\\000\\n'");
    refused("does not know job 7");
    squeue_is("kill -9 $$");
    refused("squeue failed");
    squeue_is("yes '8 8 N/A 1699000000 1 N/A RUNNING 1 1' | head -c 1000000");
    refused("does not know job 7");
}

static void without_slurm_there_is_no_job(void **state)
{
    (void)state;
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(batch_slurm.ask(&(struct batch_job){0}, NULL), -1);
    unsetenv("SLURM_JOB_ID");
    assert_null(slurm_job_id());
    refused("not in a Slurm job");
    setenv("SLURM_JOB_ID", "", 1);
    assert_null(slurm_job_id());
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, scratch_leave)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_squeue_are_read),
        TEST(the_job_is_found_among_others),
        TEST(user_settings_do_not_apply),
        TEST(an_absent_controller_is_waited_for_and_reported),
        TEST(a_refused_question_is_final),
        TEST(waiting_for_the_controller_has_a_limit),
        TEST(a_request_to_stop_ends_the_wait),
        cmocka_unit_test(the_right_record_of_a_job_array),
        TEST(slurm_knows_the_task_of_an_array),
        cmocka_unit_test(the_time_and_kill_wait_of_the_controller),
        TEST(nodes_of_steps_are_found_by_name),
        TEST(malformed_answers),
        TEST(without_slurm_there_is_no_job),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
