/*
 * slurm_tool.h - run one of Slurm's commands to its end and read its output; repeat it
 * while Slurm's controller is away for some minutes: restarted, moved to its backup,
 * overloaded.
 */
#ifndef RAYTRAIN_SLURM_SLURM_TOOL_H
#define RAYTRAIN_SLURM_SLURM_TOOL_H

#include <stdbool.h>

#include "launch/launcher.h"
#include "util/error.h"

/* Is this command in PATH? */
bool slurm_tool_exists(const char *name);

/* The environment for Slurm's commands: that of this process without a user's settings
 * for them (SQUEUE_FORMAT, SCANCEL_INTERACTIVE, SLURM_JSON, ...), and with times as
 * Unix time. malloc'ed, argv_free(). */
int slurm_tool_env(char ***out, struct error *err);

/* *text is malloc'ed. RAYTRAIN_ENOTSUP if the command cannot be started, exits with
 * another status than 0 (the error has its output), or does not end in limit_s
 * seconds. */
int slurm_tool_read(char *const *argv, double limit_s, char **text, struct error *err);

/* The same for a command with another environment than slurm_tool_env() (NULL: that
 * one), or with a standard input (-1: none). */
struct slurm_tool_spec {
    char *const *argv, *const *env;
    int in;
};
int slurm_tool_answer(const struct slurm_tool_spec *spec, double limit_s, char **text,
                      struct error *err);

/* As slurm_tool_read, without waiting. */
struct slurm_tool;
int slurm_tool_start(char *const *argv, struct slurm_tool **out, struct error *err);
/* Never blocks. *done: it has ended, *text is its output, and this was the last
 * call. */
int slurm_tool_poll(struct slurm_tool *t, bool *done, char **text, struct error *err);
/* Wait until there is something to poll for, at most ms milliseconds; -1: no limit. */
void slurm_tool_wait(const struct slurm_tool *t, int ms);
void slurm_tool_destroy(struct slurm_tool *t); /* kills it; NULL is fine */

/* As slurm_tool_read, for an essential question. A failure while the controller answers
 * other questions is final; otherwise the question is repeated, as long as
 * batch_patience() allows, unless this machine has no configuration of Slurm.
 * RAYTRAIN_ENOTSUP; RAYTRAIN_ESTOPPED if this process is asked to stop meanwhile
 * (event/attention.h). */
int slurm_ask(char *const *argv, char **text, struct error *err);

/* If the controller is away, wait for it while `wait`, which is called often, returns
 * true and batch_patience() allows. True: it was away. */
bool slurm_controller_await(launcher_wait *wait, void *arg);

#endif
