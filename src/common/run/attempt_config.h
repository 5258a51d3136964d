/*
 * attempt_config.h - the configuration of each attempt, RUN/logs/attempt-K/run.cfg.
 * RUN/run.cfg is that of the newest attempt, or of the one that is about to start.
 */
#ifndef RAYTRAIN_RUN_ATTEMPT_CONFIG_H
#define RAYTRAIN_RUN_ATTEMPT_CONFIG_H

#include "util/error.h"

int attempt_config_save(const char *log_dir, const char *text, struct error *err);
/* Remove what a launcher that was killed while it saved has left. */
void attempt_config_tidy(const char *log_dir);

/* malloc'ed; NULL if it cannot be read. */
char *attempt_config_read(const char *run_dir, int attempt);
/* That of the newest attempt up to `last` that has one; else RUN/run.cfg. */
char *attempt_config_newest(const char *run_dir, int last);
/* The same; foreign->code is not RAYTRAIN_OK if it may only be shown, and not acted
 * upon (util/run_record.h). */
char *attempt_config_judged(const char *run_dir, int last, struct error *foreign);

#endif
