/*
 * decompress.h - files of text that are compressed with gzip or zstd. They cannot be
 * split, so each is decompressed by one rank, before all of them read it.
 */
#ifndef RAYTRAIN_CONVERT_DECOMPRESS_H
#define RAYTRAIN_CONVERT_DECOMPRESS_H

#include "comm/comm.h"
#include "text/source.h"

struct decompressed {
    char **paths; /* of what source i contains; NULL: it is not compressed */
    int *fds;     /* this rank's files */
    size_t n;
};

/*
 * COLLECTIVE, with the same outcome on every rank. Compressed sources get another path,
 * of a hidden file in `directory`, and their old one as a name; if this process is
 * alone, of a file without a name. RAYTRAIN_ECORRUPT if one is damaged or truncated.
 * decompressed_clear() is due in any case.
 */
int sources_decompress(struct comm *all, const char *directory,
                       struct text_source sources[], size_t n,
                       struct decompressed *plain, struct error *err);
/* When no rank reads them any more: remove this rank's files. */
void decompressed_clear(struct decompressed *plain);

#endif
