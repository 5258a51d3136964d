#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slurm/job.h"
#include "slurm/mpi_plugins.h"
#include "slurm/resources.h"
#include "slurm/srun_messages.h"
#include "slurm/step_command.h"
#include "util/argv.h"

#define MIB      (1024ull * 1024)
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- The step's command line ---- */

#define HEAD                                                                           \
    "srun --mpi=pmix --verbose --kill-on-bad-exit=0 --export=ALL --wait=0 "            \
    "--immediate=30 --job-name=run "
#define LOGS(dir, name)                                                                \
    "--input=/dev/null --output=" dir "/" name ".out --error=" dir "/" name ".err "

static const struct command_row {
    int line, cpus, gpus;
    uint64_t memory;
    const char *type;
    struct placed_node nodes[4];
    const char *dir, *srun_args, *expected; /* NULL: refused */
} command_rows[] = {
#define N(called, count)                                                               \
    {                                                                                  \
        .name = (char *)(called), .tasks = (count)                                     \
    }
    {__LINE__,
     1,
     0,
     0,
     NULL,
     {N("n1", 2)},
     "/l",
     NULL,
     HEAD "--ntasks=2 --nodes=1 --nodelist=n1 --ntasks-per-node=2 --distribution=block "
          "--exact --cpus-per-task=1 --mem=0 --gres=none " LOGS("/l", "rank-%5t") "/w"},
    {__LINE__,
     2,
     1,
     0,
     NULL,
     {N("n1", 4), N("n2", 4), N("n4", 4)},
     "/l",
     NULL,
     HEAD
     "--ntasks=12 --nodes=3 '--nodelist=n[1-2,4]' --ntasks-per-node=4 "
     "--distribution=block --exact --cpus-per-task=2 --mem=0 --gpus-per-node=4 " LOGS(
         "/l", "rank-%5t") "/w"},
    {__LINE__,
     1,
     2,
     0,
     "a100",
     {N("n1", 2), N("n3", 2)},
     "/l",
     NULL,
     HEAD "--ntasks=4 --nodes=2 '--nodelist=n[1,3]' --ntasks-per-node=2 "
          "--distribution=block --exact --cpus-per-task=1 --mem=0 "
          "--gpus-per-node=a100:4 " LOGS("/l", "rank-%5t") "/w"},
    {__LINE__,
     1,
     2,
     0,
     "a100",
     {N("n1", 3), N("n3", 1)},
     "/l",
     NULL,
     HEAD "--ntasks=4 --nodelist=n1,n1,n1,n3 --distribution=arbitrary "
          "--exact --cpus-per-task=1 --mem=0 " LOGS("/l", "rank-%5t") "/w"},
    {__LINE__,
     3,
     0,
     1000 * MIB,
     NULL,
     {N("n1", 1)},
     "/l",
     NULL,
     HEAD "--ntasks=1 --nodes=1 --nodelist=n1 --ntasks-per-node=1 --distribution=block "
          "--exact --cpus-per-task=3 --mem-per-cpu=334M --gres=none " LOGS(
              "/l", "rank-%5t") "/w"},
    {__LINE__,
     1,
     0,
     1,
     NULL,
     {N("n1", 1)},
     "/l",
     NULL,
     HEAD "--ntasks=1 --nodes=1 --nodelist=n1 --ntasks-per-node=1 --distribution=block "
          "--exact --cpus-per-task=1 --mem-per-cpu=1M --gres=none " LOGS(
              "/l", "rank-%5t") "/w"},
    /* one log per rank up to 256 workers, above that one per node */
    {__LINE__,
     1,
     0,
     0,
     NULL,
     {N("n1", 256)},
     "/l",
     NULL,
     HEAD "--ntasks=256 --nodes=1 --nodelist=n1 --ntasks-per-node=256 "
          "--distribution=block --exact --cpus-per-task=1 --mem=0 --gres=none " LOGS(
              "/l", "rank-%5t") "/w"},
    {__LINE__,
     1,
     0,
     0,
     NULL,
     {N("n1", 257)},
     "/l",
     NULL,
     HEAD "--ntasks=257 --nodes=1 --nodelist=n1 --ntasks-per-node=257 "
          "--distribution=block --exact --cpus-per-task=1 --mem=0 --gres=none " LOGS(
              "/l", "node-%N") "/w"},
    /* the user's arguments come last, split without a shell */
    {__LINE__,
     1,
     0,
     0,
     NULL,
     {N("n1", 1)},
     "/l",
     "--overlap  --comment='a b' $X;y",
     HEAD "--ntasks=1 --nodes=1 --nodelist=n1 --ntasks-per-node=1 --distribution=block "
          "--exact --cpus-per-task=1 --mem=0 --gres=none " LOGS(
              "/l", "rank-%5t") "--overlap '--comment=a b' '$X;y' /w"},
    {__LINE__, 1, 0, 0, NULL, {N("n1", 1)}, "/l", "--comment='a", NULL},
    /* pyxis */
    {__LINE__, 1, 0, 0, NULL, {N("n1", 1)}, "/l", "-v --container-image=a.sqsh", NULL},
    /* characters that are special to Slurm in file names */
    {__LINE__,
     1,
     0,
     0,
     NULL,
     {N("n1", 1)},
     "/50%/a b",
     NULL,
     HEAD "--ntasks=1 --nodes=1 --nodelist=n1 --ntasks-per-node=1 --distribution=block "
          "--exact --cpus-per-task=1 --mem=0 --gres=none --input=/dev/null "
          "'--output=/50%%/a b/rank-%5t.out' '--error=/50%%/a b/rank-%5t.err' /w"},
    {__LINE__,
     1,
     0,
     0,
     NULL,
     {N("n1", 1)},
     "/%t/%%u/%j",
     NULL,
     HEAD
     "--ntasks=1 --nodes=1 --nodelist=n1 --ntasks-per-node=1 --distribution=block "
     "--exact --cpus-per-task=1 --mem=0 --gres=none --input=/dev/null "
     "--output=/%%t/%%%%u/%%j/rank-%5t.out --error=/%%t/%%%%u/%%j/rank-%5t.err /w"},
    {__LINE__, 1, 0, 0, NULL, {N("n1", 1)}, "/a\\b", NULL, NULL},
    {__LINE__, 1, 0, 0, NULL, {N("n1", 1)}, "/%j/%t", NULL, NULL},
    {__LINE__, 1, 0, 0, NULL, {N("n1", 1)}, "/%5t", NULL, NULL},
};

static void command_check(const struct command_row *row)
{
    char *worker[] = {(char *)"/w", NULL}, **argv = NULL, *text;
    struct scaling_config scaling = {.accelerator_type = (char *)row->type};
    struct placement plan = {.nodes = (struct placed_node *)row->nodes,
                             .cpus_per_worker = row->cpus,
                             .gpus_per_worker = row->gpus,
                             .memory_per_worker = row->memory};
    struct launch_spec spec = {.plan = &plan,
                               .argv = worker,
                               .log_dir = row->dir,
                               .job_name = "run",
                               .srun_args = row->srun_args,
                               .scaling = &scaling};
    struct error err;

    while (plan.n_nodes < COUNT(row->nodes) && row->nodes[plan.n_nodes].name)
        plan.workers += row->nodes[plan.n_nodes++].tasks;
    if (!row->expected) {
        assert_int_equal(slurm_step_argv(&spec, &argv, &err), -1);
        assert_null(argv);
        assert_int_equal(error_exit_status(err.code), row->srun_args ? 2 : 3);
        return;
    }
    assert_int_equal(slurm_step_argv(&spec, &argv, &err), 0);
    assert_int_equal(argv_join(argv, &text, &err), 0);
    if (strcmp(text, row->expected) != 0)
        fail_msg("line %d:\n got %s\nwant %s", row->line, text, row->expected);
    free(text);
    argv_free(argv);
}

