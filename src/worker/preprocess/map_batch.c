/*
 * map_batch.c - see map_batch.h. In order: columns that the function reads;
 * declarations; columns of the result; what comes before and after a call of the
 * function.
 */
#include "preprocess/map_batch.h"

#include <stdlib.h>
#include <string.h>

#include "frame/column_view.h"

/* ---- Columns that the function reads ---- */

static const struct frame_column *batch_column_find(raytrain_batch *batch,
                                                    const char *name)
{
    const struct frame_column *c = frame_find(batch->frame, name);
    char names[512];

    if (!c) {
        frame_names(batch->frame, names, sizeof names);
        error_set(&batch->error, RAYTRAIN_ENOTFOUND,
                  "there is no column \"%s\"; found: %s", name, names);
    }
    return c;
}

int map_batch_column(raytrain_batch *batch, const char *name, raytrain_tensor *tensor)
{
    const struct frame_column *c = batch_column_find(batch, name);

    if (!c)
        return -1;
    if (column_view_tensor(c, batch->frame->rows, tensor) == 0)
        return 0;
    return error_set(&batch->error, RAYTRAIN_ETYPE,
                     "the rows of column \"%s\" are not of one size: "
                     "raytrain_batch_ragged() gets them",
                     name);
}

const struct dictionary *map_batch_words(raytrain_batch *batch, const char *name)
{
    const struct frame_column *c = batch_column_find(batch, name);

    if (c && c->kind != FRAME_WORDS)
        error_set(&batch->error, RAYTRAIN_ETYPE, "column \"%s\" has no words", name);
    return c && c->kind == FRAME_WORDS ? c->words : NULL;
}

int map_batch_ragged(raytrain_batch *batch, const char *name, raytrain_ragged *out)
{
    const struct frame_column *c = batch_column_find(batch, name);

    if (!c)
        return -1;
    if (column_view_ragged(c, batch->frame->rows, out) == 0)
        return 0;
    return error_set(&batch->error, RAYTRAIN_ETYPE,
                     "column \"%s\" is not a column of texts or of sparse vectors",
                     name);
}

/* ---- Declarations ---- */

static struct map_output *output_find(const raytrain_batch *batch, const char *name)
{
    for (size_t i = 0; i < batch->n; i++)
        if (!strcmp(batch->outputs[i].column.name, name))
            return &batch->outputs[i];
    return NULL;
}

static struct map_output *output_declare(raytrain_batch *batch,
                                         const struct frame_column *like)
{
    struct map_output *grown =
        reallocarray(batch->outputs, batch->n + 1, sizeof *grown);

    if (!grown) {
        error_no_memory(&batch->error);
        return NULL;
    }
    batch->outputs = grown;
    grown += batch->n++;
    *grown = (struct map_output){.column = *like};
    return grown;
}

static bool same_type(const struct frame_column *a, const struct frame_column *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind != FRAME_NUMBERS && a->kind != FRAME_SPARSE)
        return true;
    return a->row.dtype == b->row.dtype && a->row.ndim == b->row.ndim &&
           !memcmp(a->row.shape, b->row.shape,
                   (size_t)a->row.ndim * sizeof *a->row.shape);
}

/* Find the output of this name and type. It must not have been made in this call. */
static struct map_output *map_output_take(raytrain_batch *batch,
                                          const struct frame_column *like, bool removes)
{
    struct map_output *o = output_find(batch, like->name);
    struct error *err = &batch->error;

    if (o && o->done) {
        error_set(err, RAYTRAIN_EINVAL, "column \"%s\" is made or removed twice",
                  like->name);
        return NULL;
    }
    if (!o && !batch->declares) {
        error_set(err, RAYTRAIN_EINVAL,
                  "column \"%s\" is %s in a batch, but was not when the function was "
                  "called with no rows",
                  like->name, removes ? "removed" : "made");
        return NULL;
    }
    if (o && (o->removes != removes || (!removes && !same_type(&o->column, like)))) {
        error_set(err, RAYTRAIN_ETYPE,
                  "column \"%s\" has another type or shape than when the function was "
                  "called with no rows",
                  like->name);
        return NULL;
    }
    if (!o && (o = output_declare(batch, like)))
        o->removes = removes;
    if (o)
        o->done = true;
    return o;
}

static int name_set(raytrain_batch *batch, struct frame_column *like, const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n > RAYTRAIN_NAME_MAX)
        return error_set(&batch->error, RAYTRAIN_EINVAL,
                         "the name of a column has 1 to %d bytes", RAYTRAIN_NAME_MAX);
    memcpy(like->name, name, n + 1);
    return 0;
}

/* Reserve memory of the output for the rows of the batch; never NULL. */
static int output_reserve(raytrain_batch *batch, struct map_output *o,
                          uint64_t elements)
{
    uint64_t rows = batch->frame->rows;

    o->column.spare = batch->frame->spare;
    return frame_reserve(&o->column, rows > 0 ? rows : 1, elements, &batch->error);
}

