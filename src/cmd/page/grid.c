/* grid.c - write a table cell by cell, and count the rows that are not shown. */
#include "config.h"

#include "page/grid.h"

#include "page/html.h"

static const char *title_of(const struct grid *g, size_t column)
{
    return g->titles[column] + (*g->titles[column] == '#');
}

void grid_begin(struct grid *g, FILE *out, const char *caption,
                const char *const *titles, size_t n)
{
    *g = (struct grid){.out = out, .titles = titles, .n = n};
    fputs("<table><caption>", out);
    html_text(out, caption);
    fputs("</caption><thead><tr>", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "<th scope=\"col\"%s>", *titles[i] == '#' ? " class=\"num\"" : "");
        html_text(out, title_of(g, i));
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>", out);
}

static void cell_end(struct grid *g)
{
    if (g->at > 0)
        fputs("</div></td>", g->out);
    if (g->at > 0 && g->at % g->n == 0)
        fputs("</tr>", g->out);
}

void grid_cell(struct grid *g)
{
    const char *title = g->titles[g->at % g->n];

    cell_end(g);
    fputs(g->at % g->n == 0 ? "\n<tr>" : "", g->out);
    fputs("<td data-title=\"", g->out);
    html_text(g->out, title_of(g, g->at % g->n));
    fprintf(g->out, "\"%s><div>", *title == '#' ? " class=\"num\"" : "");
    g->at++;
}

void grid_text(struct grid *g, const char *text)
{
    grid_cell(g);
    html_text(g->out, text);
}

void grid_end(struct grid *g, size_t left_out)
{
    char count[HTML_NUMBER_MAX];

    cell_end(g);
    fputs("\n</tbody></table>\n", g->out);
    if (left_out > 0)
        fprintf(g->out, "<p class=\"more\">and %s more</p>\n",
                count_text((int64_t)left_out, count));
}
