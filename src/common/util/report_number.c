/* report_number.c - find the numbers of a report, some of which JSON cannot express. */
#include "util/report_number.h"

#include <math.h>
#include <string.h>

bool metric_is_number(const json_t *report, const char *name)
{
    const json_t *value = json_object_get(report, name);

    return json_is_number(value) || json_is_null(value);
}

double metric_value(const json_t *value)
{
    const char *word = json_string_value(value);

    if (json_is_number(value))
        return json_number_value(value);
    if (word && strcmp(word, METRIC_INFINITY) == 0)
        return INFINITY;
    return word && strcmp(word, "-" METRIC_INFINITY) == 0 ? -INFINITY : NAN;
}

double metric_number(const json_t *report, const char *name)
{
    const json_t *value = json_object_get(report, name), *ranks;

    if (json_is_number(value))
        return json_number_value(value);
    if (!json_is_null(value))
        return NAN;
    ranks = json_object_get(json_object_get(report, "by_rank"), name);
    if (json_object_get(report, METRICS_REPORTED) && json_object_get(ranks, "mean"))
        return metric_value(json_object_get(ranks, "rank0"));
    return metric_value(json_object_get(ranks, "mean"));
}
