/* feature_rows.c - see feature_rows.h. In order: finding the column of each feature,
 * by name and without names; batches. */
#include "gbdt/feature_rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/reals.h"

#define NO_FEATURE UINT32_MAX

/* A column that has features. */
struct source {
    char *name;
    bool sparse;
    raytrain_dtype dtype;
    uint64_t elements; /* in a row */
    uint32_t *places;  /* for each element, its feature or NO_FEATURE */
};

struct feature_rows {
    struct source *sources;
    size_t n_sources;
    uint64_t features;
    raytrain_dtype dtype;
    bool sparse;     /* one of the sources is sparse */
    double *scratch; /* values of a column */
    size_t scratch_room;
    size_t next;   /* frame_find_next() */
    int64_t fault; /* feature_rows_fault() */
};

/* ---- Which column has which feature ---- */

static bool is_number_column(const struct frame_column *c)
{
    return (c->kind == FRAME_NUMBERS || c->kind == FRAME_SPARSE) &&
           c->row.dtype != RAYTRAIN_BYTES;
}

static bool is_vector(const struct frame_column *c)
{
    return is_number_column(c) && c->row.ndim > 0;
}

static uint64_t elements_of(const struct frame_column *c)
{
    uint64_t n = 1;

    for (int i = 0; i < c->row.ndim; i++)
        n *= c->row.shape[i];
    return n;
}

static int number_check(const struct frame_column *c, const struct feature_list *list,
                        struct error *err)
{
    char such[ERROR_TEXT_MAX / 2] = "";

    if (is_number_column(c))
        return 0;
    if (list->ds)
        dataset_odd_word(list->ds, list->config, c->name, such, sizeof such);
    return error_set(
        err, RAYTRAIN_ETYPE,
        "the feature \"%s\" of the model is a number, but the column \"%s\" "
        "of the rows is one of %s%s; make numbers of them as in the training, "
        "by the same preprocessors",
        c->name, c->name,
        c->kind == FRAME_WORDS        ? "words"
        : c->kind == FRAME_TEXT       ? "texts"
        : c->kind == FRAME_WORD_LISTS ? "lists of words"
                                      : "bytes",
        such);
}

static int missing_fail(const struct frame *schema, const char *feature,
                        struct error *err)
{
    char names[512];

    frame_names(schema, names, sizeof names);
    return error_set(
        err, RAYTRAIN_ENOTFOUND,
        "the rows have no column for the feature \"%s\" of the model; their "
        "columns are: %s",
        feature, names);
}

static struct source *source_add(struct feature_rows *f, const struct frame_column *c,
                                 struct error *err)
{
    struct source *s;

    for (size_t i = 0; i < f->n_sources; i++)
        if (strcmp(f->sources[i].name, c->name) == 0)
            return &f->sources[i];
    s = reallocarray(f->sources, f->n_sources + 1, sizeof *s);
    if (s) {
        f->sources = s;
        s += f->n_sources;
        *s = (struct source){.name = strdup(c->name),
                             .sparse = c->kind == FRAME_SPARSE,
                             .dtype = c->row.dtype,
                             .elements = elements_of(c)};
        s->places = reallocarray(NULL, s->elements + 1, sizeof *s->places);
        f->n_sources++;
        f->sparse = f->sparse || s->sparse;
    }
    if (!s || !s->name || !s->places) {
        error_no_memory(err);
        return NULL;
    }
    for (uint64_t k = 0; k < s->elements; k++)
        s->places[k] = NO_FEATURE;
    return s;
}

/* An index of the columns by name. */
struct names_index {
    const struct frame_column **list;
    size_t n;
};

static int by_feature_name(const void *a, const void *b)
{
    return strcmp((*(const struct frame_column *const *)a)->name,
                  (*(const struct frame_column *const *)b)->name);
}

static const struct frame_column *named_column_find(const struct names_index *index,
                                                    const char *name, size_t length)
{
    struct frame_column key;
    const struct frame_column *wanted = &key, **found;

    if (length >= sizeof key.name)
        return NULL;
    memcpy(key.name, name, length);
    key.name[length] = '\0';
    found =
        bsearch(&wanted, index->list, index->n, sizeof *index->list, by_feature_name);
    return found ? *found : NULL;
}

/* "x_12" is element 12 of a column "x" of vectors. Dense vectors that are shorter do
 * not have it; in sparse ones it is missing in each row. */
