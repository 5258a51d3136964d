#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "train/restart_policy.h"

/* The defaults of FAILS are meant to be overridden. */
#pragma GCC diagnostic ignored "-Woverride-init"

/* A failed attempt, with its failure in it. */
struct step {
    enum attempt_cause cause;
    bool final, never_started;
    int rank, signal, exit_status;
    double seconds;
    int64_t checkpoint, iteration;
};

/* A failure of a worker, unless the arguments say otherwise; a kill. */
#define FAILS(...)                                                                     \
    {                                                                                  \
        .cause = CAUSE_WORKER, .rank = 0, .exit_status = 1, .seconds = 100,            \
        .checkpoint = -1, __VA_ARGS__                                                  \
    }
#define KILLED(...) FAILS(.exit_status = 0, .signal = SIGKILL, __VA_ARGS__)

static struct restart_decision decide(struct restart_policy *policy,
                                      const struct step *step)
{
    const struct failure failure = {.cause = step->cause,
                                    .rank = step->rank,
                                    .signal = step->signal,
                                    .exit_status = step->exit_status,
                                    .never_started = step->never_started,
                                    .final = step->final};
    const struct failed_attempt attempt = {.failure = &failure,
                                           .seconds = step->seconds,
                                           .checkpoint = step->checkpoint,
                                           .iteration = step->iteration};

    return restart_policy_decide(policy, &attempt);
}

#define MAX_STEPS 12

