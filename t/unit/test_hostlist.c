#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/argv.h"
#include "util/hostlist.h"

/* text, and its names joined by blanks; NULL: refused */
static const struct {
    const char *text, *names;
} expand_rows[] = {
    {"", ""},
    {"n1", "n1"},
    {"login,n2", "login n2"},
    {"n[1-3]", "n1 n2 n3"},
    {"n[1-3,7],x", "n1 n2 n3 n7 x"},
    {"gpu[01-03]-ib", "gpu01-ib gpu02-ib gpu03-ib"},
    {"n[08-11]", "n08 n09 n10 n11"},
    {"n[9-11]", "n9 n10 n11"},
    {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
    {"n[3,1]", "n3 n1"},
    {"n[5]", "n5"},
    {"a-b.c[1-2].d", "a-b.c1.d a-b.c2.d"},
    {"n[1-3", NULL},
    {"n1-3]", NULL},
    {"n[]", NULL},
    {"n[1-]", NULL},
    {"n[-3]", NULL},
    {"n[3-1]", NULL},
    {"n[1,,2]", NULL},
    {"n[a-b]", NULL},
    {"n[1;2]", NULL},
    {"n[[1]]", NULL},
    {",n1", NULL},
    {"n1,,n2", NULL},
    {"n1,", NULL},
    {"n1 n2", NULL},
    {"n[1-999999999]", NULL},
    {"n[1-99999999999999999999]", NULL},
    {"a[1-999]b[1-999]", NULL},
};

static void host_lists_are_expanded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expand_rows / sizeof *expand_rows; i++) {
        char **v = NULL, joined[256] = "";
        struct error err;
        int rc = hostlist_expand(expand_rows[i].text, &v, &err);

        if (!expand_rows[i].names) {
            assert_int_equal(rc, -1);
            assert_int_equal(err.code, RAYTRAIN_EINVAL);
            assert_null(v);
            continue;
        }
        assert_int_equal(rc, 0);
        for (size_t k = 0; v && v[k]; k++) {
            strcat(joined, k ? " " : "");
            strcat(joined, v[k]);
        }
        assert_string_equal(joined, expand_rows[i].names);
        argv_free(v);
    }
}

static void long_names_are_refused(void **state)
{
    char text[1024], **v = NULL;
    struct error err;

    (void)state;
    memset(text, 'x', sizeof text);
    text[300] = '\0';
    assert_int_equal(hostlist_expand(text, &v, &err), -1);
    strcpy(text + 250, "[1-2]yyyyyy");
    assert_int_equal(hostlist_expand(text, &v, &err), -1);
    assert_null(v);
}

/* names separated by blanks, and their short form */
static const struct {
    const char *names, *text;
} compress_rows[] = {
    {"", ""},
    {"n1", "n1"},
    {"n1 n2 n3", "n[1-3]"},
    {"n1 n2 n4 n5 x", "n[1-2,4-5],x"},
    {"n08 n09 n10", "n[08-10]"},
    {"n9 n10", "n[9,10]"},
    {"b1 a1 a2", "b1,a[1-2]"},
    {"n3 n1", "n[3,1]"},
    {"login login", "login,login"},
};

static void host_lists_are_compressed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof compress_rows / sizeof *compress_rows; i++) {
        char **v = NULL, **back = NULL, *text;
        struct error err;

        assert_int_equal(argv_split(compress_rows[i].names, &v, &err), 0);
        assert_int_equal(hostlist_compress(v, argv_count(v), &text, &err), 0);
        assert_string_equal(text, compress_rows[i].text);
        assert_int_equal(hostlist_expand(text, &back, &err), 0);
        assert_int_equal(argv_count(back), argv_count(v));
        for (size_t k = 0; v && v[k]; k++)
            assert_string_equal(back[k], v[k]);
        argv_free(v);
        argv_free(back);
        free(text);
    }
}

/* Ten thousand nodes: with consecutive numbers, with numbers in each rack, every second
 * one, and with names that cannot be joined. */
#define MANY 10000

static const struct {
    const char *name; /* of rack and node */
    int step, per_rack;
    size_t bytes; /* of the list, at most */
} many_rows[] = {
    {"c%d-n%05d", 1, MANY, 17},
    {"rack%03d-n%02d", 1, 50, MANY / 50 * 17},
    {"c%d-n%05d", 2, 2 * MANY, 5 + 6 * MANY},
    {"c%d-n%05d-ib", 1, MANY, 13 * MANY},
};

static void ten_thousand_names_make_a_short_list(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof many_rows / sizeof *many_rows; k++) {
        char **names = calloc(MANY + 1, sizeof *names), **back = NULL, *text;
        int rack = many_rows[k].per_rack;
        struct error err;

        assert_non_null(names);
        for (int i = 0, n = 0; i < MANY; i++, n += many_rows[k].step)
            assert_true(asprintf(&names[i], many_rows[k].name, n / rack, n % rack) > 0);
        assert_int_equal(hostlist_compress(names, MANY, &text, &err), 0);
        assert_in_range(strlen(text), 1, many_rows[k].bytes);
        assert_int_equal(hostlist_expand(text, &back, &err), 0);
        assert_int_equal(argv_count(back), MANY);
        for (size_t i = 0; i < MANY; i++)
            assert_string_equal(back[i], names[i]);
        argv_free(back);
        argv_free(names);
        free(text);
    }
}

/* No text of a few bytes makes a list without end. */
static void a_list_has_a_greatest_length(void **state)
{
    char **v = NULL;
    struct error err;

    (void)state;
    assert_int_equal(hostlist_expand("n[1-65536]", &v, &err), 0);
    assert_int_equal(argv_count(v), HOSTLIST_MAX);
    argv_free(v);
    v = NULL;
    assert_int_equal(hostlist_expand("n[1-65537]", &v, &err), -1);
    assert_int_equal(hostlist_expand("r[1-999]n[1-999]c[1-999]", &v, &err), -1);
    assert_non_null(strstr(err.text, "too many nodes"));
    assert_null(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_lists_are_expanded),
        cmocka_unit_test(long_names_are_refused),
        cmocka_unit_test(host_lists_are_compressed),
        cmocka_unit_test(ten_thousand_names_make_a_short_list),
        cmocka_unit_test(a_list_has_a_greatest_length),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
