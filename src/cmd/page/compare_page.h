/*
 * compare_page.h - several runs on one HTML page: how they differ, and their curves in
 * common charts.
 */
#ifndef RAYTRAIN_PAGE_COMPARE_PAGE_H
#define RAYTRAIN_PAGE_COMPARE_PAGE_H

#include "inspect/run_list.h"
#include "util/error.h"

/* Write the page of these runs to a file, as document_write() does. */
int compare_page(const struct run_list *runs, const char *file, struct error *err);

#endif