/* n1 and n2 have `gpus` each. */
static void gpus_are_those_of_nodes(void **state)
{
    static const struct {
        int tasks[2], gpus[2], sharing;
        const char *option;
    } rows[] = {
        {{4, 4}, {4, 4}, 2, "--gpus-per-node=2"},
        {{2, 2}, {4, 4}, 2, "--gpus-per-node=1"},
        {{3, 3}, {4, 4}, 2, "--gpus-per-node=2"},
        {{4, 1}, {4, 4}, 2, "--gpus-per-node=2"},
        {{4, 1}, {4, 1}, 2, NULL},
        {{1, 4}, {1, 4}, 4, "--gpus-per-node=1"},
        {{9, 9}, {4, 4}, 3, "--gpus-per-node=3"},
        {{2, 2}, {2, 2}, 1, "--gpus-per-node=2"},
        {{2, 1}, {4, 4}, 1, "--gpus-per-node=2"},
        {{2, 1}, {2, 1}, 1, NULL},
    };
    char *worker[] = {(char *)"/w", NULL};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct placed_node nodes[] = {
            {(char *)"n1", rows[i].tasks[0], rows[i].gpus[0]},
            {(char *)"n2", rows[i].tasks[1], rows[i].gpus[1]}};
        struct scaling_config scaling = {0};
        struct placement plan = {
            .nodes = nodes,
            .n_nodes = 2,
            .workers = rows[i].tasks[0] + rows[i].tasks[1],
            .cpus_per_worker = 1,
            .gpus_per_worker = 1,
            .gpu_parts = rows[i].sharing > 1 ? GPU_PARTS / rows[i].sharing : 0,
            .workers_per_gpu = rows[i].sharing};
        struct launch_spec spec = {.plan = &plan,
                                   .argv = worker,
                                   .log_dir = "/l",
                                   .job_name = "run",
                                   .scaling = &scaling};
        char **argv = NULL, *text = NULL;

        assert_int_equal(slurm_step_argv(&spec, &argv, NULL), 0);
        assert_int_equal(argv_join(argv, &text, NULL), 0);
        if (rows[i].option ? !argv_has(argv, rows[i].option) : !!strstr(text, "--g"))
            fail_msg("row %zu: %s", i, text);
        assert_null(strstr(text, "--gpus-per-task"));
        free(text);
        argv_free(argv);
        if (rows[i].sharing == 1)
            continue;
        /* of a job with shards alone, these */
        argv = NULL;
        plan.slices = (struct gpu_slices){"shard", 4, true};
        assert_int_equal(slurm_step_argv(&spec, &argv, NULL), 0);
        assert_int_equal(argv_join(argv, &text, NULL), 0);
        assert_non_null(strstr(text, "--gres=shard:"));
        assert_null(strstr(text, "--gpus"));
        free(text);
        argv_free(argv);
    }
}

static void the_command_of_a_step_is_built(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(command_rows); i++)
        command_check(&command_rows[i]);
}

/* Ten thousand nodes whose names have no common prefix, with ten workers each. */
#define NODES_MANY 10000

static void many_plan(struct placement *plan, int last)
{
    plan->nodes = calloc(NODES_MANY, sizeof *plan->nodes);
    assert_non_null(plan->nodes);
    plan->n_nodes = NODES_MANY;
    for (int i = 0; i < NODES_MANY; i++) {
        plan->nodes[i].tasks = i < NODES_MANY - 1 ? 10 : last;
        plan->workers += plan->nodes[i].tasks;
        assert_true(asprintf(&plan->nodes[i].name, "%cnode-%d-rack%d", 'a' + i % 26, i,
                             i % 7) > 0);
    }
}

static void many_check(int last, const char *nodes, const char *after, const char *line)
{
    char *worker[] = {(char *)"/w", NULL}, **argv = NULL, *hosts = NULL, *at;
    struct scaling_config scaling = {0};
    struct placement plan = {.cpus_per_worker = 1};
    struct launch_spec spec = {.plan = &plan,
                               .argv = worker,
                               .log_dir = "/l",
                               .job_name = "run",
                               .scaling = &scaling};
    size_t bytes = 0;
    int i = 0, lines = 1;

    many_plan(&plan, last);
    assert_int_equal(slurm_step_argv(&spec, &argv, NULL), 0);
    for (int k = 0; argv[k]; k++)
        bytes += strlen(argv[k]) + 1;
    assert_in_range(bytes, 1, 1024); /* no string of Linux may have more than 128 KiB */
    while (strcmp(argv[i], "--nodelist=/l/hosts") != 0)
        assert_non_null(argv[++i]);
    assert_true(strncmp(argv[i - 1], nodes, strlen(nodes)) == 0);
    assert_string_equal(argv[i + 1], after);
    assert_int_equal(slurm_step_hosts(&plan, &hosts, NULL), 0);
    assert_int_equal(strncmp(hosts, line, strlen(line)), 0);
    for (at = hosts; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, NODES_MANY);
    free(hosts);
    argv_free(argv);
    for (size_t k = 0; k < plan.n_nodes; k++)
        free(plan.nodes[k].name);
    free(plan.nodes);
}

static void the_command_for_ten_thousand_nodes_is_short(void **state)
{
    (void)state;
    many_check(9, "--ntasks=99999", "--distribution=arbitrary",
               "anode-0-rack0*10\nbnode-1-rack1*10\n");
    many_check(10, "--nodes=10000", "--ntasks-per-node=10",
               "anode-0-rack0\nbnode-1-rack1\n");
}

static void a_short_list_needs_no_file(void **state)
{
    struct placed_node nodes[] = {N("n1", 2), N("n2", 1)};
    struct placement plan = {.workers = 3, .nodes = nodes, .n_nodes = 2};
    char *hosts = (char *)"x";

    (void)state;
    assert_int_equal(slurm_step_hosts(&plan, &hosts, NULL), 0);
    assert_null(hosts);
}

