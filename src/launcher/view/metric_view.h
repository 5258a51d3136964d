/*
 * metric_view.h - what the view keeps for each metric: its last value, recent values,
 * and its best ones.
 */
#ifndef RAYTRAIN_VIEW_METRIC_VIEW_H
#define RAYTRAIN_VIEW_METRIC_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METRIC_COURSE  64  /* the most values that are drawn */
#define METRIC_RECORDS 128 /* the most improvements that are kept */
#define METRIC_TEXT    64  /* bytes of a value as text */
#define METRICS_SHOWN  12  /* at most, in a line and in the summary */

struct metric_point {
    int64_t iteration;
    double value;
};

enum metric_aim { AIM_UNKNOWN, AIM_LESS, AIM_MORE };

struct metric_view {
    char *name;
    enum metric_aim aim;                       /* which values are better */
    bool known;                                /* a report has had it */
    bool is_number;                            /* the last value; NaN is one */
    int64_t iteration;                         /* of the last value */
    double last;                               /* if it is a number */
    char text[METRIC_TEXT];                    /* the last value of another kind */
    struct metric_point course[METRIC_COURSE]; /* the latest, in order */
    size_t n_course;
    /* The latest values that were better than all before them, so that the best is
     * still known after some were taken back. */
    struct metric_point records[METRIC_RECORDS];
    size_t n_records;
};

/* NULL without memory. */
struct metric_view *metric_view_create(const char *name, enum metric_aim aim);
void metric_view_destroy(struct metric_view *m);

/* Which values of a metric are better, by the words of its name: "valid-logloss". */
enum metric_aim metric_aim_of(const char *name);

/* Add the value from a report, which must have one. */
void metric_view_add(struct metric_view *m, int64_t iteration, const json_t *report);
/* Forget the values of later iterations. */
void metric_view_rewind(struct metric_view *m, int64_t iteration);
/* NULL: not known. */
const struct metric_point *metric_view_best(const struct metric_view *m);
/* The last value, as text. Returns out. */
char *metric_view_text(const struct metric_view *m, char out[METRIC_TEXT]);
/* In 11 columns: five significant digits; integers of up to 10 digits whole. Returns
 * out. */
char *metric_number_text(double value, char out[METRIC_TEXT]);

#endif
