/*
 * slurmd_probe.c - do nodes of the allocation answer? Each is asked for a connection to
 * its slurmd, which no job has to be started for: a step on a dead node would hang, and
 * stay listed.
 *
 * The connections come first, to where slurmd usually listens, and as a rule they are
 * all: Slurm's controller serves thousands of jobs. Only if a node does not answer
 * there the controller is asked, once for all such nodes, where they really listen.
 * Without its answer a usual place counts only if some node was found there.
 *
 * A kernel that refuses the connection says nothing about the node's workers: Slurm
 * lets a slurmd be down while jobs run, and a node whose processes have all died may
 * refuse as well. A node that Slurm has taken out of the job is no longer ours,
 * whatever it says.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slurm/job.h"
#include "slurm/slurm_tool.h"
#include "slurm/slurmd_probe.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/hostlist.h"

#define CONNECT_S     2.0 /* for all connections of a batch together */
#define CONNECT_BATCH 256
#define SCONTROL_S    3.0 /* for an answer of Slurm's controller */
#define PORT_USUAL    "6818"

struct target {
    const char *node;
    struct sockaddr_storage at; /* where slurmd listens, as far as is known */
    socklen_t at_size;          /* 0: that is not known at all */
    bool told;                  /* Slurm has said so */
    enum node_answer answer;
};

/* Where it listens. If that is not where it was asked before, nothing is known yet. */
static void target_place(struct target *t, const char *address, const char *port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;

    if (getaddrinfo(address, port, &hints, &found) != 0)
        return;
    if (found->ai_addrlen <= sizeof t->at &&
        (found->ai_addrlen != t->at_size ||
         memcmp(&t->at, found->ai_addr, t->at_size) != 0)) {
        memcpy(&t->at, found->ai_addr, found->ai_addrlen);
        t->at_size = found->ai_addrlen;
        t->answer = NODE_UNKNOWN;
    }
    freeaddrinfo(found);
}

/* ---- Connections ------------------------------------------------------------------
 */

static enum node_answer answer_of(int errnum)
{
    if (errnum == 0)
        return NODE_ANSWERS;
    return errnum == ECONNREFUSED ? NODE_REFUSES : NODE_SILENT;
}

/* A connection on its way; -1: there is none, or it has come to its end. (A socket that
 * has failed would look connected to poll.) */
static int connect_start(struct target *t)
{
    int fd, why;

    if (t->at_size == 0)
        return -1;
    fd = socket(t->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    why = connect(fd, (struct sockaddr *)&t->at, t->at_size) < 0 ? errno : 0;
    if (why == EINPROGRESS)
        return fd;
    t->answer = answer_of(why);
    close(fd);
    return -1;
}

/* Its connection has come to an end. */
static void connect_end(struct pollfd *p, struct target *t)
{
    int why = 0;
    socklen_t size = sizeof why;

    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0)
        t->answer = answer_of(why);
    close(p->fd);
    p->fd = -1;
}

