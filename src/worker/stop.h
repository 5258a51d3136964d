/*
 * stop.h - being asked to stop. SIGUSR1 and SIGTERM set a flag and do nothing else; the
 * flag is combined over all ranks at the next report, and the training function
 * decides.
 */
#ifndef RAYTRAIN_WORKER_STOP_H
#define RAYTRAIN_WORKER_STOP_H

#include <stdbool.h>

#include "util/error.h"

int stop_install(struct error *err);
bool stop_requested(void);

#endif
