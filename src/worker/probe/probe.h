/*
 * probe.h - the training function of raytrain-run --check: it tries what a run relies
 * on, and rank 0 writes what all ranks found to SITE_REPORT in the log directory
 * (protocol/site_report.h). It only measures; the launcher judges.
 */
#ifndef RAYTRAIN_PROBE_PROBE_H
#define RAYTRAIN_PROBE_PROBE_H

#include "raytrain.h"

/* Exported from the library for raytrain-worker; not part of the public API. */
RAYTRAIN_API int raytrain_site_check(raytrain_context *ctx);

#endif
