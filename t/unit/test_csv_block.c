#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/csv_block.h"

static struct error err;
static struct missing_texts missing; /* those of the blocks that are made */

static void value_print(const struct csv_column *c, const struct frame_column *f,
                        uint64_t row, FILE *out)
{
    const void *data = f->data;
    const char *word;
    size_t n;

    switch (c->type) {
    case CSV_BOOL:
        fprintf(out, "%d", f->data[row]);
        break;
    case CSV_INT64:
        fprintf(out, "%lld", (long long)((const int64_t *)data)[row]);
        break;
    case CSV_FLOAT32:
        fprintf(out, "%.9gf", (double)((const float *)data)[row]);
        break;
    case CSV_WORDS:
        if (((const int32_t *)data)[row] < 0) {
            fputc('-', out);
            break;
        }
        word = dictionary_word(c->words, (size_t)((const int32_t *)data)[row], &n);
        fprintf(out, "'%.*s'", (int)n, word);
        break;
    case CSV_TEXT:
        fprintf(out, "<%.*s>", (int)(f->offsets[row + 1] - f->offsets[row]),
                (const char *)f->data + f->offsets[row]);
        break;
    default:
        fprintf(out, "%.17g", ((const double *)data)[row]);
    }
}

/* The types, and rows of all blocks: "int64 words|1 'a'|2 -". Blocks have `size` bytes,
 * or as many as a record needs. */
static int blocks_print(struct csv_block *b, const char *text, size_t size, FILE *out)
{
    size_t n = strlen(text), at = 0, now = size;

    for (size_t i = 0; i < b->n_columns; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "",
                b->columns[i].type ? csv_type_name(b->columns[i].type) : "?");
    while (at < n) {
        struct csv_text block = {.bytes = text + at, .n = now, .limit = SIZE_MAX};
        size_t used;

        if (now >= n - at) {
            block.n = n - at;
            block.last = true;
        }
        if (csv_block_parse(b, &block, &used, &err) < 0) {
            b->fault += at;
            return -1;
        }
        assert_true(used > 0 || !block.last);
        now = used > 0 ? size : now + 1;
        at += used;
        for (uint64_t row = 0; row < b->rows.rows; row++) {
            for (size_t i = 0; i < b->n_columns; i++) {
                fputc(i > 0 ? ' ' : '|', out);
                value_print(&b->columns[i], &b->rows.columns[i], row, out);
            }
        }
    }
    return 0;
}

