/* rank_choice.h - a choice of ranks as text: "none", "all", "rank0", or a list such as
 * "0,3-5". */
#ifndef RAYTRAIN_UTIL_RANK_CHOICE_H
#define RAYTRAIN_UTIL_RANK_CHOICE_H

#include <limits.h>
#include <stdbool.h>

/* X(WORD, FIRST, LAST): the words, and the ranks that they stand for; none if FIRST is
 * above LAST. */
#define RANK_CHOICE_WORDS(X) X(none, 0, -1) X(rank0, 0, 0) X(all, 0, INT_MAX)

#define RANK_CHOICE_NAME(word, first, last) #word,
#define RANK_CHOICE_TEXT(word, first, last) #word ", "

#define RANK_CHOICE_FORM RANK_CHOICE_WORDS(RANK_CHOICE_TEXT) "or ranks such as 0,3-5"

bool rank_choice_is_valid(const char *text);
/* Is the rank in the choice? The text is valid; NULL: none. */
bool rank_choice_has(const char *text, int rank);
/* How many of the ranks 0 to workers - 1 are in the choice. */
int rank_choice_count(const char *text, int workers);
/* The highest rank that is named; -1: none. */
int rank_choice_highest(const char *text);

#endif
