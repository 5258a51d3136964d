/* report_tail.h - the last report of a run, whatever the number of its reports. */
#ifndef RAYTRAIN_RUN_REPORT_TAIL_H
#define RAYTRAIN_RUN_REPORT_TAIL_H

#include <jansson.h>

#include "util/error.h"

/* A new object, NULL if there is none. Only the end of result.json, and of the journals
 * of attempts after its last report, are read. */
int report_tail(const char *run_dir, json_t **report, struct error *err);

#endif
