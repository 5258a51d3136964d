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

static int fake_check_start(struct error *err)
{
    return error_set(err, RAYTRAIN_EUSAGE, "one of four copies");
}

static bool fake_in_step(void)
{
    return true;
}

/* Replaces the real one, which depends on the environment. */
const struct launcher_ops launcher_slurm = {
    .usable = fake_usable, .check_start = fake_check_start, .in_step = fake_in_step};

static const struct launcher_ops *found(const char *name)
{
    const struct launcher_ops *ops = NULL;
    struct error err;

    assert_int_equal(launcher_find(name, &ops, &err), 0);
    return ops;
}

static void a_launcher_is_found_by_name(void **state)
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

static void an_unknown_launcher_is_refused(void **state)
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

/* --launcher local is allowed for several copies of the command. */
static void where_a_run_may_start(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(launcher_check_start("local", &err), 0);
    assert_int_equal(launcher_check_start("auto", &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EUSAGE);
    assert_int_equal(launcher_check_start("slurm", &err), -1);
    assert_true(launcher_in_step(&launcher_slurm));
    assert_false(launcher_in_step(&launcher_local));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launcher_is_found_by_name),
        cmocka_unit_test(auto_prefers_an_allocation),
        cmocka_unit_test(an_unknown_launcher_is_refused),
        cmocka_unit_test(where_a_run_may_start),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