/* ---- Columns of the result ---- */

static int row_check(raytrain_batch *batch, const char *name,
                     const raytrain_tensor *row)
{
    uint64_t n = raytrain_dtype_size(row->dtype);
    bool fits = row->ndim >= 0 && row->ndim < RAYTRAIN_MAX_DIMS;

    if (n == 0)
        return error_set(&batch->error, RAYTRAIN_EINVAL,
                         "column \"%s\" has an unknown type, %d", name,
                         (int)row->dtype);
    for (int i = 0; fits && i < row->ndim; i++)
        fits = row->shape[i] > 0 && !__builtin_mul_overflow(n, row->shape[i], &n) &&
               n <= SIZE_MAX / 2;
    if (fits)
        return 0;
    return error_set(&batch->error, RAYTRAIN_EINVAL,
                     "the rows of column \"%s\" have at most %d dimensions, none of "
                     "them 0, and fit into memory",
                     name, RAYTRAIN_MAX_DIMS - 1);
}

int map_batch_output(raytrain_batch *batch, const char *name,
                     const raytrain_tensor *row, void **data)
{
    struct frame_column like = {.kind = FRAME_NUMBERS, .row = *row};
    struct map_output *o;

    if (row_check(batch, name, row) < 0 || name_set(batch, &like, name) < 0 ||
        !(o = map_output_take(batch, &like, false)) || output_reserve(batch, o, 0) < 0)
        return -1;
    *data = o->column.data;
    return 0;
}

/* In the declaring call, set the words of the output; in others, check that they are
 * the same. */
static int words_match(raytrain_batch *batch, struct map_output *o,
                       const char *const words[], size_t n)
{
    bool same = batch->declares || (o->words && dictionary_count(o->words) == n);
    int32_t code;
    size_t bytes;

    if (batch->declares && !(o->words = dictionary_create()))
        return error_no_memory(&batch->error);
    for (size_t i = 0; same && i < n; i++) {
        if (batch->declares &&
            dictionary_add(o->words, words[i], strlen(words[i]), &code, &batch->error))
            return -1;
        if (batch->declares && (size_t)code != i)
            return error_set(&batch->error, RAYTRAIN_EINVAL,
                             "column \"%s\" has the word \"%.80s\" twice",
                             o->column.name, words[i]);
        same = !strcmp(dictionary_word(o->words, i, &bytes), words[i]);
    }
    o->column.words = o->words;
    if (same)
        return 0;
    return error_set(&batch->error, RAYTRAIN_EINVAL,
                     "column \"%s\" has other words than when the function was called "
                     "with no rows",
                     o->column.name);
}

int map_batch_output_words(raytrain_batch *batch, const char *name,
                           const char *const words[], size_t n, int32_t **codes)
{
    struct frame_column like = {.kind = FRAME_WORDS};
    struct map_output *o;

    if (n > DICTIONARY_MAX)
        return error_set(&batch->error, RAYTRAIN_EFIT, "column \"%s\": too many words",
                         name);
    if (name_set(batch, &like, name) < 0 ||
        !(o = map_output_take(batch, &like, false)) ||
        words_match(batch, o, words, n) < 0 || output_reserve(batch, o, 0) < 0)
        return -1;
    *codes = (int32_t *)(void *)o->column.data;
    return 0;
}

static bool indices_rise(const raytrain_ragged *rows)
{
    for (uint64_t r = 0; rows->length > 0 && r < rows->rows; r++)
        for (uint64_t k = rows->offsets[r]; k < rows->offsets[r + 1]; k++)
            if (rows->indices[k] >= rows->length ||
                (k > rows->offsets[r] && rows->indices[k] <= rows->indices[k - 1]))
                return false;
    return true;
}

static int ragged_check(raytrain_batch *batch, const char *name,
                        const raytrain_ragged *rows)
{
    struct error *err = &batch->error;
    bool rises = true;
    uint64_t n;

    if (rows->rows != batch->frame->rows)
        return error_set(err, RAYTRAIN_EINVAL,
                         "column \"%s\" has %llu rows, and the batch %llu: a mapper "
                         "keeps the number of rows",
                         name, (unsigned long long)rows->rows,
                         (unsigned long long)batch->frame->rows);
    if (rows->rows == 0)
        return 0;
    rises = rows->offsets && rows->offsets[0] == 0;
    for (uint64_t r = 0; rises && r < rows->rows; r++)
        rises = rows->offsets[r] <= rows->offsets[r + 1];
    n = rises ? rows->offsets[rows->rows] : 0;
    if (!rises || (n > 0 && !rows->values))
        return error_set(err, RAYTRAIN_EINVAL,
                         "column \"%s\": the offsets begin with 0 and do not fall, and "
                         "values has as many elements as they say",
                         name);
    if ((n == 0 || (rows->length > 0) == (rows->indices != NULL)) && indices_rise(rows))
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "column \"%s\": the indices of a sparse vector rise, and are below "
        "its length; texts have none",
        name);
}

