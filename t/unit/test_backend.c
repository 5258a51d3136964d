#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend/mpi_backend.h"

static void a_backend_is_found_by_name(void **state)
{
    const struct backend_ops *ops;
    struct error err;

    (void)state;
    assert_int_equal(backend_find("mpi", &ops, &err), 0);
    assert_ptr_equal(ops, &backend_mpi);
    assert_int_equal(backend_find("none", &ops, &err), 0);
    assert_ptr_equal(ops, &backend_none);
    assert_int_equal(backend_find("torhc", &ops, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    assert_non_null(strstr(err.text, "torhc"));
    assert_null(ops);
}

static void backend_none_has_one_rank(void **state)
{
    struct backend b = {.ops = &backend_none};
    struct error err;
    MPI_Comm comm;
    bool exit_now = true;

    (void)state;
    assert_int_equal(b.ops->on_start(&b, NULL, &err), 0);
    assert_int_equal(b.comm->size, 1);
    assert_int_equal(backend_mpi_user_comm(&b, &comm, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    assert_true(comm == MPI_COMM_NULL);
    b.ops->on_shutdown(&b, true, &exit_now);
    assert_null(b.comm);
    assert_false(exit_now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backend_is_found_by_name),
        cmocka_unit_test(backend_none_has_one_rank),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
