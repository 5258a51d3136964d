/*
 * odd_word.c - searches a converted column for a value that is not a number.
 * row_place.c finds its row in the text.
 */
#include "convert/odd_word.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/row_place.h"
#include "table/column_read.h"
#include "text/csv_value.h"
#include "util/quote.h"

/* Rows that are read at once. */
#define ODD_ROWS 8192

static bool is_odd(const struct dictionary *words, int32_t code)
{
    const struct missing_texts usual = {.n = 0};
    struct csv_value ignored;
    const char *word;
    size_t n;

    if (code < 0 || (size_t)code >= dictionary_count(words))
        return false;
    word = dictionary_word(words, (size_t)code, &n);
    return csv_value(&usual, word, n, &ignored) & CSV_SEEN_WORD;
}

/* Read `n` codes; those of a selection one by one, because its rows are scattered. */
static int odd_rows_read(const struct table *t, const struct column *c, uint64_t row,
                         uint64_t n, int32_t *codes)
{
    if (table_is_plain(t))
        return column_read(t, c, row, n, (unsigned char *)codes, NULL);
    for (uint64_t i = 0; i < n; i++)
        if (column_read(t, c, table_row(t, row + i), 1, (unsigned char *)(codes + i),
                        NULL) < 0)
            return -1;
    return 0;
}

/* The first row whose word is not a number; t->rows if there is none. */
static uint64_t odd_find(const struct table *t, const struct column *c, int32_t *codes,
                         int32_t *odd)
{
    for (uint64_t row = 0; row < t->rows; row += ODD_ROWS) {
        uint64_t n = t->rows - row < ODD_ROWS ? t->rows - row : ODD_ROWS;

        if (odd_rows_read(t, c, row, n, codes) < 0)
            return t->rows;
        for (uint64_t i = 0; i < n; i++)
            if (is_odd(c->words, codes[i])) {
                *odd = codes[i];
                return row + i;
            }
    }
    return t->rows;
}

void odd_word_place(const struct dataset_config *cfg, const struct table *t,
                    const char *column, char *text, size_t size)
{
    const struct column *c = table_column(t, column);
    int32_t *codes, odd = -1;
    char place[ERROR_TEXT_MAX / 2], quoted[QUOTE_TEXT_MAX];
    uint64_t row;
    size_t n;

    text[0] = '\0';
    if (!c || c->kind != FRAME_WORDS)
        return;
    codes = malloc(ODD_ROWS * sizeof *codes);
    row = codes ? odd_find(t, c, codes, &odd) : t->rows;
    free(codes);
    if (row == t->rows)
        return;
    row_place(cfg, t, row, place, sizeof place);
    snprintf(text, size, ", such as %s at %s",
             quote(dictionary_word(c->words, (size_t)odd, &n), quoted), place);
}
