/*
 * launch_run.c - plan, start and watch a group of workers, for tests of the launchers.
 *
 *   launch_run [OPTION...] COMMAND [ARG...]
 *
 *   --launcher NAME   --workers N   --cpus N   --gpus N|0.N   --type T   --memory SIZE
 *   --placement PACK|SPREAD|STRICT_PACK|STRICT_SPREAD
 *   --logs DIR        where logs go ("logs")
 *   --srun-args ARGS
 *   --have NODES      place on these nodes ("NAME:CPUS[:GPUS[:TYPE[:MEMORY in GiB]]] ..."),
 *                     not on those that the launcher reports
 *   --plan            print the plan and stop
 *   --command         print the command and stop
 *   --allocate        request an allocation first
 *   --signal-when F   send the stop signal once the file F is there
 *   --kill-when F     kill the group
 *   --destroy-when F  destroy the group and stop
 *   --die-when F      raise SIGKILL
 *
 * Prints "plan NODE*TASKS...", and at the end a line with the outcome and one with its
 * detail. Exit status: 0 or 75 as the workers, 1 failed, others as raytrain-run.
 */
#include "config.h"

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launcher.h"
#include "protocol/worker_env.h"
#include "util/argv.h"
#include "util/child.h"
#include "util/fs.h"
#include "util/size.h"

struct request {
    const char *launcher, *logs, *srun_args, *signal_when, *kill_when, *destroy_when;
    const char *die_when, *have;
    bool plan, command, allocate;
    struct scaling_config scaling;
    char **argv;
};

static const struct option options[] = {
    {"launcher", 1, NULL, 'l'},     {"workers", 1, NULL, 'n'},
    {"cpus", 1, NULL, 'c'},         {"gpus", 1, NULL, 'g'},
    {"type", 1, NULL, 't'},         {"memory", 1, NULL, 'm'},
    {"placement", 1, NULL, 'p'},    {"logs", 1, NULL, 'L'},
    {"srun-args", 1, NULL, 'a'},    {"plan", 0, NULL, 'P'},
    {"command", 0, NULL, 'C'},      {"allocate", 0, NULL, 'A'},
    {"signal-when", 1, NULL, 's'},  {"kill-when", 1, NULL, 'k'},
    {"destroy-when", 1, NULL, 'd'}, {"die-when", 1, NULL, 'D'},
    {"have", 1, NULL, 'H'},         {NULL, 0, NULL, 0},
};

static int complain(const struct error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return error_exit_status(err->code);
}

static enum placement_strategy strategy_parse(const char *text)
{
    static const char *const names[] = {
        [PLACEMENT_PACK] = "PACK",
        [PLACEMENT_SPREAD] = "SPREAD",
        [PLACEMENT_STRICT_PACK] = "STRICT_PACK",
        [PLACEMENT_STRICT_SPREAD] = "STRICT_SPREAD",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum placement_strategy)i;
    exit(2);
}

static void request_parse(int argc, char *argv[], struct request *r)
{
    struct scaling_config *s = &r->scaling;
    int c;

    *r = (struct request){.launcher = "slurm", .logs = "logs"};
    s->num_workers = s->cpus_per_worker = 1;
    while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1)
        switch (c) {
        case 'l':
            r->launcher = optarg;
            break;
        case 'n':
            s->num_workers = atoi(optarg);
            break;
        case 'c':
            s->cpus_per_worker = atoi(optarg);
            break;
        case 'g':
            s->gpus_per_worker = strchr(optarg, '.') ? 1 : atoi(optarg);
            s->gpu_parts =
                strchr(optarg, '.') ? (int)(atof(optarg) * GPU_PARTS + .5) : 0;
            break;
        case 't':
            s->accelerator_type = optarg;
            break;
        case 'm':
            if (size_parse(optarg, &s->memory_per_worker, NULL) < 0)
                exit(2);
            break;
        case 'p':
            s->placement_strategy = strategy_parse(optarg);
            break;
        case 'L':
            r->logs = optarg;
            break;
        case 'a':
            r->srun_args = optarg;
            break;
        case 'P':
            r->plan = true;
            break;
        case 'C':
            r->command = true;
            break;
        case 'A':
            r->allocate = true;
            break;
        case 's':
            r->signal_when = optarg;
            break;
        case 'k':
            r->kill_when = optarg;
            break;
        case 'd':
            r->destroy_when = optarg;
            break;
        case 'D':
            r->die_when = optarg;
            break;
        case 'H':
            r->have = optarg;
            break;
        default:
            exit(2);
        }
    s->max_workers = s->num_workers;
    s->use_gpu = s->gpus_per_worker > 0;
    r->argv = argv + optind;
    if (!*r->argv)
        exit(2);
}

static char *field_copy(const char *field)
{
    return field && *field ? strdup(field) : NULL;
}

