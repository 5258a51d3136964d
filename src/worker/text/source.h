/* source.h - a file of text that is read by offsets, a block at a time. */
#ifndef RAYTRAIN_TEXT_SOURCE_H
#define RAYTRAIN_TEXT_SOURCE_H

#include <stdint.h>
#include <time.h>

#include "util/error.h"

/* Asked before each block that is read: an error, such as RAYTRAIN_ESTOPPED, ends the
 * reading. It does not communicate. */
struct text_watch {
    int (*proceed)(void *arg, struct error *err); /* NULL: nothing is asked */
    void *arg;
};

struct text_source {
    const char *path;
    const char *name; /* in messages, if the path is not what the user knows; or NULL */
    const struct text_watch *watch; /* NULL: none */
};

struct text_file {
    const char *name;
    int fd;        /* -1: not open */
    uint64_t size; /* as it was when it was opened, as the next one */
    struct timespec changed;
    const struct text_watch *watch;
};

#define TEXT_FILE_INIT                                                                 \
    {                                                                                  \
        .fd = -1                                                                       \
    }

/* A regular file. */
int text_open(struct text_file *f, const struct text_source *source, struct error *err);
void text_close(struct text_file *f);

/* May the reading go on? 0, or -1 with the error that ends it. */
int text_proceed(const struct text_watch *watch, struct error *err);
/* All n bytes; RAYTRAIN_ECORRUPT if the file has become shorter. Asks the watch
 * first. */
int text_read(const struct text_file *f, char *bytes, size_t n, uint64_t at,
              struct error *err);
/* RAYTRAIN_ECORRUPT if the file has been written to since it was opened. */
int text_unchanged(const struct text_file *f, struct error *err);

/* *mark: how long the byte order mark of a file is that begins with these bytes. -1 if
 * it is one of UTF-16 or UTF-32. */
int text_mark(const struct text_file *f, const char *bytes, size_t n, size_t *mark,
              struct error *err);

/* The number of the line in which a byte is; the file is read up to there. -1: it could
 * not be read. */
int text_line(const struct text_file *f, uint64_t at, uint64_t *line);
/* Put "NAME:LINE: " before the text of the error, for the line in which a byte is.
 * Returns -1. */
int text_error_at(const struct text_file *f, uint64_t at, struct error *err);

#endif
