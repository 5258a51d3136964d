/*
 * terminal.h - a block of lines at the end of what a terminal shows, which is drawn
 * again and again in the same place. Whatever else this process prints to the outlet
 * removes it first, so that it stays below all other lines.
 *
 * The cursor is never hidden, and attributes never stay set, so that the terminal is
 * usable whenever this process dies: the block then stands there as it was.
 */
#ifndef RAYTRAIN_VIEW_TERMINAL_H
#define RAYTRAIN_VIEW_TERMINAL_H

#include "event/outlet.h"
#include "view/page.h"

struct terminal {
    struct outlet *outlet;
    int fd;
    int columns, rows; /* now */
    int drawn;         /* lines of the block that stands there; 0: none */
    int widths[PAGE_LINES];
    bool utf8, color;
};

/* Can a block be drawn there? It is a terminal, and can move its cursor. */
bool terminal_can_draw(int fd);
/* Is the terminal another job's? Then a block would be in the way. */
bool terminal_is_taken(int fd);

/* fd is the outlet's. It must stay where it is in memory until terminal_close(). */
void terminal_open(struct terminal *t, struct outlet *outlet, int fd);
/* What was drawn stays. */
void terminal_close(struct terminal *t);

/* What lines for it may look like. It asks for the size: the window may have another. */
struct page_style terminal_style(struct terminal *t);
/* Draw the page, of this style, in place of the block that stands there. Nothing
 * happens as long as earlier text is not written. */
void terminal_draw(struct terminal *t, const struct page *page);
/* Remove the block; the next text stands in its place. */
void terminal_erase(struct terminal *t);

#endif
