/* test_site_check.c - unit tests for launch/findings and slurm/site_check. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/findings.h"
#include "slurm/site_check.h"

/* The finding of this name; fails if there is none. */
static const struct finding *found(const struct findings *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->list[i].name, name) == 0)
            return &f->list[i];
    fail_msg("there is no finding %s", name);
    return NULL;
}

static char *printed(const struct findings *f, bool quiet)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(findings_print(f, quiet, out), 0);
    fclose(out);
    return text;
}

static void findings_of_a_topic_stay_together(void **state)
{
    struct findings f = {0};
    char *text;

    (void)state;
    finding_add(&f, "a", "one", VERDICT_OK, "none needed", "fine");
    finding_add(&f, "b", "two", VERDICT_WARNING, "do that", "so %s", "so");
    finding_add(&f, "a", "three", VERDICT_WRONG, "do this", "bad");
    text = printed(&f, false);
    assert_string_equal(text, "a\n"
                              "  ok       one                  fine\n"
                              "  wrong    three                bad\n"
                              "           -> do this\n"
                              "b\n"
                              "  warning  two                  so so\n"
                              "           -> do that\n");
    free(text);
    assert_int_equal(findings_worst(&f), VERDICT_WRONG);
    findings_clear(&f);
}

static void quiet_prints_what_is_not_ok(void **state)
{
    struct findings f = {0};
    char *text;

    (void)state;
    finding_add(&f, "a", "one", VERDICT_OK, NULL, "fine");
    text = printed(&f, true);
    assert_string_equal(text, "");
    free(text);
    finding_add(&f, "b", "two", VERDICT_WARNING, "mend it", "odd");
    text = printed(&f, true);
    assert_null(strstr(text, "fine"));
    assert_non_null(strstr(text, "odd"));
    free(text);
    assert_int_equal(findings_worst(&f), VERDICT_WARNING);
    findings_clear(&f);
}

static void what_was_skipped_for_one_reason_is_one_line(void **state)
{
    static const char *const names[] = {"one", "two", NULL};
    static const char *const more[] = {"three", NULL};
    struct findings f = {0};
    char *text;

    (void)state;
    findings_skip(&f, "a", names, "go there", "no room");
    findings_skip(&f, "a", more, "go there", "no time");
    finding_add(&f, "a", "four", VERDICT_OK, NULL, "fine");
    text = printed(&f, false);
    assert_string_equal(text, "a\n"
                              "  skipped  one, two: no room\n"
                              "           -> go there\n"
                              "  skipped  three                no time\n"
                              "           -> go there\n"
                              "  ok       four                 fine\n");
    free(text);
    text = printed(&f, true);
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(findings_worst(&f), VERDICT_OK);
    findings_clear(&f);
}

static void details_are_printable_lines(void **state)
{
    struct findings f = {0};

    (void)state;
    finding_add(&f, "a", "one", VERDICT_OK, NULL, "two\nlines, and \033[31m");
    assert_string_equal(f.list[0].detail, "two lines, and \\x1b[31m");
    findings_clear(&f);
}

static void json_has_all_members(void **state)
{
    struct findings f = {0};
    json_t *all;

    (void)state;
    finding_add(&f, "a", "one", VERDICT_OK, "not shown", "fine");
    finding_add(&f, "a", "two", VERDICT_WRONG, "mend it", "bad");
    all = findings_json(&f);
    assert_int_equal(json_array_size(all), 2);
    assert_true(json_is_null(json_object_get(json_array_get(all, 0), "remedy")));
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(all, 1), "remedy")),
        "mend it");
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(all, 1), "verdict")), "wrong");
    json_decref(all);
    findings_clear(&f);
}

