/*
 * salloc.c - take an allocation, and run the same command in it.
 *
 * There are three processes: the command that the user typed, which waits; its child
 * salloc; and salloc's child, the command again. Each dies with its parent. salloc
 * releases the allocation when the command ends. If salloc is killed, the keeper, a
 * process that outlives all three, cancels the job.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/time_margin.h"
#include "slurm/salloc.h"
#include "slurm/cluster_fit.h"
#include "slurm/resources.h"
#include "slurm/slurm_tool.h"
#include "slurm/step_command.h"
#include "util/argv.h"
#include "util/descriptors.h"
#include "util/process.h"
#include "util/time_limit.h"

extern char **environ;

/* In salloc's environment: the pid of the process that started it. */
#define ALLOCATED_BY "RAYTRAIN_ALLOCATED_BY"

static bool inside_allocation(void)
{
    const char *id = getenv("SLURM_JOB_ID"), *nodes = getenv("SLURM_JOB_NODELIST");

    return id && *id && nodes && *nodes;
}

/* 0: the process does not exist. */
static pid_t parent_of(pid_t pid)
{
    char path[64], text[512];
    const char *name_end;
    int parent = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    f = fopen(path, "re");
    if (!f)
        return 0;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    name_end = strrchr(text, ')'); /* the name may contain any text */
    if (!name_end || sscanf(name_end + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

/* Is this the command that salloc was started to run, rather than one of its children?
 * Then its parent is salloc, which is alive. The mark is not passed on. */
static bool is_allocated_by(const char *by)
{
    pid_t starter = by ? (pid_t)atol(by) : 0, pid = getppid();

    unsetenv(ALLOCATED_BY);
    while (pid > 1 && pid != starter)
        pid = parent_of(pid);
    return starter > 1 && pid == starter;
}

/* Close all descriptors in the keeper except two (-1: none), since the reader of a pipe
 * would wait for it. */
static void close_all_but(int a, int b)
{
    int null = open("/dev/null", O_RDWR), low = a < b ? a : b, high = a < b ? b : a;

    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    if (low < 3)
        low = 2;
    if (high < low)
        high = low;
    (void)descriptors_close(3, low - 1);
    (void)descriptors_close(low + 1, high - 1);
    (void)descriptors_close(high + 1, -1);
}

static void scancel_run(const char *option, const char *job)
{
    pid_t pid = fork();
    char **env = NULL;

    if (pid == 0) {
        if (slurm_tool_env(&env, NULL) == 0)
            environ = env;
        execlp("scancel", "scancel", "--quiet", option, job, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Memory shared with the keeper; NULL: none. */
static struct {
    volatile bool workers_finish;
} *shared;

void slurm_salloc_let_finish(void)
{
    if (shared)
        shared->workers_finish = true;
}

/* The keeper: after both processes have ended, cancel the job. Steps are cancelled
 * first, since they would get a SIGTERM and time to react when a job ends, unless the
 * workers should have that time. Errors cannot be reported. */
static _Noreturn void keeper_run(const struct process *command,
                                 const struct process *salloc, const char *job)
{
    setsid();
    close_all_but(command->fd, salloc->fd);
    (void)process_wait(command, -1);
    (void)process_wait(salloc, -1);
    if (!shared->workers_finish)
        scancel_run("--signal=KILL", job);
    scancel_run("--quiet", job);
    _exit(0);
}

/* Start the keeper, which watches this process and its parent, salloc. */
static int keeper_start(pid_t salloc, struct error *err)
{
    void *page = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct process me = {.fd = -1}, parent = {.fd = -1};
    pid_t pid = -1;

    if (page == MAP_FAILED)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a process");
    shared = page;
    if (process_open(getpid(), &me) == 0 && process_open(salloc, &parent) == 0 &&
        getppid() == salloc)
        pid = fork();
    if (pid == 0) {
        /* A grandchild: this process need not wait for it. */
        pid_t again = fork();

        if (again == 0)
            keeper_run(&me, &parent, getenv("SLURM_JOB_ID"));
        _exit(again < 0);
    }
    process_close(&me);
    process_close(&parent);
    if (pid > 0) {
        int status = -1;

        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return 0;
        errno = EAGAIN; /* usually the error of the second fork */
    }
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "cannot start the process that releases allocation %s: %s.\n"
                     "Release it with: scancel %s",
                     getenv("SLURM_JOB_ID"), strerror(errno), getenv("SLURM_JOB_ID"));
}

/* Does the time limit leave the workers any time? */
static int time_check(const struct allocation_request *request, struct error *err)
{
    const char *given = request->options ? request->options->time : NULL;
    int64_t length;

    given = given ? given : getenv("SALLOC_TIMELIMIT");
    return given && time_limit_parse(given, &length)
               ? time_margin_check("the allocation", length, request->stop_s, "--time",
                                   err)
               : 0;
}

/* Could the request ever fit? If not, salloc would wait forever. */
static int check_fit(const struct allocation_request *request, struct placement *plan,
                     struct error *err)
{
    const struct scaling_config *scaling = request->scaling;
    const char *partition = request->options ? request->options->partition : NULL;
    struct resources have = {0};
    int rc;

    partition = partition ? partition : getenv("SALLOC_PARTITION");
    if (time_check(request, err) < 0)
        return -1;
    if (slurm_resources_partition(partition, scaling->accelerator_type, &have, err) < 0)
        return error_prefix(err, "no allocation can be taken");
    rc = slurm_fit(scaling, &have, plan, err);
    resources_clear(&have);
    return rc;
}

/* For child_spec: -1 if the descriptor is closed. */
static int stream(int fd)
{
    return fcntl(fd, F_GETFD) < 0 ? -1 : fd;
}

/* Start salloc with the terminal and the streams of this process. */
static int salloc_start(char *const *command, struct child *salloc, struct error *err)
{
    const struct child_spec spec = {.argv = command,
                                    .in = stream(STDIN_FILENO),
                                    .out = stream(STDOUT_FILENO),
                                    .err = stream(STDERR_FILENO),
                                    .die_with_parent = true};
    char self[32];
    int rc;

    snprintf(self, sizeof self, "%ld", (long)getpid());
    if (setenv(ALLOCATED_BY, self, 1) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for the environment");
    rc = child_spawn(&spec, salloc, err);
    unsetenv(ALLOCATED_BY);
    if (rc < 0 && err->code == RAYTRAIN_ENOTFOUND)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "cannot run salloc: is Slurm installed here? On a single "
                         "machine use --launcher local");
    return rc;
}

static int command_make(const struct allocation_request *request,
                        const struct placement *plan, char ***argv, struct error *err)
{
    return slurm_allocate_argv(request, plan->n_nodes > 0 ? plan : NULL, argv, err);
}

int slurm_allocate_command(const struct allocation_request *request, char ***argv,
                           struct error *err)
{
    struct placement plan = {0};
    int rc = 0;

    *argv = NULL;
    if (inside_allocation())
        return 0;
    rc = check_fit(request, &plan, err);
    if (rc == 0 || err->code != RAYTRAIN_EFIT)
        rc = command_make(request, &plan, argv, err);
    placement_clear(&plan);
    return rc;
}

int slurm_allocate(const struct allocation_request *request, struct child *salloc,
                   struct error *err)
{
    const char *by = getenv(ALLOCATED_BY);
    struct placement plan = {0};
    char **command = NULL;
    int rc;

    *salloc = (struct child)CHILD_INIT;
    if (inside_allocation()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (is_allocated_by(by))
            return keeper_start(getppid(), err);
        prctl(PR_SET_PDEATHSIG,
              0); /* the allocation is the user's, or of an outer run */
        return 0;
    }
    if (by)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "salloc was run to take an allocation, but there is none here "
                         "(SLURM_JOB_ID is not set).\nTake one yourself: salloc -n %d",
                         request->scaling->num_workers);
    rc = check_fit(request, &plan, err);
    if (rc == 0)
        rc = command_make(request, &plan, &command, err);
    placement_clear(&plan);
    if (rc == 0)
        rc = salloc_start(command, salloc, err);
    argv_free(command);
    return rc;
}
