#include "watch/node_liveness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/train_config.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "watch/node_return.h"
#include "watch/node_survey.h"

#define RETURNS_EVERY_S 60 /* unless an elastic group wants to know more often */
#define ALL_EVERY_MAX_S 600
#define FAILING_S       1.0 /* within which a group that fails is gone */

struct node {
    char *path; /* of its heartbeat */
    char line[RUN_DIR_HEARTBEAT_BYTES];
    double read;    /* when it was last read */
    double changed; /* its last change came after this */
    double asked;   /* when it was last asked, and answered: */
    enum node_answer answer;
    int silences; /* answers in a row that did not come */
    bool told;    /* that it answers, but does not beat */
};

struct node_watch {
    size_t n;
    struct node *nodes; /* as in the plan */
    double timeout, period;
    size_t next; /* to be read */
    double owed; /* reads, up to now */
    double ticked;
    struct node_probe *probe; /* on its way; started: */
    double probe_started;
    bool of_lost;  /* it asks for nodes that were lost before */
    bool answered; /* some node of the attempt has answered the latest one */
    bool stuck;    /* the group fails and is not gone: all were asked why */
    double all_next, all_wait; /* when all are asked, and the pause after that */
    double report;             /* the last one that all_next goes by */
    double returns_every, returns_next;
};

/* ---- Create -----------------------------------------------------------------------
 */

static void node_watch_destroy(void *state)
{
    struct node_watch *w = state;

    node_probe_destroy(w->probe);
    for (size_t i = 0; i < w->n; i++)
        free(w->nodes[i].path);
    free(w->nodes);
    free(w);
}

static int nodes_fill(struct node_watch *w, const struct watch_view *view)
{
    char *dir = run_dir_heartbeats(view->log_dir);
    size_t n = view->spec->plan->n_nodes;

    w->nodes = calloc(n + 1, sizeof *w->nodes);
    for (; dir && w->nodes && w->n < n; w->n++) {
        w->nodes[w->n].changed = w->nodes[w->n].read = view->now;
        w->nodes[w->n].path = run_dir_file(dir, view->spec->plan->nodes[w->n].name);
        if (!w->nodes[w->n].path)
            break;
    }
    free(dir);
    return w->nodes && w->n == n ? 0 : -1;
}

static int node_watch_create(const struct watch_view *view, void **state,
                             struct error *err)
{
    const struct failure_config *cfg = &view->spec->cfg->run_config.failure_config;
    int resize = view->spec->cfg->scaling_config.elastic_resize_monitor_interval_s;
    struct node_watch *w;

    if (!view->spec->launcher->ask || cfg->node_timeout_s == 0)
        return 0;
    w = calloc(1, sizeof *w);
    if (!w || nodes_fill(w, view) < 0) {
        if (w)
            node_watch_destroy(w);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    w->timeout = cfg->node_timeout_s;
    w->period = failure_config_heartbeat_s(cfg);
    w->ticked = view->now;
    w->returns_every = scaling_config_is_elastic(&view->spec->cfg->scaling_config) &&
                               resize > 0 && resize < RETURNS_EVERY_S
                           ? resize
                           : RETURNS_EVERY_S;
    w->returns_next = view->now + w->returns_every;
    *state = w;
    return 0;
}

/* ---- Listen -----------------------------------------------------------------------
 */

/* Opened anew each time: a network file system then looks at the server's. */
static void node_read(struct node *node, double now)
{
    char line[RUN_DIR_HEARTBEAT_BYTES];
    int fd = fs_open_fresh(node->path);
    double before = node->read;
    ssize_t n;

    node->read = now;
    if (fd < 0)
        return;
    n = pread(fd, line, sizeof line, 0);
    close(fd);
    if (n < (ssize_t)sizeof line || memcmp(line, node->line, sizeof line) == 0)
        return;
    memcpy(node->line, line, sizeof line);
    node->changed = before;
    node->told = false;
}

static void some_read(struct node_watch *w, double now)
{
    w->owed += 2 * (double)w->n * (now - w->ticked) / w->period;
    w->ticked = now;
    if (w->owed > (double)w->n)
        w->owed = (double)w->n;
    for (; w->owed >= 1; w->owed--) {
        node_read(&w->nodes[w->next], now);
        w->next = (w->next + 1) % w->n;
    }
}

/* ---- Ask --------------------------------------------------------------------------
 */

/* Silent for so long that it is asked; but not all the time. */
static bool is_doubtful(const struct node_watch *w, const struct node *node, double now)
{
    return now - node->changed > w->timeout / 2 && now - node->asked > w->timeout / 4;
}

/* A group that fails is gone within moments, where all its nodes are there to tell. */
static bool is_stuck(const struct watch_view *view)
{
    return view->failing > 0 && view->now - view->failing > FAILING_S;
}

/* One has not answered: it is asked once more, and others for comparison. */
static bool some_unanswered(const struct node_watch *w, double now)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->nodes[i].silences > 0 && now - w->nodes[i].asked > w->timeout / 4)
            return true;
    return false;
}

