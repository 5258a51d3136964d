/*
 * step_command.c - one step of an allocation as a command line.
 *
 * Every option that shapes the step is explicit, and the variables that an enclosing
 * sbatch, salloc or srun has set are removed: each of them exports its own options as
 * variables, which srun would then apply. (SLURM_GPUS_PER_NODE alone gives every worker
 * all GPUs, whatever --gpus-per-task says.)
 */
#include "config.h"

#include "slurm/step_command.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run_dir.h"
#include "show/tee.h"
#include "slurm/mpi_plugins.h"
#include "util/argv.h"
#include "util/hostlist.h"
#include "util/installed.h"
#include "util/quote.h"

#define MIB           (1024ull * 1024)
#define NODE_LIST_ARG_MAX 8192 /* bytes; a longer list of nodes is put into a file */

/* ---- Environment ---- */

/* Variables with these prefixes are removed ... */
static const char *const step_env_cleared[] = {
    "SLURM_",  /* options and facts of the job and of an enclosing step */
    "SRUN_",   /* SRUN_CPUS_PER_TASK, SRUN_DEBUG, ... : options of srun */
    "SBATCH_", /* options of sbatch that a user exports */
    "SALLOC_", /* and of salloc */
    "PMIX_",   /* the PMIx namespace of an enclosing step */
    "PMI_",    /* and its interface to MPI libraries */
};

/* ... except these: a name, or with a trailing '_' a prefix. */
static const char *const step_env_kept[] = {
    "SLURM_CONF",            /* where the controller is */
    "SLURM_CONF_SERVER",     /* the same, as a host to ask */
    "SLURM_CLUSTERS",        /* which cluster, if there are several */
    "SLURM_CLUSTER_NAME",    /* for programs */
    "SLURM_WORKING_CLUSTER", /* the cluster of this allocation */
    "SLURM_JWT",             /* authentication */
    "SLURM_JOB_ID",          /* the allocation */
    "SLURM_JOBID",           /* its older name */
    "SLURM_JOB_USER",        /* facts about the job, not options of a step */
    "SLURM_JOB_UID",
    "SLURM_JOB_GID",
    "SLURM_JOB_GROUP",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_QOS",
    "SLURM_JOB_RESERVATION",
    "SLURM_JOB_START_TIME",
    "SLURM_JOB_END_TIME",
    "SLURM_JOB_NODELIST",
    "SLURM_ARRAY_",           /* which task of a job array */
    "SLURM_RESTART_COUNT",    /* how often the job was requeued */
    "SLURM_SUBMIT_",          /* where it was submitted */
    "SLURM_PMIX_",            /* a site's tuning of the wireup */
    "PMIX_MCA_",              /* a user's, in all PMIx libraries */
    "SLURM_SPANK_",           /* options of a site's plugins */
    "SLURM_HINT",             /* which hardware threads are used: set for the job, */
    "SLURM_THREADS_PER_CORE", /* whose CPUs are counted accordingly */
    "SLURM_UMASK",            /* of the user */
    "SLURM_PRIO_PROCESS",
    "SLURM_TIME_FORMAT", /* of the output of squeue and others */
};

static bool name_listed(const char *name, const char *const *list, size_t n)
{
    size_t length = strcspn(name, "=");

    for (size_t i = 0; i < n; i++) {
        size_t m = strlen(list[i]);
        bool family = list[i][m - 1] == '_';

        if (length >= m && strncmp(name, list[i], m) == 0 && (family || length == m))
            return true;
    }
    return false;
}

static bool step_entry_stays(const char *entry)
{
    return !name_listed(entry, step_env_cleared,
                        sizeof step_env_cleared / sizeof *step_env_cleared) ||
           name_listed(entry, step_env_kept,
                       sizeof step_env_kept / sizeof *step_env_kept);
}

int slurm_step_env(char *const *env, int cpus_per_worker, char ***out,
                   struct error *err)
{
    static const char threads[] = "OMP_NUM_THREADS=";
    char **copy = NULL;
    bool threads_set = false;
    int rc = 0;

    for (size_t i = 0; rc == 0 && env[i]; i++) {
        threads_set = threads_set || strncmp(env[i], threads, sizeof threads - 1) == 0;
        if (step_entry_stays(env[i]))
            rc = argv_append(&copy, env[i], err);
    }
    if (rc == 0 && !threads_set)
        rc = argv_appendf(&copy, err, "%s%d", threads, cpus_per_worker);
    if (rc < 0)
        argv_free(copy);
    else
        *out = copy;
    return rc;
}

/* ---- A step ---- */

