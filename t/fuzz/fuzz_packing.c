/*
 * fuzz_packing.c - undoing the filters of any bytes never crashes, hangs or leaks, and
 * elements come out of "shuffle" as its definition says. `make fuzz` builds it; run
 * t/fuzz/fuzz_packing CORPUS_DIR.
 *
 * The first bytes of an input are the filters, those that were skipped, the bytes of an
 * element, and the size of the chunk, in two bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/packing.h"

#define HEAD 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Byte b of element i comes from the b-th part; a rest is where it was. */
static void check_shuffled(const uint8_t *in, const uint8_t *out, size_t n,
                           size_t width)
{
    size_t count = n / width;

    for (size_t i = 0; i < n; i++) {
        size_t from = i < count * width ? i % width * count + i / width : i;

        if (out[i] != in[from]) {
            fprintf(stderr, "byte %zu of %zu, elements of %zu bytes\n", i, n, width);
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct packing p = {.ndim = 1};
    size_t size, room;
    uint8_t *in, *out;

    if (n < HEAD)
        return 0;
    for (int i = 0; i < PACKING_FILTERS_MAX; i++)
        if (data[0] >> i & 1)
            p.filters[p.n_filters++] = (enum packing_filter)i;
    p.width = 1 + data[2] % 16;
    size = data[3] | (size_t)data[4] << 8;
    room = n - HEAD > size ? n - HEAD : size;
    in = malloc(room + 1);
    out = malloc(size + 1);
    if (!in || !out)
        abort();
    memcpy(in, data + HEAD, n - HEAD);
    if (packing_unpack(&p, data[1], in, n - HEAD, out, size) && p.n_filters == 1 &&
        p.filters[0] == FILTER_SHUFFLE && !(data[1] & 1))
        check_shuffled(data + HEAD, out, size, p.width);
    free(in);
    free(out);
    return 0;
}