static const struct {
    struct scaling_config scaling;
    const char *expected;
    struct placement fits; /* no nodes: unknown */
} allocate_rows[] = {
    {{.num_workers = 4, .max_workers = 9, .cpus_per_worker = 1},
     "salloc --no-kill --kill-command=TERM --job-name=run --ntasks=9 --use-min-nodes "
     "--cpus-per-task=1 raytrain-run x",
     {0}},
    {{.num_workers = 4, .max_workers = 9, .cpus_per_worker = 1},
     "salloc --no-kill --kill-command=TERM --job-name=run --ntasks=8 --use-min-nodes "
     "--cpus-per-task=1 raytrain-run x",
     {.n_nodes = 2, .workers = 8}},
    {{.num_workers = 5, .max_workers = 5, .cpus_per_worker = 1, .spare_nodes = 2},
     "salloc --no-kill --kill-command=TERM --job-name=run --nodes=4 "
     "--ntasks-per-node=4 --cpus-per-task=1 raytrain-run x",
     {.n_nodes = 2,
      .workers = 5,
      .nodes = (struct placed_node[]){{.name = (char *)"a", .tasks = 4},
                                      {.name = (char *)"b", .tasks = 1}},
      .cpus_per_worker = 1}},
    {{.num_workers = 4, .cpus_per_worker = 1},
     "salloc --no-kill --kill-command=TERM --job-name=run --ntasks=4 --use-min-nodes "
     "--cpus-per-task=1 raytrain-run x",
     {0}},
    {{.num_workers = 2,
      .cpus_per_worker = 4,
      .gpus_per_worker = 2,
      .accelerator_type = (char *)"a100",
      .memory_per_worker = 1024 * MIB,
      .placement_strategy = PLACEMENT_STRICT_SPREAD},
     "salloc --no-kill --kill-command=TERM --job-name=run --ntasks=2 "
     "--ntasks-per-node=1 "
     "--cpus-per-task=4 --mem-per-cpu=256M --gpus-per-task=a100:2 raytrain-run x",
     {0}},
    {{.num_workers = 2,
      .cpus_per_worker = 1,
      .placement_strategy = PLACEMENT_STRICT_PACK},
     "salloc --no-kill --kill-command=TERM --job-name=run --ntasks=2 --nodes=1 "
     "--cpus-per-task=1 raytrain-run x",
     {0}},
/* parts of GPUs */
#define PART(n, part, how)                                                             \
    {                                                                                  \
        .num_workers = (n), .max_workers = (n), .cpus_per_worker = 1,                  \
        .gpus_per_worker = 1, .gpu_parts = (part),                                     \
        .placement_strategy = PLACEMENT_##how                                          \
    }
#define FITS(k, part, ...)                                                             \
    .workers_per_gpu = (k), .gpu_parts = (part), .gpus_per_worker = 1,                 \
    .nodes = (struct placed_node[])                                                    \
    {                                                                                  \
        __VA_ARGS__                                                                    \
    }
#define SALLOC "salloc --no-kill --kill-command=TERM --job-name=run "
    {PART(8, 5000, PACK),
     SALLOC "--ntasks=8 --nodes=2 --ntasks-per-node=4 --cpus-per-task=1 "
            "--gpus-per-node=2 raytrain-run x",
     {.n_nodes = 2, .workers = 8, FITS(2, 5000, N("a", 4), N("b", 4))}},
    {PART(5, 5000, PACK),
     SALLOC "--ntasks=5 --nodes=2 --cpus-per-task=1 --gpus-per-node=2 raytrain-run x",
     {.n_nodes = 2, .workers = 5, FITS(2, 5000, N("a", 4), N("b", 1))}},
    {PART(8, 3333, PACK),
     SALLOC "--ntasks=8 --use-min-nodes --cpus-per-task=1 --gpus=3 raytrain-run x",
     {0}},
    {PART(8, 3333, SPREAD),
     SALLOC
     "--ntasks=8 --spread-job --cpus-per-task=1 --gpus-per-task=1 raytrain-run x",
     {0}},
    /* a site with shards: if one GPU of a node is enough */
    {PART(4, 5000, SPREAD),
     SALLOC "--ntasks=4 --nodes=2 --ntasks-per-node=2 --cpus-per-task=1 "
            "--gres=shard:8 raytrain-run x",
     {.n_nodes = 2,
      .workers = 4,
      .slices = {"shard", 8, false},
      FITS(2, 5000, N("a", 2), N("b", 2))}},
    {PART(1, 6000, PACK),
     SALLOC "--ntasks=1 --nodes=1 --ntasks-per-node=1 --cpus-per-task=1 "
            "--gres=mps:60 raytrain-run x",
     {.n_nodes = 1,
      .workers = 1,
      .slices = {"mps", 100, false},
      FITS(1, 6000, N("a", 1))}},
    {PART(6, 5000, SPREAD),
     SALLOC "--ntasks=6 --nodes=2 --ntasks-per-node=3 --cpus-per-task=1 "
            "--gpus-per-node=2 raytrain-run x",
     {.n_nodes = 2,
      .workers = 6,
      .slices = {"shard", 8, false},
      FITS(2, 5000, N("a", 3), N("b", 3))}},
    {{.num_workers = 2, .cpus_per_worker = 1, .placement_strategy = PLACEMENT_SPREAD},
     "salloc --no-kill --kill-command=TERM --job-name=run --ntasks=2 --spread-job "
     "--cpus-per-task=1 raytrain-run x",
     {0}},
};

static void the_command_of_an_allocation_is_built(void **state)
{
    char *command[] = {(char *)"raytrain-run", (char *)"x", NULL};

    (void)state;
    for (size_t i = 0; i < COUNT(allocate_rows); i++) {
        char **argv, *text;

        const struct allocation_request request = {
            .scaling = &allocate_rows[i].scaling, .name = "run", .command = command};

        assert_int_equal(slurm_allocate_argv(&request,
                                             allocate_rows[i].fits.n_nodes > 0
                                                 ? &allocate_rows[i].fits
                                                 : NULL,
                                             &argv, NULL),
                         0);
        assert_int_equal(argv_join(argv, &text, NULL), 0);
        assert_string_equal(text, allocate_rows[i].expected);
        free(text);
        argv_free(argv);
    }
}

static void the_user_says_where_an_allocation_is_taken(void **state)
{
    char *command[] = {(char *)"x", NULL}, **argv, *text;
    const struct scaling_config scaling = {.num_workers = 1, .cpus_per_worker = 1};
    const struct submit_options options = {.time = (char *)"1:00",
                                           .partition = (char *)"gpu",
                                           .account = (char *)"us",
                                           .qos = (char *)"high"};
    const struct allocation_request request = {
        .scaling = &scaling, .options = &options, .name = "run", .command = command};

    (void)state;
    assert_int_equal(slurm_allocate_argv(&request, NULL, &argv, NULL), 0);
    assert_int_equal(argv_join(argv, &text, NULL), 0);
    assert_string_equal(text,
                        "salloc --no-kill --kill-command=TERM --job-name=run "
                        "--ntasks=1 --use-min-nodes --cpus-per-task=1 --time=1:00 "
                        "--partition=gpu --account=us --qos=high x");
    free(text);
    argv_free(argv);
}

/* ---- Its environment ---- */

