/*
 * kept_lines.h - lines of JSON for a pipe or a FIFO, whose reader may be slow. They are
 * kept until they are written, up to a limit; lines that do not fit are lost, and
 * counted in the next line that is kept: {"event":"lost","lines":N}. No call waits.
 */
#ifndef RAYTRAIN_CALLBACK_KEPT_LINES_H
#define RAYTRAIN_CALLBACK_KEPT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct kept_lines {
    int fd;     /* non-blocking; -1: closed, and lines are dropped */
    char *kept; /* lines not written yet are in [begin, n) */
    size_t begin, n;
    double tried; /* when they were written last */
    uint64_t lost;
};

#define KEPT_LINES_INIT                                                                \
    {                                                                                  \
        .fd = -1                                                                       \
    }

/* The caller sets fd. RAYTRAIN_ENOMEM. */
int kept_lines_open(struct kept_lines *k, struct error *err);
/* Keep a line, which has no newline. False: there is no room. */
bool kept_lines_add(struct kept_lines *k, const char *line);
/* Count a lost line. */
void kept_lines_lose(struct kept_lines *k);
/* Write as much as the descriptor accepts. Closes it if its reader has gone. */
void kept_lines_write(struct kept_lines *k);
bool kept_lines_written(const struct kept_lines *k);
/* Close the descriptor, and drop unwritten lines. */
void kept_lines_close(struct kept_lines *k);
/* The same, and free. KEPT_LINES_INIT is fine. */
void kept_lines_clear(struct kept_lines *k);

#endif
