/* paper.c - the size of the paper from the environment and the terminal, and text that
 * is escaped, cut and padded for it. */
#include "config.h"

#include "plot/paper.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "util/quote.h"

#define COLUMNS_MIN 20
#define ROWS_MIN    8
#define SIZE_MOST   1000

/* A size from the environment; 0: not set, or not valid. */
static int env_size(const char *variable)
{
    const char *text = getenv(variable);
    long n = text && *text && strspn(text, "0123456789") == strlen(text)
                 ? strtol(text, NULL, 10)
                 : 0;

    return n > SIZE_MOST ? SIZE_MOST : (int)n;
}

static int size_choose(int wanted, int is, int otherwise, int least)
{
    int n = wanted > 0 ? wanted : is > 0 ? is : otherwise;

    return n < least ? least : n > SIZE_MOST ? SIZE_MOST : n;
}

struct paper paper_of(FILE *out)
{
    struct winsize size = {0};
    struct paper paper = {.terminal = isatty(fileno(out))};

    setlocale(LC_CTYPE, "");
    paper.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (paper.terminal && ioctl(fileno(out), TIOCGWINSZ, &size) < 0)
        size = (struct winsize){0};
    paper.columns = size_choose(env_size("COLUMNS"), size.ws_col, 80, COLUMNS_MIN);
    paper.rows = size_choose(env_size("LINES"), size.ws_row, 24, ROWS_MIN);
    return paper;
}

/* The columns of the character at `text`, which has n bytes. */
static int character_width(const char *text, int n)
{
    mbstate_t state = {0};
    wchar_t c;
    int width;

    if (n <= 1 || mbrtowc(&c, text, (size_t)n, &state) != (size_t)n)
        return 1;
    width = wcwidth(c);
    return width < 0 ? 1 : width;
}

int paper_width(const char *text)
{
    int width = 0;

    while (*text) {
        int n = utf8_length(text);

        width += character_width(text, n);
        text += n > 0 ? n : 1;
    }
    return width;
}

/* In ASCII, other bytes become \xHH, as control characters do. */
static char *ascii_text(const char *text)
{
    char *out = malloc(4 * strlen(text) + 1), *o = out;

    for (; out && *text; text++)
        if ((unsigned char)*text < 0x80)
            *o++ = *text;
        else
            o += sprintf(o, "\\x%02x", (unsigned char)*text);
    if (out)
        *o = '\0';
    return out;
}

/* Cut a text that is too wide. */
static void text_cut(char *text, int columns)
{
    int dots = columns < 6 ? 0 : 3, width = 0;
    char *at = text;

    if (paper_width(text) <= columns)
        return;
    while (*at) {
        int n = utf8_length(at), w = character_width(at, n);

        if (width + w > columns - dots)
            break;
        width += w;
        at += n > 0 ? n : 1;
    }
    /* Text that is cut has at least as many bytes as columns. */
    memcpy(at, "...", (size_t)dots);
    at[dots] = '\0';
}

char *paper_text(const struct paper *paper, const char *text, int columns)
{
    char *shown = printable_text(text);

    if (shown && !paper->utf8) {
        char *ascii = ascii_text(shown);

        free(shown);
        shown = ascii;
    }
    if (shown)
        text_cut(shown, columns);
    return shown;
}

void paper_print(FILE *out, const struct paper *paper, const char *text, int columns)
{
    char *shown = paper_text(paper, text, columns);
    int width = shown ? paper_width(shown) : 1;

    fputs(shown ? shown : "?", out);
    free(shown);
    fprintf(out, "%*s", columns > width ? columns - width : 0, "");
}
