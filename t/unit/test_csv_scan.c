#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/csv_scan.h"

static uint64_t random_state = 1;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 20) % n;
}

static int line_end(char c)
{
    return c == '\n' || c == '\r';
}

/* The records of a file, by reading it field by field; SIZE_MAX if it ends in quotes.
 * Notes after which byte each of them ends. */
static size_t records_of(const char *text, size_t n, char delimiter,
                         unsigned char *ends)
{
    size_t i = 0, records = 0;

    memset(ends, 0, n + 1);
    while (i < n) {
        size_t k = i;

        while (k < n && (text[k] == ' ' || text[k] == '\t') && text[k] != delimiter)
            k++;
        if (k == n || line_end(text[k])) {
            i = k + 1;
            continue;
        }
        for (;; i++) {
            while (i < n && text[i] == '"') { /* once only, unless it is doubled */
                for (i++; i < n && text[i] != '"'; i++)
                    ;
                if (i++ == n)
                    return SIZE_MAX;
                if (i < n && text[i] == '"')
                    continue;
                break;
            }
            while (i < n && text[i] != delimiter && !line_end(text[i]))
                i++;
            if (i == n || text[i] != delimiter)
                break;
        }
        records++;
        ends[i < n ? ++i : n] = 1;
    }
    return records;
}

/* Text with a certain share of quotes, delimiters and ends of lines. */
static size_t random_text(char *text, size_t room, char delimiter)
{
    static const char *const kinds[] = {
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,,,\n",
        "a\"\"\",\n",
        "ab,,\n\r \t\"",
        "a,\n",
        "\"\"\"a",
        "aaaa  ,,\"\n",
        "\n\r",
        "   \n",
    };
    const char *kind = kinds[random_below(sizeof kinds / sizeof *kinds)];
    size_t n = random_below(4) ? random_below(200) : random_below((unsigned)room);

    for (size_t i = 0; i < n; i++) {
        if (random_below(500) == 0)
            kind = kinds[random_below(sizeof kinds / sizeof *kinds)];
        text[i] = kind[random_below((unsigned)strlen(kind))];
        if (text[i] == ',')
            text[i] = delimiter;
    }
    return n;
}

/* What other programs write: every field in quotes, or none. */
static size_t tidy_text(char *text, size_t room)
{
    int quotes = random_below(2) != 0;
    size_t n = 0;

    while (n + 80 < room) {
        if (quotes)
            text[n++] = '"';
        for (unsigned left = random_below(12); left > 0; left--) {
            text[n++] = (char)('a' + random_below(26));
            if (quotes && random_below(10) == 0) {
                memcpy(text + n, random_below(2) ? "\"\"" : ",\n", 2);
                n += 2;
            }
        }
        if (quotes)
            text[n++] = '"';
        text[n++] = random_below(5) ? ',' : '\n';
    }
    return n;
}

/* The way that is tested: each test goes through all that the processor has. */
static const struct csv_way *way;

static void scan(struct csv_scan *s, char delimiter, const char *text, size_t n)
{
    csv_scan_init(s);
    while (n > 0) {
        size_t some = random_below(3) ? n : random_below((unsigned)n + 1);

        csv_scan_add_by(way, s, delimiter, text, some);
        text += some;
        n -= some;
    }
}

/* Ranges of a text, scanned alone, join to what the text as a whole is. */
static void ranges_join(const char *text, size_t n, char delimiter, size_t expected)
{
    unsigned ranges = 1 + random_below(5);
    struct csv_scan all;
    size_t at = 0;

    csv_scan_init(&all);
    for (unsigned r = 0; r < ranges; r++) {
        size_t left = n - at;
        size_t some = r + 1 == ranges ? left : random_below((unsigned)left + 1);
        struct csv_scan s;

        scan(&s, delimiter, text + at, some);
        csv_scan_join(&all, &s);
        at += some;
    }
    csv_scan_end(&all);
    if (expected == SIZE_MAX) {
        assert_int_equal(all.from[CSV_RECORD].state, CSV_OPEN);
        return;
    }
    assert_int_equal(all.from[CSV_RECORD].state, CSV_RECORD);
    assert_int_equal(all.from[CSV_RECORD].records, expected);
}

#define ROOM 20000

static void random_ranges_have_the_records_of_the_whole_text(void **state)
{
    char *text = malloc(ROOM);
    unsigned char *ends = malloc(ROOM + 1);

    way = *state;
    random_state = 1;
    for (int i = 0; i < 20000; i++) {
        char delimiter = ",;\t|"[random_below(4)];
        size_t n = random_text(text, ROOM / 10, delimiter);

        ranges_join(text, n, delimiter, records_of(text, n, delimiter, ends));
    }
    for (int i = 0; i < 300; i++) {
        size_t n = tidy_text(text, random_below(ROOM - 100) + 100);

        ranges_join(text, n, ',', records_of(text, n, ',', ends));
    }
    free(text);
    free(ends);
}

/* Each byte at each place of 64, among bytes that together have all bits set: what one
 * kind of byte is must not depend on its neighbours. */
