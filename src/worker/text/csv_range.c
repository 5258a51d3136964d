/*
 * csv_range.c - divides the bytes of CSV files among ranks at the beginnings of
 * records, which csv_scan.c finds.
 */
#include "text/csv_range.h"

#include <stdlib.h>

/* ---- Pieces ---- */

static uint64_t csv_file_bytes(const struct csv_files *files, size_t i)
{
    return (uint64_t)(files->sizes[i] - files->starts[i]);
}

bool csv_range_piece(const struct csv_range *range, struct csv_piece *piece)
{
    const struct csv_files *files = range->files;

    while (piece->next < files->n && piece->base < range->to) {
        size_t file = piece->next++;
        uint64_t base = piece->base, n = csv_file_bytes(files, file);
        uint64_t from = range->from > base ? range->from - base : 0;
        uint64_t to = range->to < base + n ? range->to - base : n;

        piece->base += n;
        if (from < to) {
            piece->file = file;
            piece->from = (uint64_t)files->starts[file] + from;
            piece->to = (uint64_t)files->starts[file] + to;
            piece->state = from > 0 ? range->state : CSV_RECORD;
            return true;
        }
    }
    return false;
}

static void range_share(struct csv_range *range, int rank, int size)
{
    uint64_t all = 0;

    for (size_t i = 0; i < range->files->n; i++)
        all += csv_file_bytes(range->files, i);
    range->from = (uint64_t)((unsigned __int128)all * (unsigned)rank / (unsigned)size);
    range->to =
        (uint64_t)((unsigned __int128)all * (unsigned)(rank + 1) / (unsigned)size);
}

/* ---- Scanning ---- */

struct scanning {
    struct csv_range *range;
    char *bytes;
    size_t room;
    struct csv_scan so_far;
    struct csv_scan at_sample[CSV_SAMPLES]; /* so_far at each sample */
    uint64_t done;                          /* bytes of the range */
};

static void sample_note(struct scanning *s, const struct csv_piece *piece, uint64_t at)
{
    struct csv_range *range = s->range;
    unsigned __int128 due =
        (unsigned __int128)(range->to - range->from) * range->n_samples / CSV_SAMPLES;

    if (range->n_samples == CSV_SAMPLES || s->done < due)
        return;
    s->at_sample[range->n_samples] = s->so_far;
    range->samples[range->n_samples] = *piece;
    range->samples[range->n_samples++].from = at;
}

static int piece_scan(struct scanning *s, const struct csv_piece *piece,
                      struct error *err)
{
    const struct csv_files *files = s->range->files;
    struct text_file f = TEXT_FILE_INIT;
    int rc = csv_files_open(files, piece->file, &f, err);
    size_t n;

    for (uint64_t at = piece->from; rc == 0 && at < piece->to; at += n) {
        n = piece->to - at < s->room ? (size_t)(piece->to - at) : s->room;
        sample_note(s, piece, at);
        rc = text_read(&f, s->bytes, n, at, err);
        if (rc == 0)
            csv_scan_add(&s->so_far, files->delimiter, s->bytes, n);
        s->done += n;
    }
    if (piece->to == (uint64_t)files->sizes[piece->file])
        csv_scan_end(&s->so_far);
    text_close(&f);
    return rc;
}

static int pieces_scan(struct scanning *s, struct error *err)
{
    struct csv_piece piece = {0};
    int rc = 0;

    csv_scan_init(&s->so_far);
    while (rc == 0 && csv_range_piece(s->range, &piece))
        rc = piece_scan(s, &piece, err);
    return rc;
}

/* ---- Quotes that are not closed ---- */

/* Set an error if the file ends inside quotes. */
static int quote_find(struct scanning *s, size_t file, struct error *err)
{
    const struct csv_files *files = s->range->files;
    uint64_t at = (uint64_t)files->starts[file], end = (uint64_t)files->sizes[file],
             open = 0;
    enum csv_state state = CSV_RECORD;
    struct text_file f = TEXT_FILE_INIT;
    int rc = csv_files_open(files, file, &f, err);
    size_t n, place;

    for (; rc == 0 && at < end; at += n) {
        n = end - at < s->room ? (size_t)(end - at) : s->room;
        rc = text_read(&f, s->bytes, n, at, err);
        if (rc == 0 &&
            csv_scan_open_quote(files->delimiter, &state, s->bytes, n, &place))
            open = at + place;
    }
    if (rc == 0 && state == CSV_QUOTED) {
        error_set(err, RAYTRAIN_EINVAL, "the quote that opens here is never closed");
        rc = text_error_at(&f, open, err);
    }
    text_close(&f);
    return rc;
}

/* Find the file that ends in the range and inside quotes. */
static int quotes_find(struct scanning *s, struct error *err)
{
    const struct csv_files *files = s->range->files;
    struct csv_piece piece = {0};

    while (csv_range_piece(s->range, &piece)) {
        if (piece.to == (uint64_t)files->sizes[piece.file] &&
            quote_find(s, piece.file, err) < 0)
            return -1;
    }
    return error_set(err, RAYTRAIN_ECORRUPT, "a file was written to while it was read");
}

/* ---- All ranks ---- */

/* Compute where this rank begins, from the scans of all ranks. */
static int compose(struct comm *comm, struct scanning *s, const struct csv_scan scans[],
                   struct error *err)
{
    struct csv_range *range = s->range;
    struct csv_scan all;
    int rc = 0;

    csv_scan_init(&all);
    for (int r = 0; r < comm->size; r++) {
        enum csv_state before = all.from[CSV_RECORD].state;

        if (r == comm->rank) {
            range->state = before;
            range->first = all.from[CSV_RECORD].records;
        }
        csv_scan_join(&all, &scans[r]);
        if (r == comm->rank && before != CSV_OPEN &&
            all.from[CSV_RECORD].state == CSV_OPEN)
            rc = quotes_find(s, err);
    }
    range->rows = all.from[CSV_RECORD].records;
    for (size_t i = 0; i < range->n_samples; i++)
        range->samples[i].state = s->at_sample[i].from[range->state].state;
    return rc;
}

int csv_range_scan(struct comm *comm, struct csv_range *range,
                   const struct csv_files *files, size_t block_bytes, struct error *err)
{
    struct scanning s = {.range = range, .room = block_bytes};
    struct csv_scan *scans = malloc((size_t)comm->size * sizeof *scans);
    int rc = 0;

    *range = (struct csv_range){.files = files};
    range_share(range, comm->rank, comm->size);
    s.bytes = malloc(block_bytes);
    if (!scans || !s.bytes)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for a block of a file");
    if (rc == 0)
        rc = pieces_scan(&s, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->allgather(comm, &s.so_far, sizeof s.so_far, scans, err);
    if (rc == 0)
        rc = comm_agree(comm, compose(comm, &s, scans, err), err);
    free(s.bytes);
    free(scans);
    return rc;
}
