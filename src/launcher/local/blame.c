/* blame.c - the order of evidence: PMIx_Abort, a signal, an exit status. */
#include "local/blame.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

enum evidence { EVIDENCE_NONE, EVIDENCE_STATUS, EVIDENCE_SIGNAL, EVIDENCE_STATED };

void blame_init(struct blame *b)
{
    *b = (struct blame){.evidence = EVIDENCE_NONE, .outcome.failure.rank = -1};
}

/* Equal evidence does not replace the first. */
static void blame_set(struct blame *b, enum evidence evidence, int rank,
                      int exit_status, int sig, const char *detail)
{
    struct launch_outcome *o = &b->outcome;

    if ((int)evidence <= b->evidence)
        return;
    b->evidence = (int)evidence;
    b->must_end = true;
    *o = (struct launch_outcome){
        .failed = true,
        .failure = {.rank = rank, .exit_status = exit_status, .signal = sig}};
    if (gethostname(o->failure.host, sizeof o->failure.host - 1) < 0)
        o->failure.host[0] = '\0';
    snprintf(o->failure.message, sizeof o->failure.message, "%s", detail);
}

static void worker_stopped(struct blame *b)
{
    b->outcome.stopped = !b->outcome.failed;
}

static void worker_signalled(struct blame *b, int rank, int sig)
{
    if (sig != SIGKILL || !b->killed)
        blame_set(b, EVIDENCE_SIGNAL, rank, 0, sig, "");
}

void blame_worker(struct blame *b, int rank, int wait_status, bool deserted)
{
    if (WIFSIGNALED(wait_status))
        worker_signalled(b, rank, WTERMSIG(wait_status));
    else if (WEXITSTATUS(wait_status) == EX_TEMPFAIL)
        worker_stopped(b);
    else if (WEXITSTATUS(wait_status) != 0)
        blame_set(b, EVIDENCE_STATUS, rank, WEXITSTATUS(wait_status), 0, "");
    else if (deserted)
        blame_set(b, EVIDENCE_STATUS, rank, 0, 0,
                  "it left the group with exit status 0 before its work was done: does "
                  "it call _exit()? Return from train_func instead");
}

void blame_abort(struct blame *b, int rank, int status, const char *msg)
{
    blame_set(b, EVIDENCE_STATED, rank, status, 0, msg);
}

void blame_no_worker(struct blame *b, int sig, const char *why)
{
    blame_set(b, EVIDENCE_STATED, -1, 0, sig, why);
}
