/* rank_choice.c - parse the ranges of a choice of ranks. */
#include "util/rank_choice.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CHOICE(word, first, last) {#word, first, last},
static const struct {
    const char *word;
    int first, last;
} choice_words[] = {RANK_CHOICE_WORDS(CHOICE)};

static bool number_take(const char **at, int *number)
{
    char *end;
    long value;

    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    value = strtol(*at, &end, 10);
    if (errno || value >= INT_MAX)
        return false;
    *at = end;
    *number = (int)value;
    return true;
}

/* Take the next range of a list. False: the list is malformed there. */
static bool range_take(const char **at, int *first, int *last)
{
    if (!number_take(at, first))
        return false;
    *last = *first;
    if (**at == '-') {
        ++*at;
        if (!number_take(at, last) || *last < *first)
            return false;
    }
    if (**at == ',')
        return *++*at != '\0';
    return **at == '\0';
}

/* Iterate over the ranges of a text. at: NULL before the first one. */
static bool range_next(const char *text, const char **at, int *first, int *last)
{
    if (!text || (*at && !**at))
        return false;
    if (!*at) {
        for (size_t i = 0; i < sizeof choice_words / sizeof *choice_words; i++)
            if (strcmp(text, choice_words[i].word) == 0) {
                *first = choice_words[i].first;
                *last = choice_words[i].last;
                *at = "";
                return *first <= *last;
            }
        *at = text;
    }
    return range_take(at, first, last);
}

bool rank_choice_is_valid(const char *text)
{
    const char *at = text;
    int first, last;

    for (size_t i = 0; i < sizeof choice_words / sizeof *choice_words; i++)
        if (strcmp(text, choice_words[i].word) == 0)
            return true;
    do
        if (!range_take(&at, &first, &last))
            return false;
    while (*at);
    return true;
}

bool rank_choice_has(const char *text, int rank)
{
    const char *at = NULL;
    int first, last;

    while (range_next(text, &at, &first, &last))
        if (rank >= first && rank <= last)
            return true;
    return false;
}

int rank_choice_count(const char *text, int workers)
{
    int n = 0;

    for (int rank = 0; rank < workers; rank++)
        n += rank_choice_has(text, rank);
    return n;
}

int rank_choice_highest(const char *text)
{
    const char *at = NULL;
    int first, last, highest = -1;

    while (range_next(text, &at, &first, &last))
        if (last < INT_MAX && last > highest)
            highest = last;
    return highest;
}
