/*
 * decompress.h - text files that are compressed with gzip or zstd. They cannot be
 * split, so one rank decompresses each before all ranks read it.
 */
#ifndef RAYTRAIN_CONVERT_DECOMPRESS_H
#define RAYTRAIN_CONVERT_DECOMPRESS_H

#include "comm/comm.h"
#include "text/source.h"

struct decompressed {
    char **paths; /* the decompressed source i; NULL: it is not compressed */
    int *fds;     /* this rank's files */
    size_t n;
};

/*
 * COLLECTIVE, with the same outcome on every rank. The path of a compressed source
 * becomes that of a hidden file in `directory` with its content, and its name the old
 * path. `directory` NULL: this process is alone, and the file has no name.
 * RAYTRAIN_ECORRUPT if one is damaged or truncated. Call decompressed_clear() in any
 * case.
 */
int sources_decompress(struct comm *all, const char *directory,
                       struct text_source sources[], size_t n,
                       struct decompressed *plain, struct error *err);
/* Removes this rank's files; no rank may still read them. */
void decompressed_clear(struct decompressed *plain);

#endif