static bool plan_is_even(const struct placement *plan)
{
    for (size_t i = 1; i < plan->n_nodes; i++)
        if (plan->nodes[i].tasks != plan->nodes[0].tasks)
            return false;
    return true;
}

/* "n[1-4]" */
static int node_list_short(const struct placement *plan, char **list, struct error *err)
{
    char **names = calloc(plan->n_nodes + 1, sizeof *names);
    int rc;

    if (!names)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    for (size_t i = 0; i < plan->n_nodes; i++)
        names[i] = plan->nodes[i].name;
    rc = hostlist_compress(names, plan->n_nodes, list, err);
    free(names);
    return rc;
}

/* One entry per node, with this separator: "n1,n2", or with counts "n1*3,n2*2". */
static int node_list_write(const struct placement *plan, bool counts, char between,
                           char **list, struct error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool bad;

    if (!out)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    for (size_t i = 0; i < plan->n_nodes; i++) {
        if (i > 0)
            fputc(between, out);
        fputs(plan->nodes[i].name, out);
        if (counts)
            fprintf(out, "*%d", plan->nodes[i].tasks);
    }
    bad = ferror(out);
    if (fclose(out) != 0 || bad) {
        free(text);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    }
    *list = text;
    return 0;
}

/* "n1,n1,n1,n2": each name once per worker */
static int node_list_long(const struct placement *plan, char **list, struct error *err)
{
    struct placed_node *nodes = calloc((size_t)plan->workers + 1, sizeof *nodes);
    struct placement each = {.nodes = nodes};
    int rc;

    if (!nodes)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    for (size_t i = 0; i < plan->n_nodes; i++)
        for (int k = 0; k < plan->nodes[i].tasks; k++)
            nodes[each.n_nodes++].name = plan->nodes[i].name;
    rc = node_list_write(&each, false, ',', list, err);
    free(nodes);
    return rc;
}

static int node_list(const struct placement *plan, char **list, struct error *err)
{
    return plan_is_even(plan) ? node_list_short(plan, list, err)
                              : node_list_long(plan, list, err);
}

int slurm_step_hosts(const struct placement *plan, char **hosts, struct error *err)
{
    char *list;
    int rc = 0;

    *hosts = NULL;
    if (node_list(plan, &list, err) < 0)
        return -1;
    if (strlen(list) > NODE_LIST_ARG_MAX)
        rc = node_list_write(plan, !plan_is_even(plan), '\n', hosts, err);
    free(list);
    return rc;
}

static int append_nodes(const struct launch_spec *spec, char ***argv, struct error *err)
{
    char *list;
    int rc;

    if (node_list(spec->plan, &list, err) < 0)
        return -1;
    if (strlen(list) > NODE_LIST_ARG_MAX)
        rc = argv_appendf(argv, err, "--nodelist=%s/" SLURM_STEP_HOSTS, spec->log_dir);
    else
        rc = argv_appendf(argv, err, "--nodelist=%s", list);
    free(list);
    return rc;
}

/*
 * The placement of ranks on nodes. Slurm's block distribution distributes workers
 * evenly (5 on 2 nodes as 3 and 2, even if the plan is 4 and 1), so for an uneven plan,
 * the list has one entry per worker, and is used as it is ("arbitrary"). It implies the
 * number of nodes: from 23.11 on, Slurm refuses --nodes as well.
 */
static int append_layout(const struct launch_spec *spec, char ***argv,
                         struct error *err)
{
    const struct placement *plan = spec->plan;
    bool even = plan_is_even(plan);

    if (argv_appendf(argv, err, "--ntasks=%d", plan->workers) < 0 ||
        (even && argv_appendf(argv, err, "--nodes=%zu", plan->n_nodes) < 0) ||
        append_nodes(spec, argv, err) < 0)
        return -1;
    if (!even)
        return argv_append(argv, "--distribution=arbitrary", err);
    return argv_appendf(argv, err, "--ntasks-per-node=%d", plan->nodes[0].tasks) < 0
               ? -1
               : argv_append(argv, "--distribution=block", err);
}

static int append_gpus(const struct scaling_config *s, int gpus, const char *option,
                       char ***argv, struct error *err)
{
    const char *type = s && s->accelerator_type ? s->accelerator_type : "";

    return argv_appendf(argv, err, "%s=%s%s%d", option, type, *type ? ":" : "", gpus);
}

static int most_tasks(const struct placement *plan)
{
    int most = 0;

    for (size_t i = 0; i < plan->n_nodes; i++)
        if (plan->nodes[i].tasks > most)
            most = plan->nodes[i].tasks;
    return most;
}

