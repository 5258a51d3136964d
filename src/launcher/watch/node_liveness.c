/*
 * node_liveness.c - detects nodes of the attempt that have died.
 *
 * Each node has heartbeats (rank/heartbeat.h). One without a heartbeat for half of
 * node_timeout_s is probed (launcher.h); without a heartbeat for all of it, and without
 * an answer since, it counts as lost. A node that answers is left alone: hang.c checks
 * whether its workers make progress.
 *
 * All ranks take part in a report, so it counts as a heartbeat of every node: while
 * reports arrive often, nodes write no heartbeats, and none are read.
 *
 * A node may be cut off from the others and still reach the storage. So if no report
 * arrives for node_timeout_s, all nodes are probed, and then less and less often, since
 * a report may take arbitrarily long. A node that has a heartbeat but twice does not
 * answer, while another one does, also counts as lost.
 *
 * When a node dies, workers on other nodes may notice first, and fail. Then Slurm
 * cannot end the group, since it waits for that node. So if a group that fails is not
 * gone soon, all nodes are probed, and one that does not answer, while another one
 * does, is the cause.
 *
 * Silence is measured by the local clock, from the last change seen. Each tick reads a
 * few of the heartbeats, so that all of them are read twice in a heartbeat period, and
 * no tick takes long.
 *
 * Nodes that were lost earlier are probed now and then: they may be back.
 */
#include "watch/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/heartbeats.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/run_record.h"
#include "watch/node_survey.h"

#define RETURNS_EVERY_S 60 /* or more often for an elastic group */
#define ALL_EVERY_MAX_S 600
#define FAILING_S       1.0 /* a failing group is usually gone within this time */

struct node {
    char line[HEARTBEAT_BYTES + 1]; /* its latest heartbeat; "": none */
    double changed;                 /* the last change happened after this */
    double asked;                   /* when it was last probed, with this answer: */
    enum node_answer answer;
    int silences; /* probes in a row without an answer */
    bool noted;   /* reported: it answers but has no heartbeat */
};

struct node_watch {
    size_t n;
    struct node *nodes; /* as in the plan */
    double timeout, period;
    char *path;   /* of the heartbeats */
    double *read; /* when each record of that file was last read, */
    size_t *at;   /* and which node has it */
    size_t next;  /* the record to read next */
    double owed;  /* reads that are due by now */
    double ticked;
    /* the latest report that counts as a heartbeat of all nodes; 0: none */
    double reported;
    struct node_probe *probe; /* running since: */
    double probe_started;
    bool of_lost;  /* it asks nodes that were lost earlier */
    bool answered; /* some node of the attempt has answered the latest probe */
    bool stuck;    /* the group fails but is not gone: all nodes were probed */
    double all_next, all_wait; /* when all are probed next, and the pause after that */
    double report;             /* the report that all_next was computed from */
    double returns_every, returns_next;
};

/* ---- Create ---- */

static void node_watch_destroy(void *state)
{
    struct node_watch *w = state;

    node_probe_destroy(w->probe);
    free(w->path);
    free(w->read);
    free(w->at);
    free(w->nodes);
    free(w);
}

static int nodes_fill(struct node_watch *w, const struct watch_view *view)
{
    w->n = view->plan->n_nodes;
    w->path = run_dir_file(view->log_dir, HEARTBEATS_FILE);
    w->nodes = calloc(w->n + 1, sizeof *w->nodes);
    w->read = calloc(w->n + 1, sizeof *w->read);
    w->at = calloc(w->n + 1, sizeof *w->at);
    if (!w->path || !w->nodes || !w->read || !w->at)
        return -1;
    for (size_t i = 0; i < w->n; i++) {
        w->nodes[i].changed = w->read[i] = view->now;
        w->at[i] = i;
    }
    return 0;
}

static int node_watch_create(const struct watch_view *view, void **state,
                             struct error *err)
{
    const struct failure_config *cfg = &view->cfg->run_config.failure_config;
    int resize = view->cfg->scaling_config.elastic_resize_monitor_interval_s;
    struct node_watch *w;

    if (!view->launcher->ask || cfg->node_timeout_s == 0)
        return 0;
    w = calloc(1, sizeof *w);
    if (!w || nodes_fill(w, view) < 0) {
        if (w)
            node_watch_destroy(w);
        return error_no_memory(err);
    }
    w->timeout = cfg->node_timeout_s;
    w->period = failure_config_heartbeat_s(cfg);
    w->ticked = view->now;
    w->returns_every = scaling_config_is_elastic(&view->cfg->scaling_config) &&
                               resize > 0 && resize < RETURNS_EVERY_S
                           ? resize
                           : RETURNS_EVERY_S;
    w->returns_next = view->now + w->returns_every;
    *state = w;
    return 0;
}

