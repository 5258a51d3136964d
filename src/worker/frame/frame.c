/*
 * frame.c - frames: memory that is kept for reuse, columns, and memory for rows.
 * region.c provides memory that several columns share.
 */
#include "frame/frame.h"

#include <stdlib.h>
#include <string.h>

#include "frame/region.h"

#define ALIGNMENT    64
#define REGION_BYTES ((uint64_t)4 << 20) /* less is allocated for each column */

static int column_no_memory(const struct frame_column *c, uint64_t rows,
                            struct error *err)
{
    return error_set(
        err, RAYTRAIN_ENOMEM,
        "no memory for %llu rows of column \"%s\": a smaller batch is needed",
        (unsigned long long)rows, c->name);
}

/* ---- Memory that is kept ---- */

/* It never has more blocks than columns had at one time: if no block is large enough,
 * one is freed. */
struct frame_spare {
    struct block {
        void *memory;
        size_t room;
    } * blocks;
    size_t n, room;
};

static void spare_give(struct frame_spare *spare, void *memory, size_t room)
{
    if (spare && memory && spare->n == spare->room) {
        size_t more = spare->room ? 2 * spare->room : 16;
        struct block *grown = reallocarray(spare->blocks, more, sizeof *grown);

        if (grown) {
            spare->blocks = grown;
            spare->room = more;
        }
    }
    if (spare && memory && spare->n < spare->room)
        spare->blocks[spare->n++] = (struct block){memory, room};
    else
        free(memory);
}

/* Take the smallest block of at least `bytes` bytes; NULL: there is none. */
static void *spare_take(struct frame_spare *spare, size_t bytes, size_t *room)
{
    size_t best = 0;
    struct block taken;

    if (!spare || spare->n == 0)
        return NULL;
    for (size_t i = 1; i < spare->n; i++) {
        size_t here = spare->blocks[i].room, there = spare->blocks[best].room;

        if (there < bytes ? here > there : here >= bytes && here < there)
            best = i;
    }
    taken = spare->blocks[best];
    spare->blocks[best] = spare->blocks[--spare->n];
    if (taken.room < bytes) {
        free(taken.memory);
        return NULL;
    }
    *room = taken.room;
    return taken.memory;
}

static void spare_destroy(struct frame_spare *spare)
{
    for (size_t i = 0; spare && i < spare->n; i++)
        free(spare->blocks[i].memory);
    if (spare)
        free(spare->blocks);
    free(spare);
}

int frame_keep_memory(struct frame *f, struct error *err)
{
    if (!f->spare && !(f->spare = calloc(1, sizeof *f->spare)))
        return error_no_memory(err);
    for (size_t i = 0; i < f->n_columns; i++)
        f->columns[i].spare = f->spare;
    return 0;
}

/* ---- Columns ---- */

int frame_add(struct frame *f, const struct frame_column *like, size_t *index,
              struct error *err)
{
    if (frame_find(f, like->name))
        return error_set(err, RAYTRAIN_EINVAL, "column \"%s\" exists twice",
                         like->name);
    return frame_append(f, like, index, err);
}

int frame_append(struct frame *f, const struct frame_column *like, size_t *index,
                 struct error *err)
{
    struct frame_column *grown, *c;

    if ((f->n_columns & (f->n_columns - 1)) == 0) { /* there is room for a power of 2 */
        grown = reallocarray(f->columns, f->n_columns ? 2 * f->n_columns : 1,
                             sizeof *grown);
        if (!grown)
            return error_no_memory(err);
        f->columns = grown;
    }
    *index = f->n_columns++;
    c = &f->columns[*index];
    *c = (struct frame_column){
        .kind = like->kind, .row = like->row, .words = like->words, .spare = f->spare};
    memcpy(c->name, like->name, sizeof c->name);
    c->row.data = NULL;
    return 0;
}

static void memory_forget(struct frame_column *c)
{
    c->data = NULL;
    c->offsets = NULL;
    c->indices = NULL;
    c->data_room = c->offsets_room = c->indices_room = 0;
    c->region = NULL;
}

