#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_lists_are_expanded),
        cmocka_unit_test(long_names_are_refused),
        cmocka_unit_test(host_lists_are_compressed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
