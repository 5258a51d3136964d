/*
 * argv.c - argument vectors: append, split a text as a POSIX shell does, join it again.
 * Each change is made in full or not at all.
 */
#include "config.h"

#include "util/argv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t argv_count(char *const *argv)
{
    size_t n = 0;

    while (argv && argv[n])
        n++;
    return n;
}

void argv_free(char **argv)
{
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

bool argv_has(char *const *argv, const char *arg)
{
    for (size_t i = 0; argv && argv[i]; i++)
        if (strcmp(argv[i], arg) == 0)
            return true;
    return false;
}

/* Append arg itself. It is freed on failure. */
static int argv_take(char ***argv, char *arg, struct error *err)
{
    size_t n = argv_count(*argv);
    char **grown = arg ? realloc(*argv, (n + 2) * sizeof *grown) : NULL;

    if (!grown) {
        free(arg);
        return error_no_memory(err);
    }
    grown[n] = arg;
    grown[n + 1] = NULL;
    *argv = grown;
    return 0;
}

/* Truncate to the first n words. */
static void argv_truncate(char ***argv, size_t n)
{
    if (!*argv)
        return;
    for (size_t i = n; (*argv)[i]; i++)
        free((*argv)[i]);
    (*argv)[n] = NULL;
}

int argv_append(char ***argv, const char *arg, struct error *err)
{
    return argv_take(argv, strdup(arg), err);
}

int argv_appendf(char ***argv, struct error *err, const char *fmt, ...)
{
    va_list ap;
    char *arg = NULL;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&arg, fmt, ap);
    va_end(ap);
    return argv_take(argv, n < 0 ? NULL : arg, err);
}

int argv_append_all(char ***argv, char *const *more, struct error *err)
{
    size_t before = argv_count(*argv);

    for (size_t i = 0; more && more[i]; i++)
        if (argv_append(argv, more[i], err) < 0) {
            argv_truncate(argv, before);
            return -1;
        }
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Read one word from *text into word, which has room for all of text, and advance past
 * it. 1: a word was read; 0: only blanks were left; -1: an error. */
static int word_read(const char **text, char *word, struct error *err)
{
    const char *p = *text;
    char quote = '\0';

    while (is_blank(*p))
        p++;
    if (!*p)
        return 0;
    for (; *p && (quote || !is_blank(*p)); p++) {
        if (quote == '\'' || (*p != '\\' && *p != '"' && *p != '\'')) {
            if (quote && *p == quote)
                quote = '\0';
            else
                *word++ = *p;
        } else if (*p == '\\') {
            if (!p[1])
                return error_set(err, RAYTRAIN_EUSAGE,
                                 "a backslash is at the end: write two");
            if (quote == '"' && !strchr("\"\\$`\n", p[1]))
                *word++ = *p;
            p++;
            if (*p != '\n')
                *word++ = *p;
        } else if (!quote) {
            quote = *p;
        } else if (*p == quote) {
            quote = '\0';
        } else {
            *word++ = *p;
        }
    }
    if (quote)
        return error_set(
            err, RAYTRAIN_EUSAGE,
            "a quote (%c) is not closed; to mean the character itself, write a "
            "backslash before it",
            quote);
    *word = '\0';
    *text = p;
    return 1;
}

int argv_split(const char *text, char ***argv, struct error *err)
{
    size_t before = argv_count(*argv);
    char *word = malloc(strlen(text) + 1);
    int rc;

    if (!word)
        return error_no_memory(err);
    while ((rc = word_read(&text, word, err)) > 0)
        if ((rc = argv_append(argv, word, err)) < 0)
            break;
    if (rc < 0)
        argv_truncate(argv, before);
    free(word);
    return rc;
}

/* Characters without a meaning to a shell, wherever they are in a word. */
static const char word_plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";

static void word_quote(FILE *out, const char *word)
{
    if (*word && word[strspn(word, word_plain)] == '\0') {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    putc('\'', out);
}

int argv_join(char *const *argv, char **text, struct error *err)
{
    char *line = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&line, &n);
    bool bad;

    if (!out)
        return error_no_memory(err);
    for (size_t i = 0; argv && argv[i]; i++) {
        if (i > 0)
            putc(' ', out);
        word_quote(out, argv[i]);
    }
    bad = ferror(out);
    if (fclose(out) != 0 || bad) {
        free(line);
        return error_no_memory(err);
    }
    *text = line;
    return 0;
}
