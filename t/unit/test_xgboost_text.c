/* What XGBoost says, which needs no library to be understood. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "xgboost/xgboost_text.h"

static void scores_refused(const char *line)
{
    static const char *const names[] = {"train", "valid"};
    struct gbdt_scores scores;
    struct error err;

    assert_int_equal(xgboost_text_scores(line, names, 2, &scores, &err), -1);
}

static void test_scores(void **state)
{
    static const char *const names[] = {"train", "valid-a", "valid"};
    static const char *const others[] = {"v", "v-w"};
    struct gbdt_scores scores;
    struct error err;

    (void)state;
    assert_int_equal(xgboost_text_scores("[12]\ttrain-tweedie-nloglik@1.5:nan\t"
                                         "valid-a-auc:0.5\tvalid-map@3-:-inf",
                                         names, 3, &scores, &err),
                     0);
    assert_int_equal(scores.n, 3);
    assert_string_equal(scores.list[0].name, "train-tweedie-nloglik@1.5");
    assert_true(isnan(scores.list[0].value) && !scores.list[0].more_is_better);
    assert_string_equal(scores.list[1].name, "valid-a-auc");
    assert_true(scores.list[1].more_is_better && scores.list[2].more_is_better);
    assert_int_equal(xgboost_text_scores("[1]\tv-auc:1\tv-w-auc:2\tv-w-auc:3", others,
                                         2, &scores, &err),
                     0);
    assert_true(scores.list[1].more_is_better && scores.list[2].more_is_better);
    assert_int_equal(xgboost_text_scores("[0]", names, 3, &scores, &err), 0);
    assert_int_equal(scores.n, 0);
    scores_refused("");
    scores_refused("[x]\ttrain-a:1");
    scores_refused("[1]\tother-a:1");
    scores_refused("[1]\ttrain-a:");
    scores_refused("[1]\ttrain-a:1x");
    scores_refused("[1]\ttrain-a");
    scores_refused("[1]\tvalid-a:1\ttrain-a:1");
}

static void test_clean(void **state)
{
    char text[80];

    (void)state;
    xgboost_text_clean(
        "[12:34:56] WARNING: ../src/learner.cc:767: \nParameters: { \"a\" "
        "} are not used.\n\n",
        text, sizeof text);
    assert_string_equal(text, "Parameters: { \"a\" } are not used.");
    xgboost_text_clean("[12:34:56] ./src/a.cc:7: Check failed: x: too\tbad\nStack "
                       "trace:\n  [bt] (0)",
                       text, sizeof text);
    assert_string_equal(text, "Check failed: x: too bad");
    xgboost_text_clean("- [a.cc:39|18:24:33]: Ring.\n- [b.h:1|1]: EOF [0] [x|y]", text,
                       sizeof text);
    assert_string_equal(text, "- Ring. - EOF [0] [x|y]");
    xgboost_text_clean("no: prefix \x01", text, sizeof text);
    assert_string_equal(text, "no: prefix");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_clean),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