static void variables_of_the_job_are_removed(void **state)
{
    static const char *const env[] = {
        "PATH=/bin",
        "SLURM_JOB_ID=7",
        "SLURM_JOBID=7",
        "SLURM_NTASKS=99",
        "SLURM_NPROCS=99",
        "SLURM_DISTRIBUTION=cyclic",
        "SLURM_HOSTFILE=/tmp/x",
        "SLURM_GPUS_PER_NODE=4",
        "SLURM_CONF=/etc/x",
        "SLURM_CONFIG=/etc/x",
        "SRUN_CPUS_PER_TASK=3",
        "SLURM_OVERLAP=1",
        "SLURM_EXCLUSIVE=1",
        "SLURM_KILL_BAD_EXIT=1",
        "SLURM_WAIT=1",
        "SLURM_STEP_ID=3",
        "SLURM_MPI_TYPE=none",
        "SLURM_MEM_PER_NODE=10",
        "SLURM_TASKS_PER_NODE=1",
        "PMIX_RANK=3",
        "PMIX_NAMESPACE=x",
        "PMI_FD=3",
        "SBATCH_EXCLUSIVE=1",
        "SALLOC_GRES=gpu:1",
        "SLURM_ARRAY_TASK_ID=4",
        "SLURM_PMIX_TIMEOUT=9",
        "SLURM_SUBMIT_DIR=/here",
        "SLURM_RESTART_COUNT=1",
        "SLURM_HINT=nomultithread",
        "SLURM_THREADS_PER_CORE=1",
        "SLURM_TRES_PER_TASK=cpu:3",
        "SLURM_SPANK__SLURM_SPANK_OPTION_x=1",
        "SLURMX=1",
        "NCCL_DEBUG=INFO",
        "UCX_TLS=tcp",
        "OMP_NUM_THREADS=2",
        "PMIXX=1",
        "PMIX_MCA_psec=native",
        NULL,
    };
    char **out = NULL, *text;

    (void)state;
    assert_int_equal(slurm_step_env((char *const *)env, 8, &out, NULL), 0);
    assert_int_equal(argv_join(out, &text, NULL), 0);
    assert_string_equal(
        text, "PATH=/bin SLURM_JOB_ID=7 SLURM_JOBID=7 SLURM_CONF=/etc/x "
              "SLURM_ARRAY_TASK_ID=4 SLURM_PMIX_TIMEOUT=9 SLURM_SUBMIT_DIR=/here "
              "SLURM_RESTART_COUNT=1 SLURM_HINT=nomultithread SLURM_THREADS_PER_CORE=1 "
              "SLURM_SPANK__SLURM_SPANK_OPTION_x=1 SLURMX=1 "
              "NCCL_DEBUG=INFO UCX_TLS=tcp OMP_NUM_THREADS=2 PMIXX=1 "
              "PMIX_MCA_psec=native");
    free(text);
    argv_free(out);
}

static void a_worker_gets_its_number_of_threads(void **state)
{
    char *const env[] = {(char *)"PATH=/bin", NULL};
    char **out = NULL, *text;

    (void)state;
    assert_int_equal(slurm_step_env(env, 4, &out, NULL), 0);
    assert_int_equal(argv_join(out, &text, NULL), 0);
    assert_string_equal(text, "PATH=/bin OMP_NUM_THREADS=4");
    free(text);
    argv_free(out);
}

/* ---- Resources ---- */

static const char *fake_id, *fake_nodes, *fake_cpus;

static char *fake_getenv(const char *name)
{
    const char *value = strcmp(name, "SLURM_JOB_ID") == 0         ? fake_id
                        : strcmp(name, "SLURM_JOB_NODELIST") == 0 ? fake_nodes
                                                                  : fake_cpus;

    return (char *)value;
}

static void resources_print(const struct resources *r, char *text, size_t size)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < r->n_nodes; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s:%d:%d:%s:%llu",
                                 i ? " " : "", r->nodes[i].name, r->nodes[i].cpus,
                                 r->nodes[i].gpus,
                                 r->nodes[i].gpu_type ? r->nodes[i].gpu_type : "",
                                 (unsigned long long)(r->nodes[i].memory / MIB));
        if (r->nodes[i].gpu_slices > 0)
            used += (size_t)snprintf(text + used, size - used, "/%d",
                                     r->nodes[i].gpu_slices);
    }
    if (r->slices.only)
        snprintf(text + used, size - used, " %s", r->slices.name);
    else if (r->slices.each > 0)
        snprintf(text + used, size - used, " %s=%d", r->slices.name, r->slices.each);
}

static const struct {
    const char *id, *nodes, *cpus, *expected; /* NULL: refused */
} node_rows[] = {
    {"7", "n[1-4]", "4(x3),2", "n1:4:0::0 n2:4:0::0 n3:4:0::0 n4:2:0::0"},
    {"7", "n1", "64", "n1:64:0::0"},
    {"7", "a,b[01-02]", "1,2(x2)", "a:1:0::0 b01:2:0::0 b02:2:0::0"},
    {NULL, "n1", "4", NULL},
    {"", "n1", "4", NULL},
    {"7", NULL, "4", NULL},
    {"7", "n[1-", "4", NULL},
    {"7", "n1", NULL, NULL},
    {"7", "n1", "", NULL},
    {"7", "n[1-2]", "4", NULL},
    {"7", "n[1-2]", "4(x3)", NULL},
    {"7", "n[1-2]", "4(x2),1", NULL},
    {"7", "n[1-2]", "4(x-2)", NULL},
    {"7", "n[1-2]", "4(x99999999999999)", NULL},
    {"7", "n[1-2]", "4(2)", NULL},
    {"7", "n[1-2]", "4 4", NULL},
    {"7", "n1", "-4", NULL},
    {"7", "n1", "99999999999", NULL},
    {"7", "n1", "x", NULL},
};

static void nodes_of_an_allocation_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(node_rows); i++) {
        struct resources r = {0};
        struct error err;
        char text[512];
        int rc;

        fake_id = node_rows[i].id;
        fake_nodes = node_rows[i].nodes;
        fake_cpus = node_rows[i].cpus;
        rc = slurm_resources_nodes(fake_getenv, &r, &err);
        assert_int_equal(rc, node_rows[i].expected ? 0 : -1);
        if (rc < 0)
            continue;
        resources_print(&r, text, sizeof text);
        assert_string_equal(text, node_rows[i].expected);
        assert_string_equal(r.what, "allocation 7");
        resources_clear(&r);
    }
}

