/* site.h - all of raytrain-run --check: it first takes an allocation if asked to. */
#ifndef RAYTRAIN_CHECK_SITE_H
#define RAYTRAIN_CHECK_SITE_H

#include <stdio.h>

#include "config/options.h"

/*
 * Uses the launcher that opt names; argv is the command line. cfg is not validated yet.
 * *exit_status as in check.h. -1: cfg contradicts itself, or the findings could not be
 * printed.
 */
int site_check(const struct options *opt, struct train_config *cfg, char *const argv[],
               FILE *out, int *exit_status, struct error *err);

#endif
