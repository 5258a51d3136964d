/* node_probe.c - the process that asks nodes, and the memory it shares with this
 * one. */
#include "config.h"

#include "launch/node_probe.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/argv.h"
#include "event/attention.h"
#include "util/clock.h"
#include "util/process.h"

#define KILLED_WAIT_S 5.0

#define PROBE_MAX_S 15 /* in total; it should take far less */

struct node_probe {
    pid_t pid; /* 0: it has ended */
    double until;
    char **nodes;
    size_t n;
    enum node_answer *answers; /* memory shared with the process */
};

/* Shared with all probes of this process. */
static struct node_memo *memo;

static size_t answers_size(const struct node_probe *p)
{
    return (p->n + 1) * sizeof *p->answers;
}

/*
 * It dies with its parent.
 *
 * A fork copies the locks of other threads as they are, and a lock that one of them
 * holds is never released in the child. The threads of this process write to files,
 * pipes and terminals (outlet.h, deferred.h, run_lock.h), or wait for a child.
 * Meanwhile they may hold a lock of their own object, which `ask` does not use, a lock
 * of malloc or stdio, which glibc resets in the child, or that of the time zone. `ask`
 * opens sockets and looks up names, which no thread does, and starts programs by
 * vfork(2). If it waits for a lock nevertheless, this process is killed like one that
 * waits for the network, and the answers stay unknown.
 */
static _Noreturn void probe_run(const struct node_probe *p, node_ask *ask,
                                enum node_purpose purpose, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    attention_set(-1); /* a request to stop is for the parent */
    if (getppid() == parent)
        ask(purpose, p->nodes, p->n, p->answers, memo);
    _exit(0);
}

static void *shared_memory(size_t size)
{
    void *at =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static int names_copy(struct node_probe *p, char *const *nodes, size_t n,
                      struct error *err)
{
    for (p->n = 0; p->n < n; p->n++)
        if (argv_append(&p->nodes, nodes[p->n], err) < 0)
            return -1;
    return 0;
}

int node_probe_start(node_ask *ask, enum node_purpose purpose, char *const *nodes,
                     size_t n, struct node_probe **out, struct error *err)
{
    struct node_probe *p = calloc(1, sizeof *p);
    pid_t parent = getpid();

    if (!p)
        return error_no_memory(err);
    if (names_copy(p, nodes, n, err) < 0) {
        node_probe_destroy(p);
        return -1;
    }
    if (!memo)
        memo = shared_memory(sizeof *memo);
    p->answers = shared_memory(answers_size(p));
    if (!memo || !p->answers) {
        error_no_memory(err);
    } else if ((p->pid = fork()) == 0) {
        probe_run(p, ask, purpose, parent);
    } else if (p->pid < 0) {
        p->pid = 0;
        error_set(err, RAYTRAIN_ENOMEM, "cannot start a process: %s", strerror(errno));
    } else {
        p->until = clock_now() + PROBE_MAX_S;
        *out = p;
        return 0;
    }
    node_probe_destroy(p);
    return -1;
}

static void probe_end(struct node_probe *p)
{
    kill(p->pid, SIGKILL);
    (void)process_reap(p->pid, KILLED_WAIT_S, NULL);
    p->pid = 0;
}

bool node_probe_done(struct node_probe *p)
{
    pid_t pid = p->pid > 0 ? waitpid(p->pid, NULL, WNOHANG) : 0;

    if (pid > 0 || (pid < 0 && errno == ECHILD))
        p->pid = 0;
    else if (p->pid > 0 && clock_now() > p->until)
        probe_end(p);
    return p->pid == 0;
}

size_t node_probe_count(const struct node_probe *p)
{
    return p->n;
}

const char *node_probe_node(const struct node_probe *p, size_t i)
{
    return p->nodes[i];
}

enum node_answer node_probe_answer(const struct node_probe *p, size_t i)
{
    return p->answers[i];
}

void node_probe_destroy(struct node_probe *p)
{
    if (!p)
        return;
    if (p->pid > 0)
        probe_end(p);
    if (p->answers)
        munmap(p->answers, answers_size(p));
    argv_free(p->nodes);
    free(p);
}
