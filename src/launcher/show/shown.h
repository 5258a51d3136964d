/*
 * shown.h - what workers print, on the terminal of raytrain-run: standard output to its
 * standard output, standard error to its standard error.
 *
 * The output of one rank is shown unchanged, unless a progress block is on the same
 * terminal: then it is shown in whole lines above the block, and a line that a rank
 * replaces by carriage returns (a progress bar) is passed to `live`. With several
 * ranks, each line begins with "NODE:RANK: ", and a line that several ranks print at
 * about the same time is shown once.
 *
 * Nothing waits for the terminal: a limited amount is kept, and a message counts the
 * lines that are lost beyond it. The logs have all lines.
 */
#ifndef RAYTRAIN_SHOW_SHOWN_H
#define RAYTRAIN_SHOW_SHOWN_H

#include <stdbool.h>

#include "event/event_loop.h"
#include "launch/placement.h"

struct shown;

struct shown_spec {
    const char *ranks;            /* rank_choice.h */
    const struct placement *plan;
    const char *log_dir; /* for messages */
    struct event_loop *loop;
    bool block;       /* a progress block is drawn on standard error */
    /* standard output is used for something else: all goes to standard error */
    bool out_is_used;
    /* Called after output: the line that is being replaced, NULL if there is none. */
    void (*live)(void *arg, const char *line);
    void *arg;
};

/* *channel: the descriptor where workers write (protocol/output_wire.h). The caller
 * passes it to them and closes it. RAYTRAIN_ENOMEM. */
int shown_create(const struct shown_spec *spec, struct shown **out, int *channel,
                 struct error *err);
/* The end that is read, for a process that keeps reading if this one dies. */
int shown_fd(const struct shown *s);
/* True when no process has the channel open any more, and all has been read. NULL is
 * fine. */
bool shown_ended(const struct shown *s);
/* Was all output shown? False if lines were lost. */
bool shown_whole(const struct shown *s);
/* For workers of another attempt, which write into the same channel. */
int shown_continue(struct shown *s, const char *log_dir, struct error *err);
/* Has nothing arrived for a moment? NULL is fine. */
bool shown_is_idle(const struct shown *s);
/* Print what has arrived, even a line without a newline. NULL is fine. */
void shown_flush(struct shown *s);
/* Call it after the workers have ended: prints what is left, even a line without a
 * newline. NULL is fine. */
void shown_finish(struct shown *s);
/* Has everything been written to the terminal? NULL is fine. */
bool shown_is_read(const struct shown *s);
/* NULL is fine. */
void shown_destroy(struct shown *s);

#endif
