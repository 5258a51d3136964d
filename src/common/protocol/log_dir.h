/*
 * log_dir.h - names of files in an attempt's log directory through which launcher and
 * workers communicate. Others have a module of their own: events.h, failure.h,
 * heartbeats.h, preemption_notice.h, rank_status.h, worker_record.h.
 */
#ifndef RAYTRAIN_PROTOCOL_LOG_DIR_H
#define RAYTRAIN_PROTOCOL_LOG_DIR_H

/* The launcher asks the workers to stop at their next report with a checkpoint, so that
 * the run can continue with more of them. */
#define LOG_DIR_RESIZE "resize"

#endif
