/*
 * access_log.h - a line for each request that has been answered:
 *
 *   TIME CLIENT "METHOD PATH" STATUS SECONDS rows=N batch=N version=N
 *
 * The last three are those of a prediction. STATUS is "-" if the client was gone before it
 * had its answer.
 */
#ifndef RAYTRAIN_HTTP_ACCESS_LOG_H
#define RAYTRAIN_HTTP_ACCESS_LOG_H

#include <stdbool.h>

#include "http/exchange.h"

void access_log_write(struct exchange *x, bool is_complete);

#endif
