/* terminal.c - what the terminal can do, a stop by Ctrl-Z, and escape sequences that
 * replace the block. */
#include "view/terminal.h"

#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_UNKNOWN 80
#define ROWS_UNKNOWN    24
#define COLUMNS_MAX     1000

/* ---- Capabilities ---- */

bool terminal_can_draw(int fd)
{
    static const char *const unable[] = {"", "dumb", "unknown", "emacs"};
    const char *term = getenv("TERM");

    if (!term || !isatty(fd))
        return false;
    for (size_t i = 0; i < sizeof unable / sizeof unable[0]; i++)
        if (strcmp(term, unable[i]) == 0)
            return false;
    return true;
}

/* If it is not the controlling terminal of this process, this is unknown: false. */
bool terminal_is_taken(int fd)
{
    pid_t foreground = tcgetpgrp(fd);

    return foreground > 0 && foreground != getpgrp();
}

static bool wants_color(void)
{
    const char *no_color = getenv("NO_COLOR");

    return !no_color || !*no_color;
}

static int bounded(int n, int otherwise)
{
    if (n <= 0)
        return otherwise;
    return n < COLUMNS_MAX ? n : COLUMNS_MAX;
}

static void size_ask(struct terminal *t)
{
    struct winsize size = {0};

    if (ioctl(t->fd, TIOCGWINSZ, &size) < 0)
        size = (struct winsize){0};
    t->columns = bounded(size.ws_col, COLUMNS_UNKNOWN);
    t->rows = bounded(size.ws_row, ROWS_UNKNOWN);
}

/* ---- Stopped, and continued ---- */

/* Set by SIGCONT: after Ctrl-Z, the shell has printed below the block. */
static volatile sig_atomic_t continued;
static struct sigaction before;

static void on_continue(int signal)
{
    (void)signal;
    continued = 1;
}

static void continue_watch(void)
{
    struct sigaction action = {.sa_handler = on_continue, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGCONT, &action, &before);
}

/* ---- The block ---- */

void terminal_open(struct terminal *t, struct outlet *outlet, int fd)
{
    *t = (struct terminal){.outlet = outlet,
                           .fd = fd,
                           .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                           .color = wants_color()};
    size_ask(t);
    continue_watch();
}

void terminal_close(struct terminal *t)
{
    outlet_precede(t->outlet, "");
    t->drawn = 0;
    sigaction(SIGCONT, &before, NULL);
}

/* The rows that the block takes. In a window that became narrower, its lines are
 * broken. */
static int rows_taken(const struct terminal *t)
{
    int rows = 0;

    for (int i = 0; i < t->drawn; i++)
        rows += t->widths[i] > 0 ? (t->widths[i] - 1) / t->columns + 1 : 1;
    return rows < t->rows ? rows : t->rows - 1;
}

static void erase_prepare(struct terminal *t)
{
    char erase[OUTLET_BEFORE_MAX] = "";

    if (t->drawn > 0)
        snprintf(erase, sizeof erase, "\r\033[%dA\033[J", rows_taken(t));
    outlet_precede(t->outlet, erase);
}

/* Is the block still where it was drawn, with the cursor below it? */
static void block_check(struct terminal *t)
{
    if (continued || !outlet_precedes(t->outlet)) {
        continued = 0;
        t->drawn = 0;
        outlet_precede(t->outlet, "");
    }
}

struct page_style terminal_style(struct terminal *t)
{
    int columns = t->columns;

    size_ask(t);
    block_check(t);
    if (t->columns != columns)
        erase_prepare(t);
    /* Leave the last column free: after it, terminals differ in the cursor's place. */
    return (struct page_style){.columns = t->columns > 1 ? t->columns - 1 : 1,
                               .utf8 = t->utf8,
                               .color = t->color};
}

/* Each line overwrites the old one, so that the block does not flicker. */
static char *block_make(const struct terminal *t, const struct page *page)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fputs(t->color ? "\033[m\r" : "\r", out);
    if (t->drawn > 0)
        fprintf(out, "\033[%dA", rows_taken(t));
    for (const char *line = page->text; line && *line;) {
        size_t n = strcspn(line, "\n");

        fwrite(line, 1, n, out);
        fputs("\033[K\n", out);
        line += n + (line[n] == '\n');
    }
    fputs("\033[J", out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

void terminal_draw(struct terminal *t, const struct page *page)
{
    char *block;

    if (!outlet_flush(t->outlet, 0))
        return;
    block_check(t);
    block = block_make(t, page);
    if (!block)
        return;
    outlet_precede(t->outlet, "");
    outlet_print(t->outlet, "%s", block);
    free(block);
    t->drawn = page->lines;
    memcpy(t->widths, page->widths, sizeof t->widths);
    erase_prepare(t);
}

void terminal_erase(struct terminal *t)
{
    block_check(t);
    if (t->drawn > 0)
        outlet_print(t->outlet, "%s", "\r");
    t->drawn = 0;
}
