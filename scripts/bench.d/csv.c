/*
 * csv.c - csv.sh: makes files of text, and reads them with raytrain's parsers into
 * columns in memory.
 *
 *     csv make numbers|words|libsvm FILE BYTES
 *     csv read csv|libsvm FILE       prints milliseconds of the core
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/csv_file.h"
#include "text/libsvm.h"

/* ---- Columns in memory ---- */

struct memory {
    uint64_t rows, bytes;
    struct frame frame;
    uint64_t room[64]; /* elements of sparse columns */
};

static int columns_begin(void *arg, const struct frame *columns, uint64_t rows,
                         struct error *err)
{
    struct memory *m = arg;

    frame_clear(&m->frame);
    for (size_t i = 0; i < columns->n_columns; i++) {
        size_t index;

        if (frame_add(&m->frame, &columns->columns[i], &index, err) < 0 ||
            frame_reserve(&m->frame.columns[i], rows, 0, err) < 0)
            return -1;
        m->room[i] = 0;
    }
    m->frame.rows = rows;
    return 0;
}

/* Memory for n more elements. */
static int sparse_grow(struct memory *m, size_t i, uint64_t n)
{
    struct frame_column *c = &m->frame.columns[i];

    if (c->n_data + n > m->room[i]) {
        m->room[i] = 2 * (c->n_data + n);
        c->data = realloc(c->data, m->room[i] * sizeof(float));
        c->indices = realloc(c->indices, m->room[i] * sizeof(uint32_t));
    }
    return c->data && c->indices ? 0 : -1;
}

static int sparse_put(struct memory *m, size_t i, uint64_t first, uint64_t rows,
                      const struct frame_column *from)
{
    struct frame_column *c = &m->frame.columns[i];

    if (sparse_grow(m, i, from->n_data) < 0)
        return -1;
    memcpy(c->data + c->n_data * sizeof(float), from->data,
           from->n_data * sizeof(float));
    memcpy(c->indices + c->n_data, from->indices, from->n_data * sizeof(uint32_t));
    for (uint64_t r = 0; r <= rows; r++)
        c->offsets[first + r] = c->n_data + from->offsets[r];
    c->n_data += from->n_data;
    return 0;
}

static int columns_put(void *arg, uint64_t first, const struct frame *rows,
                       struct error *err)
{
    struct memory *m = arg;

    for (size_t i = 0; i < rows->n_columns; i++) {
        const struct frame_column *from = &rows->columns[i];
        size_t width = frame_row_bytes(from);

        if (from->kind != FRAME_SPARSE)
            memcpy(m->frame.columns[i].data + first * width, from->data,
                   rows->rows * width);
        else if (sparse_put(m, i, first, rows->rows, from) < 0)
            return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    return 0;
}

static int columns_end(void *arg, const struct frame *columns, int32_t *const codes[],
                       struct error *err)
{
    struct memory *m = arg;

    (void)err;
    for (size_t i = 0; i < columns->n_columns; i++) {
        int32_t *data = (int32_t *)(void *)m->frame.columns[i].data;

        for (uint64_t r = 0; codes[i] && r < m->frame.rows; r++)
            data[r] = data[r] < 0 ? -1 : codes[i][data[r]];
    }
    return 0;
}

static int read_file(const char *format, const char *path)
{
    static const struct row_sink sink = {columns_begin, columns_put, columns_end};
    const struct text_source source = {.path = path};
    const struct csv_options csv = {.delimiter = ','};
    const struct libsvm_options libsvm = {.base = LIBSVM_FROM_ZERO};
    struct comm *self = comm_self_create(NULL);
    struct memory m = {.frame = FRAME_INIT};
    struct timespec begin, end;
    struct error err;
    int rc;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    if (strcmp(format, "csv") == 0)
        rc = csv_convert(self, &source, 1, &csv, &sink, &m, &err);
    else
        rc = libsvm_convert(self, &source, 1, &libsvm, &sink, &m, &err);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    if (rc < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%.3f\n", (double)(end.tv_sec - begin.tv_sec) * 1e3 +
                         (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
    frame_clear(&m.frame);
    comm_free(self);
    return 0;
}

/* ---- Files ---- */

static uint64_t state = 1;

static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / 9007199254740992.0;
}

static int below(int n)
{
    return (int)(uniform() * n);
}

/* A row of measurements: integers, six decimals, and all digits of a double. */
static void numbers_make(FILE *f)
{
    fprintf(f, "%d,%d", below(100), below(1000000));
    for (int i = 0; i < 10; i++)
        fprintf(f, ",%.6f", uniform() * 2000 - 1000);
    fprintf(f, ",%.17g,%.17g\n", uniform(), uniform() * 1e-5);
}

/* A row of a table of customers: names, categories, some of them missing. */
static void words_make(FILE *f)
{
    static const char *const plans[] = {"basic", "premium", "enterprise", ""};
    static const char *const truths[] = {"True", "False"};

    fprintf(f, "user%06d,%s,%s,", below(1000000), plans[below(4)], truths[below(2)]);
    fprintf(f, "\"street %d, city %d\",category_%02d,%d,%.2f\n", below(500), below(40),
            below(60), below(90), uniform() * 1000);
}

static void libsvm_make(FILE *f)
{
    int index = below(20);

    fprintf(f, "%d", below(2));
    for (int i = 0; i < 30; i++) {
        fprintf(f, " %d:%.*f", index, below(7), uniform() * 10);
        index += 1 + below(60);
    }
    fputc('\n', f);
}

static int make(const char *what, const char *path, const char *bytes)
{
    FILE *f = fopen(path, "w");
    void (*row)(FILE *) = strcmp(what, "numbers") == 0 ? numbers_make
                          : strcmp(what, "words") == 0 ? words_make
                                                       : libsvm_make;

    if (!f)
        return 1;
    if (row == numbers_make)
        fprintf(f, "id,count,a,b,c,d,e,f,g,h,i,j,x,y\n");
    else if (row == words_make)
        fprintf(f, "user,plan,active,address,category,age,amount\n");
    while (ftell(f) < atol(bytes))
        row(f);
    return fclose(f) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "make") == 0)
        return make(argv[2], argv[3], argv[4]);
    if (argc == 4 && strcmp(argv[1], "read") == 0)
        return read_file(argv[2], argv[3]);
    return 2;
}
