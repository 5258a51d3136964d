#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "loop/loop.h"

/* A file of the build tree. */
static const char *built(const char *name)
{
    static char path[4096];
    const char *top = getenv("top_builddir");

    snprintf(path, sizeof path, "%s/t/check/%s", top ? top : ".", name);
    return path;
}

static int load(const char *path, raytrain_train_func *func, struct error *err)
{
    const struct loop_source source = {.path = path};
    struct loop loop;
    int rc;

    loop_init(&loop, &source);
    rc = loop.ops->open(&loop, err);
    *func = loop.func;
    return rc;
}

static void refused(const char *path, raytrain_status code, const char *says)
{
    raytrain_train_func func = NULL;
    struct error err = {0};

    assert_int_equal(load(path, &func, &err), -1);
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
    if (load(built("empty.so"), &func, &err) < 0)
        fail_msg("%s", err.text);
    assert_non_null(func);
}

static void errors_of_loading_are_reported(void **state)
{
    (void)state;
    refused("/nowhere/train.so", RAYTRAIN_ENOTFOUND, "no training function");
    refused("/etc/passwd/train.so", RAYTRAIN_ENOTFOUND, "no training function");
    refused("/etc", RAYTRAIN_EINVAL, "not a shared object");
    refused("/etc/passwd", RAYTRAIN_EINVAL, "cc -shared -fPIC");
    refused(built("no_train_func.so"), RAYTRAIN_ENOTFOUND,
            "int train_func(raytrain_context *ctx)");
    refused(built("needs_gone.so"), RAYTRAIN_ENOTFOUND, "libgone.so");
    refused(built("needs_gone.so"), RAYTRAIN_ENOTFOUND, "LD_LIBRARY_PATH");
    /* This program does not offer what a worker offers. */
    refused(built("toy.so"), RAYTRAIN_ENOTFOUND, "undefined symbol");
    refused("new\nline", RAYTRAIN_ENOTFOUND, "new\\nline");
}

/* A loop that is not a function: it counts how far it comes. */
static int steps;

static int step_open(struct loop *loop, struct error *err)
{
    (void)err;
    loop->impl = &steps;
    return 0;
}

static int step_run(struct loop *loop, raytrain_context *ctx)
{
    (void)ctx;
    return ++*(int *)loop->impl;
}

static void step_close(struct loop *loop, bool clean)
{
    *(int *)loop->impl = clean ? 10 : 20;
}

static void a_loop_need_not_be_a_function(void **state)
{
    static const struct loop_ops ops = {
        .open = step_open, .run = step_run, .close = step_close};
    struct loop loop = {.ops = &ops};
    struct error err;

    (void)state;
    assert_int_equal(loop.ops->open(&loop, &err), 0);
    assert_int_equal(loop.ops->run(&loop, NULL), 1);
    loop_close(&loop, false);
    assert_int_equal(steps, 20);
}

static int never_called(raytrain_context *ctx)
{
    (void)ctx;
    fail_msg("the training function was called");
    return 0;
}

static void a_worker_started_by_hand_explains_its_use(void **state)
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
        cmocka_unit_test(errors_of_loading_are_reported),
        cmocka_unit_test(a_loop_need_not_be_a_function),
        cmocka_unit_test(a_worker_started_by_hand_explains_its_use),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
