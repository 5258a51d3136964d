/* source.h - reads a text file by offsets, block by block. */
#ifndef RAYTRAIN_TEXT_SOURCE_H
#define RAYTRAIN_TEXT_SOURCE_H

#include <stdint.h>
#include <time.h>

#include "util/error.h"

/* Called before each block is read: an error, such as RAYTRAIN_ESTOPPED, ends the
 * reading. It must not communicate. */
struct text_watch {
    int (*proceed)(void *arg, struct error *err); /* NULL: always proceed */
    void *arg;
};

struct text_source {
    const char *path;
    const char *name; /* for messages, if the user does not know the path; or NULL */
    const struct text_watch *watch; /* NULL: none */
};

struct text_file {
    const char *name;
    int fd;        /* -1: not open */
    uint64_t size; /* size and time when it was opened */
    struct timespec changed;
    const struct text_watch *watch;
};

#define TEXT_FILE_INIT                                                                 \
    {                                                                                  \
        .fd = -1                                                                       \
    }

/* Opens a regular file. */
int text_open(struct text_file *f, const struct text_source *source, struct error *err);
void text_close(struct text_file *f);

/* Returns 0 to continue reading, or -1 with the error that ends it. */
int text_proceed(const struct text_watch *watch, struct error *err);
/* Asks the watch, and reads all n bytes. RAYTRAIN_ECORRUPT if the file has become
 * shorter. */
int text_read(const struct text_file *f, char *bytes, size_t n, uint64_t at,
              struct error *err);
/* RAYTRAIN_ECORRUPT if the file has been written to since it was opened. */
int text_unchanged(const struct text_file *f, struct error *err);

/* *mark is the length of the byte order mark of a file that begins with these bytes.
 * Returns -1 if it is a mark of UTF-16 or UTF-32. */
int text_mark(const struct text_file *f, const char *bytes, size_t n, size_t *mark,
              struct error *err);

/* Finds the number of the line in which a byte is, by reading the file up to there. -1:
 * it could not be read. */
int text_line(const struct text_file *f, uint64_t at, uint64_t *line);
/* Puts "NAME:LINE: " before the text of the error, for the line in which a byte is.
 * Returns -1. */
int text_error_at(const struct text_file *f, uint64_t at, struct error *err);

#endif