/* Those that have not answered when the time is over are silent. */
static void connections_await(struct pollfd *fds, struct target *const *targets,
                              size_t n)
{
    double until = clock_now() + CONNECT_S, left;
    size_t open = n;

    while (open > 0 && (left = until - clock_now()) > 0) {
        if (poll(fds, n, (int)(left * 1e3) + 1) < 0)
            continue;
        open = 0;
        for (size_t i = 0; i < n; i++) {
            if (fds[i].fd >= 0 && fds[i].revents)
                connect_end(&fds[i], targets[i]);
            open += fds[i].fd >= 0;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (fds[i].fd >= 0) {
            targets[i]->answer = NODE_SILENT;
            close(fds[i].fd);
        }
}

/* Ask those of which nothing is known; in batches, for descriptors are limited. */
static void unknown_connect(struct target *targets, size_t n)
{
    struct target *batch[CONNECT_BATCH];
    struct pollfd fds[CONNECT_BATCH];

    for (size_t i = 0; i < n;) {
        size_t m = 0;

        for (; i < n && m < CONNECT_BATCH; i++) {
            if (targets[i].answer != NODE_UNKNOWN)
                continue;
            fds[m].fd = connect_start(&targets[i]);
            fds[m].events = POLLOUT;
            batch[m++] = &targets[i];
        }
        connections_await(fds, batch, m);
    }
}

/* ---- What Slurm knows -------------------------------------------------------------
 */

static char *scontrol_show(const char *what, const char *name)
{
    char *argv[] = {(char *)"scontrol", (char *)"--oneliner", (char *)"show",
                    (char *)what,       (char *)name,         NULL};
    char *text = NULL;

    return slurm_tool_read(argv, SCONTROL_S, &text, NULL) == 0 ? text : NULL;
}

/* The cluster's usual port: "SlurmdPort              = 6818". */
static void port_learn(struct node_memo *memo)
{
    char *text = scontrol_show("config", NULL), *line;

    if (text && (line = strstr(text, "SlurmdPort")))
        sscanf(line, "SlurmdPort = %15[0-9]", memo->text);
    free(text);
}

/* From one node's line. */
static void target_tell(struct target *t, const char *line, struct node_memo *memo)
{
    char address[256], port[16];

    if (!slurm_job_field(line, "NodeAddr", address, sizeof address))
        return;
    /* Only a port of the node's own is said. */
    if (!slurm_job_field(line, "Port", port, sizeof port)) {
        if (!memo->text[0])
            port_learn(memo);
        snprintf(port, sizeof port, "%.15s", memo->text[0] ? memo->text : PORT_USUAL);
    }
    t->told = true;
    target_place(t, address, port);
}

static struct target *target_find(struct target *targets, size_t n, const char *node)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(targets[i].node, node) == 0)
            return &targets[i];
    return NULL;
}

static char *unanswered_names(const struct target *targets, size_t n)
{
    char **names = calloc(n + 1, sizeof *names), *list = NULL;
    size_t m = 0;

    for (size_t i = 0; names && i < n; i++)
        if (targets[i].answer != NODE_ANSWERS)
            names[m++] = (char *)targets[i].node;
    if (m > 0)
        hostlist_compress(names, m, &list, NULL);
    free(names);
    return list;
}

static void unanswered_tell(struct target *targets, size_t n, struct node_memo *memo)
{
    char *list = unanswered_names(targets, n), *line, name[256];
    char *text = list ? scontrol_show("node", list) : NULL, *rest = text;

    while ((line = strsep(&rest, "\n"))) {
        struct target *t = slurm_job_field(line, "NodeName", name, sizeof name)
                               ? target_find(targets, n, name)
                               : NULL;

        if (t && t->answer != NODE_ANSWERS)
            target_tell(t, line, memo);
    }
    free(text);
    free(list);
}

/* A place that Slurm has not named is a guess: what is not found there may be
 * elsewhere.
 */
static void guesses_judge(struct target *targets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (targets[i].answer == NODE_ANSWERS)
            return;
    for (size_t i = 0; i < n; i++)
        if (!targets[i].told)
            targets[i].answer = NODE_UNKNOWN;
}

/* Those that answer, but are not the job's any more, are silent; without Slurm's answer
 * they are unknown. */
static void strangers_find(struct target *targets, size_t n)
{
    char **ours = slurm_job_nodes();

    for (size_t i = 0; i < n; i++) {
        if (targets[i].answer != NODE_ANSWERS)
            continue;
        if (!ours)
            targets[i].answer = NODE_UNKNOWN;
        else if (!argv_has(ours, targets[i].node))
            targets[i].answer = NODE_SILENT;
    }
    argv_free(ours);
}

/* ---- All nodes --------------------------------------------------------------------
 */

void slurm_probe_ask(enum node_purpose purpose, char *const *nodes, size_t n,
                     enum node_answer *answers, struct node_memo *memo)
{
    struct target *targets = calloc(n + 1, sizeof *targets);

    if (!targets)
        return;
    for (size_t i = 0; i < n; i++) {
        targets[i].node = nodes[i];
        target_place(&targets[i], nodes[i], memo->text[0] ? memo->text : PORT_USUAL);
    }
    unknown_connect(targets, n);
    unanswered_tell(targets, n, memo);
    unknown_connect(targets, n);
    guesses_judge(targets, n);
    if (purpose == NODE_IS_OURS)
        strangers_find(targets, n);
    for (size_t i = 0; i < n; i++)
        answers[i] = targets[i].answer;
    free(targets);
}
