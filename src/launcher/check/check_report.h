/*
 * check_report.h - what workers report about their nodes, for checks that judge it.
 */
#ifndef RAYTRAIN_CHECK_CHECK_REPORT_H
#define RAYTRAIN_CHECK_CHECK_REPORT_H

#include "check/check.h"

/* For left_out() of a check that judges what workers report about their nodes. */
const char *check_needs_report(const struct check_context *context, const char **how);
/* For checks between nodes: why they cannot be tried if all workers ran on one node;
 * else NULL. */
const char *check_needs_nodes(const struct check_context *context, const char **how);

/* The nodes in the report, or a list of this process's own facts. Borrowed. */
const json_t *check_nodes(const struct check_context *context);

#endif