static const struct frame_column *find_element(const struct names_index *index,
                                               const char *feature, uint64_t *element)
{
    const char *line = strrchr(feature, '_');
    const struct frame_column *c;
    char *end;

    if (!line || !isdigit((unsigned char)line[1]) || (line[1] == '0' && line[2]))
        return NULL;
    *element = strtoull(line + 1, &end, 10);
    c = *end ? NULL : named_column_find(index, feature, (size_t)(line - feature));
    if (!c || !is_vector(c) || (c->kind != FRAME_SPARSE && *element >= elements_of(c)))
        return NULL;
    return c;
}

/* True if the name of the column is that of a feature, as in the training
 * (columns.h). */
static bool is_single(const struct frame_column *c)
{
    return !is_vector(c) || c->kind == FRAME_SPARSE || elements_of(c) == 1;
}

/* Find the place of feature `i` of the model. */
static int feature_place(struct feature_rows *f, const struct frame *schema,
                         const struct names_index *index,
                         const struct feature_list *list, uint32_t i, struct error *err)
{
    const char *feature = list->names[i];
    const struct frame_column *c = named_column_find(index, feature, strlen(feature));
    uint64_t element = 0;
    struct source *s;

    if (!c || !is_single(c)) {
        c = find_element(index, feature, &element);
        if (!c)
            return missing_fail(schema, feature, err);
    }
    if (number_check(c, list, err) < 0 || !(s = source_add(f, c, err)))
        return -1;
    if (element < s->elements)
        s->places[element] = i;
    return 0;
}

/* Refuse dense vectors that are longer than in the training. For sparse ones only the
 * rows show it. */
static int elements_check(const struct source *s, struct error *err)
{
    for (uint64_t k = 0; k < s->elements && !s->sparse; k++)
        if (s->places[k] == NO_FEATURE)
            return error_set(
                err, RAYTRAIN_EINVAL,
                "the column \"%s\" of the rows has %llu numbers a row, but "
                "the model has no feature \"%s_%llu\"; the rows must have "
                "vectors as in the training",
                s->name, (unsigned long long)s->elements, s->name,
                (unsigned long long)k);
    return 0;
}

static int places_by_names(struct feature_rows *f, const struct frame *schema,
                           const struct feature_list *list, struct error *err)
{
    struct names_index index = {.n = schema->n_columns};
    int rc = 0;

    index.list = reallocarray(NULL, index.n + 1, sizeof *index.list);
    if (!index.list)
        return error_no_memory(err);
    for (size_t i = 0; i < index.n; i++)
        index.list[i] = &schema->columns[i];
    qsort(index.list, index.n, sizeof *index.list, by_feature_name);
    for (uint64_t i = 0; i < list->n && rc == 0; i++)
        rc = feature_place(f, schema, &index, list, (uint32_t)i, err);
    for (size_t i = 0; i < f->n_sources && rc == 0; i++)
        rc = elements_check(&f->sources[i], err);
    free(index.list);
    f->features = list->n;
    return rc;
}

/* ---- Without names ---- */

/* The column of vectors; NULL if there is none, or more than one. */
static const struct frame_column *only_vector(const struct frame *schema)
{
    const struct frame_column *found = NULL;

    for (size_t i = 0; i < schema->n_columns; i++) {
        if (!is_vector(&schema->columns[i]))
            continue;
        if (found)
            return NULL;
        found = &schema->columns[i];
    }
    return found;
}

/* Make the elements of a column the next features, up to the number of the model. */
static int column_place(struct feature_rows *f, const struct frame_column *c,
                        const struct feature_list *list, struct error *err)
{
    struct source *s = source_add(f, c, err);

    if (!s)
        return -1;
    for (uint64_t k = 0; k < s->elements; k++)
        if (list->n == 0 || f->features + k < list->n)
            s->places[k] = (uint32_t)(f->features + k);
    f->features += s->elements;
    return 0;
}

static int places_by_order(struct feature_rows *f, const struct frame *schema,
                           const struct feature_list *list, struct error *err)
{
    const struct frame_column *vector = only_vector(schema);
    bool is_open = vector && vector->kind == FRAME_SPARSE;

    for (size_t i = 0; i < schema->n_columns; i++) {
        const struct frame_column *c = &schema->columns[i];

        if (vector ? c != vector
                   : !is_number_column(c) ||
                         (list->label && strcmp(c->name, list->label) == 0))
            continue;
        if (column_place(f, c, list, err) < 0)
            return -1;
    }
    if (f->features == 0)
        return error_set(err, RAYTRAIN_EINVAL, "the rows have no columns of numbers");
    if (list->n > 0 && f->features != list->n && !is_open)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "the rows have %llu features, and the model was trained on %llu; "
            "since it has no names for them, the rows must have exactly "
            "those columns",
            (unsigned long long)f->features, (unsigned long long)list->n);
    if (list->n > 0)
        f->features = list->n;
    return 0;
}

