#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "slurm/surroundings.h"

#define SELF "self" /* replaced by the id of this process */

/* Variables as set by Slurm 22.05, MPICH and Open MPI. */
#define STEP(tasks, nodes, gtids, rank)                                                \
    "SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=" tasks,                \
        "SLURM_STEP_NUM_NODES=" nodes, "SLURM_GTIDS=" gtids, "SLURM_PROCID=" rank
#define BATCH "SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_PROCID=0", "SLURM_GTIDS=0"

static const struct row {
    int line;
    const char *env[12];
    int copies;
    const char *starter;
    int rank;
    bool in_step;
    int components;
} rows[] = {
    {__LINE__, {NULL}, 1, "", 0, false, 1},
    /* a batch script, and the command of salloc */
    {__LINE__, {BATCH}, 1, "", 0, false, 1},
    {__LINE__, {"SLURM_JOB_ID=7", "SLURM_NTASKS=4"}, 1, "", 0, false, 1},
    /* srun -n 4, on one node and on four */
    {__LINE__, {STEP("4", "1", "0,1,2,3", "0")}, 4, "srun", 0, true, 1},
    {__LINE__, {STEP("4", "4", "2", "2")}, 4, "srun", 2, true, 1},
    /* srun --pty bash with one task, and with four, only the first of which still
     * runs */
    {__LINE__, {STEP("1", "1", "0", "0"), "SLURM_PTY_PORT=5"}, 1, "", 0, true, 1},
    {__LINE__,
     {STEP("4", "1", "0,1,2,3", "0"), "SLURM_PTY_PORT=5", "SLURM_TASK_PID=1"},
     1,
     "",
     0,
     true,
     1},
    /* but this is srun -n 4 --pty raytrain-run */
    {__LINE__,
     {STEP("4", "1", "0,1,2,3", "0"), "SLURM_PTY_PORT=5", "SLURM_TASK_PID=" SELF},
     4,
     "srun",
     0,
     true,
     1},
    /* the shell that salloc starts on a node holds no resources */
    {__LINE__,
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=4294967290", "SLURM_STEP_NUM_TASKS=1",
      "SLURM_STEP_NUM_NODES=1", "SLURM_GTIDS=0", "SLURM_PROCID=0"},
     1,
     "",
     0,
     false,
     1},
    /* a batch script that was submitted from within a step */
    {__LINE__,
     {BATCH, "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_NUM_NODES=1"},
     1,
     "",
     0,
     false,
     1},
    /* MPICH, Open MPI, and srun with its own PMI library */
    {__LINE__, {"PMI_SIZE=2", "PMI_RANK=1"}, 2, "mpiexec", 1, false, 1},
    {__LINE__, {"PMI_SIZE=1", "PMI_RANK=0"}, 1, "mpiexec", 0, false, 1},
    {__LINE__,
     {"OMPI_COMM_WORLD_SIZE=3", "OMPI_COMM_WORLD_RANK=2", "PMIX_RANK=2"},
     3,
     "mpirun",
     2,
     false,
     1},
    {__LINE__,
     {STEP("4", "4", "1", "1"), "PMI_SIZE=4", "PMI_RANK=1"},
     4,
     "srun",
     1,
     true,
     1},
    /* mpirun -n 1 below a step that it has started on two nodes */
    {__LINE__,
     {STEP("2", "2", "1", "1"), "PMI_SIZE=1", "PMI_RANK=0"},
     1,
     "mpiexec",
     0,
     true,
     1},
    {__LINE__, {"SLURM_JOB_ID=7", "SLURM_HET_SIZE=2"}, 1, "", 0, false, 2},
    /* malformed values are ignored */
    {__LINE__, {"PMI_SIZE=x", "PMI_RANK=0"}, 1, "", 0, false, 1},
    {__LINE__, {"PMI_SIZE=-2", "PMI_RANK=0", "SLURM_HET_SIZE="}, 1, "", 0, false, 1},
};

static void environment_set(const char *const *env)
{
    clearenv();
    for (; *env; env++) {
        const char *equals = strchr(*env, '=');
        char name[64], self[16];

        snprintf(name, sizeof name, "%.*s", (int)(equals - *env), *env);
        snprintf(self, sizeof self, "%d", (int)getpid());
        setenv(name, strcmp(equals + 1, SELF) == 0 ? self : equals + 1, 1);
    }
}

static void every_kind_of_start_is_recognised(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct surroundings s;

        environment_set(row->env);
        surroundings_look(&s);
        if (s.copies != row->copies || strcmp(s.starter, row->starter) != 0 ||
            s.rank != row->rank || s.in_step != row->in_step ||
            s.components != row->components)
            fail_msg(
                "line %d: %d copies by \"%s\", rank %d, in a step %d, %d components",
                row->line, s.copies, s.starter, s.rank, s.in_step, s.components);
    }
}

static void copies_and_heterogeneous_jobs_are_refused(void **state)
{
    struct surroundings copies = {.copies = 3,
                                  .starter = "mpirun",
                                  .says = {"A_SIZE", "A_RANK"},
                                  .components = 1};
    const struct surroundings het = {.copies = 1, .starter = "", .components = 2};
    const struct surroundings step = {
        .copies = 1, .starter = "", .components = 1, .in_step = true};
    struct error err;

    (void)state;
    assert_int_equal(surroundings_check(&copies, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EUSAGE);
    assert_non_null(strstr(err.text, "leave out mpirun"));
    copies.rank = 2;
    assert_int_equal(surroundings_check(&copies, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EUSAGE);
    assert_null(strstr(err.text, "leave out"));
    assert_non_null(strstr(err.text, "copy 2 of 3"));
    assert_non_null(strstr(err.text, "unset A_SIZE and A_RANK"));
    assert_int_equal(surroundings_check(&het, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    assert_int_equal(surroundings_check(&step, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_start_is_recognised),
        cmocka_unit_test(copies_and_heterogeneous_jobs_are_refused)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
