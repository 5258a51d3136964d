/*
 * forks.c - a training function whose child processes end in every way: by exit(3), by a
 * signal, by returning from train_func. It fails unless each of them ends as it would
 * without raytrain, and leaves no trace in the run.
 */
#include <pthread.h>
#include <raytrain.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMES_BACK 5
#define HANDLED    7

static bool is_child; /* which must return from train_func */
static int at_exit_fd = -1;

static void exit_0(void)
{
    exit(0);
}

static void exit_3(void)
{
    exit(3);
}

/* Its own exit handlers run. */
static void exit_handler(void)
{
    if (at_exit_fd >= 0 && write(at_exit_fd, "x", 1) == 1)
        at_exit_fd = -1;
}

static void exit_with_handler(void)
{
    int fds[2];
    char c;
    pid_t pid;

    if (pipe(fds) < 0 || (pid = fork()) < 0)
        _exit(1);
    if (pid == 0) {
        close(fds[0]);
        at_exit_fd = fds[1];
        exit(atexit(exit_handler));
    }
    close(fds[1]);
    _exit(read(fds[0], &c, 1) == 1 && waitpid(pid, NULL, 0) == pid ? 0 : 1);
}

static void wait_for_a_signal(void)
{
    alarm(60); /* do not hang if the signal never arrives */
    for (;;)
        pause();
}

static void aborts(void)
{
    abort();
}

static void is_asked_for_its_stack(void)
{
    _exit(raise(SIGURG) ? 1 : 0); /* ignored, unless it is handled */
}

static void on_term(int signo)
{
    (void)signo;
    _exit(HANDLED);
}

static void file_too_large(void)
{
    struct sigaction now;

    _exit(sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler == SIG_DFL ? 0 : 1);
}

static void executes(void)
{
    execlp("sh", "sh", "-c", "kill -XFSZ $$; exit 0", (char *)NULL);
    _exit(1);
}

static void comes_back(void)
{
    is_child = true;
}

/* Fork a child that calls what(), send sig to it unless that is 0; its wait status. */
static int child_end(void (*what)(void), int sig)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        what();
        return 0;
    }
    if (pid < 0 || (sig && kill(pid, sig) < 0) || waitpid(pid, &status, 0) != pid)
        return -1;
    return status;
}

static void *thread(void *status)
{
    *(int *)status = child_end(exit_3, 0);
    return NULL;
}

static const struct {
    const char *name;
    void (*what)(void);
    int sig, exit_status, by_signal;
} ends[] = {
    {"exit(0)", exit_0, 0, 0, 0},
    {"exit(3)", exit_3, 0, 3, 0},
    {"exit with a handler", exit_with_handler, 0, 0, 0},
    {"SIGTERM", wait_for_a_signal, SIGTERM, 0, SIGTERM},
    {"SIGUSR1", wait_for_a_signal, SIGUSR1, 0, SIGUSR1},
    {"SIGURG", is_asked_for_its_stack, 0, 0, 0},
    {"abort", aborts, 0, 0, SIGABRT},
    {"SIGXFSZ", file_too_large, 0, 0, 0},
    {"SIGXFSZ in a program", executes, 0, 0, SIGXFSZ},
};

static int check(const char *name, int status, int exit_status, int by_signal)
{
    bool good = by_signal ? WIFSIGNALED(status) && WTERMSIG(status) == by_signal
                          : WIFEXITED(status) && WEXITSTATUS(status) == exit_status;

    if (!good)
        fprintf(stderr, "a child, %s: wait status %#x\n", name, (unsigned)status);
    return good ? 0 : 1;
}

/* Signal handlers of the training function are inherited by its children. */
static int check_own_handler(void)
{
    struct sigaction action = {.sa_handler = on_term}, before;
    int status;

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, &before);
    status = child_end(wait_for_a_signal, SIGTERM);
    sigaction(SIGTERM, &before, NULL);
    return check("SIGTERM with a handler", status, HANDLED, 0);
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    raytrain_metric metric = {"failed", 0};
    pthread_t id;
    int status;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        metric.value += check(ends[i].name, child_end(ends[i].what, ends[i].sig),
                              ends[i].exit_status, ends[i].by_signal);
    metric.value += check_own_handler();
    if (pthread_create(&id, NULL, thread, &status) == 0 && pthread_join(id, NULL) == 0)
        metric.value += check("exit(3), by a thread", status, 3, 0);
    status = child_end(comes_back, 0);
    if (is_child)
        return COMES_BACK;
    metric.value += check("that comes back", status, COMES_BACK, 0);
    return metric.value > 0 ? 1 : raytrain_report(ctx, &metric, 1, NULL);
}