/* ---- Life ---- */

void feature_rows_unused(const struct feature_rows *f, const struct frame *schema,
                         bool *unused)
{
    size_t next = 0;

    for (size_t i = 0; i < schema->n_columns; i++)
        unused[i] = true;
    for (size_t i = 0; i < f->n_sources; i++) {
        const struct frame_column *c =
            frame_find_next(schema, f->sources[i].name, &next);

        if (c)
            unused[c - schema->columns] = false;
    }
}

int64_t feature_rows_fault(const struct feature_rows *f)
{
    return f->fault;
}

int feature_rows_create(const struct frame *schema, const struct feature_list *list,
                        raytrain_dtype dtype, struct feature_rows **out,
                        struct error *err)
{
    struct feature_rows *f = calloc(1, sizeof *f);
    int rc;

    if (!f)
        return error_no_memory(err);
    f->dtype = dtype;
    f->fault = -1;
    rc = list->names ? places_by_names(f, schema, list, err)
                     : places_by_order(f, schema, list, err);
    if (rc == 0 && f->features >= NO_FEATURE)
        rc = error_set(err, RAYTRAIN_ENOTSUP, "there are too many features");
    if (rc < 0) {
        feature_rows_destroy(f);
        return -1;
    }
    *out = f;
    return 0;
}

uint64_t feature_rows_features(const struct feature_rows *f)
{
    return f->features;
}

void feature_rows_destroy(struct feature_rows *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n_sources; i++) {
        free(f->sources[i].name);
        free(f->sources[i].places);
    }
    free(f->sources);
    free(f->scratch);
    free(f);
}

/* ---- Batches ---- */

static void feature_value_set(struct gbdt_rows *out, uint64_t i, double value)
{
    if (out->dtype == RAYTRAIN_FLOAT64)
        ((double *)out->values)[i] = value;
    else
        ((float *)out->values)[i] = (float)value;
}

/* Put the values of a column of the batch into the scratch of f. NULL on failure. */
static const struct frame_column *column_convert(struct feature_rows *f,
                                                 const struct source *s,
                                                 const struct frame *batch,
                                                 struct error *err)
{
    const struct frame_column *c = frame_find_next(batch, s->name, &f->next);
    uint64_t n;

    if (!c || !is_number_column(c) || c->row.dtype != s->dtype) {
        error_set(err, RAYTRAIN_EINVAL,
                  "the column \"%s\" is missing, or has changed its type or shape",
                  s->name);
        return NULL;
    }
    n = s->sparse ? c->offsets[batch->rows] : batch->rows * s->elements;
    if (n > f->scratch_room) {
        free(f->scratch);
        f->scratch_room = 0;
        f->scratch = reallocarray(NULL, n, sizeof *f->scratch);
        if (!f->scratch) {
            error_no_memory(err);
            return NULL;
        }
        f->scratch_room = n;
    }
    for (uint64_t at = 0; at < n; at += REALS_BLOCK)
        reals_load(c, at, n - at < REALS_BLOCK ? n - at : REALS_BLOCK, f->scratch + at);
    return c;
}

static int dense_fill(struct feature_rows *f, const struct frame *batch,
                      struct gbdt_rows *out, struct error *err)
{
    out->n_values = batch->rows * f->features;
    out->values = calloc(out->n_values + 1, raytrain_dtype_size(f->dtype));
    if (!out->values)
        return error_no_memory(err);
    for (size_t i = 0; i < f->n_sources; i++) {
        const struct source *s = &f->sources[i];

        if (!column_convert(f, s, batch, err))
            return -1;
        for (uint64_t row = 0; row < batch->rows; row++)
            for (uint64_t k = 0; k < s->elements; k++)
                if (s->places[k] != NO_FEATURE)
                    feature_value_set(out, row * f->features + s->places[k],
                                      f->scratch[row * s->elements + k]);
    }
    return 0;
}

/* An element of a sparse row, for sorting. */
struct element {
    uint32_t feature;
    double value;
};

