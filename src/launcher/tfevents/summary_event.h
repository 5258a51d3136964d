/*
 * summary_event.h - the events that TensorBoard reads, as records to be written.
 *
 * The functions that write append one record to the buffer, and return -1 without
 * memory: then they have appended nothing.
 */
#ifndef RAYTRAIN_TFEVENTS_SUMMARY_EVENT_H
#define RAYTRAIN_TFEVENTS_SUMMARY_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tfevents/record.h"

/* A named number or text of a step. */
struct tfevents_value {
    const char *tag;
    const char *text; /* NULL: a number */
    double number;
};

/* The first record of each file. */
int tfevents_write_head(struct record_buffer *buffer, double wall_time);
/* The first such event of a run is its start. Each later one cancels the events of its
 * step and of later steps. */
int tfevents_write_start(struct record_buffer *buffer, double wall_time, int64_t step);
int tfevents_write_values(struct record_buffer *buffer, double wall_time, int64_t step,
                          const struct tfevents_value *values, size_t n);

/* The hyperparameters: the numbers, texts and booleans of an object. `place`: where the
 * models are. */
int tfevents_write_hyperparameters(struct record_buffer *buffer, double wall_time,
                                   const json_t *parameters, const char *place);

enum tfevents_status { TFEVENTS_SUCCESS, TFEVENTS_FAILURE };

int tfevents_write_status(struct record_buffer *buffer, double wall_time,
                          enum tfevents_status status);

/* The step of an event, and its number with this tag. False: it has none, or is not an
 * event. */
bool tfevents_read_number(const void *data, size_t n, const char *tag, int64_t *step,
                          double *number);

#endif