static void have_parse(const char *text, struct resources *have)
{
    char *copy = strdup(text), *rest = copy, *word;

    have->what = "the test";
    have->nodes = calloc(strlen(text) + 1, sizeof *have->nodes);
    if (!copy || !have->nodes)
        exit(1);
    while ((word = strsep(&rest, " "))) {
        struct node_resources *n = &have->nodes[have->n_nodes++];
        const char *name = strsep(&word, ":"), *cpus = strsep(&word, ":");
        const char *gpus = strsep(&word, ":"), *type = strsep(&word, ":");

        n->name = field_copy(name);
        n->cpus = cpus ? atoi(cpus) : 0;
        n->gpus = gpus ? atoi(gpus) : 0;
        n->gpu_type = field_copy(type);
        n->memory = word ? (uint64_t)atoi(word) << 30 : 0;
    }
    free(copy);
}

static void plan_print(const struct placement *plan)
{
    printf("plan");
    for (size_t i = 0; i < plan->n_nodes; i++)
        printf(" %s*%d", plan->nodes[i].name, plan->nodes[i].tasks);
    printf("\n");
    fflush(stdout);
}

static int command_print(const struct launcher_ops *ops, const struct launch_spec *spec)
{
    struct error err;
    char **argv = NULL, *text = NULL;
    int rc = ops->command(spec, &argv, &err);

    if (rc == 0 && (rc = argv_join(argv, &text, &err)) == 0)
        printf("%s\n", text);
    argv_free(argv);
    free(text);
    return rc < 0 ? complain(&err) : 0;
}

static bool is_due(const char **file)
{
    if (!*file || access(*file, F_OK) < 0)
        return false;
    *file = NULL;
    return true;
}

static int outcome_print(const struct launch_outcome *o)
{
    printf("outcome failed=%d launch_failed=%d rank=%d host=%s exit=%d signal=%d "
           "stopped=%d\n",
           o->failed, o->failure.never_started, o->failure.rank, o->failure.host,
           o->failure.exit_status, o->failure.signal, o->stopped);
    if (o->failure.message[0])
        printf("detail %s\n", o->failure.message);
    return o->failed ? 1 : o->stopped ? 75 : 0;
}

static int group_run(const struct launcher_ops *ops, const struct launch_spec *spec,
                     struct request *r)
{
    struct launch_outcome outcome;
    struct group *g;
    struct error err;
    bool done = false;

    if (ops->start(spec, &g, &err) < 0)
        return complain(&err);
    while (!done) {
        struct pollfd p = {.fd = ops->fd(g), .events = POLLIN};

        poll(&p, 1, 20);
        if (ops->advance(g, &done, &outcome, &err) < 0 ||
            (is_due(&r->signal_when) && ops->signal(g, WORKER_STOP_SIGNAL, &err) < 0) ||
            (is_due(&r->kill_when) && ops->kill(g, &err) < 0)) {
            ops->destroy(g);
            return complain(&err);
        }
        if (is_due(&r->die_when))
            raise(SIGKILL);
        if (is_due(&r->destroy_when)) {
            ops->destroy(g);
            printf("destroyed\n");
            return 0;
        }
    }
    ops->destroy(g);
    return outcome_print(&outcome);
}

static int request_run(const struct launcher_ops *ops, struct request *r)
{
    struct resources have = {0};
    struct placement plan = {0};
    struct error err;
    char *logs = NULL;
    int status;

    if (r->have)
        have_parse(r->have, &have);
    else if (ops->resources(&r->scaling, &have, &err) < 0)
        return complain(&err);
    if (placement_plan(&r->scaling, &have, &plan, &err) < 0) {
        resources_clear(&have);
        return complain(&err);
    }
    plan_print(&plan);
    if (r->plan) {
        status = 0;
    } else if (fs_mkdirs(r->logs, 0700, &err) < 0) {
        status = complain(&err);
    } else if (!(logs = realpath(r->logs, NULL))) {
        status = 1;
    } else {
        struct launch_spec spec = {.plan = &plan,
                                   .argv = r->argv,
                                   .log_dir = logs,
                                   .job_name = "launch_run",
                                   .srun_args = r->srun_args,
                                   .scaling = &r->scaling};

        status = r->command ? command_print(ops, &spec) : group_run(ops, &spec, r);
    }
    free(logs);
    placement_clear(&plan);
    resources_clear(&have);
    return status;
}

/* The workers do not connect to each other, so a Slurm without PMIx can start them. */
static int pmix_spare(const struct launcher_ops *ops, struct request *r,
                      struct error *err)
{
    static char args[1024];

    if (launcher_check(ops, r->srun_args, err) == 0)
        return 0;
    if (snprintf(args, sizeof args, "%s --mpi=none",
                 r->srun_args ? r->srun_args : "") >= (int)sizeof args)
        return error_set(err, RAYTRAIN_EINVAL, "--srun-args is too long");
    r->srun_args = args;
    return 0;
}

int main(int argc, char *argv[])
{
    const struct launcher_ops *ops;
    struct child salloc = CHILD_INIT;
    struct request r;
    struct error err;
    struct allocation_request allocation = {
        .scaling = &r.scaling, .name = "launch_run", .command = argv};
    int status;

    request_parse(argc, argv, &r);
    if (launcher_find(r.launcher, &ops, &err) < 0 || pmix_spare(ops, &r, &err) < 0 ||
        (r.allocate && launcher_slurm.allocate(&allocation, &salloc, &err) < 0))
        return complain(&err);
    if (salloc.pid > 0) {
        if (child_wait(&salloc, &status, &err) < 0)
            return complain(&err);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return request_run(ops, &r);
}
