/*
 * sections.h - the parts of the page, in their order; each writes nothing if it has
 * nothing to show.
 *
 * To add one: write a function in a file of this room, declare it below, and call it in
 * run_page.c. All text of a run is written by html_text() or a function beside it
 * (html.h), and what a large run adds to the page is bounded. Without its script the
 * page says the same. t/2171-report-browser.t looks at it at four widths, light and
 * dark.
 */
#ifndef RAYTRAIN_PAGE_SECTIONS_H
#define RAYTRAIN_PAGE_SECTIONS_H

#include <stdio.h>

#include "page/facts.h"

void summary_write(FILE *out, const struct facts *f);
int metrics_write(FILE *out, const struct facts *f, struct error *err);
void timeline_write(FILE *out, const struct facts *f);
void attempts_write(FILE *out, const struct facts *f);
int failures_write(FILE *out, const struct facts *f, struct error *err);
int time_write(FILE *out, const struct facts *f, struct error *err);
void checkpoints_write(FILE *out, const struct facts *f);
void nodes_write(FILE *out, const struct facts *f);
void config_write(FILE *out, const struct facts *f);
void commands_write(FILE *out, const struct facts *f);

#endif