static const struct {
    const char *show, *type, *expected; /* of nodes n1 and n2 with 4 CPUs each */
} detail_rows[] = {
    {"JobId=7 NodeList=n[1-2] JOB_GRES=gpu:fake:8   Nodes=n[1-2] CPU_IDs=0-3 Mem=2000 "
     "GRES=gpu:fake:4(IDX:0-3) MinCPUsNode=1\n",
     NULL, "n1:4:4:fake:2000 n2:4:4:fake:2000"},
    {"JobId=7   Nodes=n1 CPU_IDs=0-3 Mem=1200 GRES=gpu:fake:4(IDX:0-3)   Nodes=n2 "
     "CPU_IDs=0-1 Mem=600 GRES=gpu:fake:2(IDX:0-1) MinCPUsNode=1",
     NULL, "n1:4:4:fake:1200 n2:4:2:fake:600"},
    {"JobId=7   Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES= MinCPUsNode=1", NULL,
     "n1:4:0::0 n2:4:0::0"},
    {"JobId=7   Nodes=n1 CPU_IDs=0-3 Mem=1 GRES=gpu:3(IDX:0-2) X=1", NULL,
     "n1:4:3::1 n2:4:0::0"},
    /* two types on a node */
    {"J=7   Nodes=n1 Mem=1 GRES=gpu:a100:2(IDX:0,3),gpu:v100:1(IDX:1),shard:8", NULL,
     "n1:4:3::1 n2:4:0::0"},
    /* instances of a GPU (MIG) are GPUs of a type */
    {"J=7   Nodes=n[1-2] Mem=1 GRES=gpu:1g.10gb:2(IDX:0,2),gpu:a100_3g.40gb:1(IDX:1)",
     "1g.10gb", "n1:4:2:1g.10gb:1 n2:4:2:1g.10gb:1"},
    {"J=7   Nodes=n[1-2] Mem=1 GRES=gpu:1g.10gb:2(IDX:0,2),gpu:a100_3g.40gb:1(IDX:1)",
     "a100_3g.40gb", "n1:4:1:a100_3g.40gb:1 n2:4:1:a100_3g.40gb:1"},
    /* shards alone: a part of a GPU of each node */
    {"J=7   Nodes=n[1-2] Mem=1 GRES=shard:4(IDX:0) X=1", NULL,
     "n1:4:1::1/4 n2:4:1::1/4 shard"},
    {"J=7   Nodes=n1 Mem=1 GRES=mps:150(IDX:0-1,3)", NULL,
     "n1:4:3::1/150 n2:4:0::0 mps"},
    {"J=7   Nodes=n1 Mem=1 GRES=shard:4(IDX:0)   Nodes=n2 Mem=1 GRES=gpu:1(IDX:0)",
     NULL, "n1:4:0::1 n2:4:1::1"},
    {"J=7   Nodes=n1 Mem=1 GRES=shard:2(IDX:99999999999999999-,(:-", NULL,
     "n1:4:1::1/2 n2:4:0::0 shard"},
    {"J=7   Nodes=n1 Mem=1 GRES=gpu:a100:2(IDX:0,3),gpu:v100:1(IDX:1)", "v100",
     "n1:4:1:v100:1 n2:4:0::0"},
    {"J=7   Nodes=n1 Mem=1 GRES=gpu:a100:2(IDX:0,3),gpu:v100:1(IDX:1)", "A100",
     "n1:4:2:a100:1 n2:4:0::0"},
    {"J=7   Nodes=n1 Mem=1 GRES=gpu:a100:2(IDX:0,3),gpu:v100:1(IDX:1)", "h100",
     "n1:4:2:a100:1 n2:4:0::0"},
    /* an ambiguous name, nodes outside the allocation, malformed text */
    {"J=7 JobName=x Nodes=n[1-2] Mem=9   Nodes=n1 Mem=5 GRES=", NULL,
     "n1:4:0::5 n2:4:0::9"},
    {"J=7   Nodes=n9 Mem=5   Nodes=n[1- Mem=5   Nodes= Mem=5   Nodes=", NULL,
     "n1:4:0::0 n2:4:0::0"},
    {"J=7   Nodes=n1 Mem=x GRES=gpu:fake:-1,gpu:,gpu,:::,gpu:99999999999,((", NULL,
     "n1:4:0::0 n2:4:0::0"},
    {"", NULL, "n1:4:0::0 n2:4:0::0"},
};

static void details_of_an_allocation_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(detail_rows); i++) {
        struct resources r = {0};
        struct error err;
        char text[512];

        fake_id = "7";
        fake_nodes = "n[1-2]";
        fake_cpus = "4(x2)";
        assert_int_equal(slurm_resources_nodes(fake_getenv, &r, &err), 0);
        assert_int_equal(
            slurm_resources_details(detail_rows[i].show, detail_rows[i].type, &r, &err),
            0);
        resources_print(&r, text, sizeof text);
        if (strcmp(text, detail_rows[i].expected) != 0)
            fail_msg("row %zu: got %s, want %s", i, text, detail_rows[i].expected);
        resources_clear(&r);
    }
}

static const struct {
    const char *text, *partition, *type, *what, *expected;
} sinfo_rows[] = {
    {"main*|n1|4|2000|gpu:fake:4\nmain*|n2|8|4000|(null)\nbig|n3|64|1|gpu:a:1(S:0-1)\n",
     NULL, NULL, "the default partition", "n1:4:4:fake:2000 n2:8:0::4000"},
    {"main*|n1|4|2000|gpu:fake:4\nbig|n3|64|1|gpu:a:1(S:0-1),gpu:b:2(S:1)\n", "big",
     "b", "partition big", "n3:64:2:b:1"},
    {"main*|n1|4|2000|gpu:fake:4(S:0),shard:fake:16(S:0)\nmain*|n2|4|1|(null)\n", NULL,
     NULL, "the default partition", "n1:4:4:fake:2000 n2:4:0::1 shard=4"},
    {"main*|n1|4|2000|gpu:2,mps:200\n", NULL, NULL, "the default partition",
     "n1:4:2::2000 mps=100"},
    {"main*|n1|4|2000|gpu:fake:4\n", "main", NULL, "partition main",
     "n1:4:4:fake:2000"},
    {"main*|n1|4|2000|gpu:fake:4\n", "other", NULL, "partition other", ""},
    {"main*|n1|4\n|||||\nnonsense\n\n", NULL, NULL, "the default partition", ""},
};

static void nodes_of_a_partition_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sinfo_rows); i++) {
        struct resources r = {0};
        char text[512], *copy = strdup(sinfo_rows[i].text);
        struct error err;

        assert_int_equal(slurm_resources_sinfo(copy, sinfo_rows[i].partition,
                                               sinfo_rows[i].type, &r, &err),
                         0);
        resources_print(&r, text, sizeof text);
        assert_string_equal(text, sinfo_rows[i].expected);
        assert_string_equal(r.what, sinfo_rows[i].what);
        resources_clear(&r);
        free(copy);
    }
}

/* ---- Messages of srun ---- */

#define EXITED(n) ((n) << 8)
#define UP                                                                             \
    "srun: launching StepId=7.4 on host n1, 2 tasks: [0-1]\n"                          \
    "srun: launching StepId=7.4 on host n2, 2 tasks: [2-3]\n"                          \
    "srun: route/default: init: route default plugin loaded\n"                         \
    "srun: launch/slurm: _task_start: Node n2, 2 tasks started\n"                      \
    "srun: launch/slurm: _task_start: Node n1, 2 tasks started\n"
#define TOLD(n, status)                                                                \
    "srun: launch/slurm: _task_finish: Received task exit notification for " n         \
    " of StepId=7.4 (status=0x" status ").\n"
#define DONE(host, tasks) "srun: launch/slurm: _task_finish: " host ": " tasks
/* The same from 23.02 on. */
#define UP_23                                                                          \
    "srun: launching StepId=7.4 on host n1, 2 tasks: [0-1]\n"                          \
    "srun: launching StepId=7.4 on host n2, 2 tasks: [2-3]\n"                          \
    "srun: topology/default: init: topology Default plugin loaded\n"                   \
    "srun: Node n2, 2 tasks started\n"                                                 \
    "srun: Node n1, 2 tasks started\n"
#define TOLD_23(n, status)                                                             \
    "srun: Received task exit notification for " n " of StepId=7.4 (status=0x" status  \
    ").\n"
/* Messages that no version prints. */
#define GARBLED "xrxn: Qzqf 7.4 zf hzxt n1\nxrxn: wrrzr: n2: txxk 3: Kxllwd\n"