/* The GPUs of a node, from which each worker takes its own (rank/gpu_share.h). If Slurm
 * assigned GPUs to tasks, it would bind them: where it keeps tasks from opening the
 * devices of others, NCCL then cannot copy from GPU to GPU. Slurm gives every node of a
 * step the same number. If a node of an uneven plan has fewer, the step takes all GPUs
 * of the job. */
static int append_node_gpus(const struct launch_spec *spec, char ***argv,
                            struct error *err)
{
    const struct placement *plan = spec->plan;
    int most = most_tasks(plan), gpus = placement_gpus(plan, most);

    if (plan->slices.only)
        return argv_appendf(argv, err, "--gres=%s:%d", plan->slices.name,
                            placement_slices(plan, most));
    for (size_t i = 0; i < plan->n_nodes; i++)
        if (plan->nodes[i].tasks < most && plan->nodes[i].gpus < gpus)
            return 0;
    return append_gpus(spec->scaling, gpus, "--gpus-per-node", argv, err);
}

/* The resources of each worker. Without --exact a step takes whole nodes; without
 * --mem=0 or --gres=none it takes all memory or GPUs of the job, and a second step
 * would wait. */
static int append_resources(const struct launch_spec *spec, char ***argv,
                            struct error *err)
{
    const struct placement *plan = spec->plan;
    int cpus = plan->cpus_per_worker > 0 ? plan->cpus_per_worker : 1;
    uint64_t per_cpu = (plan->memory_per_worker + MIB * cpus - 1) / (MIB * cpus);

    if ((spec->overlap && argv_append(argv, "--overlap", err) < 0) ||
        argv_append(argv, "--exact", err) < 0 ||
        argv_appendf(argv, err, "--cpus-per-task=%d", cpus) < 0)
        return -1;
    if (plan->memory_per_worker > 0 ? argv_appendf(argv, err, "--mem-per-cpu=%lluM",
                                                   (unsigned long long)per_cpu) < 0
                                    : argv_append(argv, "--mem=0", err) < 0)
        return -1;
    if (plan->gpus_per_worker <= 0)
        return argv_append(argv, "--gres=none", err);
    return append_node_gpus(spec, argv, err);
}