static void settings_of_slurm_are_judged(void **state)
{
    static const char text[] = "Configuration data as of 2026-01-01T00:00:00\n"
                               "KillWaiting             = 99 sec\n"
                               "KillWait                = 2 sec\n"
                               "JobRequeue              = 1\n"
                               "ProctrackType           = proctrack/cgroup\n"
                               "TaskPlugin              = task/none\n"
                               "PreemptMode             = GANG,SUSPEND\n"
                               "PrologFlags             = (null)\n"
                               "SlurmdTimeout           = 0 sec";
    static const struct {
        const char *name, *detail;
        enum verdict verdict;
    } expected[] = {
        {"KillWait", "2 sec", VERDICT_WARNING},
        {"JobRequeue", "1", VERDICT_OK},
        {"ProctrackType", "proctrack/cgroup", VERDICT_OK},
        {"TaskPlugin", "task/none", VERDICT_WARNING},
        {"PreemptMode", "GANG,SUSPEND", VERDICT_WARNING},
        {"PrologFlags", "none", VERDICT_OK},
        {"SlurmdTimeout", "0 sec", VERDICT_WARNING},
    };
    struct findings f = {0};

    (void)state;
    slurm_site_judge_config(text, &f);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct finding *one = found(&f, expected[i].name);

        assert_int_equal(one->verdict, expected[i].verdict);
        assert_memory_equal(one->detail, expected[i].detail,
                            strlen(expected[i].detail));
        assert_true(one->verdict == VERDICT_OK || one->remedy);
    }
    assert_int_equal(found(&f, "SelectType")->verdict, VERDICT_SKIPPED);
    findings_clear(&f);
}

static void another_format_is_not_judged(void **state)
{
    struct findings f = {0};

    (void)state;
    slurm_site_judge_config("", &f);
    slurm_site_judge_config("\n\nKillWait\nKillWait 2\n= 3\n", &f);
    assert_true(f.n > 0);
    for (size_t i = 0; i < f.n; i++)
        assert_int_equal(f.list[i].verdict, VERDICT_SKIPPED);
    findings_clear(&f);
}

static void nodes_that_cannot_be_used_are_named(void **state)
{
    struct findings f = {0};

    (void)state;
    slurm_site_judge_nodes(
        "n1|idle\nn2|down*\nn3|drained\nn2|down*\nn4|mixed\nn5|down*\n", &f);
    assert_int_equal(f.n, 2);
    assert_string_equal(f.list[0].detail, "n[2,5]: down*");
    assert_string_equal(f.list[1].detail, "n3: drained");
    assert_int_equal(f.list[0].verdict, VERDICT_WARNING);
    findings_clear(&f);
    slurm_site_judge_nodes("n1|idle\nn4|allocated\n", &f);
    assert_int_equal(found(&f, "nodes")->verdict, VERDICT_OK);
    findings_clear(&f);
    slurm_site_judge_nodes("", &f);
    assert_int_equal(found(&f, "nodes")->verdict, VERDICT_WRONG);
    findings_clear(&f);
}

static void partitions_whose_jobs_have_no_time_are_named(void **state)
{
    struct findings f = {0};

    (void)state;
    slurm_site_judge_partitions(
        "PartitionName=low MaxTime=1 GraceTime=0 PreemptMode=REQUEUE State=UP\n"
        "PartitionName=kind GraceTime=60 PreemptMode=REQUEUE State=UP\n"
        "PartitionName=high GraceTime=0 PreemptMode=OFF\n"
        "PartitionName=last GraceTime=0 PreemptMode=CANCEL\n",
        &f);
    assert_int_equal(found(&f, "GraceTime")->verdict, VERDICT_WARNING);
    assert_memory_equal(f.list[0].detail, "0 in low, last,", 15);
    findings_clear(&f);
    slurm_site_judge_partitions("PartitionName=high GraceTime=0 PreemptMode=OFF\n", &f);
    assert_int_equal(found(&f, "GraceTime")->verdict, VERDICT_OK);
    findings_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_of_a_topic_stay_together),
        cmocka_unit_test(quiet_prints_what_is_not_ok),
        cmocka_unit_test(what_was_skipped_for_one_reason_is_one_line),
        cmocka_unit_test(details_are_printable_lines),
        cmocka_unit_test(json_has_all_members),
        cmocka_unit_test(settings_of_slurm_are_judged),
        cmocka_unit_test(another_format_is_not_judged),
        cmocka_unit_test(nodes_that_cannot_be_used_are_named),
        cmocka_unit_test(partitions_whose_jobs_have_no_time_are_named),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
