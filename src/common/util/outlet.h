/*
 * outlet.h - text for a descriptor that may not take it: a terminal that is held with
 * Ctrl-S or whose connection is dead, a pipe that is not read.
 *
 * A thread of its own writes, since nothing else is sure not to block: O_NONBLOCK would
 * also be that of the other processes that share the descriptor, and a write after
 * poll() may find the room taken. As a rule the text is out when outlet_print()
 * returns; as long as the descriptor takes none, it is kept. What goes nowhere (EPIPE,
 * a full disk) is dropped, and no SIGPIPE comes.
 */
#ifndef RAYTRAIN_UTIL_OUTLET_H
#define RAYTRAIN_UTIL_OUTLET_H

#include <stdarg.h>
#include <stdbool.h>

#include "util/error.h"

/* So much is kept at most. When more comes, what has been kept is dropped for a line
 * that says so: the latest text is the one that counts. */
#define OUTLET_KEEPS_BYTES 65536

struct outlet;

/* fd stays the caller's, and open for longer than the outlet. */
int outlet_create(int fd, struct outlet **out, struct error *err);
/* That of this process's standard error, made at the first call; NULL: no memory. */
struct outlet *outlet_messages(void);
/* All calls together take a tenth of each second at most. NULL is fine: the text is
 * dropped. */
void outlet_print(struct outlet *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void outlet_vprint(struct outlet *o, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Wait until all is written, at most so many seconds. True: it is. */
bool outlet_flush(struct outlet *o, double seconds);
/* Drops what is not written yet. NULL is fine. */
void outlet_destroy(struct outlet *o);

#endif
