/* worker_log.h - what the logs of workers are called, whatever starts them. */
#ifndef RAYTRAIN_LAUNCH_WORKER_LOG_H
#define RAYTRAIN_LAUNCH_WORKER_LOG_H

#define WORKER_LOG_STEM_MAX 300

/* The name of the logs of `rank` on `host`, of so many workers, without ".out" or
 * ".err". */
void worker_log_stem(int workers, int rank, const char *host,
                     char stem[WORKER_LOG_STEM_MAX]);

#endif
