/* table_source.h - a file that rows of a table are read from. */
#ifndef RAYTRAIN_TABLE_TABLE_SOURCE_H
#define RAYTRAIN_TABLE_TABLE_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A file that rows are read from. Its size was determined after opening. */
struct source {
    int fd; /* owned by the table */
    /* Memory of this node (expansion.h), sealed: it cannot change or shrink. */
    bool anonymous;
    uint64_t size;
    dev_t dev;
    ino_t ino;
    /* Anonymous: the bytes, read-only; NULL if they are not mapped. Other files are
     * mapped by file_view.h alone: one that is truncated while in use must cause an
     * error, not a SIGBUS. */
    const unsigned char *map;
    char path[PATH_MAX]; /* the name that the user knows */
};

#endif
