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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_keeps_its_elements_while_it_grows),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
