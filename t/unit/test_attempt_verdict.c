#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "train/attempt_verdict.h"

#define GOES_ON 0x100

/* How a group ends. */
#define DONE                                                                           \
    {                                                                                  \
        .failure = {.rank = -1 }                                                       \
    }
#define STOPPED                                                                        \
    {                                                                                  \
        .stopped = true, .failure = {.rank = -1 }                                      \
    }
#define DIED(sig)                                                                      \
    {                                                                                  \
        .failed = true, .failure = {.rank = 1, .signal = (sig) }                       \
    }
#define EXITED                                                                         \
    {                                                                                  \
        .failed = true, .failure = {.rank = 1, .exit_status = 1 }                      \
    }
#define NEVER_BEGAN                                                                    \
    {                                                                                  \
        .failed = true, .failure = {.never_started = true, .rank = -1 }                \
    }
#define NO_ROOM                                                                        \
    {                                                                                  \
        .failed = true, .passes = true, .failure = {                                   \
            .never_started = true,                                                     \
            .rank = -1                                                                 \
        }                                                                              \
    }
#define ENDED_AS_A_WHOLE                                                               \
    {                                                                                  \
        .failed = true, .failure = {.rank = -1 }                                       \
    }

static const struct row {
    int line;
    struct launch_outcome outcome;
    struct attempt_facts facts;
    enum run_status status;
    int cause; /* with GOES_ON, or without */
} rows[] = {
#define ASKED(sig, times)                                                              \
    .asked = {.signal = (sig), .count = (times), .hurried = (times) >= 2}
    /* no stop was requested */
    {__LINE__, DONE, {.listening = true}, RUN_FINISHED, CAUSE_WORKER},
    {__LINE__, DIED(SIGKILL), {.listening = true}, RUN_FAILED, CAUSE_WORKER},
    {__LINE__, DIED(SIGTERM), {.listening = true}, RUN_FAILED, CAUSE_WORKER},
    {__LINE__, EXITED, {.listening = true}, RUN_FAILED, CAUSE_WORKER},
    {__LINE__, NEVER_BEGAN, {0}, RUN_FAILED, CAUSE_WORKER},
    {__LINE__, NO_ROOM, {0}, RUN_FAILED, CAUSE_START},
    {__LINE__,
     {.failed = true, .failure = {.rank = 0, .signal = SIGKILL, .cause = CAUSE_OOM}},
     {0},
     RUN_FAILED,
     CAUSE_OOM},
    /* workers that were asked past us */
    {__LINE__, STOPPED, {.listening = true}, RUN_STOPPED, CAUSE_SIGNAL},
    {__LINE__, STOPPED, {.job_preempted = true}, RUN_STOPPED, CAUSE_PREEMPTED},
    {__LINE__, DIED(SIGTERM), {.job_preempted = true}, RUN_STOPPED, CAUSE_PREEMPTED},
    {__LINE__, DIED(SIGUSR1), {.listening = false}, RUN_STOPPED, CAUSE_SIGNAL},
    {__LINE__, DIED(SIGUSR1), {.listening = true}, RUN_FAILED, CAUSE_WORKER},
    /* what has nothing to do with it stays what it is */
    {__LINE__, EXITED, {.job_preempted = true}, RUN_FAILED, CAUSE_WORKER},
    /* all of them received SIGTERM, one was killed before it stopped */
    {__LINE__,
     DIED(SIGKILL),
     {.listening = true, .workers = 2, .terminated = 2},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     STOPPED,
     {.listening = true, .workers = 2, .terminated = 2},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     STOPPED,
     {.listening = true, .workers = 1, .terminated = 1},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    /* some of them, who saved, or were killed first, or whose node went: the run goes
       on */
    {__LINE__,
     STOPPED,
     {.listening = true, .workers = 2, .terminated = 1},
     RUN_STOPPED,
     CAUSE_PREEMPTED | GOES_ON},
    {__LINE__,
     DIED(SIGKILL),
     {.listening = true, .workers = 2, .terminated = 1},
     RUN_STOPPED,
     CAUSE_PREEMPTED | GOES_ON},
    {__LINE__,
     DIED(SIGKILL),
     {.workers = 4, .terminated = 2, .ended = true, .cause = CAUSE_NODE_LOST},
     RUN_STOPPED,
     CAUSE_PREEMPTED | GOES_ON},
    /* but not if the whole job is preempted, or was asked to stop anyway */
    {__LINE__,
     STOPPED,
     {.workers = 2, .terminated = 1, .job_preempted = true},
     RUN_STOPPED,
     CAUSE_PREEMPTED},
    {__LINE__,
     DIED(SIGKILL),
     {.workers = 2, .terminated = 1, .job_preempted = true},
     RUN_STOPPED,
     CAUSE_PREEMPTED},
    {__LINE__,
     STOPPED,
     {.workers = 2, .terminated = 1, .job_ends = true},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     STOPPED,
     {ASKED(SIGTERM, 1), .workers = 2, .terminated = 1, .stopping = true,
      .cause = CAUSE_SIGNAL},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    /* nor if it ended for another reason */
    {__LINE__, DONE, {.workers = 2, .terminated = 1}, RUN_FINISHED, CAUSE_WORKER},
    {__LINE__, EXITED, {.workers = 2, .terminated = 1}, RUN_FAILED, CAUSE_WORKER},
    {__LINE__,
     DIED(SIGSEGV),
     {.workers = 2, .terminated = 1},
     RUN_FAILED,
     CAUSE_WORKER},
    {__LINE__,
     {.failed = true, .failure = {.rank = 0, .signal = SIGKILL, .cause = CAUSE_OOM}},
     {.workers = 2, .terminated = 1},
     RUN_FAILED,
     CAUSE_OOM},
    {__LINE__,
     DIED(SIGKILL),
     {.workers = 2, .terminated = 1, .ended = true, .cause = CAUSE_HANG},
     RUN_FAILED,
     CAUSE_HANG},
    /* asked, and stopped */
    {__LINE__,
     NO_ROOM,
     {ASKED(SIGTERM, 1), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     STOPPED,
     {ASKED(SIGTERM, 1), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     STOPPED,
     {ASKED(SIGTERM, 1), .stopping = true, .cause = CAUSE_SIGNAL,
      .job_preempted = true},
     RUN_STOPPED,
     CAUSE_PREEMPTED},
    {__LINE__,
     STOPPED,
     {ASKED(SIGINT, 1), .stopping = true, .cause = CAUSE_SIGNAL, .job_preempted = true},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     STOPPED,
     {.stopping = true, .cause = CAUSE_TIME_LIMIT},
     RUN_STOPPED,
     CAUSE_TIME_LIMIT},
    /* asked, and finished all the same; asked, and failed on the way */
    {__LINE__,
     DONE,
     {ASKED(SIGUSR1, 1), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_FINISHED,
     CAUSE_SIGNAL},
    {__LINE__,
     EXITED,
     {ASKED(SIGUSR1, 1), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_FAILED,
     CAUSE_WORKER},
    {__LINE__,
     NEVER_BEGAN,
     {ASKED(SIGUSR1, 1), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_FAILED,
     CAUSE_WORKER},
    /* asked, and killed before it could save */
    {__LINE__,
     DIED(SIGKILL),
     {ASKED(SIGTERM, 1), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     ENDED_AS_A_WHOLE,
     {ASKED(SIGTERM, 1), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    /* a second signal: stopped at once, however the workers die */
    {__LINE__,
     DIED(SIGKILL),
     {ASKED(SIGINT, 2), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     EXITED,
     {ASKED(SIGINT, 2), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     NEVER_BEGAN,
     {ASKED(SIGINT, 3), .stopping = true, .cause = CAUSE_SIGNAL},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    /* a stop that ends as a hang, or whose time of grace runs out, is a stop */
    {__LINE__,
     DIED(SIGKILL),
     {ASKED(SIGTERM, 1), .stopping = true, .ended = true, .cause = CAUSE_SIGNAL},
     RUN_STOPPED,
     CAUSE_SIGNAL},
    {__LINE__,
     DIED(SIGKILL),
     {ASKED(SIGTERM, 1), .stopping = true, .ended = true, .cause = CAUSE_HANG},
     RUN_STOPPED,
     CAUSE_HANG},
    {__LINE__,
     DIED(SIGKILL),
     {.ended = true, .cause = CAUSE_HANG, .job_preempted = true},
     RUN_STOPPED,
     CAUSE_PREEMPTED},
    {__LINE__,
     DIED(SIGKILL),
     {.stopping = true, .ended = true, .cause = CAUSE_TIME_LIMIT},
     RUN_STOPPED,
     CAUSE_TIME_LIMIT},
    /* a hang without a request to stop is a failure */
    {__LINE__,
     DIED(SIGKILL),
     {.ended = true, .cause = CAUSE_HANG},
     RUN_FAILED,
     CAUSE_HANG},
    /* a lost node: of a run that was to stop anyhow, and of one that was not */
    {__LINE__,
     DIED(SIGKILL),
     {ASKED(SIGTERM, 1), .ended = true, .cause = CAUSE_NODE_LOST},
     RUN_STOPPED,
     CAUSE_NODE_LOST},
    {__LINE__,
     DIED(SIGKILL),
     {.ended = true, .cause = CAUSE_NODE_LOST},
     RUN_FAILED,
     CAUSE_NODE_LOST},
    /* a callback has failed, whatever its workers do when they are asked to stop; but
     * not if they had come to their end */
    {__LINE__,
     STOPPED,
     {ASKED(SIGINT, 1), .stopping = true, .cause = CAUSE_CALLBACK},
     RUN_FAILED,
     CAUSE_CALLBACK},
    {__LINE__,
     EXITED,
     {ASKED(SIGINT, 1), .stopping = true, .cause = CAUSE_CALLBACK},
     RUN_FAILED,
     CAUSE_CALLBACK},
    {__LINE__,
     DIED(SIGKILL),
     {ASKED(SIGINT, 2), .stopping = true, .cause = CAUSE_CALLBACK},
     RUN_FAILED,
     CAUSE_CALLBACK},
    {__LINE__,
     DONE,
     {ASKED(SIGINT, 1), .stopping = true, .listening = true, .cause = CAUSE_CALLBACK},
     RUN_FINISHED,
     CAUSE_CALLBACK},
    /* to continue with more workers */
    {__LINE__, STOPPED, {.cause = CAUSE_RESIZE}, RUN_STOPPED, CAUSE_RESIZE},
    {__LINE__, DIED(SIGSEGV), {.cause = CAUSE_RESIZE}, RUN_FAILED, CAUSE_WORKER},
};

static void every_end_of_an_attempt_has_its_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attempt_facts facts = rows[i].facts;
        struct attempt_verdict v;

        facts.outcome = &rows[i].outcome;
        facts.joined = true;
        v = attempt_judge(&facts);
        if (v.status != rows[i].status ||
            (int)(v.cause | (v.goes_on ? GOES_ON : 0)) != rows[i].cause)
            fail_msg("line %d: status %d, cause %s, continues %d", rows[i].line,
                     (int)v.status, attempt_cause_name(v.cause), v.goes_on);
    }
}

/* All exit statuses are good, and no training has begun. */
static void programs_that_never_joined_are_reported(void **state)
{
    const struct launch_outcome done = DONE, stopped = STOPPED, exited = EXITED;
    const struct attempt_facts cases[] = {
        {.outcome = &done},
        {.outcome = &stopped},
        {.outcome = &done, ASKED(SIGTERM, 1), .stopping = true, .cause = CAUSE_SIGNAL},
    };
    struct attempt_facts facts = {.outcome = &exited};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attempt_verdict v = attempt_judge(&cases[i]);

        assert_int_equal(v.status, RUN_FAILED);
        assert_true(v.never_joined);
    }
    assert_false(attempt_judge(&facts).never_joined); /* it has a reason of its own */
    facts = (struct attempt_facts){.outcome = &done, .listening = true};
    assert_int_equal(attempt_judge(&facts).status, RUN_FINISHED);
}

#define BROKE                                                                          \
    {                                                                                  \
        .failed = true, .failure = {.rank = -1, .exit_status = 1 }                     \
    }

/* What the workers have recorded of their end, against the launcher's view of it. */
static const struct {
    int line;
    struct launch_outcome outcome;
    enum worker_end end;
    bool not_joined, killed;
    bool failed, stopped;
} ends[] = {
    {__LINE__, DONE, WORKER_END_FINISHED, false, false, false, false},
    {__LINE__, STOPPED, WORKER_END_STOPPED, false, false, false, true},
    /* srun ends with 0 on SIGTERM, any program may end with 75 */
    {__LINE__, DONE, WORKER_END_NONE, false, false, true, false},
    {__LINE__, STOPPED, WORKER_END_NONE, false, false, true, false},
    /* the record is the better witness */
    {__LINE__, DONE, WORKER_END_STOPPED, false, false, false, true},
    {__LINE__, STOPPED, WORKER_END_FINISHED, false, false, false, false},
    {__LINE__, ENDED_AS_A_WHOLE, WORKER_END_FINISHED, false, false, false, false},
    {__LINE__, ENDED_AS_A_WHOLE, WORKER_END_NONE, false, false, true, false},
    {__LINE__, NEVER_BEGAN, WORKER_END_FINISHED, false, false, false, false},
    /* but not of what has come after it, unless that was us */
    {__LINE__, DIED(SIGSEGV), WORKER_END_FINISHED, false, false, true, false},
    {__LINE__, BROKE, WORKER_END_FINISHED, false, false, true, false},
    {__LINE__, DIED(SIGKILL), WORKER_END_FINISHED, false, true, false, false},
    {__LINE__, DIED(SIGKILL), WORKER_END_STOPPED, false, true, false, true},
    {__LINE__, DIED(SIGKILL), WORKER_END_NONE, false, true, true, false},
    /* what never came together has a verdict of its own (never_joined) */
    {__LINE__, DONE, WORKER_END_NONE, true, false, false, false},
};

static void the_record_of_the_workers_decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct launch_outcome o = ends[i].outcome;

        attempt_outcome_settle(&o, ends[i].end, !ends[i].not_joined, ends[i].killed);
        if (o.failed != ends[i].failed || o.stopped != ends[i].stopped)
            fail_msg("line %d: failed %d stopped %d", ends[i].line, o.failed,
                     o.stopped);
    }
}

/* Slurm is not asked in vain: that may take seconds. */
static void slurm_is_asked_only_about_possible_preemptions(void **state)
{
    const struct launch_outcome done = DONE, died = DIED(SIGSEGV), stopped = STOPPED;
    struct attempt_facts facts = {.outcome = &done};

    (void)state;
    assert_false(attempt_may_be_preempted(&facts));
    facts.outcome = &died;
    assert_false(attempt_may_be_preempted(&facts));
    facts.outcome = &stopped;
    assert_true(attempt_may_be_preempted(&facts));
    facts.cause = CAUSE_TIME_LIMIT;
    assert_false(attempt_may_be_preempted(&facts));
    facts.cause = CAUSE_SIGNAL;
    facts.asked.signal = SIGTERM;
    assert_true(attempt_may_be_preempted(&facts));
    facts.asked.signal = SIGINT;
    assert_false(attempt_may_be_preempted(&facts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_of_an_attempt_has_its_verdict),
        cmocka_unit_test(programs_that_never_joined_are_reported),
        cmocka_unit_test(the_record_of_the_workers_decides),
        cmocka_unit_test(slurm_is_asked_only_about_possible_preemptions)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
