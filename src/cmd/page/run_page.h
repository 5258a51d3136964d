/*
 * run_page.h - a run as one HTML page, for people who have neither raytrain nor the
 * run's files.
 */
#ifndef RAYTRAIN_PAGE_RUN_PAGE_H
#define RAYTRAIN_PAGE_RUN_PAGE_H

#include "util/error.h"

/* Write the page of the run in this directory to a file, which gets its name when it is
 * complete; an existing one is replaced. The page needs no other file and no network.
 * RAYTRAIN_ESTORAGE if it cannot be written. */
int inspect_report_page(const char *run, const char *file, struct error *err);

#endif