/* ---- Heartbeats ---- */

/* The node whose heartbeat this is: the one that was here before, or usually, since
 * ranks are grouped by node, the one at the same place in the plan. */
static struct node *node_of_line(struct node_watch *w, const struct watch_view *view,
                                 size_t place, const char *line)
{
    char name[HEARTBEAT_NAME_MAX + 1];

    for (size_t k = 0; heartbeats_node(line, name) && k < w->n; k++) {
        size_t i = (w->at[place] + k) % w->n;

        if (strncmp(name, view->plan->nodes[i].name, HEARTBEAT_NAME_MAX) == 0) {
            w->at[place] = i;
            return &w->nodes[i];
        }
    }
    return NULL;
}

static void place_read(struct node_watch *w, const struct watch_view *view, int fd,
                       size_t place)
{
    double before = w->read[place];
    char line[HEARTBEAT_BYTES + 1];
    struct node *node;

    w->read[place] = view->now;
    if (!heartbeats_read(fd, place, line))
        return;
    node = node_of_line(w, view, place, line);
    if (!node || memcmp(line, node->line, sizeof line) == 0)
        return;
    memcpy(node->line, line, sizeof line);
    node->changed = fmax(node->changed, before); /* a report may have come since */
    node->noted = false;
}

/* Has a report in the latest period shown that all nodes are alive? */
static bool all_reported(struct node_watch *w, const struct watch_view *view)
{
    if (view->last_report > w->reported) {
        w->reported = view->last_report;
        for (size_t i = 0; i < w->n; i++) {
            w->nodes[i].changed = fmax(w->nodes[i].changed, w->reported);
            w->nodes[i].noted = false;
        }
    }
    return w->reported > 0 && view->now - w->reported < w->period;
}

/* Reopened each time, which makes a network file system ask its server. */
static void some_read(struct node_watch *w, const struct watch_view *view)
{
    int fd;

    w->owed += 2 * (double)w->n * (view->now - w->ticked) / w->period;
    w->ticked = view->now;
    if (w->owed > (double)w->n)
        w->owed = (double)w->n;
    if (w->owed < 1)
        return;
    fd = record_open(w->path, 1);
    for (; w->owed >= 1; w->owed--) {
        if (fd >= 0)
            place_read(w, view, fd, w->next);
        w->next = (w->next + 1) % w->n;
    }
    if (fd >= 0)
        close(fd);
}

/* ---- Probes ---- */

/* Silent long enough to be probed, and not probed recently. */
static bool is_doubtful(const struct node_watch *w, const struct node *node, double now)
{
    return now - node->changed > w->timeout / 2 && now - node->asked > w->timeout / 4;
}

/* A failing group is gone within moments if all its nodes are alive. */
static bool is_stuck(const struct watch_view *view)
{
    return view->failing > 0 && view->now - view->failing > FAILING_S;
}

/* A node has not answered: probe it once more, and the others for comparison. */
static bool some_unanswered(const struct node_watch *w, double now)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->nodes[i].silences > 0 && now - w->nodes[i].asked > w->timeout / 4)
            return true;
    return false;
}

/* Is it time to probe all nodes because reports are missing? */
static bool all_doubtful(struct node_watch *w, const struct watch_view *view)
{
    double latest = view->last_report > 0 ? view->last_report : view->started;

    if (some_unanswered(w, view->now))
        return true;
    if (is_stuck(view) && !w->stuck) {
        w->stuck = true;
        return true;
    }
    if (w->report < latest) {
        w->report = latest;
        w->all_wait = w->timeout;
        w->all_next = latest + w->timeout;
    }
    if (view->now < w->all_next)
        return false;
    if (w->all_wait < ALL_EVERY_MAX_S)
        w->all_wait *= 2;
    w->all_next = view->now + w->all_wait;
    return true;
}

static void doubtful_ask(struct node_watch *w, const struct watch_view *view)
{
    char **names = calloc(w->n + 1, sizeof *names);
    bool all = all_doubtful(w, view);
    size_t n = 0;

    for (size_t i = 0; names && i < w->n; i++)
        if (all || is_doubtful(w, &w->nodes[i], view->now))
            names[n++] = view->plan->nodes[i].name;
    if (n > 0 && node_probe_start(view->launcher->ask, NODE_IS_ALIVE, names, n,
                                  &w->probe, NULL) == 0) {
        w->probe_started = view->now;
        w->of_lost = false;
    }
    free(names);
}

