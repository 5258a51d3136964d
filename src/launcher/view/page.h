/*
 * page.h - lines of text for a terminal, each at most as wide as the terminal.
 *
 * Any text may be appended: a control character and a byte that is not UTF-8 become
 * "?", and so does each other character if the terminal is ASCII. Widths in UTF-8 are
 * those of wcwidth(), so LC_CTYPE must match the style.
 */
#ifndef RAYTRAIN_VIEW_PAGE_H
#define RAYTRAIN_VIEW_PAGE_H

#include <stdbool.h>
#include <stddef.h>

/* What lines may look like. */
struct page_style {
    int columns; /* at least 1 */
    bool utf8;   /* else ASCII */
    bool color;
};

#define PAGE_LINES 256 /* at most; others are left out */

enum page_ink { INK_PLAIN, INK_BOLD, INK_DIM, INK_GOOD, INK_BAD };

struct page {
    struct page_style style;
    char *
        text; /* all lines, each with a newline at its end; NULL: empty, or no memory */
    size_t used, size;
    int column;             /* in the line that is being written */
    int lines;              /* complete lines */
    int widths[PAGE_LINES]; /* their widths */
};

void page_init(struct page *page, const struct page_style *style);
void page_clear(struct page *page);

/* The columns that the text takes. */
int page_width(const struct page_style *style, const char *text);
/* The columns that are left in this line. */
int page_room(const struct page *page);

/* Append to the line; what does not fit is cut. */
void page_text(struct page *page,
#define PAGE_LINES 256 /* at most; others are left out */

               enum page_ink ink, const char *text);
void page_printf(struct page *page,
#define PAGE_LINES 256 /* at most; others are left out */

                 enum page_ink ink, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Append all of the text, or nothing if it does not fit. */
bool page_whole(struct page *page, enum page_ink ink, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with two spaces before it, unless the line is empty. */
bool page_part(struct page *page, enum page_ink ink, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Append the text in exactly `columns` columns; if it is longer, its middle is left
 * out. */
void page_cell(struct page *page,
#define PAGE_LINES 256 /* at most; others are left out */

               enum page_ink ink, const char *text, int columns);
void page_spaces(struct page *page, int n);
void page_newline(struct page *page);
/* Keep at most `lines` lines. */
void page_cut(struct page *page, int lines);

#endif
