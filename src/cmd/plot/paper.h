/* paper.h - what text is printed on: its width, its height and its characters. */
#ifndef RAYTRAIN_PLOT_PAPER_H
#define RAYTRAIN_PLOT_PAPER_H

#include <stdbool.h>
#include <stdio.h>

struct paper {
    int columns, rows;
    bool terminal;
    bool utf8; /* else ASCII alone */
};

/* The variables COLUMNS and LINES, the size of the terminal, or 80 x 24; the characters
 * of the locale. */
struct paper paper_of(FILE *out);

/* A text for this paper: control characters escaped, and in ASCII also what is beyond;
 * not wider than `columns`: what is cut ends in "...". malloc'ed, NULL without
 * memory. */
char *paper_text(const struct paper *paper, const char *text, int columns);
/* The columns that such a text takes. */
int paper_width(const char *text);

/* Print the text of at most `columns`, and blanks up to there. */
void paper_print(FILE *out, const struct paper *paper, const char *text, int columns);

#endif
