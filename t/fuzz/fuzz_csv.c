/*
 * fuzz_csv.c - reading any text as CSV never crashes, hangs or leaks, and what comes
 * out does not depend on how the text is cut into ranges and blocks. `make fuzz` builds
 * it; run t/fuzz/fuzz_csv CORPUS_DIR.
 *
 * The first byte of an input is the delimiter, the second one the size of blocks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "text/csv_file.h"
#include "text/csv_scan.h"
#include "util/fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- Ranges ---- */

/* Two scans join to the scan of the whole, and lines are found one by one. */
static void scan(char delimiter, const char *text, size_t n, size_t cut)
{
    enum csv_state state = CSV_RECORD;
    struct csv_scan whole, first, second;
    uint64_t records = 0;
    bool record;

    csv_scan_init(&whole);
    csv_scan_add(&whole, delimiter, text, n);
    csv_scan_init(&first);
    csv_scan_add(&first, delimiter, text, cut);
    csv_scan_init(&second);
    csv_scan_add(&second, delimiter, text + cut, n - cut);
    csv_scan_join(&first, &second);
    for (int i = 0; i < CSV_STATES; i++)
        check(first.from[i].state == whole.from[i].state &&
                  first.from[i].records == whole.from[i].records,
              "the scans of two ranges differ from that of both");
    for (size_t at = 0; at < n; records += record)
        at += csv_scan_line(delimiter, &state, text + at, n - at, &record);
    check(state == whole.from[CSV_RECORD].state &&
              records == whole.from[CSV_RECORD].records,
          "a scan has other records than lines have");
}

/* ---- Conversions ---- */

/* What came out, as a sum over all bytes of all values with their places. */
struct digest {
    uint64_t rows, sum;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

static int begin(void *arg, const struct frame *columns, uint64_t rows,
                 struct error *err)
{
    struct digest *d = arg;

    (void)err;
    *d = (struct digest){.rows = rows, .sum = columns->n_columns};
    for (size_t i = 0; i < columns->n_columns; i++)
        d->sum = mix(d->sum ^ columns->columns[i].kind ^ columns->columns[i].row.dtype);
    return 0;
}

static int put(void *arg, uint64_t first, const struct frame *rows, struct error *err)
{
    struct digest *d = arg;

    (void)err;
    check(first + rows->rows <= d->rows, "there are more rows than announced");
    for (size_t i = 0; i < rows->n_columns; i++) {
        const struct frame_column *c = &rows->columns[i];
        size_t width = frame_row_bytes(c);

        for (uint64_t r = 0; r < rows->rows; r++) {
            uint64_t value = 0;

            memcpy(&value, c->data + r * width, width);
            d->sum += mix(mix(first + r) + mix(i) + value);
        }
    }
    return 0;
}

static int end(void *arg, const struct frame *columns, int32_t *const codes[],
               struct error *err)
{
    struct digest *d = arg;

    (void)err;
    for (size_t i = 0; i < columns->n_columns; i++) {
        size_t n = codes[i] ? dictionary_count(columns->columns[i].words) : 0;

        for (size_t k = 0; k < n; k++)
            d->sum += mix((uint64_t)codes[i][k]);
    }
    return 0;
}

static const struct row_sink digesting = {begin, put, end, NULL};

/* The error, or none, is in *err. */
static struct digest convert(struct comm *self, const char *path, char delimiter,
                             size_t block_bytes, struct error *err)
{
    struct text_source source = {.path = path, .name = "input"};
    struct csv_options options = {.delimiter = delimiter, .block_bytes = block_bytes};
    struct digest d = {0};

    err->code = RAYTRAIN_OK;
    err->text[0] = '\0';
    if (csv_convert(self, &source, 1, &options, &digesting, &d, err) < 0)
        check(err->code != RAYTRAIN_OK && err->text[0], "an error without a text");
    return d;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char delimiters[] = {',', '\t', ';', '|', ' '};
    struct comm *self = comm_self_create(NULL);
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct error one, other;
    struct digest a, b;
    char path[64], delimiter;
    size_t block;

    if (fd < 0 || !self)
        abort();
    if (n >= 2) {
        delimiter = delimiters[data[0] % sizeof delimiters];
        block = 1 + 8u * data[1];
        data += 2;
        n -= 2;
        scan(delimiter, (const char *)data, n, block < n ? block : n);
        if (fs_pwrite_full(fd, data, n, 0) < 0)
            abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        a = convert(self, path, delimiter, 8192, &one);
        b = convert(self, path, delimiter, block, &other);
        check(one.code == other.code && strcmp(one.text, other.text) == 0,
              "the error depends on the size of blocks");
        check(one.code != RAYTRAIN_OK || (a.rows == b.rows && a.sum == b.sum),
              "the rows depend on the size of blocks");
        (void)convert(self, path, 0, 8192, &one);
    }
    close(fd);
    comm_free(self);
    return 0;
}
