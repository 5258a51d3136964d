/* live_model.c - one model while it is served: its messages, the changes of its
 * version, and its life. The service as a whole is in life.c. */
#include "config.h"

#include "life/live_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http/served_model.h"
#include "run/checkpoint_manager.h"
#include "util/fs.h"

/* ---- Messages ---- */

void live_model_say(struct live_model *m, const char *fmt, ...)
{
    const struct life_options *o = m->env->o;
    char text[ERROR_TEXT_MAX], *named = NULL;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (o->n_models > 1 && asprintf(&named, "%s: %s", m->o->name, text) < 0)
        named = NULL;
    o->say(o->arg, named ? named : text);
    free(named);
}

static void on_sentence(void *arg, const char *text)
{
    live_model_say(arg, "%s", text);
}

/* ---- Versions ---- */

static void version_clear(struct version *v)
{
    free(v->checkpoint);
    *v = (struct version){.group = -1};
}

static int version_start(struct live_model *m, struct version *v,
                         const char *checkpoint, struct error *err)
{
    v->checkpoint = strdup(checkpoint);
    v->number = checkpoint_manager_iteration(checkpoint);
    v->all_joined = false;
    if (!v->checkpoint)
        return error_no_memory(err);
    return crew_start(m->crew, checkpoint, &v->group, err);
}

/* Only one change is in progress at a time. */
static void pending_begin(struct live_model *m)
{
    char *checkpoint = m->pending;
    struct error err;

    if (!checkpoint || m->next.group >= 0 || m->env->ending)
        return;
    m->pending = NULL;
    if (checkpoint_manager_iteration(checkpoint) != m->now.number &&
        version_start(m, &m->next, checkpoint, &err) < 0) {
        live_model_say(m, "cannot change to %s: %s", checkpoint, err.text);
        version_clear(&m->next);
    }
    free(checkpoint);
}

/* Called when all workers of the next version are connected to its service. */
static void version_switch(struct live_model *m)
{
    struct version old = m->now;
    struct error err;

    if (m->next.group < 0 || !m->next.all_joined ||
        service_workers(m->service, m->next.number) < (size_t)m->env->o->workers)
        return;
    if (service_switch(m->service, m->next.number, &err) < 0)
        return; /* one has just ended */
    m->now = m->next;
    m->next = (struct version){.group = -1};
    m->is_dead = false;
    live_model_say(m, "serving %s from now on", m->now.checkpoint);
    crew_retire(m->crew, old.group);
    version_clear(&old);
    pending_begin(m);
}

/* ---- What happens ---- */

static void on_joined(void *arg, int group, int fd)
{
    struct live_model *m = arg;
    struct error err;

    (void)group;
    if (!m->service) /* it has ended */
        close(fd);
    else if (service_add_worker(m->service, fd, &err) < 0)
        live_model_say(m, "a worker cannot join: %s", err.text);
}

static void on_ready(void *arg, int group)
{
    struct live_model *m = arg;

    if (group != m->next.group)
        return;
    m->next.all_joined = true;
    version_switch(m);
}

static void on_gone(void *arg, int group, const struct error *why)
{
    struct live_model *m = arg;

    if (why && group == m->now.group) {
        m->is_dead = true;
        m->env->lost(m->env->arg, m, why);
    } else if (why && group == m->next.group && !m->env->ending) {
        if (m->is_dead)
            live_model_say(m, "%s cannot be served: %s", m->next.checkpoint, why->text);
        else
            live_model_say(m, "%s cannot be served: %s; %s is, as before",
                           m->next.checkpoint, why->text, m->now.checkpoint);
        version_clear(&m->next);
        pending_begin(m);
    }
}

/* Called by the service's thread. */
static void on_service(void *arg)
{
    const struct live_model *m = arg;

    eventfd_write(m->env->changed, 1);
}

void live_model_changed(struct live_model *m)
{
    if (!m->service) /* it has ended */
        return;
    m->was_ready = m->was_ready || service_is_ready(m->service);
    version_switch(m);
}

