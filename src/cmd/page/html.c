/* html.c - escape text one character at a time, and print numbers, durations and
 * dates. */
#include "config.h"

#include "page/html.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"
#include "util/quote.h"

#define DASH "\xe2\x80\x93"

/* ---- Escaping ---- */

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Characters that change the direction of the text around them. */
static bool is_direction(const char *s)
{
    static const char *const marks[] = {"\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa",
                                        "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad",
                                        "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa7",
                                        "\xe2\x81\xa8", "\xe2\x81\xa9"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(s, marks[i], 3) == 0)
            return true;
    return false;
}

static void escaped(FILE *out, const char *text, const char *kept)
{
    for (const char *c = text; *c;) {
        int n = printable_length(c);

        if (n == 1 && entity_of(*c)) {
            fputs(entity_of(*c++), out);
        } else if (n > 0 && !is_direction(c)) {
            fwrite(c, 1, (size_t)n, out);
            c += n;
        } else if (strchr(kept, *c)) {
            fputc(*c++, out);
        } else {
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)*c++);
        }
    }
}

void html_text(FILE *out, const char *text)
{
    escaped(out, text, "");
}

void html_lines(FILE *out, const char *text)
{
    escaped(out, text, "\n\t");
}

void html_json_string(FILE *out, const char *text)
{
    char *shown = printable_text(text);

    fputc('"', out);
    for (const char *c = shown ? shown : "?"; *c; c++)
        if (strchr("<>&'\"\\", *c))
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            fputc(*c, out);
    fputc('"', out);
    free(shown);
}

void html_json_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "%.8g", value);
    else
        fputs("null", out);
}

void html_word(FILE *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_-+=./:,@%^";

    if (*word && word[strspn(word, plain)] == '\0') {
        html_text(out, word);
        return;
    }
    fputs("&#39;", out);
    while (*word) {
        size_t n = strcspn(word, "'");
        char *piece = strndup(word, n);

        if (piece)
            html_text(out, piece);
        free(piece);
        word += n;
        if (*word == '\'') {
            fputs("&#39;\\&#39;&#39;", out);
            word++;
        }
    }
    fputs("&#39;", out);
}

/* ---- Numbers ---- */

/* Commas between groups of three digits of the integer part. */
static void group(char text[HTML_NUMBER_MAX])
{
    char *first = text + (*text == '-');
    size_t digits = strspn(first, "0123456789"), length = strlen(text);

    if (digits < 5 || strchr(text, 'e'))
        return;
    for (size_t at = digits; at > 3 && length + 1 < HTML_NUMBER_MAX;) {
        at -= 3;
        memmove(first + at + 1, first + at, strlen(first + at) + 1);
        first[at] = ',';
        length++;
    }
}

const char *figure_text(double value, char text[HTML_NUMBER_MAX])
{
    double size = fabs(value);

    if (!isfinite(value))
        return strcpy(text, DASH);
    if (size >= 1e4 && size < 1e9)
        snprintf(text, HTML_NUMBER_MAX,
                 size < 99999.5 && size != floor(size) ? "%.1f" : "%.0f", value);
    else
        snprintf(text, HTML_NUMBER_MAX, "%.5g", value);
    group(text);
    return text;
}

const char *count_text(int64_t value, char text[HTML_NUMBER_MAX])
{
    snprintf(text, HTML_NUMBER_MAX, "%lld", (long long)value);
    group(text);
    return text;
}

const char *duration_text(double s, char text[HTML_NUMBER_MAX])
{
    static const struct {
        double below, unit;
        const char *large, *small;
        double part;
    } units[] = {{3600, 60, "min", "s", 1},
                 {86400, 3600, "h", "min", 60},
                 {INFINITY, 86400, "d", "h", 3600}};
    static const struct {
        double below, scale;
        const char *name;
    } fractions[] = {{1e-3, 1e6, "\xc2\xb5s"}, {0.9995, 1e3, "ms"}, {59.95, 1, "s"}};

    if (!isfinite(s) || fabs(s) > 1e13)
        return strcpy(text, DASH);
    if (s == 0)
        return strcpy(text, "0 s");
    for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++)
        if (fabs(s) < fractions[i].below) {
            snprintf(text, HTML_NUMBER_MAX, "%.3g %s", s * fractions[i].scale,
                     fractions[i].name);
            return text;
        }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (s < units[i].below) {
            int64_t parts = (int64_t)(s / units[i].part + 0.5);
            int64_t per = (int64_t)(units[i].unit / units[i].part);

            snprintf(text, HTML_NUMBER_MAX, "%lld %s %02d %s", (long long)(parts / per),
                     units[i].large, (int)(parts % per), units[i].small);
            return text;
        }
    return strcpy(text, DASH);
}

/* ---- Dates ---- */

static bool local_time(double time, struct tm *tm)
{
    time_t t = (time_t)time;

    return time > 0 && time < 253402300800.0 && localtime_r(&t, tm);
}

const char *date_text(double time, char text[HTML_NUMBER_MAX])
{
    struct tm tm, now;

    if (!local_time(time, &tm))
        return strcpy(text, DASH);
    if (local_time((double)clock_unix(), &now) && now.tm_year == tm.tm_year)
        strftime(text, HTML_NUMBER_MAX, "%b %-d %H:%M", &tm);
    else
        strftime(text, HTML_NUMBER_MAX, "%b %-d, %Y %H:%M", &tm);
    return text;
}

const char *zone_text(double time, char text[HTML_NUMBER_MAX])
{
    struct tm tm;
    long offset;

    if (!local_time(time, &tm) || tm.tm_gmtoff == 0)
        return strcpy(text, "UTC");
    offset = labs(tm.tm_gmtoff) / 60;
    snprintf(text, HTML_NUMBER_MAX, "UTC%c%02d:%02d", tm.tm_gmtoff < 0 ? '-' : '+',
             (int)(offset / 60 % 100), (int)(offset % 60));
    return text;
}

void html_date(FILE *out, double time)
{
    char text[HTML_NUMBER_MAX], iso[32] = "";

    if (time > 0 && time < 253402300800.0)
        clock_iso8601((int64_t)time, iso);
    if (*iso)
        fprintf(out, "<time datetime=\"%s\" title=\"%s\">%s</time>", iso, iso,
                date_text(time, text));
    else
        fputs(DASH, out);
}