int slurm_append_file(const struct slurm_file *file, char ***argv, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX], *text, *to;
    int rc;

    if (strchr(file->dir, '\\'))
        return error_set(err, RAYTRAIN_EINVAL,
                         "Slurm cannot write to a path with a backslash: %s.\n%s",
                         quote(file->dir, quoted), file->advice);
    if (!(to = text = malloc(2 * strlen(file->dir) + 1)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a command");
    for (const char *p = file->dir; *p; p++) {
        if (*p == '%')
            *to++ = '%';
        *to++ = *p;
    }
    *to = '\0';
    rc = argv_appendf(argv, err, "%s=%s/%s", file->option, text, file->name);
    free(text);
    return rc;
}

#define OTHER_RUN "Give the run another --name or --storage"

/* srun passes a literal '%' to slurmstepd, doubled if %t, %n, %N or %u would follow. It
 * doubles it once more after a '%' before another letter, and drops it before a width
 * (20.11 to 24.11). */
static bool is_beyond_srun(const char *dir)
{
    bool other = false;

    for (const char *p = strchr(dir, '%'); p; p = strchr(p + 1, '%')) {
        size_t digits = strspn(p + 1, "0123456789");
        char letter = p[1 + digits];

        if (letter && strchr("tnNu", letter) && (other || digits > 0))
            return true;
        other = other || (letter && !strchr("%tnNu", letter));
    }
    return false;
}

static int step_log_append(const char *option, const char *name,
                           const struct launch_spec *spec, char ***argv,
                           struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (is_beyond_srun(spec->log_dir))
        return error_set(err, RAYTRAIN_EINVAL,
                         "srun does not find the directory of the logs, whose path has "
                         "\"%%\" before a letter: %s.\n" OTHER_RUN,
                         quote(spec->log_dir, quoted));
    return slurm_append_file(
        &(struct slurm_file){
            .option = option, .dir = spec->log_dir, .name = name, .advice = OTHER_RUN},
        argv, err);
}

/* If output is shown, srun's output carries it to this process, and each worker opens
 * its log itself. The tasks of a group that is kept read orders from srun's input. */
static int append_files(const struct launch_spec *spec, char ***argv, struct error *err)
{
    bool each = spec->plan->workers <= RUN_DIR_RANK_LOGS_MAX;

    if (!spec->keep && argv_append(argv, "--input=/dev/null", err) < 0)
        return -1;
    if (!spec->show &&
        step_log_append("--output", each ? "rank-%5t.out" : "node-%N.out", spec, argv,
                        err) < 0)
        return -1;
    return step_log_append("--error", each ? "rank-%5t.err" : "node-%N.err", spec, argv,
                           err);
}

/*
 * Fixed options. --verbose: srun reports the id of the step, which tasks have started
 * and how each ended (srun_messages.h). --kill-on-bad-exit=0: to Slurm a worker that
 * stopped on request (75) has failed; the launcher knows better, and kills the others
 * itself when one has failed. --wait=0: one worker may end long before the others.
 */
static const char *const step_words[] = {
    "srun",         SLURM_MPI_OPTION, "--verbose", "--kill-on-bad-exit=0",
    "--export=ALL", "--wait=0",
};

/* Is it this long option of srun, perhaps abbreviated to `least` bytes? */
static bool names_option(const char *arg, const char *option, size_t least)
{
    size_t n = strcspn(arg, "=");

    return n >= least && n <= strlen(option) && strncmp(arg, option, n) == 0;
}

bool slurm_step_takes_input(const char *srun_args)
{
    char **args = NULL;
    bool found = false;

    if (!srun_args || argv_split(srun_args, &args, NULL) < 0)
        return false;
    for (size_t i = 0; args && args[i] && !found; i++)
        found = names_option(args[i], "--input", strlen("--inp")) ||
                names_option(args[i], "--pty", strlen("--pt")) ||
                strncmp(args[i], "-i", 2) == 0;
    argv_free(args);
    return found;
}

/* pyxis would put the task itself, raytrain-worker, into an image. */
static int image_refuse(char *const *args, struct error *err)
{
    for (; *args; args++)
        if (strncmp(*args, "--container-image", strlen("--container-image")) == 0)
            return error_set(err, RAYTRAIN_EUSAGE,
                             "%.200s would put raytrain-worker into the image, which "
                             "has neither its libraries nor the PMIx of this node.\n"
                             "Leave it out, and let each worker start a container: "
                             "raytrain-run ... -- enroot start IMAGE COMMAND, or "
                             "apptainer exec (raytrain(7), CONTAINERS)",
                             *args);
    return 0;
}

static int append_srun_args(const char *text, char ***argv, struct error *err)
{
    size_t before = argv_count(*argv);

    if (!text)
        return 0;
    if (argv_split(text, argv, err) < 0 || image_refuse(*argv + before, err) < 0)
        return error_prefix(err, "--srun-args");
    return 0;
}

/* raytrain-task starts the rest of the command, once for each attempt. */
static int append_task(char ***argv, struct error *err)
{
    char program[PATH_MAX];

    if (installed_program("raytrain-task", program, sizeof program, err) < 0)
        return -1;
    return argv_append(argv, program, err);
}

static int append_worker(const struct launch_spec *spec, char ***argv,
                         struct error *err)
{
    char **shown = NULL;
    int rc;

    if (spec->keep && append_task(argv, err) < 0)
        return -1;
    if (!spec->show)
        return argv_append_all(argv, spec->argv, err);
    rc = tee_command(spec->show, spec->plan->workers, "",
                     spec->keep ? "" : spec->log_dir, spec->argv, &shown, err);
    if (rc == 0)
        rc = argv_append_all(argv, shown, err);
    argv_free(shown);
    return rc;
}

int slurm_step_argv(const struct launch_spec *spec, char ***argv, struct error *err)
{
    char **v = NULL;
    size_t n = sizeof step_words / sizeof *step_words;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = argv_append(&v, step_words[i], err);
    if (rc < 0 || argv_appendf(&v, err, "--immediate=%d", SLURM_STEP_WAIT_S) < 0 ||
        argv_appendf(&v, err, "--job-name=%s", spec->job_name) < 0 ||
        append_layout(spec, &v, err) < 0 || append_resources(spec, &v, err) < 0 ||
        append_files(spec, &v, err) < 0 ||
        append_srun_args(spec->srun_args, &v, err) < 0 ||
        append_worker(spec, &v, err) < 0)
        goto fail;
    *argv = v;
    return 0;
fail:
    argv_free(v);
    return -1;
}

/* ---- An allocation ---- */

static const char *const strategy_words[] = {
    [PLACEMENT_PACK] = "--use-min-nodes",
    [PLACEMENT_SPREAD] = "--spread-job",
    [PLACEMENT_STRICT_PACK] = "--nodes=1",
    [PLACEMENT_STRICT_SPREAD] = "--ntasks-per-node=1",
};

/* The nodes of a plan, and the number of workers per node if that is the same on
 * all. */
static int append_nodes_of(const struct placement *fits, char ***argv,
                           struct error *err)
{
    if (argv_appendf(argv, err, "--nodes=%zu", fits->n_nodes) < 0)
        return -1;
    return plan_is_even(fits)
               ? argv_appendf(argv, err, "--ntasks-per-node=%d", fits->nodes[0].tasks)
               : 0;
}

/* A spare node needs room for as many workers as the other nodes. */
static int append_size(const struct scaling_config *s, const struct placement *fits,
                       char ***argv, struct error *err)
{
    int most = scaling_config_is_elastic(s) ? s->max_workers : s->num_workers;

    if (s->spare_nodes > 0 && fits)
        return argv_appendf(argv, err, "--nodes=%zu",
                            fits->n_nodes + (size_t)s->spare_nodes) < 0
                   ? -1
                   : argv_appendf(argv, err, "--ntasks-per-node=%d", most_tasks(fits));
    if (argv_appendf(argv, err, "--ntasks=%d", fits ? fits->workers : most) < 0)
        return -1;
    if (fits && s->gpu_parts > 0)
        return append_nodes_of(fits, argv, err);
    return argv_append(argv, strategy_words[s->placement_strategy], err);
}

/* Parts of GPUs. Slices are requested if one GPU per node is enough, since by default
 * Slurm gives a job slices of only one; else whole GPUs, which the workers share. If
 * the nodes are unknown, so is the number of workers on each. */
static int append_parts(const struct scaling_config *s, const struct placement *fits,
                        char ***argv, struct error *err)
{
    int k = scaling_config_workers_per_gpu(s);
    int most = scaling_config_is_elastic(s) ? s->max_workers : s->num_workers;

    if (fits && fits->slices.each > 0 && !s->accelerator_type && most_tasks(fits) <= k)
        return argv_appendf(argv, err, "--gres=%s:%d", fits->slices.name,
                            placement_slices(fits, most_tasks(fits)));
    if (fits)
        return append_gpus(s, placement_gpus(fits, most_tasks(fits)), "--gpus-per-node",
                           argv, err);
    if (s->placement_strategy == PLACEMENT_PACK ||
        s->placement_strategy == PLACEMENT_STRICT_PACK)
        return append_gpus(s, (most + k - 1) / k, "--gpus", argv, err);
    return append_gpus(s, 1, "--gpus-per-task", argv, err);
}

int slurm_needs_argv(const struct scaling_config *s, const struct placement *fits,
                     char ***argv, struct error *err)
{
    int cpus = s->cpus_per_worker > 0 ? s->cpus_per_worker : 1;
    uint64_t per_cpu = (s->memory_per_worker + MIB * cpus - 1) / (MIB * cpus);

    if (append_size(s, fits, argv, err) < 0 ||
        argv_appendf(argv, err, "--cpus-per-task=%d", cpus) < 0 ||
        (s->memory_per_worker > 0 && argv_appendf(argv, err, "--mem-per-cpu=%lluM",
                                                  (unsigned long long)per_cpu) < 0))
        return -1;
    if (s->gpu_parts > 0)
        return append_parts(s, fits, argv, err);
    return s->gpus_per_worker > 0
               ? append_gpus(s, s->gpus_per_worker, "--gpus-per-task", argv, err)
               : 0;
}

int slurm_given_argv(const struct submit_options *given, char ***argv,
                     struct error *err)
{
    const struct {
        const char *option, *value;
    } rows[] = {{"time", given->time},
                {"partition", given->partition},
                {"account", given->account},
                {"qos", given->qos}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value &&
            argv_appendf(argv, err, "--%s=%s", rows[i].option, rows[i].value) < 0)
            return -1;
    return 0;
}

/* --no-kill: the allocation survives the loss of a node, so that a restart can use the
 * others. */
int slurm_allocate_argv(const struct allocation_request *request,
                        const struct placement *fits, char ***argv, struct error *err)
{
    char **v = NULL;

    if (argv_append(&v, "salloc", err) < 0 || argv_append(&v, "--no-kill", err) < 0 ||
        argv_append(&v, "--kill-command=TERM", err) < 0 ||
        argv_appendf(&v, err, "--job-name=%s", request->name) < 0 ||
        slurm_needs_argv(request->scaling, fits, &v, err) < 0 ||
        (request->options && slurm_given_argv(request->options, &v, err) < 0) ||
        argv_append_all(&v, request->command, err) < 0) {
        argv_free(v);
        return -1;
    }
    *argv = v;
    return 0;
}
