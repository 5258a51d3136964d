/*
 * step_keeper.h - a process between raytrain-run and the srun of a step.
 *
 * srun dies with it, and a helper process of srun then kills the tasks. It ends like
 * srun: with the same exit status, or by the same signal. When raytrain-run dies, it
 * kills srun, but first waits for the workers if it has an order (launch/finish.h);
 * meanwhile it reads what srun writes, since srun kills its step when its messages
 * cannot be written. It ignores the signals that ask a process to end: srun gets those
 * of raytrain-run by messages.
 *
 * The standard input of srun, which srun passes on to all tasks, may be a pipe for lines
 * of raytrain-run. It ends when raytrain-run dies.
 */
#ifndef RAYTRAIN_SLURM_STEP_KEEPER_H
#define RAYTRAIN_SLURM_STEP_KEEPER_H

#include "launch/finish.h"
#include "util/child.h"

struct step_keeper {
    struct child process;
    /* only this process has it: the keeper reads its end when this process dies */
    int socket;
};

#define STEP_LINE_MAX 32 /* bytes of a line, with its newline */

#define STEP_KEEPER_INIT                                                               \
    {                                                                                  \
        .process = CHILD_INIT, .socket = -1                                            \
    }

/* Its standard output: a pipe; the keeper also needs the end to read from. */
struct step_output {
    int out, reader; /* -1: the standard error of this process, which is not read */
};

/* Start srun, which writes its messages to a pipe: *messages is the end to read from,
 * without blocking, which the caller closes. lines: step_keeper_say() will be called. */
int step_keeper_start(struct step_keeper *k, char *const *srun, char *const *env,
                      struct step_output output, bool lines, int *messages,
                      struct error *err);
/* Pass a line, with its newline, to all tasks; without waiting. */
int step_keeper_say(const struct step_keeper *k, const char *line, struct error *err);
/* Send srun a signal; SIGKILL: kill it, and the keeper. */
int step_keeper_signal(const struct step_keeper *k, int sig, struct error *err);
/* As finish_order(). */
void step_keeper_order(const struct step_keeper *k, const struct finish_terms *terms,
                       int seconds);
/* Kill what still runs, and wait for the keeper. STEP_KEEPER_INIT is fine. */
void step_keeper_clear(struct step_keeper *k);

/* ---- In the keeper ---- */

/* The standard streams are those of srun, except the input, which is the socket.
 * Messages to it are orders, ints, which are signals for srun, and STEP_LINE_MAX bytes,
 * a line for its tasks. `messages` is the other end of its standard error, `output` that
 * of its standard output, or -1. Returns only if srun cannot be started. */
int step_keeper_run(int messages, int output, bool lines, char *const *srun,
                    struct error *err);

#endif