/* Recorded messages, srun's wait status, and the expected outcome. */
static const struct {
    int line;
    const char *says;
    int wait_status, started;
    struct launch_outcome expected;
} watch_rows[] = {
    {__LINE__,
     UP TOLD("2 tasks", "0000") DONE("n1", "tasks 0-1: Completed\n")
         TOLD("2 tasks", "0000") DONE("n2", "tasks 2-3: Completed\n"),
     0,
     4,
     {.failure = {.rank = -1}}},
    {__LINE__,
     UP TOLD("4 tasks",
             "4b00") "srun: error: n1: tasks 0-1: Exited with exit "
                     "code 75\n" TOLD("2 tasks",
                                      "4b00") "srun: error: n2: tasks 2-3: Exited with "
                                              "exit code 75\n",
     EXITED(75),
     4,
     {.stopped = true, .failure = {.rank = -1}}},
    {__LINE__,
     UP_23 TOLD_23("2 tasks", "0000") "srun: n1: tasks 0-1: Completed\n" TOLD_23(
         "2 tasks", "0000") "srun: n2: tasks 2-3: Completed\n",
     0,
     4,
     {.failure = {.rank = -1}}},
    {__LINE__,
     UP_23 TOLD_23("4 tasks",
                   "4b00") "srun: error: n1: tasks 0-1: Exited with exit code 75\n",
     EXITED(75),
     4,
     {.stopped = true, .failure = {.rank = -1}}},
    {__LINE__,
     UP_23 TOLD_23("1 task", "0009") "srun: error: n2: task 3: Killed\n",
     EXITED(137),
     4,
     {.failed = true, .failure = {.rank = 3, .host = "n2", .signal = SIGKILL}}},
    {__LINE__,
     UP_23 TOLD_23("1 task", "0300") "srun: error: n2: task 3: Exited with exit code "
                                     "3\n" TOLD_23("3 tasks",
                                                   "4b00") "srun: error: n[1-2]: tasks "
                                                           "0-2: Exited with exit code "
                                                           "75\n",
     EXITED(75),
     4,
     {.failed = true, .failure = {.rank = 3, .host = "n2", .exit_status = 3}}},
    /* a step that was cancelled as a whole, and how it differs from one that fails */
    {__LINE__,
     UP_23 "srun: Job step aborted: Waiting up to 32 seconds for job step to "
           "finish.\n" TOLD_23("4 tasks", "0009") "srun: n[1-2]: tasks 0-3: Killed\n",
     EXITED(137),
     4,
     {.failed = true,
      .failure = {.rank = -1,
                  .message =
                      "the step was ended as a whole: a worker aborted it, or it was "
                      "cancelled"}}},
    /* unknown messages: srun's status decides */
    {__LINE__, GARBLED, 0, 0, {.failure = {.rank = -1}}},
    {__LINE__, GARBLED, EXITED(75), 0, {.stopped = true, .failure = {.rank = -1}}},
    {__LINE__,
     "srun: launching StepId=7.4 on host n1, 4 tasks: [0-3]\n" GARBLED,
     EXITED(137),
     0,
     {.failed = true,
      .failure =
          {.rank = -1,
           .signal = SIGKILL,
           .message =
               "a worker was killed by signal 9 (Killed); srun ended with status 137: "
               "xrxn: wrrzr: n2: txxk 3: Kxllwd"}}},
    {__LINE__,
     "srun: launching StepId=7.4 on host n1, 4 tasks: [0-3]\n" GARBLED,
     EXITED(253),
     0,
     {.failed = true,
      .failure =
          {.rank = -1,
           .signal = SIGKILL,
           .cause = CAUSE_OOM,
           .message =
               "a worker was killed by signal 9 (Killed); srun ended with status 253: "
               "xrxn: wrrzr: n2: txxk 3: Kxllwd"}}},
    {__LINE__,
     "srun: launching StepId=7.4 on host n1, 4 tasks: [0-3]\n" GARBLED,
     EXITED(3),
     0,
     {.failed = true,
      .failure = {.rank = -1,
                  .exit_status = 3,
                  .message =
                      "srun ended with status 3: xrxn: wrrzr: n2: txxk 3: Kxllwd"}}},
    /* before we kill the step, a SIGKILL is more likely the cause than an exit
     * status */
    {__LINE__,
     UP TOLD(
         "1 task",
         "0300") "srun: error: n2: task 2: Exited with exit code "
                 "3\n" TOLD("1 task", "0009") "srun: error: n2: task 3: Killed\n" TOLD(
                     "2 tasks", "0009") "srun: error: n1: tasks 0-1: Killed\n",
     137,
     4,
     {.failed = true, .failure = {.rank = 3, .host = "n2", .signal = SIGKILL}}},
    {__LINE__,
     UP TOLD("1 task", "000b") "srun: error: n1: task 1: Segmentation fault\n" TOLD(
         "3 tasks", "0009") "srun: error: n1: task 0: Killed\n",
     EXITED(139),
     4,
     {.failed = true, .failure = {.rank = 1, .host = "n1", .signal = SIGSEGV}}},
    {__LINE__,
     UP TOLD("1 task", "008b") "srun: error: n1: task 1: Segmentation fault "
                               "(core dumped)\n",
     EXITED(139),
     4,
     {.failed = true, .failure = {.rank = 1, .host = "n1", .signal = SIGSEGV}}},
    /* without --verbose */
    {__LINE__,
     "srun: error: n2: task 3: Killed\n",
     EXITED(137),
     0,
     {.failed = true, .failure = {.rank = 3, .host = "n2", .signal = SIGKILL}}},
    {__LINE__,
     "srun: error: n2: tasks 2,3: Exited with exit code 17\n",
     EXITED(17),
     0,
     {.failed = true, .failure = {.rank = 2, .host = "n2", .exit_status = 17}}},
    {__LINE__,
     "srun: error: n1: task 0: Aborted (core dumped)\n",
     EXITED(134),
     0,
     {.failed = true, .failure = {.rank = 0, .host = "n1", .signal = SIGABRT}}},
    {__LINE__,
     "srun: launching StepId=7.4 on host n1, 4 tasks: [0-3]\n"
     "srun: error: n1: task 0: Something new\n",
     EXITED(1),
     0,
     {.failed = true,
      .failure = {.rank = 0,
                  .host = "n1",
                  .exit_status = 1,
                  .message = "srun: error: n1: task 0: Something new"}}},
    {__LINE__,
     "srun: error: n1: task 0: Something new\n",
     0,
     0,
     {.failure = {.rank = -1, .message = "srun: error: n1: task 0: Something new"}}},
    /* several nodes in one message: the plan has the node of the rank */
    {__LINE__,
     "srun: error: n[1-2]: tasks 2-3: Exited with exit code 4\n",
     EXITED(4),
     0,
     {.failed = true, .failure = {.rank = 2, .host = "n2", .exit_status = 4}}},
    {__LINE__,
     UP TOLD("1 task", "007d") "srun: error: n2: task 3: Out Of Memory\n",
     EXITED(137),
     4,
     {.failed = true,
      .failure = {.rank = 3, .host = "n2", .signal = SIGKILL, .cause = CAUSE_OOM}}},
    {__LINE__,
     UP "slurmstepd: error: Detected 1 oom_kill event in StepId=7.4. Some of the step "
        "tasks have been OOM Killed.\n" TOLD(
            "1 task", "0009") "srun: error: n2: task 3: Killed\n",
     EXITED(137),
     4,
     {.failed = true,
      .failure = {.rank = 3, .host = "n2", .signal = SIGKILL, .cause = CAUSE_OOM}}},
    /* a worker called abort: no rank is named */
    {__LINE__,
     UP "srun: Complete StepId=7.4+0 received\n"
        "srun: Job step aborted: Waiting up to 32 seconds for job step to "
        "finish.\n" TOLD("2 tasks", "0009") "srun: error: n1: tasks 0-1: Killed\n" TOLD(
            "2 tasks", "0009") "srun: error: n2: tasks 2-3: Killed\n",
     EXITED(137),
     4,
     {.failed = true,
      .failure = {.rank = -1,
                  .message =
                      "the step was ended as a whole: a worker aborted it, or it was "
                      "cancelled"}}},
    {__LINE__,
     UP "srun: error: Node failure on n2\nsrun: Job step aborted: Waiting\n",
     EXITED(1),
     4,
     {.failed = true,
      .lost = "n2",
      .failure = {.rank = -1,
                  .host = "n2",
                  .message = "srun: error: Node failure on n2"}}},
    /* a failed switch takes several nodes */
    {__LINE__,
     UP "srun: error: Node failure on n2\nsrun: error: Node failure on n1\n",
     EXITED(1),
     4,
     {.failed = true,
      .lost = "n2,n1",
      .failure =
          {.rank = -1,
           .host = "n2",
           .message =
               "srun: error: Node failure on n2\nsrun: error: Node failure on n1"}}},
    /* the step never started */
    {__LINE__,
     "srun: error: Unable to create step for job 9: Requested nodes are busy\n",
     EXITED(1),
     0,
     {.failed = true,
      .failure = {.never_started = true,
                  .rank = -1,
                  .message = "srun: error: Unable to create step for job 9: Requested "
                             "nodes are busy"}}},
    {__LINE__,
     "srun: unrecognized option '--bogus'\nTry \"srun --help\" for more "
     "information\n",
     EXITED(255),
     0,
     {.failed = true,
      .failure = {.never_started = true,
                  .rank = -1,
                  .message = "srun: unrecognized option '--bogus'"}}},
    {__LINE__,
     "srun: error: cannot find mpi plugin for mpi/nosuch\nsrun: error: Invalid "
     "MPI type 'nosuch', --mpi=list for acceptable types\n",
     EXITED(1),
     0,
     {.failed = true,
      .failure = {.never_started = true,
                  .rank = -1,
                  .message = "srun: error: cannot find mpi plugin for "
                             "mpi/nosuch\nsrun: error: Invalid "
                             "MPI type 'nosuch', --mpi=list for acceptable types"}}},
    {__LINE__,
     "something else\n",
     EXITED(1),
     0,
     {.failed = true,
      .failure = {.never_started = true,
                  .rank = -1,
                  .message = "srun ended with status 1: something else"}}},
    {__LINE__,
     "",
     SIGKILL,
     0,
     {.failed = true,
      .failure = {.never_started = true,
                  .rank = -1,
                  .message = "srun was killed by signal 9 (Killed)"}}},
    /* srun returns 0 for a task that could not open its log */
    {__LINE__,
     "srun: launching StepId=7.4 on host n2, 1 tasks: 3\nsrun: error: task 3 "
     "launch failed: Slurmd could not connect IO\n",
     0,
     0,
     {.failed = true,
      .failure =
          {.never_started = true,
           .rank = 3,
           .host = "n2",
           .message =
               "srun: error: task 3 launch failed: Slurmd could not connect IO"}}},
    {__LINE__,
     "srun: error: n1: task 0: Killed\nsrun: error: task 3 launch failed: Slurmd could "
     "not connect IO\nsrun: error: n1: task 1: Killed\n",
     0,
     0,
     {.failed = true,
      .failure =
          {.never_started = true,
           .rank = 3,
           .host = "n2",
           .message =
               "srun: error: task 3 launch failed: Slurmd could not connect IO"}}},
    {__LINE__,
     "srun: error: Task launch for StepId=7.4 failed on node n2: Communication "
     "connection failure\n",
     EXITED(1),
     0,
     {.failed = true,
      .lost = "n2",
      .failure = {.never_started = true,
                  .rank = -1,
                  .host = "n2",
                  .message = "srun: error: Task launch for StepId=7.4 failed on node "
                             "n2: Communication "
                             "connection failure"}}},
    /* half of the messages are missing: only the workers know whether they finished */
    {__LINE__,
     UP TOLD("2 tasks", "0000") DONE("n1", "tasks 0-1: Completed\n"),
     0,
     4,
     {.failure = {.rank = -1}}},
    /* malformed lines are ignored */
    {__LINE__,
     "srun: error: : task : \nsrun: error: n1: task 99999999999999999999: "
     "Killed\nsrun: error: n1: tasks -3: Killed\n(status=0x).\n\n\n",
     0,
     0,
     {.failure = {.rank = -1}}},
    /* srun exits with status 0 after a SIGTERM */
    {__LINE__, UP "srun: forcing job termination\n", 0, 4, {.failure = {.rank = -1}}},
    {__LINE__,
     UP "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n",
     0,
     4,
     {.failed = true,
      .failure = {.rank = -1,
                  .message =
                      "the step was ended as a whole: a worker aborted it, or it was "
                      "cancelled"}}},
};