/* No report for a while: is it time to ask all? */
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
            names[n++] = view->spec->plan->nodes[i].name;
    if (n > 0 && node_probe_start(view->spec->launcher->ask, NODE_IS_ALIVE, names, n,
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
    node_return_ask(view->spec, &w->probe);
    w->of_lost = w->probe != NULL;
}

/* It has no heartbeat before its workers run, and none once they are being ended. */
static bool should_beat(const struct watch_view *view, const struct node *node)
{
    return (node->line[0] || view->joined) && view->failing == 0;
}

static void answer_take(struct node_watch *w, const struct watch_view *view,
                        const char *name, enum node_answer answer)
{
    for (size_t i = 0; i < w->n; i++) {
        struct node *node = &w->nodes[i];

        if (strcmp(view->spec->plan->nodes[i].name, name) != 0)
            continue;
        node->asked = w->probe_started;
        node->answer = answer;
        node->silences = answer == NODE_SILENT ? node->silences + 1 : 0;
        w->answered = w->answered || answer > NODE_SILENT;
        if (answer == NODE_ANSWERS && !node->told && should_beat(view, node) &&
            view->now - node->changed > w->timeout) {
            node->told = true;
            callback_note(view->callbacks,
                          "node %s has no heartbeat for %.0f s, but it answers", name,
                          view->now - node->changed);
        }
    }
}

static void answers_take(struct node_watch *w, const struct watch_view *view)
{
    if (!w->probe || !node_probe_done(w->probe))
        return;
    w->answered = w->answered && w->of_lost;
    if (w->of_lost)
        node_return_take(view->spec, view->callbacks, w->probe, NULL);
    else
        for (size_t i = 0; i < node_probe_count(w->probe); i++)
            answer_take(w, view, node_probe_node(w->probe, i),
                        node_probe_answer(w->probe, i));
    node_probe_destroy(w->probe);
    w->probe = NULL;
}

/* ---- Judge ------------------------------------------------------------------------
 */

/* Neither its workers nor its slurmd: it is lost. */
static bool is_dead(const struct node_watch *w, const struct node *node, double now)
{
    return now - node->changed > w->timeout && node->asked > node->changed &&
           (node->answer == NODE_SILENT || node->answer == NODE_REFUSES);
}

/* Earlier than its heartbeat tells: it is cut off, while others answer; or it holds up
 * the end of a group that fails, has not been heard of since, and can start no other.
 */
static bool is_given_up(const struct node_watch *w, const struct watch_view *view,
                        const struct node *node)
{
    if (!w->answered)
        return false;
    if (node->answer == NODE_REFUSES)
        return w->stuck && node->changed < view->failing;
    return node->silences >= (w->stuck ? 1 : 2);
}

/* One that is cut off, or died a moment ago, may have a heartbeat. */
static void lost_sentence(const struct node_watch *w, const struct node *first,
                          size_t n, double now, struct watch_finding *finding)
{
    size_t used;

    node_lost_describe(finding->host, first->answer, n - 1, finding->message,
                       sizeof finding->message);
    used = strlen(finding->message);
    if (now - first->changed > w->timeout)
        snprintf(finding->message + used, sizeof finding->message - used,
                 ", and has had no heartbeat for %.0f s", now - first->changed);
}

/* All that are lost by now are given up together: a switch may have taken many. */
static size_t lost_tell(struct node_watch *w, const struct watch_view *view,
                        struct watch_finding *finding)
{
    const struct node *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const char *name = view->spec->plan->nodes[i].name;

        if (!is_dead(w, &w->nodes[i], view->now) && !is_given_up(w, view, &w->nodes[i]))
            continue;
        attempt_planner_lose(view->spec->planner, name);
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
                                          struct watch_finding *finding)
{
    struct node_watch *w = state;

    some_read(w, view->now);
    answers_take(w, view);
    if (lost_tell(w, view, finding) > 0) {
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
