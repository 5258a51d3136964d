#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/error.h"

static void set_fills_and_returns_minus_one(void **state)
{
    struct error err;

    (void)state;
    errno = ENOENT;
    assert_int_equal(error_set(&err, RAYTRAIN_EFIT, "%d of %d", 3, 2), -1);
    assert_int_equal(err.code, RAYTRAIN_EFIT);
    assert_string_equal(err.text, "3 of 2");
    assert_int_equal(errno, ENOENT);
    assert_int_equal(error_set(NULL, RAYTRAIN_EFIT, "nobody listens"), -1);
}

static void text_may_come_from_itself(void **state)
{
    struct error err;

    (void)state;
    error_set(&err, RAYTRAIN_EINVAL, "inner");
    error_set(&err, RAYTRAIN_EINVAL, "outer: %s", err.text);
    assert_string_equal(err.text, "outer: inner");
}

static void prefix_keeps_code(void **state)
{
    struct error err;

    (void)state;
    error_set(&err, RAYTRAIN_ESTORAGE, "no space");
    assert_int_equal(error_prefix(&err, "save %s", "x"), -1);
    assert_string_equal(err.text, "save x: no space");
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
}

static void long_text_is_cut(void **state)
{
    struct error err;
    static char big[3 * ERROR_TEXT_MAX];

    (void)state;
    memset(big, 'x', sizeof big - 1);
    error_set(&err, RAYTRAIN_EINVAL, "%s", big);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    error_prefix(&err, "p");
    assert_memory_equal(err.text, "p: x", 4);
    error_prefix(&err, "%s", big);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
}

static void codes_have_exit_statuses(void **state)
{
    (void)state;
    assert_int_equal(error_exit_status(RAYTRAIN_OK), 0);
    assert_int_equal(error_exit_status(RAYTRAIN_EFAILED), 1);
    assert_int_equal(error_exit_status(RAYTRAIN_EUSAGE), 2);
    assert_int_equal(error_exit_status(RAYTRAIN_ETYPE), 3);
    assert_int_equal(error_exit_status(RAYTRAIN_EFIT), 4);
    assert_int_equal(error_exit_status(RAYTRAIN_ECORRUPT), 5);
    assert_int_equal(error_exit_status(RAYTRAIN_ESTOPPED), 75);
    for (int status = 2; status <= 5; status++)
        assert_int_equal(error_exit_status(error_code_of(status)), status);
    for (int status = 0; status < 256; status = status == 1 ? 6 : status + 1)
        assert_int_equal(error_code_of(status), RAYTRAIN_EFAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_and_returns_minus_one),
        cmocka_unit_test(text_may_come_from_itself),
        cmocka_unit_test(prefix_keeps_code),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(codes_have_exit_statuses),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
