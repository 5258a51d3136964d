/*
 * config_scan.h - what libconfig's scanner lets pass: it wraps integers that are too
 * large, cuts strings at \x00, ends at a comment or string that is never closed, and
 * follows
 * @include wherever that leads. This pass over the text refuses all of that.
 */
#ifndef RAYTRAIN_CONFIG_CONFIG_SCAN_H
#define RAYTRAIN_CONFIG_CONFIG_SCAN_H

#include "util/error.h"

/* A malloc'ed copy of text in which every integer is marked as one of 64 bits; lines
 * stay where they are. RAYTRAIN_EINVAL with source:line. */
int config_scan(const char *text, const char *source, char **out, struct error *err);

#endif
