/*
 * record.h - the records of an event file: a length, its checksum, the data, their
 * checksum; all numbers little-endian.
 */
#ifndef RAYTRAIN_TFEVENTS_RECORD_H
#define RAYTRAIN_TFEVENTS_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* A longer length is damage. */
#define EVENT_RECORD_BYTES_MAX (256u << 20)

/* Whole records, one after the other, to write. All zeros: empty. */
struct record_buffer {
    uint8_t *data;
    size_t n, room;
};

/* Append a record of n bytes, and return where the caller puts them before
 * record_end(). NULL without memory: then nothing was appended. */
uint8_t *record_begin(struct record_buffer *buffer, size_t n);
/* Fill in the checksums of the record of n bytes that was begun last, after its
 * data. */
void record_end(struct record_buffer *buffer, size_t n);
void record_buffer_clear(struct record_buffer *buffer);

/* Call on_record for each record of a file, up to its end, or to the first one that is
 * incomplete or damaged: after a crash, the file may end in the middle of a record. */
int record_each(const char *path,
                void (*on_record)(void *arg, const void *data, size_t n), void *arg,
                struct error *err);

#endif