static void watch_feed(struct step_watch *w, const char *says)
{
    char *copy = strdup(says), *rest = copy, *line;

    assert_non_null(copy);
    while ((line = strsep(&rest, "\n")))
        step_watch_line(w, line);
    free(copy);
}

static void messages_of_srun_are_understood(void **state)
{
    struct placed_node nodes[] = {N("n1", 2), N("n2", 2)};
    struct placement plan = {.workers = 4, .nodes = nodes, .n_nodes = 2};

    (void)state;
    for (size_t i = 0; i < COUNT(watch_rows); i++) {
        const struct launch_outcome *want = &watch_rows[i].expected;
        struct step_watch w;
        const struct launch_outcome *got = &w.outcome;

        step_watch_init(&w, 4);
        watch_feed(&w, watch_rows[i].says);
        step_watch_finish(&w, watch_rows[i].wait_status, &plan);
        if (got->failed != want->failed ||
            got->failure.never_started != want->failure.never_started ||
            got->failure.rank != want->failure.rank ||
            got->failure.signal != want->failure.signal ||
            got->failure.exit_status != want->failure.exit_status ||
            got->stopped != want->stopped ||
            strcmp(got->failure.host, want->failure.host) != 0 ||
            strcmp(got->lost, want->lost) != 0 ||
            got->failure.cause != want->failure.cause ||
            strcmp(got->failure.message, want->failure.message) != 0 ||
            w.started != watch_rows[i].started)
            fail_msg("line %d: failed %d never_started %d rank %d signal %d exit %d "
                     "stopped %d host '%s' started %d detail '%s'",
                     watch_rows[i].line, got->failed, got->failure.never_started,
                     got->failure.rank, got->failure.signal, got->failure.exit_status,
                     got->stopped, got->failure.host, w.started, got->failure.message);
    }
}