/* Parse twice, as types are known afterwards. */
static int print(struct csv_block *b, const char *text, size_t size, char *out,
                 size_t room)
{
    FILE *stream;
    int rc;

    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(csv_block_types(b, (const unsigned[16]){0}, &err), 0);
        assert_int_equal(csv_block_restart(b, &err), 0);
        stream = fmemopen(out, room, "w");
        assert_non_null(stream);
        rc = blocks_print(b, text, size, stream);
        fclose(stream);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void open_columns(struct csv_block *b, size_t n, const enum csv_type declared[])
{
    struct csv_column like[16] = {{.declared = CSV_UNKNOWN}};

    for (size_t i = 0; i < n; i++) {
        snprintf(like[i].name, sizeof like[i].name, "c%zu", i);
        like[i].declared = declared ? declared[i] : CSV_UNKNOWN;
    }
    assert_int_equal(csv_block_init(b, ',', &missing, like, n, &err), 0);
}

/* In blocks of any size. */
static void becomes(size_t columns, const enum csv_type declared[], const char *text,
                    const char *expected)
{
    char found[4096];
    struct csv_block b;

    for (size_t size = 1; size <= strlen(text) + 1; size++) {
        open_columns(&b, columns, declared);
        if (print(&b, text, size, found, sizeof found) < 0)
            fail_msg("in blocks of %zu: %s", size, err.text);
        if (strcmp(found, expected) != 0)
            fail_msg("in blocks of %zu: %s instead of %s", size, found, expected);
        csv_block_clear(&b);
    }
}

static void fails(size_t columns, const enum csv_type declared[], const char *text,
                  size_t fault, const char *why)
{
    char found[4096];
    struct csv_block b;

    for (size_t size = 1; size <= strlen(text) + 1; size++) {
        open_columns(&b, columns, declared);
        assert_int_equal(print(&b, text, size, found, sizeof found), -1);
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
        if (!strstr(err.text, why))
            fail_msg("'%s' instead of '%s'", err.text, why);
        assert_int_equal(b.fault, fault);
        csv_block_clear(&b);
    }
}

static void types_follow_from_all_values(void **state)
{
    (void)state;
    becomes(1, NULL, "1\n2\n3\n", "int64|1|2|3");
    becomes(1, NULL, "1\n2.5\n3\n", "float64|1|2.5|3");
    becomes(2, NULL, "1,x\n,y\n3,z\n", "float64 words|1 'x'|nan 'y'|3 'z'");
    becomes(1, NULL, "1\n2.5\nabc\n007\n", "words|'1'|'2.5'|'abc'|'007'");
    becomes(1, NULL, "True\nfalse\nTRUE\n", "bool|1|0|1");
    becomes(1, NULL, "True\nfalse\n1\n", "words|'True'|'false'|'1'");
    becomes(1, NULL, "True\nNA\n", "words|'True'|-");
    becomes(2, NULL, "NA,1\n,2\n", "float64 int64|nan 1|nan 2");
    becomes(1, NULL, "9223372036854775807\n", "int64|9223372036854775807");
    becomes(1, NULL, "inf\n-Infinity\n1e400\n", "float64|inf|-inf|inf");
    becomes(1, NULL, "-0.0\n.5\n5.\n+1e-2\n", "float64|-0|0.5|5|0.01");
}

static void whole_numbers_stay_different(void **state)
{
    (void)state;
    becomes(1, NULL, "9223372036854775808\n1\n", "words|'9223372036854775808'|'1'");
    becomes(1, NULL, "1\n-9223372036854775809\n\"\"\n+18446744073709551615\n",
            "words|'1'|'-9223372036854775809'|-|'+18446744073709551615'");
    /* float64 does not hold 2^53 + 1, but 2^53 and 2^53 + 2. */
    becomes(1, NULL, "9007199254740993\n1\n", "int64|9007199254740993|1");
    becomes(1, NULL, "9007199254740993\n\"\"\n1\n", "words|'9007199254740993'|-|'1'");
    becomes(1, NULL, "\"\"\n1\n-9007199254740993\n", "words|-|'1'|'-9007199254740993'");
    becomes(1, NULL, "\"\"\n9007199254740992\n9007199254740994\n",
            "float64|nan|9007199254740992|9007199254740994");
    becomes(1, NULL, "9223372036854775807\nNA\n", "words|'9223372036854775807'|-");
}

static void a_fraction_makes_floating_point_of_large_numbers(void **state)
{
    (void)state;
    becomes(1, NULL, "9223372036854775808\n1\n0.5\n",
            "float64|9.2233720368547758e+18|1|0.5");
    becomes(1, NULL, "1e3\n1\n9223372036854775808\n",
            "float64|1000|1|9.2233720368547758e+18");
    becomes(1, NULL, "9007199254740993\nNA\n2.\n", "float64|9007199254740992|nan|2");
    becomes(1, NULL, "NA\n1\n2.5\n9007199254740993\n",
            "float64|nan|1|2.5|9007199254740992");
    becomes(1, NULL, "9223372036854775808\ninf\n",
            "float64|9.2233720368547758e+18|inf");
    becomes(1, NULL, "9223372036854775808\n0.5\nx\n",
            "words|'9223372036854775808'|'0.5'|'x'");
    becomes(1, (enum csv_type[]){CSV_FLOAT64}, "9223372036854775808\n\"\"\n1\n",
            "float64|9.2233720368547758e+18|nan|1");
    fails(1, (enum csv_type[]){CSV_INT64}, "1\n9223372036854775808\n", 2,
          "has the value \"9223372036854775808\", but is declared as int64");
}

static void missing_values_are_those_of_pandas(void **state)
{
    (void)state;
    becomes(2, NULL,
            "1,a\n,\nNA,NA\nN/A,N/A\nn/a,n/a\nNaN,NaN\nnan,nan\n-NaN,-NaN\n-nan,-nan\n"
            "NULL,NULL\nnull,null\nNone,None\n<NA>,<NA>\n#N/A,#N/A\n#NA,#NA\n"
            "#N/A N/A,#N/A N/A\n1.#IND,1.#IND\n-1.#IND,-1.#IND\n1.#QNAN,1.#QNAN\n"
            "-1.#QNAN,-1.#QNAN\n\"\",\"NA\"\n",
            "float64 words|1 'a'|nan -|nan -|nan -|nan -|nan -|nan -|nan -|nan -|nan "
            "-|nan -"
            "|nan -|nan -|nan -|nan -|nan -|nan -|nan -|nan -|nan -|nan -");
    becomes(1, NULL, "nAn\nna\n NA\nNULLs\n", "words|'nAn'|'na'|' NA'|'NULLs'");
    becomes(1, NULL, "1\nNan\n", "words|'1'|'Nan'");
}

static void missing_values_may_be_others(void **state)
{
    char *const question[] = {(char *)"?", (char *)""};
    char *const number[] = {(char *)"-999"};

    (void)state;
    missing = (struct missing_texts){question, 2};
    becomes(2, NULL, "1,NA\n?,?\n\"\",\"\"\n2,null\n",
            "float64 words|1 'NA'|nan -|nan -|2 'null'");
    missing.n = 1;
    becomes(2, NULL, "1,x\n2,\n", "int64 words|1 'x'|2 ''");
    becomes(1, NULL, "1\nNA\n", "words|'1'|'NA'");
    becomes(1, (enum csv_type[]){CSV_TEXT}, "?\nNA\n", "text|<>|<NA>");
    missing = (struct missing_texts){number, 1};
    becomes(2, NULL, "1,1.5\n-999,-999\n-9990,-999.5\n",
            "float64 float64|1 1.5|nan nan|-9990 -999.5");
    missing = (struct missing_texts){NULL, 0};
}

static void spaces_around_numbers_do_not_count(void **state)
{
    (void)state;
    becomes(2, NULL, " 1,2.5 \n2 ,\t3\n", "int64 float64|1 2.5|2 3");
    becomes(2, NULL, " 1 2,x \n2, y\n", "words words|' 1 2' 'x '|'2' ' y'");
    becomes(1, NULL, "1\n\" \"\n", "words|'1'|' '");
}

static void every_kind_of_line_end_and_empty_line_is_understood(void **state)
{
    (void)state;
    becomes(2, NULL, "1,2\r\n3,4\r\n", "int64 int64|1 2|3 4");
    becomes(2, NULL, "1,2\r3,4\r", "int64 int64|1 2|3 4");
    becomes(2, NULL, "\n\n1,2\n  \t\n\r\n3,4", "int64 int64|1 2|3 4");
    becomes(2, NULL, "a,\n,\n,b", "words words|'a' -|- -|- 'b'");
    becomes(2, NULL, " , \n", "words words|' ' ' '");
}

static void quotes_hold_delimiters_lines_and_quotes(void **state)
{
    (void)state;
    becomes(2, NULL, "\"a,b\",1\n\"c\r\nd\",\"2\"\n", "words int64|'a,b' 1|'c\r\nd' 2");
    becomes(1, NULL, "\"say \"\"x\"\"\"\n\"\"\"\"\n", "words|'say \"x\"'|'\"'");
    becomes(2, NULL, "a\"b,\"c\"d\"e\n\"\"x,\"y\" \n",
            "words words|'a\"b' 'cd\"e'|'x' 'y '");
    becomes(1, NULL, "\"\"\n\"1\"\n", "float64|nan|1");
    becomes(2, NULL, "\"1\"5,\"1.5\"\n", "int64 float64|15 1.5");
    becomes(1, NULL, " \"a\"\n", "words|' \"a\"'");
}

static void declared_types_are_kept(void **state)
{
    static const enum csv_type types[] = {CSV_WORDS, CSV_FLOAT32, CSV_FLOAT64, CSV_TEXT,
                                          CSV_BOOL};

    (void)state;
    becomes(
        5, types, "007,1,1,one,true\n8,0.1,NA,,False\n,,2,\"t\"\"wo\",TRUE\n",
        "words float32 float64 text bool|'007' 1f 1 <one> 1|'8' 0.100000001f nan <> 0"
        "|- nanf 2 <t\"wo> 1");
    fails(5, types, "1,1,1,x,true\n2,x,1,x,true\n", 13,
          "column \"c1\" has the value \"x\", but is declared as float32");
    fails(5, types, "1,1,1,x,\n", 0, "column \"c4\" has a missing value");
    fails(1, (const enum csv_type[]){CSV_INT64}, "1\n2.5\n", 2,
          "the value \"2.5\", but is declared as int64");
}

static void another_number_of_fields_is_an_error(void **state)
{
    (void)state;
    fails(3, NULL, "1,2,3\n4,5\n", 6, "2 fields instead of 3");
    fails(3, NULL, "1,2,3\n4\n", 6, "1 field instead of 3");
    fails(3, NULL, "1,2,3\n\n4,5,6,\"x\n\",8\n", 7, "5 fields instead of 3");
    fails(2, NULL, "1,2,\n", 0, "3 fields instead of 2");
    fails(2, NULL, "1,\"2\n", 0, "ends in a quoted field");
}

static void a_byte_that_is_nul_is_an_error(void **state)
{
    static const char bytes[] = "1,2\n3,\0"
                                "4\n5,6\n";
    struct csv_text text = {.bytes = bytes, .n = sizeof bytes - 1, .last = true};
    struct csv_block b;
    size_t used;

    (void)state;
    for (text.limit = 1; text.limit < text.n; text.limit++) {
        int expected = text.limit > 4 ? -1 : 0;

        open_columns(&b, 2, NULL);
        assert_int_equal(csv_block_parse(&b, &text, &used, &err), expected);
        if (expected < 0) {
            assert_int_equal(b.fault, 4);
            assert_non_null(strstr(err.text, "NUL"));
        }
        csv_block_clear(&b);
    }
}

static void records_from_the_limit_on_are_left_out(void **state)
{
    static const char bytes[] = "1\n\"2\n\n\"\n\n33\n";
    static const struct {
        size_t limit, rows, used;
    } cases[] = {{1, 1, 2}, {2, 1, 2}, {3, 2, 8}, {8, 2, 8}, {9, 2, 9}, {10, 3, 12}};
    struct csv_block b;
    size_t used;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct csv_text text = {bytes, sizeof bytes - 1, cases[i].limit, true};

        open_columns(&b, 1, NULL);
        assert_int_equal(csv_block_parse(&b, &text, &used, &err), 0);
        assert_int_equal(b.rows.rows, cases[i].rows);
        assert_int_equal(used, cases[i].used);
        csv_block_clear(&b);
    }
}

