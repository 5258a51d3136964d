/*
 * stop.h - being asked to stop. The signals that ask set a flag and do nothing else;
 * the flag is combined over all ranks at the next report, and the training function
 * decides.
 *
 * SIGUSR1, by which launchers ask, is heard from the start. SIGTERM is not, until the
 * training function runs: before that there is nothing to save, and Slurm ends with it
 * what is left of a group that failed to form. It never comes from the launcher: who
 * gets it is told to go by whoever rules over its node, and may be killed soon. The
 * launcher is to know, also if there is no report any more, so the handler leaves word
 * in the attempt's whereabouts.
 */
#ifndef RAYTRAIN_RANK_STOP_H
#define RAYTRAIN_RANK_STOP_H

#include <stdbool.h>

#include "protocol/whereabouts.h"
#include "util/error.h"

int stop_install(int signo, struct error *err);
/* SIGTERM; the place stays the caller's. */
int stop_install_told(struct whereabouts_place *place, struct error *err);
bool stop_requested(void);
/* Does the launcher want a stop at a checkpoint (RUN_DIR_RESIZE)? */
bool stop_wanted(const char *log_dir);

#endif
