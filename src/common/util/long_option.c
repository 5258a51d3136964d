/*
 * long_option.c - refuse the abbreviations of getopt_long(), and suggest the option
 * that was meant. other_words.c knows the options of other programs.
 */
#include "util/long_option.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/other_words.h"
#include "util/quote.h"
#include "util/suggest.h"

#define OPTIONS_MAX 128 /* of a program */

/* The length of the name in "--NAME" or "--NAME=VALUE". */
static size_t name_length(const char *word)
{
    return strcspn(word + 2, "=");
}

static const struct option *option_find(const struct option *longs, const char *word)
{
    size_t n = name_length(word);

    for (; longs->name; longs++)
        if (strlen(longs->name) == n && !strncmp(longs->name, word + 2, n))
            return longs;
    return NULL;
}

/* The shortest option that begins with the letters of the word, at least two. */
static const char *option_begun(const struct option *longs, const char *word)
{
    size_t n = name_length(word);
    const char *found = NULL;

    for (; n > 1 && longs->name; longs++)
        if (!strncmp(longs->name, word + 2, n) &&
            (!found || strlen(longs->name) < strlen(found)))
            found = longs->name;
    return found;
}

static const char *option_near(const struct option *longs, const char *word)
{
    const char *names[OPTIONS_MAX];
    char typed[80];
    size_t n = 0;

    for (; longs->name && n < OPTIONS_MAX; longs++)
        names[n++] = longs->name;
    snprintf(typed, sizeof typed, "%.*s", (int)name_length(word), word + 2);
    return suggest_nearest(typed, names, n);
}

static bool option_is(const struct option *longs, const char *name)
{
    for (; longs->name; longs++)
        if (!strcmp(longs->name, name))
            return true;
    return false;
}

/* The word is an option of another program, which has another name here, or is not
 * needed. */
static int fail_other(const struct option *longs, const char *word,
                      const struct other_word *other, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    quote(word, quoted);
    if (other->here && !option_is(longs, other->here))
        return 0;
    if (other->here)
        error_set(err, RAYTRAIN_EUSAGE, "unknown option %s; here it is --%s%s%s%s",
                  quoted, other->here, other->why ? " (" : "",
                  other->why ? other->why : "", other->why ? ")" : "");
    else
        error_set(err, RAYTRAIN_EUSAGE, "unknown option %s: %s", quoted, other->why);
    return '?';
}

static int fail_unknown(const struct option *longs, const char *word, const char *help,
                        struct error *err)
{
    bool is_long = !strncmp(word, "--", 2);
    const char *begun = is_long ? option_begun(longs, word) : NULL;
    const char *near = is_long && !begun ? option_near(longs, word) : begun;
    const struct other_word *other =
        is_long ? other_option(word + 2, name_length(word)) : NULL;
    char quoted[QUOTE_TEXT_MAX];

    if (other && option_is(longs, "workers") && fail_other(longs, word, other, err))
        return '?';
    error_set(err, RAYTRAIN_EUSAGE, "unknown option %s%s%s%s%s (all of them: %s)",
              quote(word, quoted), begun ? ": options are not abbreviated" : "",
              near ? "; did you mean --" : "", near ? near : "", near ? "?" : "", help);
    return '?';
}

/* getopt_long() has returned '?'. optopt is 0 if it knows no such long option. */
static int fail_wrong(const struct option *longs, const char *word, const char *help,
                      struct error *err)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    const struct option *found;

    if (optopt == 0)
        return fail_unknown(longs, word, help, err);
    if (strncmp(word, "--", 2) != 0 || !strchr(word, '='))
        return fail_unknown(longs, letter, help, err);
    found = option_find(longs, word);
    if (!found)
        return fail_unknown(longs, word, help, err);
    /* The word that is wrong is not this one, but the next */
    if (found->has_arg != no_argument)
        return fail_unknown(longs, letter, help, err);
    error_set(err, RAYTRAIN_EUSAGE,
              "--%s takes no argument: leave out what follows the =", found->name);
    return '?';
}

int long_option_next(int argc, char *argv[], const char *shorts,
                     const struct option *longs, const char *help, struct error *err)
{
    int index = -1, c = getopt_long(argc, argv, shorts, longs, &index);
    const char *word;

    if (c == -1)
        return c;
    word = argv[optind - 1];
    if (c == '?')
        return fail_wrong(longs, word, help, err);
    if (c == ':')
        return !strncmp(word, "--", 2) && !option_find(longs, word)
                   ? fail_unknown(longs, word, help, err)
                   : c;
    if (index < 0)
        return c; /* a letter */
    if (optarg && optarg == word)
        word = argv[optind - 2];
    return option_find(longs, word) ? c : fail_unknown(longs, word, help, err);
}
