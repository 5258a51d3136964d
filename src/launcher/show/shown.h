/*
 * shown.h - what workers print, on the terminal of raytrain-run: standard output to its
 * standard output, standard error to its standard error.
 *
 * The output of one rank appears as it is, byte by byte, unless a progress block is on
 * the same terminal: then in whole lines above it, and what a rank replaces by carriage
 * returns (a progress bar) is passed to `live`. The output of several ranks appears in
 * lines with "NODE:RANK: " before each, and a line that several ranks print at about
 * the same time once.
 *
 * Nothing waits for the terminal: a bounded amount is kept, and how many lines are lost
 * then is said. The logs have all of it.
 */
#ifndef RAYTRAIN_SHOW_SHOWN_H
#define RAYTRAIN_SHOW_SHOWN_H

#include <stdbool.h>

#include "event/event_loop.h"
#include "launch/placement.h"

struct shown;

struct shown_spec {
    const char *ranks;            /* rank_choice.h */
    const struct placement *plan; /* outlives it */
    const char *log_dir;          /* for messages; outlives it */
    struct event_loop *loop;
    bool block;       /* a progress block is drawn on standard error */
    bool out_is_used; /* standard output is for other things: all goes to the other */
    /* Something was printed, and this line is being replaced (NULL: none). */
    void (*live)(void *arg, const char *line);
    void *arg;
};

/* *channel: where workers write (protocol/output_wire.h): the caller passes it to them,
 * and closes it. RAYTRAIN_ENOMEM. */
int shown_create(const struct shown_spec *spec, struct shown **out, int *channel,
                 struct error *err);
/* The other end, for a process that is to read it if this one dies. */
int shown_fd(const struct shown *s);
/* No process has the channel open any more, and all has been read. NULL is fine. */
bool shown_ended(const struct shown *s);
/* Was all of it shown? Not if lines were lost. */
bool shown_whole(const struct shown *s);
/* The workers have ended: what is left is printed, also what is not a whole line. NULL
 * is fine. */
void shown_finish(struct shown *s);
/* Has the terminal all of it? NULL is fine. */
bool shown_is_read(const struct shown *s);
/* NULL is fine. */
void shown_destroy(struct shown *s);

#endif
