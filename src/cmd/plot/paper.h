/* paper.h - the width, height and characters of what text is printed on: a terminal or
 * a file. */
#ifndef RAYTRAIN_PLOT_PAPER_H
#define RAYTRAIN_PLOT_PAPER_H

#include <stdbool.h>
#include <stdio.h>

struct paper {
    int columns, rows;
    bool terminal;
    bool utf8; /* else only ASCII */
};

/* Set from the variables COLUMNS and LINES, the size of the terminal, or 80 x 24; the
 * characters are those of the locale. */
struct paper paper_of(FILE *out);

/* A text for this paper: control characters are escaped, in ASCII also what is beyond;
 * if it is wider than `columns`, it is cut and ends in "...". malloc'ed, NULL without
 * memory. */
char *paper_text(const struct paper *paper, const char *text, int columns);
/* The number of columns of such a text. */
int paper_width(const char *text);

/* Print the text, and spaces up to `columns`. */
void paper_print(FILE *out, const struct paper *paper, const char *text, int columns);

#endif
