/* allocation.c - salloc started and watched, and what its exit status means. */
#include "train/allocation.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "event/stop_request.h"

struct allocation_end allocation_judge(int wait_status, bool asked,
                                       enum run_standing standing)
{
    const int failed = error_exit_status(RAYTRAIN_EFAILED),
              stopped = error_exit_status(RAYTRAIN_ESTOPPED);
    int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    struct allocation_end end = {.exit_status = status};

    /* salloc may exit with 0 for a command that was killed, and with 1 for one that
     * died otherwise, or without an allocation, which its own message explains. */
    if (status > failed || (status == 0 && standing == RUN_HAS_FINISHED) ||
        (status == failed && !asked && standing != RUN_INTERRUPTED))
        return end;
    switch (standing) {
    case RUN_HAS_FINISHED:
        end.exit_status = 0;
        break;
    case RUN_HAS_STOPPED:
        end.exit_status = stopped;
        break;
    case RUN_HAS_FAILED:
        end.exit_status = failed;
        break;
    case RUN_NOT_BEGUN:
    case RUN_INTERRUPTED:
        end.exit_status = asked ? stopped : failed;
        end.cut_off = !asked;
        break;
    }
    end.settled = true;
    return end;
}

/* salloc only passes SIGTERM to the command; any number of these leaves the workers
 * their time (event/stop_request.h). When salloc dies, the command dies. */
static int salloc_watch(struct child *salloc, struct stop_request *stop,
                        int *wait_status, struct error *err)
{
    struct pollfd fds[] = {{.fd = salloc->pidfd, .events = POLLIN},
                           {.fd = stop->fd, .events = POLLIN}};
    bool gone = false;

    while (!gone) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return error_set(err, RAYTRAIN_EFAILED, "poll: %s", strerror(errno));
        if (stop_request_read(stop) > 0 &&
            child_signal(salloc, stop->hurried ? SIGKILL : SIGTERM, err) < 0)
            return -1;
        if (child_reap(salloc, &gone, wait_status, err) < 0)
            return -1;
    }
    return 0;
}

int allocation_take(const struct launcher_ops *launcher,
                    const struct allocation_request *request, int *wait_status,
                    bool *asked, struct error *err)
{
    struct child salloc = CHILD_INIT;
    struct stop_request stop = STOP_REQUEST_INIT;
    int rc;

    if (launcher->usable()) /* already inside: signals are for the run */
        return launcher->allocate(request, &salloc, err);
    if (stop_request_open(&stop, err) < 0)
        return -1;
    rc = launcher->allocate(request, &salloc, err);
    if (rc == 0)
        rc = salloc_watch(&salloc, &stop, wait_status, err) < 0 ? -1 : 1;
    child_clear(&salloc);
    *asked = stop.count > 0;
    stop_request_close(&stop);
    return rc;
}

struct allocation_request allocation_request_of(const struct trainer *trainer,
                                                char *const argv[])
{
    return (struct allocation_request){.scaling = &trainer->cfg->scaling_config,
                                       .options = &trainer->opt->submit,
                                       .stop_s =
                                           trainer->cfg->run_config.stop_before_end_s,
                                       .name = trainer->cfg->run_config.name,
                                       .command = argv};
}

int allocation_run(const struct trainer *trainer, char *const argv[],
                   struct allocation_end *end, struct error *err)
{
    const struct allocation_request request = allocation_request_of(trainer, argv);
    bool asked;
    int wait_status, rc;

    rc = allocation_take(trainer->launcher, &request, &wait_status, &asked, err);
    if (rc == 1) {
        *end = allocation_judge(wait_status, asked, trainer_standing(trainer));
        end->saved = trainer_has_saved(trainer);
    }
    return rc;
}
