#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "raytrain.h"

static void every_type_has_size_and_name(void **state)
{
    static const struct {
        raytrain_dtype dtype;
        size_t size;
        const char *name;
    } table[] = {
        {RAYTRAIN_FLOAT32, 4, "float32"}, {RAYTRAIN_FLOAT64, 8, "float64"},
        {RAYTRAIN_FLOAT16, 2, "float16"}, {RAYTRAIN_BFLOAT16, 2, "bfloat16"},
        {RAYTRAIN_INT8, 1, "int8"},       {RAYTRAIN_INT16, 2, "int16"},
        {RAYTRAIN_INT32, 4, "int32"},     {RAYTRAIN_INT64, 8, "int64"},
        {RAYTRAIN_UINT8, 1, "uint8"},     {RAYTRAIN_UINT16, 2, "uint16"},
        {RAYTRAIN_UINT32, 4, "uint32"},   {RAYTRAIN_UINT64, 8, "uint64"},
        {RAYTRAIN_BYTES, 1, "bytes"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(raytrain_dtype_size(table[i].dtype), table[i].size);
        assert_string_equal(raytrain_dtype_name(table[i].dtype), table[i].name);
    }
}

static void unknown_types_have_no_size(void **state)
{
    static const int unknown[] = {0, RAYTRAIN_BYTES + 1, -1, 1 << 30};

    (void)state;
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_int_equal(raytrain_dtype_size((raytrain_dtype)unknown[i]), 0);
        assert_string_equal(raytrain_dtype_name((raytrain_dtype)unknown[i]), "unknown");
    }
}

static void every_status_has_its_own_name(void **state)
{
    (void)state;
    for (int i = 0; i <= RAYTRAIN_END; i++) {
        assert_string_not_equal(raytrain_status_name(i), "unknown status");
        for (int j = 0; j < i; j++)
            assert_string_not_equal(raytrain_status_name(i), raytrain_status_name(j));
    }
    assert_string_equal(raytrain_status_name(-1), "unknown status");
    assert_string_equal(raytrain_status_name(RAYTRAIN_END + 1), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_size_and_name),
        cmocka_unit_test(unknown_types_have_no_size),
        cmocka_unit_test(every_status_has_its_own_name),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
