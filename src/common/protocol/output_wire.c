/*
 * output_wire.c - see output_wire.h. A line is
 *
 *     MARK RANK ' ' KIND TEXT '\n'
 *
 * In the text MARK precedes a letter that stands for a newline, or for MARK itself.
 */
#include "protocol/output_wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK '\001'

static const char kinds[OUTPUT_KINDS + 1] = "oeln";

size_t output_encode(int rank, enum output_kind kind, const char *text, size_t n,
                     char line[OUTPUT_LINE_MAX], size_t *taken)
{
    size_t used =
        (size_t)snprintf(line, OUTPUT_LINE_MAX, "%c%d %c", MARK, rank, kinds[kind]);
    size_t i;

    for (i = 0; i < n && used + 3 <= OUTPUT_LINE_MAX; i++) {
        bool special = text[i] == '\n' || text[i] == MARK;

        if (special)
            line[used++] = MARK;
        line[used++] = text[i] == '\n' ? 'n' : text[i] == MARK ? 'm' : text[i];
    }
    line[used++] = '\n';
    *taken = i;
    return used;
}

size_t output_encode_lost(int rank, uint64_t lines, char line[OUTPUT_LINE_MAX])
{
    char number[24];
    size_t taken;
    int n = snprintf(number, sizeof number, "%" PRIu64, lines);

    return output_encode(rank, OUTPUT_LOST, number, (size_t)n, line, &taken);
}

/* Where the text begins; NULL: this is another line. */
static const char *head_take(const char *line, size_t n, struct output_piece *piece)
{
    const char *end = line + n, *at = line, *kind;
    long rank = 0;

    if (n < 4 || *at++ != MARK)
        return NULL;
    for (; at < end && *at >= '0' && *at <= '9' && rank < 100000000; at++)
        rank = 10 * rank + (*at - '0');
    if (at == line + 1 || end - at < 2 || *at != ' ' ||
        !(kind = memchr(kinds, at[1], OUTPUT_KINDS)))
        return NULL;
    piece->rank = (int)rank;
    piece->kind = (enum output_kind)(kind - kinds);
    return at + 2;
}

void output_decode(const char *line, size_t n, struct output_piece *piece)
{
    const char *at, *end = line + n;

    *piece = (struct output_piece){.rank = -1, .kind = OUTPUT_STDOUT};
    at = head_take(line, n, piece);
    if (!at) {
        piece->n = n < OUTPUT_LINE_MAX ? n : OUTPUT_LINE_MAX;
        memcpy(piece->text, line, piece->n);
        piece->text[piece->n++] = '\n';
        return;
    }
    for (; at < end && piece->n < OUTPUT_LINE_MAX; at++) {
        char c = *at;

        if (c == MARK && at + 1 < end)
            c = *++at == 'n' ? '\n' : MARK;
        piece->text[piece->n++] = c;
    }
    piece->text[piece->n] = '\0';
    if (piece->kind == OUTPUT_LOST)
        piece->lost = strtoull(piece->text, NULL, 10);
}