static void every_byte_is_seen_at_every_place(void **state)
{
    static const char NEIGHBOURS[] = {'a', '\0', '\xff', '\x8a', '\x0b', '!', '\xa2'};
    static const char DELIMITERS[] = {',', ';', '\t', ' ', '|', '\xac'};
    unsigned char ends[131];
    char text[130];

    way = *state;
    for (size_t d = 0; d < sizeof DELIMITERS; d++)
        for (int c = 0; c < 256; c++)
            for (size_t at = 0; at < sizeof text; at++) {
                size_t records;

                memset(text, NEIGHBOURS[(at + (size_t)c) % sizeof NEIGHBOURS],
                       sizeof text);
                text[0] = 'x';
                text[at] = (char)c;
                text[(at + 64) % sizeof text] = '\n';
                records = records_of(text, sizeof text, DELIMITERS[d], ends);
                ranges_join(text, sizeof text, DELIMITERS[d], records);
            }
}

static void lines_are_found_one_by_one(void **state)
{
    char text[2000];
    unsigned char ends[2001];

    (void)state;
    for (int i = 0; i < 5000; i++) {
        size_t n = random_text(text, sizeof text, ','), at = 0, found = 0;
        size_t expected = records_of(text, n, ',', ends);
        enum csv_state s = CSV_RECORD;
        bool record;

        while (at < n) {
            at += csv_scan_line(',', &s, text + at, n - at, &record);
            if (record) {
                assert_true(ends[at]);
                found++;
            }
        }
        if (expected != SIZE_MAX)
            assert_true(found == expected ||
                        (found + 1 == expected && !line_end(text[n - 1])));
    }
}

static void a_quote_that_remains_open_is_found(void **state)
{
    static const struct {
        const char *text;
        int at;
    } cases[] = {
        {"a,\"b\n", 2}, {"a,\"b\"\n\"\"\"c", 6}, {"a,b\n", -1},    {"\"a\"\"\n", 0},
        {"a\"b\n", -1}, {"x\n\"a\"b\",\"", 8},   {" \"a\n,\"", 5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        size_t n = strlen(text), at = 0;

        for (size_t cut = 0; cut <= n; cut++) {
            enum csv_state s = CSV_RECORD;
            int found = -1;

            if (csv_scan_open_quote(',', &s, text, cut, &at))
                found = (int)at;
            if (csv_scan_open_quote(',', &s, text + cut, n - cut, &at))
                found = (int)(cut + at);
            if (cases[i].at >= 0)
                assert_int_equal(found, cases[i].at);
            assert_int_equal(s == CSV_QUOTED, cases[i].at >= 0);
        }
    }
}

static void files_follow_each_other(void **state)
{
    struct csv_scan s;

    (void)state;
    csv_scan_init(&s);
    csv_scan_add(&s, ',', "a,b\nc", 5);
    csv_scan_end(&s);
    csv_scan_end(&s); /* an empty one */
    csv_scan_add(&s, ',', "d\n \n", 4);
    csv_scan_end(&s);
    assert_int_equal(s.from[CSV_RECORD].records, 3);
    csv_scan_add(&s, ',', "\"d\n", 3);
    csv_scan_end(&s);
    csv_scan_add(&s, ',', "\"\ne\n", 4);
    csv_scan_end(&s);
    assert_int_equal(s.from[CSV_RECORD].state, CSV_OPEN);
}

static void ends_of_lines_are_counted(void **state)
{
    char text[1000];

    way = *state;
    random_state = 1;
    for (int i = 0; i < 1000; i++) {
        size_t n = random_text(text, sizeof text, ','), lines = 0;

        for (size_t k = 0; k < n; k++)
            lines += line_end(text[k]) != 0;
        assert_int_equal(csv_scan_lines_by(way, text, n), lines);
    }
}

/* One test of each way. */
static const struct {
    const char *name;
    CMUnitTestFunction test;
} of_a_way[] = {
    {"random ranges have the records of the whole text",
     random_ranges_have_the_records_of_the_whole_text},
    {"every byte is seen at every place", every_byte_is_seen_at_every_place},
    {"ends of lines are counted", ends_of_lines_are_counted},
};
#define N_OF_A_WAY (sizeof of_a_way / sizeof *of_a_way)
#define WAYS_MAX   4

int main(void)
{
    static char names[WAYS_MAX][N_OF_A_WAY][80];
    struct CMUnitTest tests[3 + WAYS_MAX * N_OF_A_WAY] = {
        cmocka_unit_test(lines_are_found_one_by_one),
        cmocka_unit_test(a_quote_that_remains_open_is_found),
        cmocka_unit_test(files_follow_each_other),
    };
    size_t n = 3;

    for (size_t w = 0; w < WAYS_MAX && csv_way_at(w); w++)
        for (size_t i = 0; i < N_OF_A_WAY; i++) {
            snprintf(names[w][i], sizeof names[w][i], "%s: %s",
                     csv_way_name(csv_way_at(w)), of_a_way[i].name);
            tests[n++] = (struct CMUnitTest){names[w][i], of_a_way[i].test, NULL, NULL,
                                             (void *)(uintptr_t)csv_way_at(w)};
        }
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
}