static void a_long_line_is_one_record(void **state)
{
    size_t n = 10 << 20;
    char *text = malloc(n + 3);
    struct csv_block b;
    size_t used;

    (void)state;
    memset(text, 'x', n);
    memcpy(text + n - 4, "\"\",1", 4);
    text[n] = '\n';
    memcpy(text + n + 1, "y", 2);
    open_columns(&b, 2, NULL);
    assert_int_equal(
        csv_block_parse(&b, &(struct csv_text){text, n, n, false}, &used, &err), 0);
    assert_int_equal(b.rows.rows, 0);
    assert_int_equal(used, 0);
    assert_int_equal(
        csv_block_parse(&b, &(struct csv_text){text, n + 2, n, false}, &used, &err), 0);
    assert_int_equal(b.rows.rows, 1);
    assert_int_equal(used, n + 1);
    dictionary_word(b.columns[0].words, 0, &used);
    assert_int_equal(used, n - 2);
    csv_block_clear(&b);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_follow_from_all_values),
        cmocka_unit_test(whole_numbers_stay_different),
        cmocka_unit_test(a_fraction_makes_floating_point_of_large_numbers),
        cmocka_unit_test(missing_values_are_those_of_pandas),
        cmocka_unit_test(missing_values_may_be_others),
        cmocka_unit_test(spaces_around_numbers_do_not_count),
        cmocka_unit_test(every_kind_of_line_end_and_empty_line_is_understood),
        cmocka_unit_test(quotes_hold_delimiters_lines_and_quotes),
        cmocka_unit_test(declared_types_are_kept),
        cmocka_unit_test(another_number_of_fields_is_an_error),
        cmocka_unit_test(a_byte_that_is_nul_is_an_error),
        cmocka_unit_test(records_from_the_limit_on_are_left_out),
        cmocka_unit_test(a_long_line_is_one_record),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
