#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launch/launcher.h"

static bool in_allocation;

static bool fake_usable(void)
{
    return in_allocation;
}

/* Stands in for the real one, which would ask the surrounding environment. */
const struct launcher_ops launcher_slurm = {.name = "slurm", .usable = fake_usable};

static const struct launcher_ops *found(const char *name)
{
    const struct launcher_ops *ops = NULL;
    struct error err;

    assert_int_equal(launcher_find(name, &ops, &err), 0);
    return ops;
}

static void by_name(void **state)
{
    (void)state;
    assert_ptr_equal(found("slurm"), &launcher_slurm);
    assert_ptr_equal(found("local"), &launcher_local);
}

static void auto_prefers_an_allocation(void **state)
{
    (void)state;
    in_allocation = true;
    assert_ptr_equal(found("auto"), &launcher_slurm);
    assert_ptr_equal(found("local"), &launcher_local);
    in_allocation = false;
    assert_ptr_equal(found("auto"), &launcher_local);
}

static void unknown_name(void **state)
{
    const struct launcher_ops *ops = NULL;
    struct error err;

    (void)state;
    assert_int_equal(launcher_find("lokal", &ops, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    assert_non_null(strstr(err.text, "did you mean local?"));
    assert_int_equal(launcher_find("mpi\nexec", &ops, &err), -1);
    assert_null(strchr(err.text, '\n'));
    assert_null(strstr(err.text, "did you mean"));
    assert_null(ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_name),
        cmocka_unit_test(auto_prefers_an_allocation),
        cmocka_unit_test(unknown_name),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
