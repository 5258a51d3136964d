/*
 * report_scan.h - a few numbers of a report, without parsing all of it: a line of
 * result.json may have thousands of metrics, and a run a million lines.
 */
#ifndef RAYTRAIN_RUN_REPORT_SCAN_H
#define RAYTRAIN_RUN_REPORT_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The values of these keys of a JSON object, whose text is line[0..n), with a NUL after
 * it: NaN if there is none, infinity if it is not a number. Keys have no characters that
 * JSON escapes. False: the text is no object. What is within other values is not checked,
 * but brackets and quotes must match.
 */
bool report_scan(const char *line, size_t n, const char *const keys[], size_t n_keys,
                 double values[]);

#endif
