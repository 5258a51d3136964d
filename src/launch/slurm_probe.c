/*
 * slurm_probe.c - do nodes of the allocation answer? Slurm is asked for what it knows
 * of them, and then each node for a connection to its slurmd, which no job has to be
 * started for: a step on a dead node would hang, and stay listed.
 *
 * A node whose kernel refuses the connection lives, but has no slurmd just now. One
 * that Slurm has taken out of the job is no longer ours, whatever it says.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/slurm_probe.h"
#include "launch/slurm_tool.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/hostlist.h"

#define CONNECT_S 2.0 /* for all nodes together */

/* ---- What Slurm knows -------------------------------------------------------------
 */

bool slurm_probe_field(const char *text, const char *key, char *value, size_t size)
{
    size_t n = strlen(key);

    for (const char *p = text; (p = strstr(p, key)); p += n)
        if ((p == text || isspace((unsigned char)p[-1])) && p[n] == '=') {
            const char *from = p + n + 1;

            snprintf(value, size, "%.*s", (int)strcspn(from, " \n"), from);
            return true;
        }
    return false;
}

/* scontrol ... WHAT [NAME]; NULL where it could not be asked. The caller frees. */
static char *slurm_show(const char *what, const char *name)
{
    char *argv[] = {(char *)"scontrol", (char *)"--oneliner", (char *)"show",
                    (char *)what,       (char *)name,         NULL};
    char *text = NULL;

    return slurm_tool_read(argv, &text, NULL) == 0 ? text : NULL;
}

/* The nodes that the job has now: an argument vector; NULL: unknown. */
static char **job_nodes(void)
{
    char *text = slurm_show("job", getenv("SLURM_JOB_ID")), **names = NULL, *list;
    size_t size = text ? strlen(text) + 1 : 0;

    list = malloc(size + 1);
    if (text && list && slurm_probe_field(text, "NodeList", list, size))
        hostlist_expand(list, &names, NULL);
    free(list);
    free(text);
    return names;
}

static bool listed(char *const *names, const char *name)
{
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* "SlurmdPort              = 6818" */
static void slurmd_port(char port[16])
{
    char *text = slurm_show("config", NULL), *line;

    snprintf(port, 16, "6818");
    if (text && (line = strstr(text, "SlurmdPort")))
        sscanf(line, "SlurmdPort = %15[0-9]", port);
    free(text);
}

/* ---- Connections ------------------------------------------------------------------
 */

static enum node_answer answer_of(int errnum)
{
    if (errnum == 0)
        return NODE_ANSWERS;
    return errnum == ECONNREFUSED ? NODE_REFUSES : NODE_SILENT;
}

/* A connection on its way, and in *answer what is known already; -1: there is none, or
 * it has come to its end. (A socket that has failed would look connected to poll.) */
static int connect_start(const char *address, const char *port,
                         enum node_answer *answer)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1, why;

    if (getaddrinfo(address, port, &hints, &found) != 0)
        return -1;
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        why = connect(fd, found->ai_addr, found->ai_addrlen) < 0 ? errno : 0;
        *answer = answer_of(why); /* so far */
        if (why != EINPROGRESS) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

/* Its connection has come to an end. */
static void connect_end(struct pollfd *p, enum node_answer *answer)
{
    int why = 0;
    socklen_t size = sizeof why;

    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0)
        *answer = answer_of(why);
    close(p->fd);
    p->fd = -1;
}

static void connections_await(struct pollfd *fds, size_t n, enum node_answer *answers)
{
    double until = clock_now() + CONNECT_S, left;
    size_t open = 1;

    while (open > 0 && (left = until - clock_now()) > 0) {
        if (poll(fds, n, (int)(left * 1e3) + 1) < 0)
            continue;
        open = 0;
        for (size_t i = 0; i < n; i++) {
            if (fds[i].fd >= 0 && fds[i].revents)
                connect_end(&fds[i], &answers[i]);
            open += fds[i].fd >= 0;
        }
    }
}

/* Where a node listens, from Slurm's line about it; false: Slurm knows it is down. */
static bool node_address(const char *node, const char *usual_port, char *address,
                         size_t size, char port[16])
{
    char *text = slurm_show("node", node), state[128] = "";

    snprintf(address, size, "%s", node);
    snprintf(port, 16, "%s", usual_port);
    if (text) {
        slurm_probe_field(text, "NodeAddr", address, size);
        slurm_probe_field(text, "Port", port, 16);
        slurm_probe_field(text, "State", state, sizeof state);
    }
    free(text);
    return strncmp(state, "DOWN", 4) != 0;
}

/* ---- All nodes --------------------------------------------------------------------
 */

static void nodes_ask(char *const *nodes, size_t n, char *const *ours,
                      struct pollfd *fds, enum node_answer *answers)
{
    char usual[16], port[16], address[256];

    slurmd_port(usual);
    for (size_t i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = -1, .events = POLLOUT};
        if (!listed(ours, nodes[i]) ||
            !node_address(nodes[i], usual, address, sizeof address, port))
            answers[i] = NODE_SILENT;
        else
            fds[i].fd = connect_start(address, port, &answers[i]);
    }
    connections_await(fds, n, answers);
    for (size_t i = 0; i < n; i++)
        if (fds[i].fd >= 0)
            close(fds[i].fd);
}

void slurm_probe_ask(char *const *nodes, size_t n, enum node_answer *answers)
{
    char **ours = job_nodes();
    struct pollfd *fds = calloc(n + 1, sizeof *fds);

    /* Where Slurm does not say, nobody knows. */
    if (ours && fds)
        nodes_ask(nodes, n, ours, fds, answers);
    free(fds);
    argv_free(ours);
}