static void data_free(struct frame_column *c)
{
    if (c->region)
        frame_region_release(c->region);
    else
        spare_give(c->spare, c->data, c->data_room);
    c->region = NULL;
    c->data = NULL;
    c->data_room = 0;
}

void frame_column_free(struct frame_column *c)
{
    data_free(c);
    spare_give(c->spare, c->offsets, c->offsets_room);
    spare_give(c->spare, c->indices, c->indices_room);
    memory_forget(c);
}

int frame_put(struct frame *f, struct frame_column *c, struct error *err)
{
    struct frame_column *there = frame_find(f, c->name);
    size_t index;

    if (!there) {
        if (frame_add(f, c, &index, err) < 0)
            return -1;
        there = &f->columns[index];
    }
    frame_column_free(there);
    *there = *c;
    there->spare = f->spare;
    memory_forget(c);
    return 0;
}

void frame_remove(struct frame *f, size_t index)
{
    frame_column_free(&f->columns[index]);
    memmove(f->columns + index, f->columns + index + 1,
            (--f->n_columns - index) * sizeof *f->columns);
}

static struct frame_column *find_from(const struct frame *f, const char *name,
                                      size_t from)
{
    for (size_t i = from; i < f->n_columns; i++)
        if (strcmp(f->columns[i].name, name) == 0)
            return &f->columns[i];
    return NULL;
}

static bool restored(const struct frame *f, const struct frame *like)
{
    for (size_t i = 0; i < like->n_columns; i++)
        if (i == f->n_columns || strcmp(f->columns[i].name, like->columns[i].name) != 0)
            return false;
    return f->n_columns == like->n_columns;
}

/* Put the columns into the order of `like`, followed by the others. */
static int columns_order(struct frame *f, const struct frame *like, struct error *err)
{
    for (size_t i = 0; i < like->n_columns; i++) {
        struct frame_column *there = find_from(f, like->columns[i].name, i), swapped;
        size_t at;

        if (!there && frame_append(f, &like->columns[i], &at, err) < 0)
            return -1;
        if (!there)
            there = &f->columns[at];
        swapped = *there;
        *there = f->columns[i];
        f->columns[i] = swapped;
    }
    return 0;
}

int frame_restore(struct frame *f, const struct frame *like, struct error *err)
{
    if (!restored(f, like) && columns_order(f, like, err) < 0)
        return -1;
    while (f->n_columns > like->n_columns)
        frame_remove(f, f->n_columns - 1);
    for (size_t i = 0; i < like->n_columns; i++) {
        struct frame_column *c = &f->columns[i];

        c->kind = like->columns[i].kind;
        c->row = like->columns[i].row;
        c->words = like->columns[i].words;
    }
    return 0;
}

struct frame_column *frame_find(const struct frame *f, const char *name)
{
    return find_from(f, name, 0);
}

struct frame_column *frame_find_next(const struct frame *f, const char *name,
                                     size_t *next)
{
    struct frame_column *found = find_from(f, name, *next);

    if (!found)
        found = find_from(f, name, 0);
    if (found)
        *next = (size_t)(found - f->columns) + 1;
    return found;
}

void frame_names_of(const struct frame *f, const bool *shown, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < f->n_columns; i++) {
        const char *name = f->columns[i].name;
        size_t n = strlen(name);

        if (shown && !shown[i])
            continue;
        if (used + n + 3 > size) {
            if (used + sizeof ", ..." <= size)
                strcpy(text + used, used > 0 ? ", ..." : "...");
            return;
        }
        if (used > 0)
            used += strlen(strcpy(text + used, ", "));
        memcpy(text + used, name, n + 1);
        used += n;
    }
}

void frame_names(const struct frame *f, char *text, size_t size)
{
    frame_names_of(f, NULL, text, size);
}

size_t frame_element_bytes(const struct frame_column *c)
{
    switch (c->kind) {
    case FRAME_TEXT:
        return 1;
    case FRAME_WORDS:
    case FRAME_WORD_LISTS:
        return sizeof(int32_t);
    default:
        return raytrain_dtype_size(c->row.dtype);
    }
}

