/*
 * output_wire.h - what workers print, on its way to raytrain-run, which shows it: lines
 * of text in a pipe that several ranks have in common. Slurm passes on a line of at
 * most a kilobyte in one piece, and a write of up to PIPE_BUF bytes to a pipe is in one
 * piece.
 */
#ifndef RAYTRAIN_PROTOCOL_OUTPUT_WIRE_H
#define RAYTRAIN_PROTOCOL_OUTPUT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the environment of a worker whose output is shown: the descriptor of its log. */
#define OUTPUT_LOG_VARIABLE "RAYTRAIN_OUTPUT_LOG"

#define OUTPUT_LINE_MAX 1000 /* bytes, with the newline */

enum output_kind {
    OUTPUT_STDOUT,
    OUTPUT_STDERR,
    OUTPUT_LOST, /* lines that are not shown, since there was no room for them */
    OUTPUT_NOTE, /* a message about the output itself */
    OUTPUT_KINDS
};

struct output_piece {
    int rank; /* -1: it was not made by output_encode() */
    enum output_kind kind;
    uint64_t lost;                  /* lines, of OUTPUT_LOST */
    size_t n;                       /* bytes of the text */
    char text[OUTPUT_LINE_MAX + 1]; /* not terminated; it may have any byte */
};

/* A line with as much of the text as fits. Returns its length; *taken: the bytes. */
size_t output_encode(int rank, enum output_kind kind, const char *text, size_t n,
                     char line[OUTPUT_LINE_MAX], size_t *taken);
size_t output_encode_lost(int rank, uint64_t lines, char line[OUTPUT_LINE_MAX]);
/* A line without its newline. What is not one of these, such as the output of a site's
 * prolog of tasks, is a piece of rank -1, with a newline. */
void output_decode(const char *line, size_t n, struct output_piece *piece);

#endif
