#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/name_index.h"

#define MANY 10000

struct entry {
    int number;
    char *name;
};

static void a_name_is_found_in_any_order(void **state)
{
    char *names[] = {(char *)"n3", (char *)"n1", (char *)"n10", (char *)"n1"};
    struct name_index x = {0};

    (void)state;
    assert_int_equal(name_index_find(&x, "n1"), NAME_INDEX_NONE);
    assert_int_equal(name_index_make(&x, names, sizeof *names, 4), 0);
    assert_int_equal(name_index_find(&x, "n3"), 0);
    assert_int_equal(name_index_find(&x, "n1"), 1); /* the first of two */
    assert_int_equal(name_index_find(&x, "n10"), 2);
    assert_int_equal(name_index_find(&x, "n2"), NAME_INDEX_NONE);
    assert_int_equal(name_index_find(&x, "z"), NAME_INDEX_NONE);
    assert_int_equal(name_index_find(&x, ""), NAME_INDEX_NONE);
    name_index_clear(&x);
    assert_int_equal(name_index_make(&x, names, sizeof *names, 0), 0);
    assert_int_equal(name_index_find(&x, "n1"), NAME_INDEX_NONE);
    name_index_clear(&x);
}

static void names_may_be_in_structs(void **state)
{
    struct entry *all = calloc(MANY, sizeof *all);
    struct name_index x;

    (void)state;
    assert_non_null(all);
    for (int i = 0; i < MANY; i++)
        assert_true(asprintf(&all[i].name, "node%d", (i * 7919) % MANY) > 0);
    assert_int_equal(name_index_make(&x, &all[0].name, sizeof *all, MANY), 0);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(name_index_find(&x, all[i].name), i);
    name_index_clear(&x);
    for (int i = 0; i < MANY; i++)
        free(all[i].name);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_found_in_any_order),
        cmocka_unit_test(names_may_be_in_structs),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
