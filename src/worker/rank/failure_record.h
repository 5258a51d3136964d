/*
 * failure_record.h - the record that a failing worker leaves for the launcher
 * (protocol/failure.h): only the first rank that fails in an attempt leaves one, since
 * later failures are mostly consequences of the first.
 */
#ifndef RAYTRAIN_RANK_FAILURE_RECORD_H
#define RAYTRAIN_RANK_FAILURE_RECORD_H

#include "protocol/failure.h"

/* Write the record, unless there is one: 0 in both cases. It is complete once it
 * exists. */
int failure_record(const char *log_dir, const struct failure *failure,
                   struct error *err);

#endif
