/*
 * terminal.h - a block of lines at the bottom of the output, redrawn in place. Other
 * text that this process prints to the outlet removes the block first, so that the
 * block stays below all other lines.
 *
 * The cursor is never hidden, and attributes never stay set, so that the terminal is
 * usable whenever this process dies. The block then stays as it was.
 */
#ifndef RAYTRAIN_VIEW_TERMINAL_H
#define RAYTRAIN_VIEW_TERMINAL_H

#include "event/outlet.h"
#include "view/page.h"

struct terminal {
    struct outlet *outlet;
    int fd;
    int columns, rows; /* now */
    int drawn;         /* lines of the block that is drawn; 0: none */
    int widths[PAGE_LINES];
    bool utf8, color;
};

/* Can a block be drawn there? It is a terminal, and can move its cursor. */
bool terminal_can_draw(int fd);
/* Does the terminal belong to another job? Then do not draw a block. */
bool terminal_is_taken(int fd);

/* fd is the outlet's. *t must not move in memory until terminal_close(). */
void terminal_open(struct terminal *t, struct outlet *outlet, int fd);
/* The block that was drawn stays. */
void terminal_close(struct terminal *t);

/* The style for lines. Asks for the window's size each time. */
struct page_style terminal_style(struct terminal *t);
/* Draw the page, which has this style, in place of the previous block. Does nothing
 * while earlier text is still being written. */
void terminal_draw(struct terminal *t, const struct page *page);
/* Remove the block; the next text takes its place. */
void terminal_erase(struct terminal *t);

#endif
