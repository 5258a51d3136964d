/*
 * log_dir.h - names of files in an attempt's log directory through which launcher and
 * workers communicate. Others have a module of their own: events.h, failure.h,
 * rank_status.h, worker_record.h.
 */
#ifndef RAYTRAIN_PROTOCOL_LOG_DIR_H
#define RAYTRAIN_PROTOCOL_LOG_DIR_H

/* The launcher asks the workers to stop at their next report with a checkpoint, so that
 * the run can continue with more of them. */
#define LOG_DIR_RESIZE "resize"

/* The directory of heartbeats, with a file for each node; malloc'ed, NULL without
 * memory. A heartbeat is one line of HEARTBEAT_BYTES, which replaces the previous one:
 * "COUNT UNIX-TIME PID" and blanks. Readers only check whether it has changed. */
char *log_dir_heartbeats(const char *log_dir);
#define HEARTBEAT_BYTES 64

#endif
