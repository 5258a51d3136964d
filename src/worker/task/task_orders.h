/*
 * task_orders.h - what the launcher orders its tasks to do: lines, which srun copies to
 * the standard input of all of them.
 *
 *     end N    attempt N is over: kill its worker
 *     begin N  start a worker for attempt N
 *     leave    no attempt follows: end
 *
 * Other lines are ignored. At the end of the file no order follows: raytrain-run has
 * died, or lets the workers finish.
 */
#ifndef RAYTRAIN_TASK_TASK_ORDERS_H
#define RAYTRAIN_TASK_TASK_ORDERS_H

#include <stdbool.h>
#include <stddef.h>

enum order_kind { ORDER_NONE, ORDER_END, ORDER_BEGIN, ORDER_LEAVE };

struct order {
    enum order_kind kind;
    int attempt; /* of ORDER_END and ORDER_BEGIN */
};

struct task_orders {
    int fd; /* poll it for reading; -1: no order follows */
    char line[64];
    size_t used;
    bool cut; /* the line is too long for an order */
    char pending[256];
    size_t next, n;
};

void task_orders_init(struct task_orders *o, int fd);
/* Call it when fd is readable: does not block then. */
void task_orders_read(struct task_orders *o);
/* The next order that has been read. ORDER_NONE: none. */
struct order task_orders_next(struct task_orders *o);

#endif