void live_model_newer(struct live_model *m)
{
    char *latest = m->follower ? follower_take(m->follower) : NULL;

    if (!latest)
        return;
    free(m->pending);
    m->pending = latest;
    pending_begin(m);
}

/* ---- Its life ---- */

static int service_make(struct live_model *m, struct error *err)
{
    const struct serve_config *limits = m->o->limits;
    struct service_options options = {
        .name = m->o->name,
        .limits = {.batch = (uint64_t)limits->max_batch,
                   .wait_s = limits->max_wait_us / 1e6,
                   .queue = (size_t)limits->queue,
                   .answer_s = m->env->o->config->timeout_s},
        .say = on_sentence,
        .changed = on_service,
        .attach = served_model_make,
        .detach = served_model_free,
        .arg = m,
    };

    if (service_create(&options, &m->service, err) < 0)
        return -1;
    return service_start(m->service, err);
}

static int crew_make(struct live_model *m, struct error *err)
{
    const struct live_env *env = m->env;
    struct crew_config config = {.loop = env->loop,
                                 .argv = env->o->argv,
                                 .sockets = m->sockets,
                                 .runs = m->runs,
                                 .config = m->o->config,
                                 .workers = env->o->workers,
                                 .first = m->index * env->o->workers,
                                 .max_failures = m->o->max_failures,
                                 .grace_s = env->o->config->timeout_s + WORKER_GRACE_S,
                                 .silent_s = WORKER_SILENT_S,
                                 .joined = on_joined,
                                 .ready = on_ready,
                                 .gone = on_gone,
                                 .note = on_sentence,
                                 .arg = m};

    return crew_create(&config, &m->crew, err);
}

/* With several models, each has directories of its own, since workers are numbered by
 * model. The path of a socket must be short. */
static int model_places_make(struct live_model *m, struct error *err)
{
    const struct live_env *env = m->env;

    if (env->o->n_models == 1) {
        m->sockets = strdup(env->sockets);
        m->runs = strdup(env->runs);
        return m->sockets && m->runs ? 0 : error_no_memory(err);
    }
    if (asprintf(&m->sockets, "%s/%d", env->sockets, m->index) < 0)
        m->sockets = NULL;
    if (asprintf(&m->runs, "%s/%s", env->runs, m->o->name) < 0)
        m->runs = NULL;
    if (!m->sockets || !m->runs)
        return error_no_memory(err);
    return fs_mkdirs(m->sockets, 0700, err) < 0 ? -1 : fs_mkdirs(m->runs, 0700, err);
}

int live_model_begin(struct live_model *m, const struct live_env *env, int index,
                     struct error *err)
{
    *m = (struct live_model){.env = env,
                             .o = &env->o->models[index],
                             .index = index,
                             .now = {.group = -1},
                             .next = {.group = -1}};
    if (model_places_make(m, err) < 0 || service_make(m, err) < 0 ||
        crew_make(m, err) < 0 || version_start(m, &m->now, m->o->checkpoint, err) < 0)
        return -1;
    return m->o->limits->follow
               ? follower_start(m->o->checkpoint, env->o->choose, m->o->arg, env->newer,
                                &m->follower, err)
               : 0;
}

bool live_model_is_answered(const struct live_model *m)
{
    return m->is_dead || service_is_idle(m->service);
}

void live_model_end(struct live_model *m)
{
    service_destroy(m->service);
    m->service = NULL;
    if (!m->crew)
        return;
    crew_retire(m->crew, m->next.group);
    crew_retire(m->crew, m->now.group);
}

size_t live_model_groups(const struct live_model *m)
{
    return m->crew ? crew_groups(m->crew) : 0;
}

void live_model_clear(struct live_model *m)
{
    crew_destroy(m->crew);
    version_clear(&m->now);
    version_clear(&m->next);
    free(m->pending);
    free(m->sockets);
    free(m->runs);
}