static void lost_ask(struct node_watch *w, const struct watch_view *view)
{
    if (w->probe || view->now < w->returns_next)
        return;
    w->returns_next = view->now + w->returns_every;
    node_return_ask(view, &w->probe);
    w->of_lost = w->probe != NULL;
}

/* There is no heartbeat before the workers of a node run, and none once they are being
 * killed. */
static bool should_beat(const struct watch_view *view, const struct node *node)
{
    return (node->line[0] || view->joined) && view->failing == 0;
}

static void node_answer_take(struct node_watch *w, const struct watch_view *view,
                             struct node *node, const char *name,
                             enum node_answer answer)
{
    node->asked = w->probe_started;
    node->answer = answer;
    node->silences = answer == NODE_SILENT ? node->silences + 1 : 0;
    w->answered = w->answered || answer > NODE_SILENT;
    if (answer == NODE_ANSWERS && !node->noted && should_beat(view, node) &&
        view->now - node->changed > w->timeout) {
        node->noted = true;
        callback_note(view->callbacks,
                      "node %s has had no heartbeat for %.0f s, but it answers", name,
                      view->now - node->changed);
    }
}

/* The nodes were asked in the order of the plan. */
static void all_answers_take(struct node_watch *w, const struct watch_view *view)
{
    size_t n = node_probe_count(w->probe), k = 0;

    for (size_t i = 0; i < w->n && k < n; i++) {
        const char *name = node_probe_node(w->probe, k);

        if (strcmp(view->plan->nodes[i].name, name) == 0)
            node_answer_take(w, view, &w->nodes[i], name,
                             node_probe_answer(w->probe, k++));
    }
}

static void liveness_answers_take(struct node_watch *w, const struct watch_view *view)
{
    if (!w->probe || !node_probe_done(w->probe))
        return;
    w->answered = w->answered && w->of_lost;
    if (w->of_lost)
        node_return_take(view, w->probe, NULL);
    else
        all_answers_take(w, view);
    node_probe_destroy(w->probe);
    w->probe = NULL;
}

/* ---- The verdict ---- */

/* Neither a heartbeat of its workers nor an answer of its slurmd. */
static bool is_dead(const struct node_watch *w, const struct node *node, double now)
{
    return now - node->changed > w->timeout && node->asked > node->changed &&
           (node->answer == NODE_SILENT || node->answer == NODE_REFUSES);
}

/* Lost before its heartbeat shows it: it is cut off while others answer; or it delays
 * the end of a failing group, has had no heartbeat since, and cannot start workers. */
static bool is_given_up(const struct node_watch *w, const struct watch_view *view,
                        const struct node *node)
{
    if (!w->answered)
        return false;
    if (node->answer == NODE_REFUSES)
        return w->stuck && node->changed < view->failing;
    return node->silences >= (w->stuck ? 1 : 2);
}

/* A node that was cut off, or died just now, may still have a recent heartbeat. */
static void lost_sentence(const struct node_watch *w, const struct node *first,
                          size_t n, double now, struct failure *finding)
{
    size_t used;

    node_lost_describe(finding->host, first->answer, n - 1, finding->message,
                       sizeof finding->message);
    used = strlen(finding->message);
    if (now - first->changed > w->timeout)
        snprintf(finding->message + used, sizeof finding->message - used,
                 ", and has had no heartbeat for %.0f s", now - first->changed);
}

/* Reports all nodes lost so far together, since a switch may have failed. */
static size_t lost_report(struct node_watch *w, const struct watch_view *view,
                          struct failure *finding)
{
    const struct node *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const char *name = view->plan->nodes[i].name;

        if (!is_dead(w, &w->nodes[i], view->now) && !is_given_up(w, view, &w->nodes[i]))
            continue;
        attempt_planner_lose(view->planner, name);
        if (n++ > 0)
            continue;
        first = &w->nodes[i];
        snprintf(finding->host, sizeof finding->host, "%s", name);
    }
    if (first)
        lost_sentence(w, first, n, view->now, finding);
    return n;
}

static enum watch_verdict node_watch_tick(void *state, const struct watch_view *view,
                                          struct failure *finding)
{
    struct node_watch *w = state;

    if (all_reported(w, view))
        w->ticked = view->now;
    else
        some_read(w, view);
    liveness_answers_take(w, view);
    if (lost_report(w, view, finding) > 0) {
        finding->cause = CAUSE_NODE_LOST;
        return WATCH_END;
    }
    if (!w->probe)
        doubtful_ask(w, view);
    lost_ask(w, view);
    return WATCH_GOES_ON;
}

const struct watch_ops node_watch = {.name = "node",
                                     .create = node_watch_create,
                                     .tick = node_watch_tick,
                                     .destroy = node_watch_destroy};
