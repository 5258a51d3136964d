/*
 * equal_lines.h - lines of several ranks: a line that several of them print at about
 * the same time is passed on once, with the ranks that printed it. The lines of each
 * rank stay in their order.
 */
#ifndef RAYTRAIN_SHOW_EQUAL_LINES_H
#define RAYTRAIN_SHOW_EQUAL_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct equal_lines;

/* in[rank]: this rank has printed the line. The line has no newline. */
typedef void equal_lines_emit(void *arg, bool is_error, const bool in[], int n_in,
                              const char *text, size_t n);

/* chosen: how many of the ranks print at all. NULL without memory. */
struct equal_lines *equal_lines_create(int workers, int chosen, equal_lines_emit *emit,
                                       void *arg);
void equal_lines_add(struct equal_lines *e, int rank, bool is_error, const char *text,
                     size_t n);
/* Emit the lines that have waited long enough for other ranks, or all lines. True: no
 * line is waiting any more. */
bool equal_lines_flush(struct equal_lines *e, bool all);
/* Drops lines that were not emitted. NULL is fine. */
void equal_lines_destroy(struct equal_lines *e);

#endif
