#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/quote.h"

static const struct {
    const char *text, *value;
} rows[] = {
    {"", ""},
    {"plain", "plain"},
    {"two\nlines\t\033[1m", "two\nlines\t\033[1m"}, /* JSON escapes them itself */
    {"na\303\257ve \342\202\254", "na\303\257ve \342\202\254"}, /* UTF-8 */
    {"caf\351", "caf\\xe9"},                                    /* Latin-1 */
    {"cut \342\202", "cut \\xe2\\x82"},                         /* half a character */
};

static void any_text_is_a_string(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *value = json_text(rows[i].text);

        assert_non_null(value);
        assert_string_equal(json_string_value(value), rows[i].value);
        json_decref(value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_text_is_a_string),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
