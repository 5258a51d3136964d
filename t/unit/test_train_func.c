#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "loop/shared_object.h"

/* A file of the build tree. */
static const char *built(const char *name)
{
    static char path[4096];
    const char *top = getenv("top_builddir");

    snprintf(path, sizeof path, "%s/t/check/%s", top ? top : ".", name);
    return path;
}

static void refused(const char *path, raytrain_status code, const char *says)
{
    raytrain_train_func func = NULL;
    struct error err = {0};

    assert_int_equal(train_func_load(path, &func, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
    assert_null(func);
}

static void a_function_is_found(void **state)
{
    raytrain_train_func func = NULL;
    struct error err;

    (void)state;
    if (train_func_load(built(".libs/empty.so"), &func, &err) < 0)
        fail_msg("%s", err.text);
    assert_non_null(func);
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    refused("/nowhere/train.so", RAYTRAIN_ENOTFOUND, "no training function");
    refused("/etc/passwd/train.so", RAYTRAIN_ENOTFOUND, "no training function");
    refused("/etc", RAYTRAIN_EINVAL, "not a shared object");
    refused("/etc/passwd", RAYTRAIN_EINVAL, "cc -shared -fPIC");
    refused(built(".libs/no_train_func.so"), RAYTRAIN_ENOTFOUND,
            "int train_func(raytrain_context *ctx)");
    refused(built("needs_gone.so"), RAYTRAIN_ENOTFOUND, "libgone.so");
    refused(built("needs_gone.so"), RAYTRAIN_ENOTFOUND, "LD_LIBRARY_PATH");
    /* This program does not offer what a worker offers. */
    refused(built(".libs/toy.so"), RAYTRAIN_ENOTFOUND, "undefined symbol");
    refused("new\nline", RAYTRAIN_ENOTFOUND, "new\\nline");
}

static int never_called(raytrain_context *ctx)
{
    (void)ctx;
    fail_msg("the training function was called");
    return 0;
}

static void a_worker_started_by_hand_says_how(void **state)
{
    char *argv[] = {NULL};

    (void)state;
    unsetenv("RAYTRAIN_RUN_DIR");
    assert_int_equal(raytrain_main(0, argv, never_called), 2);
    assert_int_equal(raytrain_main(0, NULL, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_found),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(a_worker_started_by_hand_says_how),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