/* A run: its attempts, and what is decided after each. */
static const struct {
    const char *what;
    struct failure_config cfg;
    int64_t checkpoint; /* at its start */
    struct step attempts[MAX_STEPS];
    const char *decisions; /* a letter each: r restart, g give up, b give up: a bug */
    double delays[MAX_STEPS];
} runs[] = {
    {"no budget",
     {.max_failures = 0, .reset_on_progress = true},
     -1,
     {FAILS(.iteration = 1)},
     "g",
     {0}},
    {"a budget is used up",
     {.max_failures = 2, .reset_on_progress = true},
     -1,
     {FAILS(.iteration = 1), FAILS(.iteration = 2), FAILS(.iteration = 3)},
     "rrg",
     {0}},
    {"a new checkpoint starts the count afresh",
     {.max_failures = 1, .reset_on_progress = true},
     -1,
     {FAILS(.iteration = 1), FAILS(.iteration = 2, .checkpoint = 2),
      FAILS(.iteration = 3, .checkpoint = 3), FAILS(.iteration = 4, .checkpoint = 3)},
     "rrrg",
     {0}},
    {"the checkpoint that a run was resumed from is not progress",
     {.max_failures = 1, .reset_on_progress = true},
     7,
     {FAILS(.iteration = 8, .checkpoint = 7), FAILS(.iteration = 9, .checkpoint = 7)},
     "rg",
     {0}},
    {"one that was set aside as damaged and came again is none, either",
     {.max_failures = 2, .reset_on_progress = true},
     7,
     {FAILS(.iteration = 8, .checkpoint = 6), FAILS(.iteration = 9, .checkpoint = 7),
      FAILS(.iteration = 10, .checkpoint = 7)},
     "rrg",
     {0}},
    {"unless that is turned off",
     {.max_failures = 1, .reset_on_progress = false},
     -1,
     {FAILS(.iteration = 2, .checkpoint = 2), FAILS(.iteration = 3, .checkpoint = 3)},
     "rg",
     {0}},
    {"no limit",
     {.max_failures = -1, .reset_on_progress = true},
     -1,
     {FAILS(.iteration = 1), FAILS(.iteration = 2), FAILS(.iteration = 3),
      FAILS(.iteration = 4)},
     "rrrr",
     {0}},
    {"fail_fast",
     {.max_failures = -1, .fail_fast = true},
     -1,
     {FAILS(.iteration = 1)},
     "g",
     {0}},
    {"what no retry can help",
     {.max_failures = -1},
     -1,
     {FAILS(.final = true)},
     "g",
     {0}},
    {"no time is left",
     {.max_failures = -1},
     -1,
     {FAILS(.cause = CAUSE_TIME_LIMIT)},
     "g",
     {0}},
    {"preemptions have a budget of their own",
     {.max_failures = 0, .max_preemptions = 2},
     -1,
     {FAILS(.cause = CAUSE_PREEMPTED, .seconds = 1),
      FAILS(.cause = CAUSE_PREEMPTED, .seconds = 1), FAILS(.cause = CAUSE_PREEMPTED)},
     "rrg",
     {0}},
    {"and do not use that of failures",
     {.max_failures = 1, .max_preemptions = -1},
     -1,
     {FAILS(.cause = CAUSE_PREEMPTED), FAILS(.iteration = 1),
      FAILS(.cause = CAUSE_PREEMPTED), FAILS(.iteration = 2)},
     "rrrg",
     {0}},
    {"a resize is not a failure, even with fail_fast",
     {.max_failures = 0, .max_preemptions = 0, .fail_fast = true},
     -1,
     {FAILS(.cause = CAUSE_RESIZE), FAILS(.cause = CAUSE_RESIZE)},
     "rr",
     {0}},
    {"workers that do not come together are not a failure, three times in a row",
     {.max_failures = 0},
     -1,
     {FAILS(.cause = CAUSE_START), FAILS(.cause = CAUSE_START),
      FAILS(.cause = CAUSE_START), FAILS(.cause = CAUSE_START)},
     "rrrg",
     {0}},
    {"nor are workers without free resources, which takes a moment to pass",
     {.max_failures = 0},
     -1,
     {FAILS(.cause = CAUSE_START, .never_started = true, .seconds = 0),
      FAILS(.cause = CAUSE_START, .never_started = true, .seconds = 0),
      FAILS(.cause = CAUSE_START, .never_started = true, .seconds = 0),
      FAILS(.cause = CAUSE_START, .never_started = true, .seconds = 0)},
     "rrrg",
     {1, 2, 4}},
    {"not in a row, and with a budget",
     {.max_failures = 2, .reset_on_progress = false},
     -1,
     {FAILS(.cause = CAUSE_START), FAILS(.cause = CAUSE_START),
      FAILS(.cause = CAUSE_START), FAILS(.iteration = 1), FAILS(.cause = CAUSE_START),
      FAILS(.cause = CAUSE_START), FAILS(.cause = CAUSE_START),
      FAILS(.cause = CAUSE_START), FAILS(.cause = CAUSE_START)},
     "rrrrrrrrg",
     {0}},
    {"and with fail_fast they end the run",
     {.max_failures = 5, .fail_fast = true},
     -1,
     {FAILS(.cause = CAUSE_START)},
     "g",
     {0}},
    {"a lost node is a failure",
     {.max_failures = 1},
     -1,
     {FAILS(.cause = CAUSE_NODE_LOST), FAILS(.cause = CAUSE_NODE_LOST)},
     "rg",
     {0}},
    {"three times at the same iteration: a bug",
     {.max_failures = -1},
     -1,
     {FAILS(.iteration = 4), FAILS(.iteration = 4), FAILS(.iteration = 4)},
     "rrb",
     {0}},
    {"also where the first of them made progress, and on any rank",
     {.max_failures = 5, .reset_on_progress = true},
     -1,
     {FAILS(.iteration = 2), FAILS(.iteration = 4, .checkpoint = 4),
      FAILS(.iteration = 4, .checkpoint = 4, .rank = 1),
      FAILS(.iteration = 4, .checkpoint = 4)},
     "rrrb",
     {0}},
    {"not at another one",
     {.max_failures = -1},
     -1,
     {FAILS(.iteration = 4), FAILS(.iteration = 4), FAILS(.iteration = 5),
      FAILS(.iteration = 5), FAILS(.iteration = 4), FAILS(.iteration = 4)},
     "rrrrrr",
     {0}},
    {"not in another way",
     {.max_failures = -1},
     -1,
     {FAILS(.iteration = 4), FAILS(.iteration = 4),
      FAILS(.iteration = 4, .exit_status = 2),
      FAILS(.iteration = 4, .exit_status = 0, .signal = SIGSEGV),
      FAILS(.iteration = 4)},
     "rrrrr",
     {0}},
    {"not in a row",
     {.max_failures = -1},
     -1,
     {FAILS(.iteration = 4), FAILS(.iteration = 4),
      FAILS(.iteration = 4, .cause = CAUSE_NODE_LOST), FAILS(.iteration = 4)},
     "rrrr",
     {0}},
    {"a kill from outside is bad luck, always",
     {.max_failures = -1},
     -1,
     {KILLED(.iteration = 4), KILLED(.iteration = 4), KILLED(.iteration = 4),
      KILLED(.iteration = 4)},
     "rrrr",
     {0}},
    {"a lack of memory is not",
     {.max_failures = -1},
     -1,
     {KILLED(.cause = CAUSE_OOM), KILLED(.cause = CAUSE_OOM),
      KILLED(.cause = CAUSE_OOM)},
     "rrb",
     {0}},
    {"a hang is not, either",
     {.max_failures = -1},
     -1,
     {FAILS(.cause = CAUSE_HANG), FAILS(.cause = CAUSE_HANG),
      FAILS(.cause = CAUSE_HANG)},
     "rrb",
     {0}},
    {"workers that could not be started are not a bug, nor is an unknown end",
     {.max_failures = -1},
     -1,
     {FAILS(.never_started = true), FAILS(.never_started = true),
      FAILS(.never_started = true), FAILS(.rank = -1), FAILS(.rank = -1),
      FAILS(.rank = -1)},
     "rrrrrr",
     {0}},
    {"the last of the budget is a spent budget, not a bug",
     {.max_failures = 2},
     -1,
     {FAILS(.iteration = 4), FAILS(.iteration = 4), FAILS(.iteration = 4)},
     "rrg",
     {0}},
    {"the first restart is at once, later ones wait",
     {.max_failures = -1},
     -1,
     {KILLED(.seconds = 2), KILLED(.seconds = 2), KILLED(.seconds = 2),
      KILLED(.seconds = 2), KILLED(.seconds = 2), KILLED(.seconds = 2),
      KILLED(.seconds = 2), KILLED(.seconds = 2), KILLED(.seconds = 2)},
     "rrrrrrrrr",
     {0, 1, 2, 4, 8, 16, 32, 60, 60}},
    {"but not after progress, nor after a while",
     {.max_failures = -1},
     -1,
     {KILLED(.seconds = 2), KILLED(.seconds = 2), KILLED(.seconds = 2, .checkpoint = 1),
      KILLED(.seconds = 2, .checkpoint = 1), KILLED(.seconds = 2, .checkpoint = 1),
      KILLED(.seconds = 11, .checkpoint = 1)},
     "rrrrrr",
     {0, 1, 0, 0, 1, 0}},
};

