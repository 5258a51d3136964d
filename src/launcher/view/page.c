/*
 * page.c - text cut and padded to the width of a terminal.
 *
 *   Characters   one at a time, as they are printed
 *   Memory       of a page
 *   Lines        what is appended to them
 */
#include "view/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "util/error.h"
#include "util/quote.h"

#define PART_GAP 2

static const char *const inks[] = {
    [INK_PLAIN] = "",        [INK_BOLD] = "\033[1m",   [INK_DIM] = "\033[2m",
    [INK_GOOD] = "\033[32m", [INK_BAD] = "\033[1;31m",
};

/* ---- Characters ---- */

struct glyph {
    const char *text;
    int bytes; /* of `text` */
    int taken; /* bytes of the source text */
    int columns;
};

static wchar_t decoded(const char *s, int n)
{
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned long c = (unsigned char)*s & lead[n];

    for (int i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)s[i] & 0x3f);
    return (wchar_t)c;
}

static struct glyph glyph_of(const struct page_style *style, const char *s)
{
    int n = printable_length(s), whole = utf8_length(s);
    struct glyph other = {
        .text = "?", .bytes = 1, .taken = whole > 0 ? whole : 1, .columns = 1};
    int columns;

    if (n == 1)
        return (struct glyph){.text = s, .bytes = 1, .taken = 1, .columns = 1};
    if (n == 0 || !style->utf8 || (columns = wcwidth(decoded(s, n))) < 0)
        return other;
    return (struct glyph){.text = s, .bytes = n, .taken = n, .columns = columns};
}

int page_width(const struct page_style *style, const char *text)
{
    int columns = 0;

    while (*text) {
        struct glyph g = glyph_of(style, text);

        columns += g.columns;
        text += g.taken;
    }
    return columns;
}

/* ---- Memory ---- */

void page_init(struct page *page, const struct page_style *style)
{
    *page = (struct page){.style = *style};
}

void page_clear(struct page *page)
{
    free(page->text);
    *page = (struct page){0};
}

/* Without memory, the text is left out. */
static void page_bytes(struct page *page, const char *text, size_t n)
{
    if (page->used + n + 1 > page->size) {
        size_t size = 2 * (page->used + n) + 256;
        char *more = realloc(page->text, size);

        if (!more)
            return;
        page->text = more;
        page->size = size;
    }
    memcpy(page->text + page->used, text, n);
    page->used += n;
    page->text[page->used] = '\0';
}

/* ---- Lines ---- */

int page_room(const struct page *page)
{
    return page->style.columns - page->column;
}

static void glyphs_put(struct page *page, const char *text, int columns)
{
    while (*text) {
        struct glyph g = glyph_of(&page->style, text);

        if (g.columns > columns)
            return;
        page_bytes(page, g.text, (size_t)g.bytes);
        columns -= g.columns;
        page->column += g.columns;
        text += g.taken;
    }
}

static void inked(struct page *page, enum page_ink ink, const char *text, int columns)
{
    bool color = page->style.color && *inks[ink] && *text;

    if (columns > page_room(page))
        columns = page_room(page);
    if (columns <= 0)
        return;
    if (color)
        page_bytes(page, inks[ink], strlen(inks[ink]));
    glyphs_put(page, text, columns);
    if (color)
        page_bytes(page, "\033[m", 3);
}

void page_text(struct page *page, enum page_ink ink, const char *text)
{
    inked(page, ink, text, page_room(page));
}

void page_printf(struct page *page, enum page_ink ink, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    page_text(page, ink, text);
}

static bool page_whole_put(struct page *page, enum page_ink ink, int gap,
                           const char *text)
{
    if (gap + page_width(&page->style, text) > page_room(page))
        return false;
    page_spaces(page, gap);
    page_text(page, ink, text);
    return true;
}

bool page_whole(struct page *page, enum page_ink ink, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return page_whole_put(page, ink, 0, text);
}

bool page_part(struct page *page, enum page_ink ink, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return page_whole_put(page, ink, page->column > 0 ? PART_GAP : 0, text);
}

/* The longest end of the text that fits in `columns`. */
static const char *tail_of(const struct page_style *style, const char *text,
                           int columns)
{
    int left = page_width(style, text);

    while (left > columns) {
        struct glyph g = glyph_of(style, text);

        left -= g.columns;
        text += g.taken;
    }
    return text;
}

void page_cell(struct page *page, enum page_ink ink, const char *text, int columns)
{
    const char *dots = page->style.utf8 ? "…" : "..";
    int width, gap = page_width(&page->style, dots), end, head;

    if (columns > page_room(page))
        columns = page_room(page);
    end = page->column + columns;
    width = page_width(&page->style, text);
    if (width <= columns || columns < 2 * gap + 1) {
        inked(page, ink, text, columns);
    } else {
        head = (columns - gap) / 2;
        inked(page, ink, text, head);
        inked(page, ink, dots, gap);
        inked(page, ink, tail_of(&page->style, text, columns - gap - head),
              end - page->column);
    }
    page_spaces(page, end - page->column);
}

void page_spaces(struct page *page, int n)
{
    for (; n > 0 && page_room(page) > 0; n--) {
        page_bytes(page, " ", 1);
        page->column++;
    }
}

/* Trailing spaces are removed. */
void page_newline(struct page *page)
{
    while (page->used > 0 && page->text[page->used - 1] == ' ') {
        page->used--;
        page->column--;
    }
    page_bytes(page, "\n", 1);
    if (page->lines < PAGE_LINES)
        page->widths[page->lines++] = page->column;
    else
        page_cut(page, PAGE_LINES);
    page->column = 0;
}

void page_cut(struct page *page, int lines)
{
    const char *end = page->text;

    if (!end || page->lines < lines)
        return;
    for (int i = 0; i < lines && end; i++)
        if ((end = strchr(end, '\n')))
            end++;
    if (!end)
        return;
    page->used = (size_t)(end - page->text);
    page->text[page->used] = '\0';
    page->lines = lines > 0 ? lines : 0;
}
