/*
 * controller_wait.h - questions to Slurm that a run cannot do without, while its
 * controller may be away for some minutes: restarted, moved to its backup, overloaded.
 */
#ifndef RAYTRAIN_SLURM_CONTROLLER_WAIT_H
#define RAYTRAIN_SLURM_CONTROLLER_WAIT_H

#include <stdbool.h>

#include "util/error.h"

/* How long such questions are asked again (0, as it is before: not at all), and how the
 * user hears that they are. For the whole process. */
void slurm_patience_set(double seconds, void (*say)(const char *text));

/* As slurm_tool_read. A failure while the controller answers other questions is final;
 * else the question is asked again. RAYTRAIN_ENOTSUP; RAYTRAIN_ESTOPPED if this process is
 * asked to stop meanwhile (util/attention.h). */
int slurm_ask(char *const *argv, char **text, struct error *err);

/* Is the controller away? Then wait for it, as long as `go_on` says so and the patience
 * lasts; go_on is called often, and may wait for `seconds` itself. True: it was away. */
bool slurm_controller_await(bool (*go_on)(void *arg, double seconds), void *arg);

#endif
