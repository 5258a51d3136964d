/*
 * slurm_allocate.c - take an allocation, and run the same command in it.
 *
 * This process becomes salloc, whose child is the command again. Who gives the
 * allocation back: salloc, when the command ends. If salloc is killed, whose process id
 * is that of the command that the user typed, the command dies with it, and a keeper, a
 * process of its own that outlives both, cancels the job.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launcher.h"
#include "launch/slurm_command.h"
#include "launch/slurm_resources.h"
#include "util/argv.h"

/* Set in salloc's environment: the pid of the process that became salloc. */
#define ALLOCATED_BY "RAYTRAIN_ALLOCATED_BY"

static bool inside_allocation(void)
{
    const char *id = getenv("SLURM_JOB_ID"), *nodes = getenv("SLURM_JOB_NODELIST");

    return id && *id && nodes && *nodes;
}

static void wait_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    while (poll(&p, 1, -1) < 0 && errno == EINTR)
        ;
}

/* Nothing of ours stays open in the keeper (a pipe's reader would wait for it). */
static void close_all_but(int a, int b)
{
    int null = open("/dev/null", O_RDWR), low = a < b ? a : b, high = a < b ? b : a;

    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    if (low > 3)
        close_range(3, (unsigned)low - 1, 0);
    if (high > low + 1)
        close_range((unsigned)low + 1, (unsigned)high - 1, 0);
    close_range((unsigned)high + 1, ~0u, 0);
}

static void scancel_run(const char *option, const char *job)
{
    pid_t pid = fork();

    if (pid == 0) {
        execlp("scancel", "scancel", "--quiet", option, job, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* The keeper: both gone, so cancel what may be left. First its steps, since the end of
 * a job is a SIGTERM and patience to them. Nobody is there to hear of errors. */
static _Noreturn void keeper_run(int command_fd, int salloc_fd, const char *job)
{
    setsid();
    close_all_but(command_fd, salloc_fd);
    wait_readable(command_fd);
    wait_readable(salloc_fd);
    scancel_run("--signal=KILL", job);
    scancel_run("--quiet", job);
    _exit(0);
}

/* Watch this process and salloc, its parent. */
static int keeper_start(pid_t salloc, struct error *err)
{
    int me = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int parent = (int)syscall(SYS_pidfd_open, salloc, 0);
    pid_t pid = -1;

    if (me >= 0 && parent >= 0 && getppid() == salloc)
        pid = fork();
    if (pid == 0) {
        /* A grandchild: this process never has to wait for it. */
        pid_t again = fork();

        if (again == 0)
            keeper_run(me, parent, getenv("SLURM_JOB_ID"));
        _exit(again < 0);
    }
    if (me >= 0)
        close(me);
    if (parent >= 0)
        close(parent);
    if (pid > 0) {
        int status;

        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        return 0;
    }
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "cannot watch over the allocation %s: %s.\n"
                     "Give it back with: scancel %s",
                     getenv("SLURM_JOB_ID"), strerror(errno), getenv("SLURM_JOB_ID"));
}

/* Could this ever fit? salloc would wait for it for good, with hardly a word. */
static int check_fit(const struct scaling_config *scaling, struct placement *plan,
                     struct error *err)
{
    struct resources have = {0};
    int rc;

    if (slurm_resources_partition(getenv("SALLOC_PARTITION"), scaling->accelerator_type,
                                  &have, err) < 0)
        return error_prefix(err, "no allocation can be taken");
    rc = have.n_nodes == 0 ? 0 : placement_plan(scaling, &have, plan, err);
    if (rc == 0 && plan->n_nodes > 0 &&
        plan->n_nodes + (size_t)scaling->spare_nodes > have.n_nodes)
        rc = error_set(err, RAYTRAIN_EFIT,
                       "%zu nodes and %d spare ones do not fit in %s: it has %zu",
                       plan->n_nodes, scaling->spare_nodes, have.what, have.n_nodes);
    resources_clear(&have);
    return rc;
}

int launcher_slurm_allocate(const struct scaling_config *scaling, const char *job_name,
                            char *const argv[], struct error *err)
{
    const char *by = getenv(ALLOCATED_BY);
    pid_t salloc = by ? (pid_t)atol(by) : 0;
    struct placement plan = {0};
    char **command = NULL, self[32];
    int rc;

    if (inside_allocation()) {
        if (salloc <= 0 || salloc != getppid())
            return 0; /* the user's allocation, or that of an outer run */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return keeper_start(salloc, err);
    }
    if (by)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "salloc was asked for an allocation, but there is none here "
                         "(SLURM_JOB_ID is not set).\nTake one yourself: salloc -n %d",
                         scaling->num_workers);
    rc = check_fit(scaling, &plan, err);
    if (rc == 0)
        rc = slurm_allocate_argv(scaling, plan.n_nodes > 0 ? &plan : NULL, job_name,
                                 argv, &command, err);
    placement_clear(&plan);
    if (rc < 0)
        return -1;
    snprintf(self, sizeof self, "%ld", (long)getpid());
    if (setenv(ALLOCATED_BY, self, 1) < 0)
        error_set(err, RAYTRAIN_ENOMEM, "out of memory for the environment");
    else if (execvp(command[0], command) < 0)
        error_set(
            err, RAYTRAIN_ENOTSUP,
            "cannot run salloc: %s.\nIs Slurm installed here? On one machine alone "
            "use --launcher local.",
            strerror(errno));
    unsetenv(ALLOCATED_BY);
    argv_free(command);
    return -1;
}
