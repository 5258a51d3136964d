/*
 * outlet.h - write text to a descriptor that may block: a terminal that is stopped with
 * Ctrl-S or whose connection is dead, a pipe that is not read.
 *
 * A thread writes, since nothing else is sure not to block: O_NONBLOCK would also
 * affect other processes that share the descriptor, and a write after poll() may find
 * that there is no room any more. Normally the text is written when outlet_print()
 * returns; if the descriptor blocks, the text is kept. Text that cannot be written
 * (EPIPE, a full disk) is dropped, without a SIGPIPE.
 */
#ifndef RAYTRAIN_EVENT_OUTLET_H
#define RAYTRAIN_EVENT_OUTLET_H

#include <stdarg.h>
#include <stdbool.h>

#include "util/error.h"

/* The maximum of text that is kept. If there is more, all of it is replaced by a line
 * that reports this: the latest text matters most. */
#define OUTLET_KEEPS_BYTES 65536
/* maximum bytes of the text that precedes another, with the NUL */
#define OUTLET_BEFORE_MAX 32

struct outlet;

/* The caller owns fd, which must stay open longer than the outlet. */
int outlet_create(int fd, struct outlet **out, struct error *err);
/* The outlet of standard error, created at the first call; NULL: no memory. */
struct outlet *outlet_messages(void);
/* The outlet of standard output. */
struct outlet *outlet_output(void);
/* Print text. All calls together block for at most a tenth of each second. NULL is
 * fine: the text is dropped. */
void outlet_print(struct outlet *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for any bytes. */
void outlet_write(struct outlet *o, const char *text, size_t n);
void outlet_vprint(struct outlet *o, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Put `before` ahead of the next text of any caller: the sequence that removes
 * temporary text from a terminal. "" cancels it. */
void outlet_precede(struct outlet *o, const char *before);
/* Is that sequence still to be printed? */
bool outlet_precedes(struct outlet *o);
/* Wait at most `seconds` until all is written. True: it is. */
bool outlet_flush(struct outlet *o, double seconds);
/* Drop text that is not yet written, and free the outlet. NULL is fine. */
void outlet_destroy(struct outlet *o);

#endif
