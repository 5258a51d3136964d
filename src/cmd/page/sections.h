/*
 * sections.h - the parts of the page, in their order; each writes nothing if it has
 * nothing to show.
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
