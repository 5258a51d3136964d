/*
 * service_loop.c - the events for which the thread of a service waits, and the work
 * that is due at each turn.
 */
#include "service/service_impl.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS 64

/* End the workers of versions that were replaced. Forget such a version once it is not
 * held any more, since a holder could still submit a request. */
static void versions_tidy(struct service *s)
{
    struct model_version **at = &s->versions;

    while (*at) {
        struct model_version *v = *at;

        if (!v->is_retired || v->refs > 0 || !model_version_is_idle(v)) {
            at = &v->next;
            continue;
        }
        *at = v->next;
        service_close_links(&v->workers);
        model_version_destroy(v);
        s->changed = true;
    }
}

/* ---- A turn of the loop ---- */

static void timer_take(struct service *s)
{
    uint64_t times;

    if (read(s->timer, &times, sizeof times) == sizeof times)
        s->armed = -1;
}

static void due_do(struct service *s, double now, struct rows_request_list *done)
{
    bool expire = now - s->expired >= EXPIRE_S;

    for (struct model_version *v = s->versions; v; v = v->next) {
        if (expire)
            model_version_expire(v, now, done);
        model_version_dispatch(v, now, done);
        service_watch_links(s, v);
        service_arm(s, model_version_next(v), now);
        if (!model_version_is_idle(v))
            service_arm(s, now + EXPIRE_S, now);
    }
    if (expire) {
        service_expire(s, now, done);
        s->expired = now;
    }
    if (s->strangers)
        service_arm(s, now + HELLO_S, now);
    versions_tidy(s);
}

static void event_take(struct service *s, void *what, double now,
                       struct rows_request_list *done)
{
    if (what == &s->timer)
        timer_take(s);
    else if (what == &s->listener)
        service_accept(s);
    else
        service_link_event(s, what, now, done);
}

int service_turn(struct service *s, double seconds, struct error *err)
{
    struct epoll_event events[EVENTS];
    int n =
        epoll_wait(s->epoll, events, EVENTS, seconds < 0 ? -1 : (int)(seconds * 1000));
    struct rows_request_list done;
    double now;

    if (n < 0 && errno != EINTR)
        return service_error(err, "wait");
    rows_request_list_init(&done);
    pthread_mutex_lock(&s->lock);
    now = service_now(s);
    for (int i = 0; i < n; i++)
        event_take(s, events[i].data.ptr, now, &done);
    due_do(s, now, &done);
    service_unlock(s, &done);
    return 0;
}