size_t frame_row_bytes(const struct frame_column *c)
{
    size_t bytes = frame_element_bytes(c);

    for (int i = 0; c->kind == FRAME_NUMBERS && i < c->row.ndim; i++)
        bytes *= (size_t)c->row.shape[i];
    return bytes;
}

/* *memory has n elements of `width` bytes, and *room bytes. */
static bool spare_grow(struct frame_spare *spare, void **memory, size_t *room,
                       uint64_t n, size_t width)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(n, (uint64_t)width, &bytes) ||
        bytes > SIZE_MAX - ALIGNMENT)
        return false;
    if (*memory && bytes <= *room)
        return true;
    spare_give(spare, *memory, *room);
    *memory = spare_take(spare, (size_t)bytes, room);
    if (*memory)
        return true;
    *room = ((size_t)bytes / ALIGNMENT + 1) * ALIGNMENT;
    *memory = aligned_alloc(ALIGNMENT, *room);
    if (!*memory)
        *room = 0;
    return *memory != NULL;
}

int frame_reserve(struct frame_column *c, uint64_t rows, uint64_t elements,
                  struct error *err)
{
    bool fixed = c->kind == FRAME_NUMBERS || c->kind == FRAME_WORDS;
    size_t width = fixed ? frame_row_bytes(c) : frame_element_bytes(c);
    uint64_t n = fixed ? rows : elements;

    if (c->region && n > c->data_room / (width ? width : 1))
        data_free(c);
    if (!spare_grow(c->spare, (void **)&c->data, &c->data_room, n, width))
        return column_no_memory(c, rows, err);
    if (!fixed && (rows == UINT64_MAX ||
                   !spare_grow(c->spare, (void **)&c->offsets, &c->offsets_room,
                               rows + 1, sizeof *c->offsets)))
        return column_no_memory(c, rows, err);
    if (c->kind == FRAME_SPARSE && !spare_grow(c->spare, (void **)&c->indices,
                                               &c->indices_room, n, sizeof *c->indices))
        return column_no_memory(c, rows, err);
    return 0;
}

/* The bytes that the column lacks for `rows` rows, in whole cache lines; UINT64_MAX:
 * too many. */
static uint64_t bytes_missing(const struct frame_column *c, uint64_t rows)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(rows, (uint64_t)frame_row_bytes(c), &bytes) ||
        bytes > UINT64_MAX / 2)
        return UINT64_MAX;
    return c->data && bytes <= c->data_room ? 0 : (bytes / ALIGNMENT + 1) * ALIGNMENT;
}

/* Give the column the next part of the region. */
static void part_assign(struct frame_column *c, struct frame_region *region,
                        unsigned char **at, uint64_t bytes)
{
    data_free(c);
    frame_region_hold(region);
    c->region = region;
    c->data = *at;
    c->data_room = bytes;
    *at += bytes;
}

/* Give each column that lacks memory a part of a new region, if there is memory for
 * it. */
static void region_divide(struct frame frames[], size_t n, uint64_t rows)
{
    struct frame_region *region;
    uint64_t sum = 0, bytes;
    unsigned char *at;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < frames[i].n_columns; k++)
            if (__builtin_add_overflow(sum, bytes_missing(&frames[i].columns[k], rows),
                                       &sum))
                return;
    if (sum < REGION_BYTES || sum > SIZE_MAX / 2 ||
        !(region = frame_region_create(sum, &at)))
        return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < frames[i].n_columns; k++)
            if ((bytes = bytes_missing(&frames[i].columns[k], rows)) > 0)
                part_assign(&frames[i].columns[k], region, &at, bytes);
    frame_region_release(region);
}

int frame_reserve_together(struct frame frames[], size_t n, uint64_t rows,
                           struct error *err)
{
    region_divide(frames, n, rows);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < frames[i].n_columns; k++)
            if (frame_reserve(&frames[i].columns[k], rows, 0, err) < 0)
                return -1;
    return 0;
}

void frame_clear(struct frame *f)
{
    for (size_t i = 0; i < f->n_columns; i++)
        frame_column_free(&f->columns[i]);
    free(f->columns);
    spare_destroy(f->spare);
    *f = (struct frame)FRAME_INIT;
}
