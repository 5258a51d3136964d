/* The keys of a service's workers: predict.service and predict.inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config_key.h"
#include "config/predict_config.h"
#include "config/train_config.h"
#include "config_fixture.h"

static void expect_error(int rc, const char *holds)
{
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    if (!strstr(err.text, holds))
        fail_msg("'%s' does not have '%s'", err.text, holds);
}

static int merge(const char *inputs)
{
    char text[1000];

    snprintf(text, sizeof text, "predict = {\n  inputs = %s; };", inputs);
    return train_config_merge_text(&cfg, text, "t.cfg", &err);
}

static void inputs_are_numbers_and_text(void **state)
{
    const struct predict_inputs *inputs = &cfg.predict.inputs;

    (void)state;
    assert_int_equal(
        merge("( { name = \"image\"; dtype = \"float32\"; shape = [28, 7]; },"
              "{ name = \"age\"; kind = \"numbers\"; dtype = \"int64\"; },"
              "{ name = \"a b\"; kind = \"text\"; } )"),
        0);
    assert_int_equal(inputs->n, 3);
    assert_string_equal(inputs->list[0].name, "image");
    assert_int_equal(inputs->list[0].row.dtype, RAYTRAIN_FLOAT32);
    assert_int_equal(inputs->list[0].row.ndim, 2);
    assert_int_equal(inputs->list[0].row.shape[1], 7);
    assert_false(inputs->list[1].is_text);
    assert_int_equal(inputs->list[1].row.ndim, 0);
    assert_true(inputs->list[2].is_text);
}

static void inputs_that_were_rendered_are_read_back(void **state)
{
    struct train_config back;
    char *text;

    (void)state;
    inputs_are_numbers_and_text(state);
    assert_int_equal(train_config_set(&cfg, "predict.service=/run/s", &err), 0);
    assert_int_equal(train_config_render(&cfg, &text, &err), 0);
    train_config_init(&back);
    assert_int_equal(train_config_merge_text(&back, text, "run.cfg", &err), 0);
    assert_string_equal(back.predict.service, "/run/s");
    assert_int_equal(back.predict.inputs.n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct predict_input *a = &cfg.predict.inputs.list[i],
                                   *b = &back.predict.inputs.list[i];

        assert_string_equal(a->name, b->name);
        assert_int_equal(a->is_text, b->is_text);
        assert_memory_equal(&a->row, &b->row, sizeof a->row);
    }
    free(text);
    train_config_clear(&back);
}

static void a_wrong_input_is_refused_and_nothing_changes(void **state)
{
    static const struct {
        const char *inputs, *holds;
    } rows[] = {
        {"()", "t.cfg:2: predict.inputs: expected a list of columns"},
        {"\"x\"", "t.cfg:2: predict.inputs: expected a list of columns"},
        {"( \"x\" )", "t.cfg:2: predict.inputs: expected { name ="},
        {"( { dtype = \"int8\"; } )", "add name = "},
        {"( { name = \"x\"; } )", "\"x\" has no dtype"},
        {"( { name = \"x\"; shape = [2]; } )", "\"x\" has no dtype"},
        {"( { name = \"x\"; dtype = \"flot32\"; } )", "did you mean float32"},
        {"( { name = \"x\"; dtype = 3; } )", "expected the type of an element"},
        {"( { name = \"x\"; kind = \"texts\"; } )", "text"},
        {"( { name = \"x\"; kind = \"text\"; dtype = \"int8\"; } )",
         "has no dtype and"},
        {"( { name = \"x\"; kind = \"text\"; shape = [2]; } )", "has no dtype and"},
        {"( { name = \"x\"; dtype = \"int8\"; shape = [0]; } )", "at least 1"},
        {"( { name = \"x\"; dtype = \"int8\"; shape = [-2]; } )", "at least 1"},
        {"( { name = \"x\"; dtype = \"int8\"; shape = 2; } )", "a list of integers"},
        {"( { name = \"x\"; dtype = \"int8\"; shape = [1.5]; } )",
         "a list of integers"},
        {"( { name = \"x\"; dtype = \"int8\"; shape = [1,1,1,1,1,1,1,1]; } )",
         "at most 7 extents"},
        {"( { name = \"x\"; dtype = \"int8\"; shape = [1073741825L]; } )",
         "larger than"},
        {"( { name = \"x\"; dtype = \"int8\";"
         "    shape = [4294967296L, 4294967296L, 4294967296L]; } )",
         "larger than"},
        {"( { name = \"x\"; dtype = \"int8\"; }, { name = \"x\"; kind = \"text\"; } )",
         "\"x\" is there twice"},
        {"( { name = \"x\"; dtipe = \"int8\"; } )", "t.cfg:2: predict.inputs.dtipe"},
    };

    (void)state;
    assert_int_equal(merge("( { name = \"y\"; kind = \"text\"; } )"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_error(merge(rows[i].inputs), rows[i].holds);
    assert_int_equal(cfg.predict.inputs.n, 1);
    assert_string_equal(cfg.predict.inputs.list[0].name, "y");
}

static void an_input_is_one_text_on_the_command_line(void **state)
{
    static const struct {
        const char *text, *holds;
    } wrong[] = {
        {"x", "--input: expected NAME:DTYPE"},
        {":int8", "expected NAME:DTYPE"},
        {"x:", "expected the type of an element"},
        {"x:float32:", "expected extents"},
        {"x:float32:2x", "expected extents"},
        {"x:float32:2y3", "expected extents"},
        {"x:float32: 2", "expected extents"},
        {"x:float32:0", "at least 1"},
        {"x:float32:99999999999999999999", "expected extents"},
        {"x:text:3", "has no dtype and"},
        {"image:int8", "is there twice"},
    };
    struct predict_inputs inputs = {NULL, 0};

    (void)state;
    assert_int_equal(predict_inputs_add(&inputs, "image:float32:28x7", "--input", &err),
                     0);
    assert_int_equal(predict_inputs_add(&inputs, "age:int64", "--input", &err), 0);
    assert_int_equal(predict_inputs_add(&inputs, "review:text", "--input", &err), 0);
    assert_int_equal(inputs.n, 3);
    assert_int_equal(inputs.list[0].row.ndim, 2);
    assert_int_equal(inputs.list[0].row.shape[0], 28);
    assert_int_equal(inputs.list[0].row.shape[1], 7);
    assert_int_equal(inputs.list[1].row.dtype, RAYTRAIN_INT64);
    assert_true(inputs.list[2].is_text);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_error(predict_inputs_add(&inputs, wrong[i].text, "--input", &err),
                     wrong[i].holds);
    assert_int_equal(inputs.n, 3);
    predict_inputs_clear(&inputs);
}

static void a_service_takes_the_place_of_an_output(void **state)
{
    struct predict_config *p = &cfg.predict;

    (void)state;
    assert_false(predict_config_predicts(p));
    assert_int_equal(merge("( { name = \"x\"; dtype = \"int8\"; } )"), 0);
    expect_error(predict_config_validate(p, &err), "predict.inputs: ");
    assert_int_equal(train_config_set(&cfg, "predict.service=socket", &err), 0);
    assert_true(predict_config_predicts(p));
    assert_int_equal(predict_config_validate(p, &err), 0);
    assert_int_equal(p->service[0], '/');
    assert_int_equal(train_config_set(&cfg, "predict.columns=[\"x\"]", &err), 0);
    expect_error(predict_config_validate(p, &err), "predict.columns: ");
    assert_int_equal(train_config_set(&cfg, "predict.output=o.csv", &err), 0);
    expect_error(predict_config_validate(p, &err), "predict.service: ");
}

static void the_path_of_a_socket_is_short(void **state)
{
    char setting[200] = "predict.service=/";

    (void)state;
    memset(setting + strlen(setting), 'a', 107);
    assert_int_equal(train_config_set(&cfg, setting, &err), 0);
    expect_error(predict_config_validate(&cfg.predict, &err), "at most 107 bytes");
    setting[strlen(setting) - 1] = '\0';
    assert_int_equal(train_config_set(&cfg, setting, &err), 0);
    assert_int_equal(predict_config_validate(&cfg.predict, &err), 0);
}

static void outputs_of_a_service_are_checked(void **state)
{
    (void)state;
    assert_int_equal(train_config_set(&cfg, "predict.service=/run/s", &err), 0);
    assert_int_equal(
        train_config_set(&cfg, "predict.outputs=[\"value\", \"value\"]", &err), 0);
    expect_error(predict_config_validate(&cfg.predict, &err), "is there twice");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, config_setup, config_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(inputs_are_numbers_and_text),
        TEST(inputs_that_were_rendered_are_read_back),
        TEST(a_wrong_input_is_refused_and_nothing_changes),
        TEST(an_input_is_one_text_on_the_command_line),
        TEST(a_service_takes_the_place_of_an_output),
        TEST(the_path_of_a_socket_is_short),
        TEST(outputs_of_a_service_are_checked),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