int map_batch_put_ragged(raytrain_batch *batch, const char *name,
                         const raytrain_ragged *rows)
{
    bool sparse = rows->length > 0;
    struct frame_column like = {.kind = sparse ? FRAME_SPARSE : FRAME_TEXT};
    struct map_output *o;
    uint64_t n;

    if (sparse) {
        like.row = (raytrain_tensor){.dtype = rows->dtype, .ndim = 1};
        like.row.shape[0] = rows->length;
    }
    if ((sparse && row_check(batch, name, &like.row) < 0) ||
        ragged_check(batch, name, rows) < 0 || name_set(batch, &like, name) < 0 ||
        !(o = map_output_take(batch, &like, false)))
        return -1;
    n = rows->rows > 0 ? rows->offsets[rows->rows] : 0;
    if (output_reserve(batch, o, n) < 0)
        return -1;
    o->column.offsets[0] = 0;
    if (rows->rows > 0)
        memcpy(o->column.offsets, rows->offsets,
               (size_t)(rows->rows + 1) * sizeof *rows->offsets);
    if (n > 0)
        memcpy(o->column.data, rows->values, n * frame_element_bytes(&o->column));
    if (n > 0 && sparse)
        memcpy(o->column.indices, rows->indices, n * sizeof *rows->indices);
    o->column.n_data = n;
    return 0;
}

int map_batch_remove(raytrain_batch *batch, const char *name)
{
    struct frame_column like = {.kind = FRAME_NUMBERS};

    if (!batch_column_find(batch, name) || name_set(batch, &like, name) < 0)
        return -1;
    return map_output_take(batch, &like, true) ? 0 : -1;
}

/* ---- Before and after a call of the function ---- */

void map_batch_begin(raytrain_batch *batch, struct frame *frame, bool declares)
{
    batch->frame = frame;
    batch->declares = declares;
    batch->error.code = RAYTRAIN_OK;
    batch->error.text[0] = '\0';
    for (size_t i = 0; i < batch->n; i++)
        batch->outputs[i].done = false;
}

static int output_codes_check(const struct map_output *o, uint64_t rows,
                              struct error *err)
{
    const int32_t *codes = (const int32_t *)(const void *)o->column.data;
    int64_t n = (int64_t)dictionary_count(o->words);

    for (uint64_t i = 0; i < rows; i++)
        if (codes[i] < -1 || codes[i] >= n)
            return error_set(err, RAYTRAIN_EINVAL,
                             "column \"%s\" got the code %d, but has %lld words",
                             o->column.name, (int)codes[i], (long long)n);
    return 0;
}

int map_batch_check(raytrain_batch *batch, struct error *err)
{
    for (size_t i = 0; i < batch->n; i++) {
        const struct map_output *o = &batch->outputs[i];

        if (!o->done)
            return error_set(err, RAYTRAIN_EINVAL,
                             "column \"%s\" was not %s, but was when the function was "
                             "called with no rows%s%s",
                             o->column.name, o->removes ? "removed" : "made",
                             batch->error.code ? ": " : "", batch->error.text);
        if (o->words && !batch->declares &&
            output_codes_check(o, batch->frame->rows, err) < 0)
            return -1;
    }
    return 0;
}

static int output_put(struct map_output *o, struct frame *f,
                      struct frame_column *column, struct error *err)
{
    struct frame_column *there;

    if (!o->removes)
        return frame_put(f, column, err);
    there = frame_find(f, o->column.name);
    if (there)
        frame_remove(f, (size_t)(there - f->columns));
    return 0;
}

int map_batch_put(raytrain_batch *batch, struct error *err)
{
    for (size_t i = 0; i < batch->n; i++)
        if (output_put(&batch->outputs[i], batch->frame, &batch->outputs[i].column,
                       err) < 0)
            return -1;
    return 0;
}

int map_batch_put_schema(const raytrain_batch *batch, struct frame *schema,
                         struct error *err)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct frame_column like = {.kind = batch->outputs[i].column.kind,
                                    .row = batch->outputs[i].column.row,
                                    .words = batch->outputs[i].words};

        memcpy(like.name, batch->outputs[i].column.name, sizeof like.name);
        if (output_put(&batch->outputs[i], schema, &like, err) < 0)
            return -1;
    }
    return 0;
}

void map_batch_end(raytrain_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        frame_column_free(&batch->outputs[i].column);
}

void map_batch_clear(raytrain_batch *batch)
{
    map_batch_end(batch);
    for (size_t i = 0; i < batch->n; i++)
        dictionary_destroy(batch->outputs[i].words);
    free(batch->outputs);
    batch->outputs = NULL;
    batch->n = 0;
}
