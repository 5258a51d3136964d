/*
 * slurmd_probe.c - finds the nodes of the allocation that answer. The probe connects to
 * the slurmd of each node. It does not start a step, which would hang on a dead node
 * and stay listed.
 *
 * It first connects to slurmd's usual port, and usually that suffices: Slurm's
 * controller, which serves thousands of jobs, is not involved. Only for nodes that do
 * not answer there, it asks the controller, once for all of them, where they listen. If
 * the controller does not answer, silence on the usual port counts only if some other
 * node was found on it.
 *
 * A refused connection says nothing about the node's workers: slurmd may be down while
 * jobs run, and a node whose processes have all died may refuse as well. A node that
 * Slurm has removed from the job counts as silent even if it answers.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slurm/job.h"
#include "slurm/slurm_tool.h"
#include "slurm/slurmd_probe.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/hostlist.h"
#include "util/name_index.h"

#define CONNECT_S       2.0 /* for all connections of a batch together */
#define CONNECT_ALL_S      4.0 /* for all batches, if there are many */
#define DESCRIPTORS_OUR    64  /* reserved for other uses than connections */
#define SCONTROL_S      3.0 /* for an answer of the controller */
#define PORT_USUAL      "6818"
#define NODE_LIST_SHOW_MAX 65536 /* bytes; the longest list of names for scontrol */

struct target {
    char *node;                 /* borrowed */
    struct sockaddr_storage at; /* where slurmd listens, as far as known */
    socklen_t at_size;          /* 0: unknown */
    bool confirmed;             /* by Slurm */
    enum node_answer answer;
};

/* Set its address. If that differs from before, its answer is unknown again. */
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

/* ---- Connections ---- */

static enum node_answer answer_of(int errnum)
{
    if (errnum == 0)
        return NODE_ANSWERS;
    return errnum == ECONNREFUSED ? NODE_REFUSES : NODE_SILENT;
}

/* A connection in progress; -1: none, or it is already decided. (To poll(), a failed
 * socket would look connected.) */
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

/* The connection has succeeded or failed. */
static void connect_end(struct pollfd *p, struct target *t)
{
    int why = 0;
    socklen_t size = sizeof why;

    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0)
        t->answer = answer_of(why);
    close(p->fd);
    p->fd = -1;
}

/* Nodes that have not answered when time runs out are silent. */
static void connections_await(struct pollfd *fds, struct target *const *targets,
                              size_t n, double seconds)
{
    double until = clock_now() + seconds, left;
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

/* How many of n connections this process may have at once. */
static size_t batch_choose(size_t n)
{
    struct rlimit files;
    size_t room;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return 256;
    if (files.rlim_cur < n + DESCRIPTORS_OUR && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_NOFILE, &files);
    }
    room = files.rlim_cur > 2 * DESCRIPTORS_OUR ? files.rlim_cur - DESCRIPTORS_OUR
                                                : DESCRIPTORS_OUR;
    return n < room ? n : room;
}

/* The seconds for each batch, so that all batches end in time even if no node
 * answers. */
double slurm_probe_batch_s(size_t n, size_t batch)
{
    size_t batches = batch > 0 ? (n + batch - 1) / batch : 0;

    return (double)batches * CONNECT_S <= CONNECT_ALL_S
               ? CONNECT_S
               : CONNECT_ALL_S / (double)batches;
}

/* Connect to nodes whose answer is unknown; in batches, since descriptors are
 * limited. */
static void unknown_connect(struct target *targets, size_t n)
{
    size_t most = batch_choose(n);
    struct target **batch = calloc(most + 1, sizeof *batch);
    struct pollfd *fds = calloc(most + 1, sizeof *fds);

    for (size_t i = 0; batch && fds && i < n;) {
        size_t m = 0;

        for (; i < n && m < most; i++) {
            if (targets[i].answer != NODE_UNKNOWN)
                continue;
            fds[m].fd = connect_start(&targets[i]);
            fds[m].events = POLLOUT;
            batch[m++] = &targets[i];
        }
        connections_await(fds, batch, m, slurm_probe_batch_s(n, most));
    }
    free(batch);
    free(fds);
}

/* ---- What Slurm's controller knows ---- */

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

/* Set the address of a node from its line. */
static void target_locate(struct target *t, const char *line, struct node_memo *memo)
{
    char address[256], port[16];

    if (!slurm_job_field(line, "NodeAddr", address, sizeof address))
        return;
    /* The port is listed only if it differs from the cluster's. */
    if (!slurm_job_field(line, "Port", port, sizeof port)) {
        if (!memo->text[0])
            port_learn(memo);
        snprintf(port, sizeof port, "%.15s", memo->text[0] ? memo->text : PORT_USUAL);
    }
    t->confirmed = true;
    target_place(t, address, port);
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

static void unanswered_locate(struct target *targets, size_t n, struct node_memo *memo)
{
    char *list = unanswered_names(targets, n), *line, name[256];
    char *text = NULL, *rest;
    struct name_index index = {0};

    if (list) /* without a name, it shows all nodes */
        text = scontrol_show("node", strlen(list) <= NODE_LIST_SHOW_MAX ? list : NULL);
    rest = text;
    if (text)
        (void)name_index_make(&index, &targets[0].node, sizeof *targets, n);
    while ((line = strsep(&rest, "\n"))) {
        size_t at = slurm_job_field(line, "NodeName", name, sizeof name)
                        ? name_index_find(&index, name)
                        : NAME_INDEX_NONE;

        if (at != NAME_INDEX_NONE && targets[at].answer != NODE_ANSWERS)
            target_locate(&targets[at], line, memo);
    }
    name_index_clear(&index);
    free(text);
    free(list);
}

/* An address that Slurm has not confirmed is a guess: the node may listen elsewhere. */
static void guesses_judge(struct target *targets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (targets[i].answer == NODE_ANSWERS)
            return;
    for (size_t i = 0; i < n; i++)
        if (!targets[i].confirmed)
            targets[i].answer = NODE_UNKNOWN;
}

/* Nodes that answer but no longer belong to the job are silent; if Slurm does not
 * answer, they are unknown. */
static void strangers_find(struct target *targets, size_t n)
{
    char **ours = slurm_job_nodes();
    struct name_index index = {0};
    bool known =
        ours && name_index_make(&index, ours, sizeof *ours, argv_count(ours)) == 0;

    for (size_t i = 0; i < n; i++) {
        if (targets[i].answer != NODE_ANSWERS)
            continue;
        if (!known)
            targets[i].answer = NODE_UNKNOWN;
        else if (name_index_find(&index, targets[i].node) == NAME_INDEX_NONE)
            targets[i].answer = NODE_SILENT;
    }
    name_index_clear(&index);
    argv_free(ours);
}

/* ---- All nodes ---- */

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
    unanswered_locate(targets, n, memo);
    unknown_connect(targets, n);
    guesses_judge(targets, n);
    if (purpose == NODE_IS_OURS)
        strangers_find(targets, n);
    for (size_t i = 0; i < n; i++)
        answers[i] = targets[i].answer;
    free(targets);
}
