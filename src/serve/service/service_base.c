/*
 * service_base.c - what all files of a service need: its clock and timer, descriptors that
 * its thread waits for, versions by number, and what is passed on without the lock.
 */
#include "service/service_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "util/clock.h"

double service_now(const struct service *s)
{
    return s->o.clock ? s->o.clock() : clock_now();
}

int service_error(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_ENOMEM, "cannot %s for the service: %s", what,
                     strerror(errno));
}

int service_watch(struct service *s, int fd, void *what, uint32_t events,
                  struct error *err)
{
    struct epoll_event event = {.events = events, .data.ptr = what};

    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return service_error(err, "watch a descriptor");
    return 0;
}

void service_arm(struct service *s, double when, double now)
{
    double left = when - now;
    struct itimerspec spec = {0};

    if (when < 0 || (s->armed >= 0 && s->armed <= when))
        return;
    if (left < 1e-9)
        left = 1e-9;
    spec.it_value.tv_sec = (time_t)left;
    spec.it_value.tv_nsec = (long)((left - (double)spec.it_value.tv_sec) * 1e9) + 1;
    if (spec.it_value.tv_nsec >= 1000000000)
        spec.it_value.tv_nsec = 999999999;
    if (timerfd_settime(s->timer, 0, &spec, NULL) == 0)
        s->armed = when;
}

struct model_version *service_version(struct service *s, int64_t version)
{
    struct model_version *v = s->versions;

    while (v && (v->model.version != version || v->is_retired))
        v = v->next;
    return v;
}

void service_close_links(struct worker_link **list)
{
    while (*list) {
        struct worker_link *w = *list;

        *list = w->next;
        worker_link_destroy(w);
    }
}

/* ---- Notices, passed on without the lock ---- */

void service_say(struct service *s, const char *fmt, ...)
{
    struct sentence *said = s->o.say ? calloc(1, sizeof *said) : NULL;
    va_list ap;

    if (!said)
        return;
    va_start(ap, fmt);
    vsnprintf(said->text, sizeof said->text, fmt, ap);
    va_end(ap);
    *s->said_end = said;
    s->said_end = &said->next;
}

static void requests_finish(struct service_request *q)
{
    while (q) {
        struct service_request *next = q->next;

        q->done(q);
        q = next;
    }
}

void service_unlock(struct service *s, struct rows_request_list *done)
{
    struct sentence *said = s->said;
    bool changed = s->changed;

    s->said = NULL;
    s->said_end = &s->said;
    s->changed = false;
    pthread_mutex_unlock(&s->lock);
    requests_finish(done->first);
    while (said) {
        struct sentence *next = said->next;

        s->o.say(s->o.arg, said->text);
        free(said);
        said = next;
    }
    if (changed && s->o.changed)
        s->o.changed(s->o.arg);
}
