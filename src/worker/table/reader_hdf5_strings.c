/*
 * reader_hdf5_strings.c - reads strings piece by piece through HDF5, with a limit on
 * memory, and gives them codes.
 */
#include "table/reader_hdf5_strings.h"

#include <stdlib.h>
#include <string.h>

#include "hdf5/h5.h"
#include "util/memory.h"

#define PIECE_BYTES (UINT64_C(1) << 20)
/* For a piece of strings of variable length; a longer string is read on its own. */
#define HEAP_BYTES (UINT64_C(16) << 20)

/* ---- Strings of variable length ---- */

/*
 * The memory for the strings of a piece. HDF5 allocates each string with the length
 * that the file claims: this heap takes them from few blocks, limits them, and frees
 * them together.
 */
struct heap {
    struct heap_block {
        struct heap_block *before;
        char bytes[];
    } * last;
    size_t room; /* in the last block */
    uint64_t bytes, most;
    bool full; /* there was not enough room */
};

static void *heap_allocate(size_t n, void *arg)
{
    struct heap *h = arg;
    struct heap_block *block;

    if (n > h->room) {
        size_t size = n > PIECE_BYTES ? n : PIECE_BYTES;

        h->full = size > h->most || h->bytes > h->most - size;
        block = h->full ? NULL : malloc(sizeof *block + size);
        if (!block) {
            h->full = true;
            return NULL;
        }
        block->before = h->last;
        h->last = block;
        h->bytes += size;
        h->room = size;
    }
    /* From the end on: strings need no alignment. */
    h->room -= n;
    return h->last->bytes + h->room;
}

static void heap_free_one(void *memory, void *arg)
{
    (void)memory;
    (void)arg;
}

static void heap_clear(struct heap *h)
{
    while (h->last) {
        struct heap_block *before = h->last->before;

        free(h->last);
        h->last = before;
    }
    h->room = 0;
    h->bytes = 0;
    h->full = false;
}

/* ---- A piece of rows ---- */

struct reading {
    hid_t dataset, space, type, transfer;
    bool variable;
    H5T_str_t padding;
    size_t width;     /* bytes of a row in memory */
    uint64_t at_once; /* rows of a piece, at most */
    unsigned char *rows;
    struct heap heap;
};

/* Packed chunks are unpacked as a whole, so a piece ends where a chunk does. 0: not
 * chunked. */
static uint64_t chunk_rows(hid_t dataset)
{
    hid_t plist = H5Dget_create_plist(dataset);
    hsize_t rows = 0;

    if (plist >= 0 && H5Pget_layout(plist) == H5D_CHUNKED &&
        H5Pget_chunk(plist, 1, &rows) != 1)
        rows = 0;
    if (plist >= 0)
        H5Pclose(plist);
    return rows;
}

static int strings_room_make(struct reading *r, uint64_t rows, struct error *err)
{
    uint64_t chunk = chunk_rows(r->dataset), bytes = 0;

    r->at_once = PIECE_BYTES / r->width ? PIECE_BYTES / r->width : 1;
    if (chunk)
        r->at_once = chunk > r->at_once ? chunk : r->at_once / chunk * chunk;
    r->at_once = r->at_once < rows ? r->at_once : rows;
    if (__builtin_mul_overflow(r->at_once, (uint64_t)r->width, &bytes) ||
        bytes > memory_available() / 2)
        return error_set(err, RAYTRAIN_EFIT,
                         "to read its strings, %llu at once of %llu bytes each, takes "
                         "more than half of the memory: name the columns that are "
                         "needed (the option `columns`), or ask for more memory",
                         (unsigned long long)r->at_once, (unsigned long long)r->width);
    r->rows = malloc(bytes);
    return r->rows ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for strings");
}

static int reading_begin(struct reading *r, hid_t dataset, uint64_t rows,
                         struct error *err)
{
    htri_t variable;

    *r = (struct reading){.dataset = dataset, .heap = {.most = HEAP_BYTES}};
    r->space = H5Dget_space(dataset);
    r->type = H5Dget_type(dataset);
    r->transfer = H5Pcreate(H5P_DATASET_XFER);
    variable = r->type < 0 ? -1 : H5Tis_variable_str(r->type);
    if (r->space < 0 || r->transfer < 0 || variable < 0 ||
        H5Pset_vlen_mem_manager(r->transfer, heap_allocate, &r->heap, heap_free_one,
                                &r->heap) < 0)
        return h5_error(err, "prepare to read the strings");
    r->variable = variable > 0;
    r->padding = H5Tget_strpad(r->type);
    r->width = r->variable ? sizeof(char *) : H5Tget_size(r->type);
    if (r->width == 0)
        return error_set(err, RAYTRAIN_ECORRUPT, "its strings have no size");
    return strings_room_make(r, rows, err);
}