static int by_feature(const void *a, const void *b)
{
    uint32_t x = ((const struct element *)a)->feature;
    uint32_t y = ((const struct element *)b)->feature;

    return (x > y) - (x < y);
}

static int row_no_feature(struct feature_rows *f, const struct source *s, uint64_t row,
                          uint64_t element, struct error *err)
{
    f->fault = (int64_t)row;
    return error_set(err, RAYTRAIN_EINVAL,
                     "the row has an element \"%s_%llu\", which is not among the %llu "
                     "features of the model",
                     s->name, (unsigned long long)element,
                     (unsigned long long)f->features);
}

/* Visit the elements of all sources. With `all` NULL, count those of each row in
 * offsets; otherwise store them, each row's next one at offsets[row]. */
static int elements_walk(struct feature_rows *f, const struct frame *batch,
                         uint64_t *offsets, struct element *all, struct error *err)
{
    for (size_t i = 0; i < f->n_sources; i++) {
        const struct source *s = &f->sources[i];
        const struct frame_column *c = column_convert(f, s, batch, err);

        if (!c)
            return -1;
        for (uint64_t row = 0; row < batch->rows; row++) {
            uint64_t first = s->sparse ? c->offsets[row] : row * s->elements;
            uint64_t end = s->sparse ? c->offsets[row + 1] : first + s->elements;

            for (uint64_t k = first; k < end; k++) {
                uint64_t at = s->sparse ? c->indices[k] : k - first;
                uint32_t place = at < s->elements ? s->places[at] : NO_FEATURE;

                if (place == NO_FEATURE)
                    return row_no_feature(f, s, row, at, err);
                if (all)
                    all[offsets[row]] = (struct element){place, f->scratch[k]};
                offsets[row]++;
            }
        }
    }
    return 0;
}

/* Turn the counts of all rows into the offsets at which each row begins. */
static void offsets_sum(uint64_t *offsets, uint64_t rows)
{
    uint64_t sum = 0;

    for (uint64_t row = 0; row <= rows; row++) {
        uint64_t n = row < rows ? offsets[row] : 0;

        offsets[row] = sum;
        sum += n;
    }
}

/* Sort each row, and split its elements into indices and values. */
static void elements_store(struct gbdt_rows *out, struct element *all)
{
    for (uint64_t row = 0; row < out->n; row++) {
        uint64_t first = out->offsets[row], n = out->offsets[row + 1] - first;
        bool rises = true;

        for (uint64_t k = 1; k < n && rises; k++)
            rises = all[first + k - 1].feature < all[first + k].feature;
        if (!rises)
            qsort(all + first, n, sizeof *all, by_feature);
    }
    for (uint64_t k = 0; k < out->n_values; k++) {
        out->indices[k] = all[k].feature;
        feature_value_set(out, k, all[k].value);
    }
}

static int sparse_fill(struct feature_rows *f, const struct frame *batch,
                       struct gbdt_rows *out, struct error *err)
{
    uint64_t rows = batch->rows, n;
    uint64_t *next = calloc(rows + 1, sizeof *next);
    struct element *all = NULL;
    int rc = -1;

    out->offsets = calloc(rows + 1, sizeof *out->offsets);
    if (!next || !out->offsets) {
        error_no_memory(err);
        goto end;
    }
    if (elements_walk(f, batch, out->offsets, NULL, err) < 0)
        goto end;
    offsets_sum(out->offsets, rows);
    n = out->n_values = out->offsets[rows];
    memcpy(next, out->offsets, (rows + 1) * sizeof *next);
    all = reallocarray(NULL, n + 1, sizeof *all);
    out->indices = reallocarray(NULL, n + 1, sizeof *out->indices);
    out->values = reallocarray(NULL, n + 1, raytrain_dtype_size(f->dtype));
    if (!all || !out->indices || !out->values) {
        error_no_memory(err);
        goto end;
    }
    if (elements_walk(f, batch, next, all, err) < 0)
        goto end;
    elements_store(out, all);
    rc = 0;
end:
    free(next);
    free(all);
    return rc;
}

int feature_rows_fill(struct feature_rows *f, const struct frame *batch,
                      struct gbdt_rows *out, struct error *err)
{
    f->fault = -1;
    out->n = out->all = batch->rows;
    out->first = 0;
    out->sparse = f->sparse;
    out->dtype = f->dtype;
    out->features = f->features;
    return f->sparse ? sparse_fill(f, batch, out, err) : dense_fill(f, batch, out, err);
}
