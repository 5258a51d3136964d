/*
 * csv_value.c - parses single fields, and finds the type of a column from the kinds of
 * its values. csv_block.c parses blocks.
 */
#include "text/csv_value.h"

#include <math.h>
#include <string.h>

#include "util/missing_text.h"
#include "util/number.h"

static const char *const type_names[CSV_TYPES] = {
    [CSV_BOOL] = "bool",       [CSV_INT64] = "int64", [CSV_FLOAT64] = "float64",
    [CSV_FLOAT32] = "float32", [CSV_WORDS] = "words", [CSV_TEXT] = "text",
};

const char *csv_type_name(enum csv_type type)
{
    return type_names[type];
}

enum csv_type csv_type_parse(const char *name)
{
    for (int i = CSV_UNKNOWN + 1; i < CSV_TYPES; i++) {
        if (strcmp(name, type_names[i]) == 0)
            return (enum csv_type)i;
    }
    return CSV_UNKNOWN;
}

bool csv_integer_words(unsigned seen)
{
    const unsigned others = CSV_SEEN_BOOL | CSV_SEEN_WORD | CSV_SEEN_FLOAT64;

    return !(seen & others) &&
           (seen & CSV_SEEN_LARGE || (seen & CSV_SEEN_FINE && seen & CSV_SEEN_MISSING));
}

enum csv_type csv_type_of(unsigned seen)
{
    if (seen == 0)
        return CSV_UNKNOWN;
    if (seen == CSV_SEEN_BOOL)
        return CSV_BOOL;
    if (seen & (CSV_SEEN_BOOL | CSV_SEEN_WORD) || csv_integer_words(seen))
        return CSV_WORDS;
    return seen & (CSV_SEEN_FLOAT64 | CSV_SEEN_MISSING) ? CSV_FLOAT64 : CSV_INT64;
}

/* True if `at` is one of these texts, each of which has n bytes. */
static bool among(const char *at, size_t n, const char *texts)
{
    for (; *texts; texts += n) {
        if (memcmp(at, texts, n) == 0)
            return true;
    }
    return false;
}

static bool is_csv_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool truth(const char *at, size_t n, int64_t *value)
{
    *value = n == 4;
    return (n == 4 && among(at, n, "TruetrueTRUE")) ||
           (n == 5 && among(at, n, "FalsefalseFALSE"));
}

/* True for digits, with or without a sign. */
static bool is_whole_number(const char *at, const char *end)
{
    at += at < end && (*at == '-' || *at == '+');
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at == end;
}

unsigned csv_value(const struct missing_texts *missing, const char *at, size_t n,
                   struct csv_value *value)
{
    const char *end = at + n;

    if (missing_texts_have(missing, at, n))
        return CSV_SEEN_MISSING;
    if (truth(at, n, &value->integer))
        return CSV_SEEN_BOOL;
    while (at < end && is_csv_blank(*at))
        at++;
    while (at < end && is_csv_blank(end[-1]))
        end--;
    if (at == end)
        return CSV_SEEN_WORD;
    if (number_int64(at, end, &value->integer) == end) {
        value->number = (double)value->integer;
        return csv_integer_is_real(value->integer) ? CSV_SEEN_INT64
                                                   : CSV_SEEN_INT64 | CSV_SEEN_FINE;
    }
    /* Other spellings of nan are words. */
    if (number_float64(at, end, &value->number) == end && !isnan(value->number))
        return is_whole_number(at, end) ? CSV_SEEN_LARGE : CSV_SEEN_FLOAT64;
    return CSV_SEEN_WORD;
}