static void every_sequence_of_failures_has_its_decision(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct restart_policy policy;

        restart_policy_init(&policy, &runs[i].cfg, runs[i].checkpoint);
        for (size_t k = 0; runs[i].decisions[k]; k++) {
            struct restart_decision d = decide(&policy, &runs[i].attempts[k]);
            char got = d.restart ? 'r' : d.why[0] ? 'b' : 'g';

            if (got != runs[i].decisions[k] || d.delay_s != runs[i].delays[k])
                fail_msg("%s: attempt %zu: %c after %g s", runs[i].what, k, got,
                         d.delay_s);
        }
    }
}

static void a_repeated_failure_is_a_bug(void **state)
{
    const struct failure_config cfg = {.max_failures = 10};
    const struct step attempt = FAILS(.iteration = 41);
    struct restart_policy policy;
    struct restart_decision d;

    (void)state;
    restart_policy_init(&policy, &cfg, -1);
    for (int i = 0; i < 3; i++)
        d = decide(&policy, &attempt);
    assert_non_null(strstr(d.why, "3 times in a row after iteration 41"));
    assert_non_null(strstr(d.why, "a bug, not bad luck"));
}

static void the_message_names_the_budget(void **state)
{
    const struct failure_config cfg = {.max_failures = 3, .max_preemptions = -1};
    const struct step failed = FAILS(.iteration = 1);
    const struct step preempted = FAILS(.cause = CAUSE_PREEMPTED);
    struct restart_policy policy;
    struct restart_decision d;

    (void)state;
    restart_policy_init(&policy, &cfg, -1);
    decide(&policy, &failed);
    d = decide(&policy, &failed);
    assert_int_equal(d.used, 2);
    assert_int_equal(d.of, 3);
    d = decide(&policy, &preempted);
    assert_int_equal(d.used, 1);
    assert_int_equal(d.of, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence_of_failures_has_its_decision),
        cmocka_unit_test(a_repeated_failure_is_a_bug),
        cmocka_unit_test(the_message_names_the_budget),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