/* When we kill all tasks, a SIGKILL is not evidence any more; a crash still is. */
static void kills_by_the_launcher(void **state)
{
    struct step_watch w;

    (void)state;
    step_watch_init(&w, 4);
    step_watch_line(&w, "srun: error: n2: task 2: Exited with exit code 3");
    w.killing = true;
    step_watch_line(&w, "srun: error: n2: task 3: Killed");
    assert_int_equal(w.outcome.failure.rank, 2);
    assert_int_equal(w.outcome.failure.exit_status, 3);
    step_watch_line(&w, "srun: error: n1: task 1: Segmentation fault");
    assert_int_equal(w.outcome.failure.rank, 1);
    assert_int_equal(w.outcome.failure.signal, SIGSEGV);
}

static void step_number_and_waiting_are_recognised(void **state)
{
    struct step_watch w;

    (void)state;
    step_watch_init(&w, 2);
    step_watch_line(&w, "srun: Job 9 step creation temporarily disabled, retrying "
                        "(Requested nodes are busy)");
    assert_true(w.waiting);
    step_watch_line(&w, "srun: Step created for job 9");
    assert_false(w.waiting);
    assert_string_equal(w.step, "");
    step_watch_line(&w, "srun: launching StepId=9.12 on host n1, 2 tasks: [0-1]");
    assert_string_equal(w.step, "9.12");
    /* as in Slurm 23 */
    step_watch_line(&w, "srun: Node n1, 2 tasks started");
    assert_int_equal(w.started, 2);
}

/* srun lists them one by one, and truncates the list at 2 KiB. */
static void many_tasks_on_few_nodes(void **state)
{
    struct placed_node nodes[] = {N("n1", 576), N("n2", 576)};
    struct placement plan = {.workers = 1152, .nodes = nodes, .n_nodes = 2};
    struct step_watch w;
    char line[4096] = "srun: error: n2: tasks 1";

    (void)state;
    step_watch_init(&w, 1152);
    for (int task = 3; strlen(line) < 2040; task += 2)
        snprintf(line + strlen(line), sizeof line - strlen(line), ",%d", task);
    strcat(line, ": Exited with exit code 3");
    step_watch_line(&w, "srun: Received task exit notification for 576 tasks of "
                        "StepId=7.4 (status=0x0300).");
    step_watch_line(&w, line);
    assert_int_equal(w.ended, 576);
    step_watch_finish(&w, EXITED(3), &plan);
    assert_int_equal(w.outcome.failure.rank, 1);
    assert_int_equal(w.outcome.failure.exit_status, 3);
    assert_string_equal(w.outcome.failure.host, "n2");
}

static void long_messages_are_cut(void **state)
{
    struct step_watch w;
    char line[4000];

    (void)state;
    step_watch_init(&w, 2);
    for (int i = 0; i < 10; i++) {
        memset(line, 'a' + i, sizeof line);
        memcpy(line, "srun: error: ", 13);
        line[sizeof line - 1] = '\0';
        step_watch_line(&w, line);
    }
    memcpy(line, "srun: launching StepId=", 23);
    step_watch_line(&w, line);
    assert_int_equal(strlen(w.outcome.failure.message), 1023);
}

/* ---- Its plugins for MPI ---- */

#define LIST_20                                                                        \
    "srun: MPI types are...\nsrun: pmix\nsrun: pmix_v4\nsrun: none\nsrun: pmi2\n"
#define LIST_22                                                                        \
    "MPI plugin types are...\n\tpmix\n\tnone\n\tcray_shasta\n\tpmi2\n"                 \
    "specific pmix plugin versions available: pmix_v4\n"
#define LIST_26      "MPI plugin types are...\n\tnone\n\tcray_shasta\n\tpmi2\n"
#define LIST_VERSION "MPI plugin types are...\n\tnone\n\tpmix_v5\n"

/* The output of srun --mpi=list, the user's arguments, and the refusal. */
static const struct {
    const char *list, *args, *refusal;
} mpi_rows[] = {
    {LIST_20, NULL, NULL},
    {LIST_22, NULL, NULL},
    {LIST_20, "--mpi=pmix_v4", NULL},
    {LIST_22, "--overlap --mpi pmix_v4", NULL},
    {LIST_26, NULL, "has only: none, cray_shasta, pmi2."},
    {LIST_26, "--mpi=pmi2", "has only: none, cray_shasta, pmi2."},
    {LIST_26, "--mpi=of_the_site", NULL},
    {LIST_22, "--mpi=pmi2", "--mpi=pmi2 has no PMIx"},
    {LIST_22, "--mpi=none", "--mpi=none has no PMIx"},
    {LIST_22, "--mpi=pmi2 --mpi=pmix", NULL},
    {LIST_26, "--mpi=pmi2 --mpi=pmix_v4", "has only: none, cray_shasta, pmi2."},
    {LIST_22, "--mpi=pmix_v3", "Choose one for PMIx: --srun-args=--mpi=pmix_v4"},
    {LIST_VERSION, NULL, "Choose one for PMIx: --srun-args=--mpi=pmix_v5"},
    {LIST_22, "--mpi='", "--srun-args: "},
    /* an answer that is not understood */
    {"", NULL, NULL},
    {"srun: error: something quite different\n", NULL, NULL},
};

static void the_list_of_mpi_plugins_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mpi_rows); i++) {
        struct error err = {0};
        int rc = slurm_mpi_judge(mpi_rows[i].list, mpi_rows[i].args, &err);

        assert_int_equal(rc, mpi_rows[i].refusal ? -1 : 0);
        if (rc < 0 && !strstr(err.text, mpi_rows[i].refusal))
            fail_msg("row %zu: %s", i, err.text);
    }
}

/* ---- Output of scontrol ---- */

static void fields_of_scontrol_are_read(void **state)
{
    static const char text[] = "NodeName=n3 NodeAddr=10.0.0.3 NodeHostName=h\n"
                               " ReqNodeList=(null) NodeList=n[1-3] State=DOWN*+X ";
    char value[16];

    (void)state;
    assert_true(slurm_job_field(text, "NodeAddr", value, sizeof value));
    assert_string_equal(value, "10.0.0.3");
    assert_true(slurm_job_field(text, "NodeList", value, sizeof value));
    assert_string_equal(value, "n[1-3]");
    assert_true(slurm_job_field(text, "State", value, 5));
    assert_string_equal(value, "DOWN");
    assert_false(slurm_job_field(text, "Port", value, sizeof value));
    assert_false(slurm_job_field(text, "Name", value, sizeof value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_of_a_step_is_built),
        cmocka_unit_test(gpus_are_those_of_nodes),
        cmocka_unit_test(the_command_for_ten_thousand_nodes_is_short),
        cmocka_unit_test(a_short_list_needs_no_file),
        cmocka_unit_test(the_command_of_an_allocation_is_built),
        cmocka_unit_test(the_user_says_where_an_allocation_is_taken),
        cmocka_unit_test(variables_of_the_job_are_removed),
        cmocka_unit_test(a_worker_gets_its_number_of_threads),
        cmocka_unit_test(nodes_of_an_allocation_are_read),
        cmocka_unit_test(details_of_an_allocation_are_read),
        cmocka_unit_test(nodes_of_a_partition_are_read),
        cmocka_unit_test(messages_of_srun_are_understood),
        cmocka_unit_test(kills_by_the_launcher),
        cmocka_unit_test(step_number_and_waiting_are_recognised),
        cmocka_unit_test(many_tasks_on_few_nodes),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(the_list_of_mpi_plugins_is_read),
        cmocka_unit_test(fields_of_scontrol_are_read),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