static void reading_end(struct reading *r)
{
    heap_clear(&r->heap);
    free(r->rows);
    if (r->transfer >= 0)
        H5Pclose(r->transfer);
    if (r->type >= 0)
        H5Tclose(r->type);
    if (r->space >= 0)
        H5Sclose(r->space);
}

static int piece_try(struct reading *r, uint64_t first, uint64_t n)
{
    hsize_t start = first, count = n;
    hid_t memory = H5Screate_simple(1, &count, NULL);
    int rc = -1;

    heap_clear(&r->heap);
    if (memory >= 0 &&
        H5Sselect_hyperslab(r->space, H5S_SELECT_SET, &start, NULL, &count, NULL) >=
            0 &&
        H5Dread(r->dataset, r->type, memory, r->space, r->transfer, r->rows) >= 0)
        rc = 0;
    if (memory >= 0)
        H5Sclose(memory);
    return rc;
}

/* Read up to *n rows. They are fewer if strings of variable length are long: a single
 * one may take half of the memory. */
static int piece_read(struct reading *r, uint64_t first, uint64_t *n, struct error *err)
{
    int rc;

    while ((rc = piece_try(r, first, *n)) < 0 && r->heap.full && *n > 1) {
        *n /= 2;
        H5Eclear2(H5E_DEFAULT);
    }
    if (rc < 0 && r->heap.full) {
        H5Eclear2(H5E_DEFAULT);
        r->heap.most = memory_available() / 2;
        rc = piece_try(r, first, *n);
        r->heap.most = HEAP_BYTES;
    }
    if (rc == 0)
        return 0;
    if (r->heap.full)
        return error_set(err, RAYTRAIN_EFIT,
                         "the string in row %llu is longer than half of the memory",
                         (unsigned long long)first);
    return h5_read_error(r->dataset, "read the strings", err);
}

/* ---- Words ---- */

/* The i-th string of the piece, without what pads it. */
static struct dictionary_text string_get(const struct reading *r, uint64_t i)
{
    const char *at = (const char *)r->rows + i * r->width, *string;
    size_t n = r->width;

    if (r->variable) {
        memcpy(&string, at, sizeof string);
        return (struct dictionary_text){string ? string : "",
                                        string ? strlen(string) : 0};
    }
    if (r->padding == H5T_STR_NULLTERM)
        n = strnlen(at, n);
    /* Rows that were never written have NULs, also if spaces pad the others. */
    while (n > 0 &&
           (at[n - 1] == '\0' || (r->padding == H5T_STR_SPACEPAD && at[n - 1] == ' ')))
        n--;
    return (struct dictionary_text){at, n};
}

/* The words may grow by those of a piece, and take more meanwhile. */
static int memory_check(const struct dictionary *words, struct error *err)
{
    uint64_t bytes = dictionary_memory(words);

    if (bytes < PIECE_BYTES || 2 * bytes <= memory_available())
        return 0;
    return error_set(err, RAYTRAIN_EFIT,
                     "its %zu different strings so far take %.1f MiB, and there is no "
                     "memory for more: leave it out (the option `columns`), or ask for "
                     "more memory",
                     dictionary_count(words), (double)bytes / 1048576);
}

static int piece_add(const struct reading *r, uint64_t n, struct dictionary *words,
                     int32_t *codes, struct error *err)
{
    struct dictionary_text texts[DICTIONARY_AHEAD];

    for (uint64_t i = 0; i < n; i += DICTIONARY_AHEAD) {
        size_t k = n - i < DICTIONARY_AHEAD ? (size_t)(n - i) : DICTIONARY_AHEAD;

        for (size_t j = 0; j < k; j++)
            texts[j] = string_get(r, i + j);
        if (dictionary_add_some(words, texts, k, codes + i, err) < 0)
            return -1;
    }
    return 0;
}

int hdf5_strings_read(hid_t dataset, uint64_t rows, struct dictionary *words,
                      int32_t *codes, struct error *err)
{
    struct reading r;
    int rc = reading_begin(&r, dataset, rows, err);

    for (uint64_t first = 0, n; rc == 0 && first < rows; first += n) {
        n = rows - first < r.at_once ? rows - first : r.at_once;
        rc = memory_check(words, err);
        if (rc == 0)
            rc = piece_read(&r, first, &n, err);
        if (rc == 0)
            rc = piece_add(&r, n, words, codes + first, err);
    }
    reading_end(&r);
    return rc;
}
