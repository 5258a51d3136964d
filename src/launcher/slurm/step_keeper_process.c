/* step_keeper_process.c - what raytrain-keeper does for a step (step_keeper.h). */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/step_keeper.h"

#define LOOK_MS 200 /* between two checks of whether the workers may still finish */

struct keeper {
    struct child srun;
    struct finish finish;
    int messages, output; /* what srun writes; output -1: not read */
    int lines;            /* the pipe that is its standard input; -1: none */
    bool gone;            /* srun has ended */
    int wait_status;
};

static int keeper_srun_start(struct keeper *k, char *const *argv, bool lines,
                             struct error *err)
{
    struct child_spec spec = {.argv = argv,
                              .in = -1,
                              .out = STDOUT_FILENO,
                              .err = STDERR_FILENO,
                              .die_with_parent = true};
    int ends[2] = {-1, -1}, rc;

    if (lines && pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot make a pipe: %s",
                         strerror(errno));
    spec.in = ends[0];
    k->lines = ends[1];
    rc = child_spawn(&spec, &k->srun, err);
    if (ends[0] >= 0)
        close(ends[0]);
    if (k->lines >= 0)
        fcntl(k->lines, F_SETFL, O_NONBLOCK);
    return rc;
}

static void srun_reap(struct keeper *k)
{
    if (!k->gone && child_reap(&k->srun, &k->gone, &k->wait_status, NULL) < 0)
        _exit(1);
}

/* A pipe that is full belongs to an srun that does not read: raytrain-run then misses
 * the answer of the tasks. */
static void line_pass(const struct keeper *k, const char *line)
{
    if (k->lines >= 0)
        (void)!write(k->lines, line, strnlen(line, STEP_LINE_MAX));
}

/* False: raytrain-run is dead. */
static bool message_read(struct keeper *k)
{
    union {
        int sig;
        char line[STEP_LINE_MAX];
    } message;
    ssize_t got = finish_receive(&k->finish, STDIN_FILENO, &message, sizeof message);

    if (got == (ssize_t)sizeof message.sig)
        child_signal(&k->srun, message.sig, NULL);
    else if (got == (ssize_t)sizeof message.line)
        line_pass(k, message.line);
    return got >= 0;
}

/* The tasks learn that no more orders will come. */
static void lines_end(struct keeper *k)
{
    if (k->lines >= 0)
        close(k->lines);
    k->lines = -1;
}

/* Follows messages until srun has ended, or raytrain-run is dead. */
static void messages_follow(struct keeper *k)
{
    struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                         {.fd = k->srun.pidfd, .events = POLLIN}};

    while (!k->gone) {
        (void)poll(p, 2, -1);
        if (p[0].revents && !message_read(k))
            return;
        if (p[1].revents)
            srun_reap(k);
    }
}

static void srun_hear(int fd)
{
    char text[4096];

    while (fd >= 0 && read(fd, text, sizeof text) > 0)
        continue;
}

static void step_finish(struct keeper *k)
{
    struct pollfd p[] = {{.fd = k->messages, .events = POLLIN},
                         {.fd = k->output, .events = POLLIN},
                         {.fd = k->srun.pidfd, .events = POLLIN}};

    while (!k->gone && finish_goes_on(&k->finish)) {
        (void)poll(p, sizeof p / sizeof *p, LOOK_MS);
        srun_hear(k->messages);
        srun_hear(k->output);
        srun_reap(k);
    }
}

/* End like srun. */
static _Noreturn void leave(int wait_status)
{
    const struct rlimit none = {0, 0};

    if (WIFSIGNALED(wait_status)) {
        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(wait_status), SIG_DFL);
        raise(WTERMSIG(wait_status));
    }
    _exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1);
}

int step_keeper_run(int messages, int output, bool lines, char *const *srun,
                    struct error *err)
{
    struct keeper k = {
        .srun = CHILD_INIT, .messages = messages, .output = output, .lines = -1};
    pid_t parent = getppid();

    finish_init(&k.finish);
    fcntl(messages, F_SETFD, FD_CLOEXEC);
    fcntl(output, F_SETFD, FD_CLOEXEC);
    if (keeper_srun_start(&k, srun, lines, err) < 0)
        return -1;
    messages_follow(&k);
    lines_end(&k);
    if (!k.gone && finish_begin(&k.finish, parent))
        step_finish(&k);
    if (!k.gone)
        child_clear(&k.srun);
    finish_end(&k.finish);
    leave(k.wait_status);
}
