#include "launch/worker_log.h"

#include <stdio.h>

#include "launch/launcher.h"

void worker_log_stem(int workers, int rank, const char *host,
                     char stem[WORKER_LOG_STEM_MAX])
{
    if (workers > LAUNCHER_RANK_LOGS_MAX)
        snprintf(stem, WORKER_LOG_STEM_MAX, "node-%.255s", host);
    else
        snprintf(stem, WORKER_LOG_STEM_MAX, "rank-%05d", rank);
}
