/*
 * fuzz_libsvm.c - reading any text as LIBSVM, or as lines, never crashes, hangs or leaks,
 * and what comes out does not depend on how the text is cut into blocks. `make fuzz`
 * builds it; run t/fuzz/fuzz_libsvm CORPUS_DIR.
 *
 * The first byte of an input says where indices begin, the second one the size of blocks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "text/libsvm.h"
#include "text/lines.h"
#include "util/fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- What came out ---- */

/* A sum over all bytes of all values with their places. */
struct digest {
    uint64_t rows, put, sum;
    int64_t width;
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
    return 0;
}

/* The elements of a row: its bytes, and indices if there are any. */
static uint64_t row_mix(const struct frame_column *c, uint64_t row)
{
    size_t width = frame_element_bytes(c);
    uint64_t sum = 0, from = c->offsets ? c->offsets[row] : row,
             to = c->offsets ? c->offsets[row + 1] : row + 1;

    check(from <= to && (!c->offsets || to <= c->n_data), "offsets do not rise");
    for (uint64_t i = from; i < to; i++) {
        uint64_t value = 0;

        memcpy(&value, c->data + i * width, width);
        check(!c->indices || i == from || c->indices[i] > c->indices[i - 1],
              "indices do not rise");
        sum = mix(sum + value) + (c->indices ? c->indices[i] : 0);
    }
    return sum;
}

static int put(void *arg, uint64_t first, const struct frame *rows, struct error *err)
{
    struct digest *d = arg;

    (void)err;
    check(first + rows->rows <= d->rows, "there are more rows than announced");
    d->put += rows->rows;
    for (size_t i = 0; i < rows->n_columns; i++) {
        for (uint64_t r = 0; r < rows->rows; r++)
            d->sum += mix(mix(first + r) + mix(i) + row_mix(&rows->columns[i], r));
    }
    return 0;
}

static int end(void *arg, const struct frame *columns, int32_t *const codes[],
               struct error *err)
{
    struct digest *d = arg;

    (void)codes;
    (void)err;
    check(d->put == d->rows, "there are fewer rows than announced");
    d->width = columns->columns[columns->n_columns - 1].row.shape[0];
    return 0;
}

static const struct row_sink digesting = {begin, put, end, NULL};

/* ---- Conversions ---- */

struct outcome {
    struct digest libsvm, lines;
    struct error err; /* or none */
};

static void convert(struct comm *self, const char *path, uint8_t base,
                    size_t block_bytes, struct outcome *o)
{
    struct text_source source = {.path = path, .name = "input"};
    struct libsvm_options options = {.base = base % 3, .block_bytes = block_bytes};
    int rc;

    memset(o, 0, sizeof *o);
    rc = lines_convert(self, &source, 1, block_bytes, &digesting, &o->lines, &o->err);
    check(rc == 0 || strstr(o->err.text, "UTF-"),
          "lines are refused that have no mark of UTF-16 or UTF-32");
    if (rc < 0)
        return; /* as LIBSVM, too */
    rc = libsvm_convert(self, &source, 1, &options, &digesting, &o->libsvm, &o->err);
    check(rc == 0 || (o->err.code != RAYTRAIN_OK && o->err.text[0]),
          "an error without a text");
    if (rc < 0)
        memset(&o->libsvm, 0, sizeof o->libsvm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct comm *self = comm_self_create(NULL);
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct outcome one, other;
    char path[64];

    if (fd < 0 || !self)
        abort();
    if (n >= 2) {
        if (fs_pwrite_full(fd, data + 2, n - 2, 0) < 0)
            abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        convert(self, path, data[0], 8192, &one);
        convert(self, path, data[0], 1 + data[1], &other);
        check(one.err.code == other.err.code &&
                  strcmp(one.err.text, other.err.text) == 0,
              "the error depends on the size of blocks");
        check(memcmp(&one.libsvm, &other.libsvm, sizeof one.libsvm) == 0 &&
                  memcmp(&one.lines, &other.lines, sizeof one.lines) == 0,
              "the rows depend on the size of blocks");
    }
    close(fd);
    comm_free(self);
    return 0;
}
