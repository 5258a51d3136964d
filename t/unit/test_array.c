#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "util/array.h"

static void an_array_keeps_its_elements_while_it_grows(void **state)
{
    uint32_t *list = NULL;
    size_t room = 0;

    (void)state;
    for (uint32_t i = 0; i < 10000; i++) {
        assert_int_equal(array_grow(&list, &room, i, sizeof *list), 0);
        assert_true(room > i);
        list[i] = i;
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(list[i], i);
    free(list);
}

static void an_array_that_is_too_large_stays_as_it_is(void **state)
{
    char *list = NULL, *before;
    size_t room = 0;

    (void)state;
    assert_int_equal(array_grow(&list, &room, 0, 1), 0);
    before = list;
    assert_int_equal(array_grow(&list, &room, room, SIZE_MAX / 8), -1);
    assert_ptr_equal(list, before);
    assert_int_equal(room, 16);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_keeps_its_elements_while_it_grows),
        cmocka_unit_test(an_array_that_is_too_large_stays_as_it_is),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
