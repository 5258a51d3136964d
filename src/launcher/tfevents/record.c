/* record.c - records of event files appended to a buffer, and read from a file. */
#include "tfevents/record.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tfevents/crc32c.h"
#include "util/fs.h"

#define HEAD 12 /* bytes of the length and its checksum */
#define TAIL 4  /* of the checksum of the data */

static void little_put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t little_get(const uint8_t *from, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

/* ---- Writing ---- */

static int room_make(struct record_buffer *buffer, size_t n)
{
    size_t room = buffer->room ? buffer->room : 4096;
    uint8_t *data;

    while (room - buffer->n < n)
        room *= 2;
    if (room == buffer->room)
        return 0;
    data = realloc(buffer->data, room);
    if (!data)
        return -1;
    buffer->data = data;
    buffer->room = room;
    return 0;
}

uint8_t *record_begin(struct record_buffer *buffer, size_t n)
{
    uint8_t *data;

    if (room_make(buffer, HEAD + n + TAIL) < 0)
        return NULL;
    data = buffer->data + buffer->n + HEAD;
    buffer->n += HEAD + n + TAIL;
    return data;
}

void record_end(struct record_buffer *buffer, size_t n)
{
    uint8_t *record = buffer->data + buffer->n - (HEAD + n + TAIL);

    little_put(record, n, 8);
    little_put(record + 8, crc32c_masked(record, 8), 4);
    little_put(record + HEAD + n, crc32c_masked(record + HEAD, n), 4);
}

void record_buffer_clear(struct record_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct record_buffer){0};
}

/* ---- Reading ---- */

/* Read the data of the next record and their checksum into *data, which grows. False:
 * no complete, undamaged record follows. */
static bool record_read(FILE *file, uint8_t **data, size_t *room, size_t *n)
{
    uint8_t head[HEAD], *more;
    uint64_t length;

    if (fread(head, 1, HEAD, file) != HEAD ||
        little_get(head + 8, 4) != crc32c_masked(head, 8))
        return false;
    length = little_get(head, 8);
    if (length > EVENT_RECORD_BYTES_MAX)
        return false;
    *n = (size_t)length;
    if (*n + TAIL > *room) {
        more = realloc(*data, *n + TAIL);
        if (!more)
            return false;
        *data = more;
        *room = *n + TAIL;
    }
    return fread(*data, 1, *n + TAIL, file) == *n + TAIL &&
           little_get(*data + *n, 4) == crc32c_masked(*data, *n);
}

int record_each(const char *path,
                void (*on_record)(void *arg, const void *data, size_t n), void *arg,
                struct error *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    uint8_t *data = NULL;
    size_t room = 0, n;
    int rc = 0;

    if (!file) {
        fs_error(err, "open", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while (record_read(file, &data, &room, &n))
        on_record(arg, data, n);
    if (ferror(file))
        rc = fs_error(err, "read", path);
    free(data);
    fclose(file);
    return rc;
}
