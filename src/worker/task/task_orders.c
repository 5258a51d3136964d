/* task_orders.c - reads orders, and splits them into lines. */
#include "task/task_orders.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void task_orders_init(struct task_orders *o, int fd)
{
    *o = (struct task_orders){.fd = fd};
}

void task_orders_read(struct task_orders *o)
{
    ssize_t n;

    if (o->next < o->n || o->fd < 0)
        return;
    do
        n = read(o->fd, o->pending, sizeof o->pending);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return;
    o->next = 0;
    o->n = n > 0 ? (size_t)n : 0;
    if (n <= 0)
        o->fd = -1;
}

static struct order order_parse(const char *line)
{
    struct order order = {.kind = ORDER_NONE};
    int end = 0;

    if (strcmp(line, "leave") == 0)
        order.kind = ORDER_LEAVE;
    else if (sscanf(line, "end %9d%n", &order.attempt, &end) == 1 && !line[end])
        order.kind = ORDER_END;
    else if (sscanf(line, "begin %9d%n", &order.attempt, &end) == 1 && !line[end])
        order.kind = ORDER_BEGIN;
    return order;
}

struct order task_orders_next(struct task_orders *o)
{
    while (o->next < o->n) {
        char c = o->pending[o->next++];
        struct order order;

        if (c != '\n') {
            o->cut = o->cut || o->used == sizeof o->line - 1;
            if (!o->cut)
                o->line[o->used++] = c;
            continue;
        }
        o->line[o->used] = '\0';
        order = o->cut ? (struct order){.kind = ORDER_NONE} : order_parse(o->line);
        o->used = 0;
        o->cut = false;
        if (order.kind != ORDER_NONE)
            return order;
    }
    return (struct order){.kind = ORDER_NONE};
}
