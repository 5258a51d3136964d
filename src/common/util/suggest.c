/* suggest.c - compare words for suggestions in messages. */
#include "util/suggest.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define WORD_MAX 64

static int letter_fold(char c)
{
    return c == '-' ? '_' : tolower((unsigned char)c);
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment, with three rows of the table at a time. */
size_t suggest_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t na = strlen(a), nb = strlen(b);

    if (na > WORD_MAX || nb > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            int x = letter_fold(a[i - 1]), y = letter_fold(b[j - 1]);

            row[j] = least_of(above[j], row[j - 1]) + 1;
            row[j] = least_of(row[j], above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == letter_fold(b[j - 2]) &&
                y == letter_fold(a[i - 2]))
                row[j] = least_of(row[j], above2[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

int suggest_is_near(const char *typed, size_t distance)
{
    size_t limit = strlen(typed) / 3;

    return distance <= (limit ? limit : 1) && distance < strlen(typed);
}

const char *suggest_nearest(const char *typed, const char *const words[], size_t n)
{
    const char *nearest = NULL;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < n; i++) {
        size_t d = suggest_distance(typed, words[i]);

        if (d < best) {
            best = d;
            nearest = words[i];
        }
    }
    return nearest && suggest_is_near(typed, best) ? nearest : NULL;
}

/* Does the long word contain the letters of the short one, in this order, and begin
 * with the same letter? */
static int abbreviates(const char *brief, const char *full)
{
    if (strlen(brief) < 2 || letter_fold(*brief) != letter_fold(*full))
        return 0;
    for (; *full && *brief; full++)
        brief += letter_fold(*brief) == letter_fold(*full);
    return !*brief;
}

const char *suggest_meant(const char *typed, const char *const words[], size_t n)
{
    const char *found = suggest_nearest(typed, words, n);
    size_t n_found = 0;

    if (found)
        return found;
    for (size_t i = 0; i < n; i++)
        if (abbreviates(typed, words[i]) ||
            (strlen(words[i]) > 2 && strstr(typed, words[i]))) {
            found = words[i];
            n_found++;
        }
    return n_found == 1 ? found : NULL;
}
