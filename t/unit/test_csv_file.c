#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "scratch.h"
#include "text/csv_file.h"
#include "text/csv_header.h"
#include "thread_comm.h"
#include "util/fs.h"

#define ROWS_MAX 4000
#define ROW_TEXT 200

static struct error err;

/* ---- A sink that prints ---- */

/* What all ranks have put. */
struct table {
    char header[2000]; /* "x:float64 y:words" */
    uint64_t rows;
    char row[ROWS_MAX][ROW_TEXT]; /* "1 'a'" */
    int begun;
    size_t words[THREAD_COMM_MAX]; /* a checksum of those that each rank got */
};

struct job {
    const struct text_source *sources;
    size_t n_sources;
    struct csv_options options;
    struct table *table;
    struct error errors[THREAD_COMM_MAX];
};

/* One rank's. */
struct printer {
    struct table *table;
    char header[2000];
    int rank, begun;
    struct {
        uint64_t row;
        int32_t code;
    } codes[ROWS_MAX]; /* of the last column of words */
    size_t n_codes;
    uint64_t own[ROWS_MAX];
    size_t n_own;
};

static const char *type_of(const struct frame_column *c)
{
    if (c->kind == FRAME_WORDS)
        return "words";
    return c->kind == FRAME_TEXT ? "text" : raytrain_dtype_name(c->row.dtype);
}

static void header_print(char *header, const struct frame *columns)
{
    header[0] = '\0';
    for (size_t i = 0; i < columns->n_columns; i++)
        sprintf(header + strlen(header), "%s%s:%s", i > 0 ? " " : "",
                columns->columns[i].name, type_of(&columns->columns[i]));
}

static int begin(void *arg, const struct frame *columns, uint64_t rows, struct error *e)
{
    struct printer *p = arg;

    header_print(p->header, columns);
    p->begun++;
    for (size_t i = 0; i < p->n_own; i++)
        p->table->row[p->own[i]][0] = '\0';
    p->n_own = p->n_codes = 0;
    if (rows > ROWS_MAX || columns->rows != 0)
        return error_set(e, RAYTRAIN_EFIT, "too many rows");
    if (p->rank == 0) {
        strcpy(p->table->header, p->header);
        p->table->rows = rows;
        p->table->begun = p->begun;
    }
    return 0;
}

static void value_print(char *out, const struct frame_column *c, uint64_t row)
{
    const void *data = c->data;
    const char *word;
    size_t n;

    if (c->kind == FRAME_WORDS) {
        int32_t code = ((const int32_t *)data)[row];

        if (code < 0)
            strcpy(out, "-");
        else if ((word = dictionary_word(c->words, (size_t)code, &n)) && n < 60)
            sprintf(out, "'%s'", word);
        else
            sprintf(out, "%zu bytes", n);
    } else if (c->row.dtype == RAYTRAIN_INT64) {
        sprintf(out, "%lld", (long long)((const int64_t *)data)[row]);
    } else if (c->row.dtype == RAYTRAIN_UINT8) {
        sprintf(out, "%d", c->data[row]);
    } else {
        sprintf(out, "%.17g", ((const double *)data)[row]);
    }
}

static int put(void *arg, uint64_t first, const struct frame *rows, struct error *e)
{
    struct printer *p = arg;
    char header[2000];

    header_print(header, rows);
    if (strcmp(header, p->header) != 0)
        return error_set(e, RAYTRAIN_ETYPE, "%s, but %s has begun", header, p->header);
    for (uint64_t r = 0; r < rows->rows; r++) {
        char *out;

        if (first + r >= ROWS_MAX || p->table->row[first + r][0])
            return error_set(e, RAYTRAIN_EINVAL, "row %d twice", (int)(first + r));
        out = p->table->row[first + r];
        p->own[p->n_own++] = first + r;
        for (size_t i = 0; i < rows->n_columns; i++) {
            const struct frame_column *c = &rows->columns[i];

            if (i > 0)
                strcat(out, " ");
            value_print(out + strlen(out), c, r);
            if (c->kind == FRAME_WORDS) {
                p->codes[p->n_codes].row = first + r;
                p->codes[p->n_codes].code = ((const int32_t *)(const void *)c->data)[r];
            }
        }
        p->n_codes++;
    }
    return 0;
}

/* The last column of words: its dictionary is sorted, and its codes mean what was
 * printed. */
static int end(void *arg, const struct frame *columns, int32_t *const codes[],
               struct error *e)
{
    struct printer *p = arg;
    size_t i = columns->n_columns, n, m;
    const struct dictionary *d;

    while (i > 0 && columns->columns[i - 1].kind != FRAME_WORDS)
        i--;
    if (i == 0)
        return 0;
    d = columns->columns[--i].words;
    for (size_t k = 0; k < dictionary_count(d); k++)
        p->table->words[p->rank] = p->table->words[p->rank] * 31 + 1 +
                                   (unsigned char)*dictionary_word(d, k, &n) + n;
    for (size_t k = 1; k < dictionary_count(d); k++) {
        if (strcmp(dictionary_word(d, k - 1, &n), dictionary_word(d, k, &m)) >= 0)
            return error_set(e, RAYTRAIN_EINVAL, "words are not sorted");
    }
    for (size_t k = 0; k < p->n_codes; k++) {
        const char *word;
        char text[ROW_TEXT];

        if (p->codes[k].code < 0)
            continue;
        word = dictionary_word(d, (size_t)codes[i][p->codes[k].code], &n);
        snprintf(text, sizeof text, "'%s'", word);
        if (n < 60 && !strstr(p->table->row[p->codes[k].row], text))
            return error_set(e, RAYTRAIN_EINVAL, "%s is not in row %d", text,
                             (int)p->codes[k].row);
    }
    return 0;
}

static const struct row_sink printing = {begin, put, end, NULL};

static int body(struct comm *comm, void *arg)
{
    struct job *j = arg;
    struct printer *p = calloc(1, sizeof *p);
    int rc;

    p->table = j->table;
    p->rank = comm->rank;
    rc = csv_convert(comm, j->sources, j->n_sources, &j->options, &printing, p,
                     &j->errors[comm->rank]);
    free(p);
    return rc;
}

/* 0, or -1 with the error of rank 0. */
static int convert(struct job *j, int ranks)
{
    int rc[THREAD_COMM_MAX];

    memset(j->table, 0, sizeof *j->table);
    thread_comm_run(ranks, body, j, rc);
    for (int r = 1; r < ranks; r++) {
        assert_int_equal(rc[r], rc[0]);
        assert_int_equal(rc[0] == 0 ? j->table->words[r] : 0,
                         rc[0] == 0 ? j->table->words[0] : 0);
    }
    err = j->errors[0];
    return rc[0];
}

/* ---- Files ---- */

static void write_file(const char *path, const char *bytes, size_t n)
{
    assert_int_equal(fs_replace(path, bytes, n, 0600, &err), 0);
}

static const size_t block_sizes[] = {1, 2, 7, 64, 0};

#define BLOCK_SIZES (sizeof block_sizes / sizeof *block_sizes)

/* Files of these texts become a table, whatever ranks and blocks there are. */
static void become(const char *const texts[], const struct csv_options *options,
                   const char *header, const char *rows)
{
    static struct table table;
    static char found[ROWS_MAX * 20];
    struct text_source sources[16] = {{.path = NULL}};
    char paths[16][2];
    struct job j = {.sources = sources, .table = &table};

    for (; texts[j.n_sources]; j.n_sources++) {
        sprintf(paths[j.n_sources], "%c", (char)('a' + j.n_sources));
        write_file(paths[j.n_sources], texts[j.n_sources], strlen(texts[j.n_sources]));
        sources[j.n_sources].path = paths[j.n_sources];
    }
    if (options)
        j.options = *options;
    for (int ranks = 1; ranks <= 5; ranks++) {
        for (size_t b = 0; b < BLOCK_SIZES; b++) {
            j.options.block_bytes = block_sizes[b];
            if (convert(&j, ranks) < 0)
                fail_msg("%d ranks, blocks of %zu: %s", ranks, block_sizes[b],
                         err.text);
            assert_string_equal(table.header, header);
            found[0] = '\0';
            for (uint64_t r = 0; r < table.rows; r++)
                strcat(strcat(found, r > 0 ? "|" : ""), table.row[r]);
            assert_string_equal(found, rows);
        }
    }
}

#define TEXTS(...)                                                                     \
    (const char *const[])                                                              \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }

static void fails(const char *const texts[], const struct csv_options *options,
                  raytrain_status code, const char *why)
{
    static struct table table;
    struct text_source sources[16] = {{.path = NULL}};
    char paths[16][2];
    struct job j = {.sources = sources, .table = &table};

    for (; texts[j.n_sources]; j.n_sources++) {
        sprintf(paths[j.n_sources], "%c", (char)('a' + j.n_sources));
        write_file(paths[j.n_sources], texts[j.n_sources], strlen(texts[j.n_sources]));
        sources[j.n_sources].path = paths[j.n_sources];
    }
    if (options)
        j.options = *options;
    for (int ranks = 1; ranks <= 5; ranks++) {
        for (size_t b = 0; b < BLOCK_SIZES; b++) {
            j.options.block_bytes = block_sizes[b];
            assert_int_equal(convert(&j, ranks), -1);
            if (!strstr(err.text, why))
                fail_msg("%d ranks, blocks of %zu: '%s' instead of '%s'", ranks,
                         block_sizes[b], err.text, why);
            assert_int_equal(err.code, code);
        }
    }
}

/* ---- Tests ---- */

static void rows_do_not_depend_on_ranks_and_blocks(void **state)
{
    (void)state;
    become(TEXTS("x,name\n1,b\n2,a\n3,\n4,b\n5,\"c,\n\"\"d\"\n"), NULL,
           "x:int64 name:words", "1 'b'|2 'a'|3 -|4 'b'|5 'c,\n\"d'");
    become(TEXTS("x\n1\n2\n3.5\n"), NULL, "x:float64", "1|2|3.5");
    become(TEXTS("x\n1\n2\nthree"), NULL, "x:words", "'1'|'2'|'three'");
    become(TEXTS("x\n\n  \n1\r\n\r\n2\n\n\n"), NULL, "x:int64", "1|2");
    become(TEXTS("x,y\r1,2\r3,4"), NULL, "x:int64 y:int64", "1 2|3 4");
    become(TEXTS("x,y\n"), NULL, "x:float64 y:float64", "");
    become(TEXTS("x,y"), NULL, "x:float64 y:float64", "");
    become(TEXTS("x,b\n,True\nNA,false\n"), NULL, "x:float64 b:uint8", "nan 1|nan 0");
}

static void ids_beyond_int64_are_words_wherever_they_stand(void **state)
{
    (void)state;
    become(TEXTS("id\n1\n2\n3\n4\n18446744073709551615\n"), NULL, "id:words",
           "'1'|'2'|'3'|'4'|'18446744073709551615'");
    become(TEXTS("x\n18446744073709551616\n2\n3\n4\n.5\n"), NULL, "x:float64",
           "1.8446744073709552e+19|2|3|4|0.5");
    become(TEXTS("x\n9007199254740993\n2\n3\nNA\n"), NULL, "x:words",
           "'9007199254740993'|'2'|'3'|-");
    become(TEXTS("x\nNA\n2\n3\n4\n9007199254740993\n"), NULL, "x:words",
           "-|'2'|'3'|'4'|'9007199254740993'");
}

static void a_byte_order_mark_does_not_count(void **state)
{
    (void)state;
    become(TEXTS("\xef\xbb\xbfx,y\n1,2\n", "\xef\xbb\xbfx,y\n3,4\n", "x,y\n5,6\n"),
           NULL, "x:int64 y:int64", "1 2|3 4|5 6");
    become(TEXTS("\xef\xbb\xbf"
                 "1\n"),
           &(struct csv_options){.without_header = true}, "0:int64", "1");
}

static void many_files_are_one_dataset(void **state)
{
    (void)state;
    become(
        TEXTS("x,y\n1,a\n2,b", "", "x,y\n", "x,y\n3,c\n4,a\n\n", "\n", "x,y\n5,b\n6,z"),
        NULL, "x:int64 y:words", "1 'a'|2 'b'|3 'c'|4 'a'|5 'b'|6 'z'");
    become(TEXTS("1,2\n", "3,4", "5,.5\n"),
           &(struct csv_options){.without_header = true}, "0:int64 1:float64",
           "1 2|3 4|5 0.5");
}

static void names_of_columns_are_made_unique(void **state)
{
    (void)state;
    become(TEXTS("a,a,,\"b\nc\",a.1,a\n1,2,3,4,5,6\n"), NULL,
           "a:int64 a.2:int64 Unnamed: 2:int64 b\nc:int64 a.1:int64 a.3:int64",
           "1 2 3 4 5 6");
    become(TEXTS("a,a,a.1\n1,2,3\n"), NULL, "a:int64 a.2:int64 a.1:int64", "1 2 3");
    become(TEXTS("a.1,a,a,a.1,a.1.1\n1,2,3,4,5\n"), NULL,
           "a.1:int64 a:int64 a.2:int64 a.1.2:int64 a.1.1:int64", "1 2 3 4 5");
    become(TEXTS(",Unnamed: 0,Unnamed: 2,\n1,2,3,4\n"), NULL,
           "Unnamed: 0.1:int64 Unnamed: 0:int64 Unnamed: 2:int64 Unnamed: 3:int64",
           "1 2 3 4");
}

/* All files of a dataset may have their own encoding. */
static void names_in_latin_1_become_utf_8(void **state)
{
    static const struct csv_declared types[] = {{"\xc3\xb6", CSV_FLOAT64, false}};
    struct csv_options options = {.declared = types, .n_declared = 1};

    (void)state;
    become(TEXTS("\xf6,\xc3\xbc\n1,2\n", "\xc3\xb6,\xfc\n3,4\n"), &options,
           "\xc3\xb6:float64 \xc3\xbc:int64", "1 2|3 4");
}

/* As in a file of zeros without a header. Each name is found at once: looking for it
 * among all would take hours. */
static void thousands_of_columns_may_have_one_name(void **state)
{
    enum { COLUMNS = 20000 };
    char *text = malloc(2 * COLUMNS);
    struct csv_names names = {.text = text, .length = 2 * COLUMNS, .n = COLUMNS};
    struct csv_column *columns;

    (void)state;
    for (size_t i = 0; i < COLUMNS; i++)
        memcpy(text + 2 * i, "0", 2);
    assert_int_equal(csv_names_columns(&names, true, &columns, &err), 0);
    assert_string_equal(columns[0].name, "0");
    assert_string_equal(columns[1].name, "0.1");
    assert_string_equal(columns[COLUMNS - 1].name, "0.19999");
    free(columns);
    free(text);
}

static void the_delimiter_is_found_out(void **state)
{
    (void)state;
    become(TEXTS("x\ty,z\n1\ta,b\n2\tc\n"), NULL, "x:int64 y,z:words", "1 'a,b'|2 'c'");
    become(TEXTS("x;y\n1,5;2\n2,5;3\n"), NULL, "x:words y:int64", "'1,5' 2|'2,5' 3");
    become(TEXTS("x|y\n1|\"a,b,c\"\n"), NULL, "x:int64 y:words", "1 'a,b,c'");
    become(TEXTS("x y\n1 2\n"), NULL, "x y:words", "'1 2'");
    become(TEXTS("x y\n1 2\n"), &(struct csv_options){.delimiter = ' '},
           "x:int64 y:int64", "1 2");
    become(TEXTS("x,y\n1;2,3;4\n5;6,7;8\n"), NULL, "x:words y:words",
           "'1;2' '3;4'|'5;6' '7;8'");
}

static void declared_types_are_kept(void **state)
{
    static const struct csv_declared types[] = {{"zip", CSV_WORDS, false},
                                                {"x", CSV_FLOAT64, false}};
    struct csv_options options = {.declared = types, .n_declared = 2};

    (void)state;
    become(TEXTS("zip,x\n00501,1\n10001,2\n"), &options, "zip:words x:float64",
           "'00501' 1|'10001' 2");
    fails(TEXTS("zip,x\n1,1\n2,\n\n3,abc\n4,def\n"), &options, RAYTRAIN_EINVAL,
          "a:5: column \"x\" has the value \"abc\"");
    fails(TEXTS("zip,y\n1,1\n"), &options, RAYTRAIN_ENOTFOUND, "no column \"x\"");
}

static void errors_name_file_and_line(void **state)
{
    (void)state;
    fails(TEXTS("x,y\n1,2\n", "x,y\n1,2\n\"3\n\",4\n5\n6\n"), NULL, RAYTRAIN_EINVAL,
          "b:5: the record has 1 field instead of 2");
    fails(TEXTS("x,y\r\n1,2\r\n\r\n1,2,3\r\n"), NULL, RAYTRAIN_EINVAL,
          "a:4: the record has 3 fields instead of 2");
    fails(TEXTS("x,y\n1,\"a\nb\"\n", "x,y\n1,2\n3,\"4\n5,6\n7,\"\"8\n", "x,y\n1,2\n"),
          NULL, RAYTRAIN_EINVAL, "b:3: the quote that opens here is never closed");
    fails(TEXTS("x,\"y\n1,2\n"), NULL, RAYTRAIN_EINVAL, "a: the file ends in a quoted");
    fails(TEXTS("x,y\n1,2\n", "x,z\n1,2\n"), NULL, RAYTRAIN_EINVAL,
          "b has another header");
    fails(TEXTS("", "\n \n"), NULL, RAYTRAIN_EINVAL, "a is empty");
}

static void a_byte_that_is_nul_is_named_by_its_line(void **state)
{
    static const char bytes[] = "x,y\n1,2\n3,\0\n5,6\n";
    static struct table table;
    struct text_source source = {.path = "a", .name = "shown.csv"};
    struct job j = {.sources = &source, .n_sources = 1, .table = &table};

    (void)state;
    write_file("a", bytes, sizeof bytes - 1);
    for (int ranks = 1; ranks <= 5; ranks++) {
        assert_int_equal(convert(&j, ranks), -1);
        assert_non_null(strstr(err.text, "shown.csv:3: the record has a NUL byte"));
    }
    write_file("a", "x\0\ny\n", 5);
    assert_int_equal(convert(&j, 2), -1);
    assert_non_null(strstr(err.text, "shown.csv: the header has a NUL byte"));
}

static void what_is_no_file_is_refused(void **state)
{
    static struct table table;
    struct text_source source = {.path = "none"};
    struct job j = {.sources = &source, .n_sources = 1, .table = &table};

    (void)state;
    assert_int_equal(convert(&j, 2), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_int_equal(mkdir("none", 0700), 0);
    assert_int_equal(convert(&j, 2), -1);
    assert_non_null(strstr(err.text, "not a regular file"));
    j.n_sources = 0;
    assert_int_equal(convert(&j, 2), -1);
}

/* Types that no sample shows: the sink begins twice, and has each row once. */
static void a_late_value_of_another_type_counts(void **state)
{
    static struct table table;
    struct text_source source = {.path = "a"};
    struct job j = {.sources = &source, .n_sources = 1, .table = &table};
    FILE *f = fopen("a", "w");

    (void)state;
    fprintf(f, "x\n");
    for (int i = 0; i < 3000; i++)
        fprintf(f, i == 2345 ? "late\n" : "%d\n", i);
    fclose(f);
    j.options.block_bytes = 64;
    for (int ranks = 1; ranks <= 5; ranks++) {
        assert_int_equal(convert(&j, ranks), 0);
        assert_string_equal(table.header, "x:words");
        assert_int_equal(table.begun, 2);
        assert_int_equal(table.rows, 3000);
        assert_string_equal(table.row[0], "'0'");
        assert_string_equal(table.row[2345], "'late'");
        assert_string_equal(table.row[2999], "'2999'");
    }
}

static void a_long_line_is_one_row(void **state)
{
    static struct table table;
    struct text_source source = {.path = "a"};
    struct job j = {.sources = &source, .n_sources = 1, .table = &table};
    size_t n = 10 << 20;
    char *text = malloc(n);

    (void)state;
    memset(text, 'x', n);
    memcpy(text, "a,b\n1,\"", 7);
    memcpy(text + n - 7, "\"\n2,y\n", 6);
    write_file("a", text, n - 1);
    free(text);
    for (int ranks = 1; ranks <= 4; ranks += 3) {
        assert_int_equal(convert(&j, ranks), 0);
        assert_int_equal(table.rows, 2);
        assert_string_equal(table.row[0], "1 10485746 bytes");
        assert_string_equal(table.row[1], "2 'y'");
    }
}

/* ---- Files that change ---- */

/* A sink that writes to the file when it begins, after the scan, or when it gets rows. */
struct meddler {
    const char *bytes;
    bool at_begin;
};

static int meddle(const struct meddler *m)
{
    FILE *f = fopen("a", "w");

    if (!f || fputs(m->bytes, f) < 0)
        return -1;
    return fclose(f);
}

static int meddler_begin(void *arg, const struct frame *columns, uint64_t rows,
                         struct error *e)
{
    const struct meddler *m = arg;

    (void)columns;
    (void)rows;
    (void)e;
    return m->at_begin ? meddle(m) : 0;
}

static int meddler_put(void *arg, uint64_t first, const struct frame *rows,
                       struct error *e)
{
    const struct meddler *m = arg;

    (void)first;
    (void)rows;
    (void)e;
    return m->at_begin ? 0 : meddle(m);
}

static int meddler_end(void *arg, const struct frame *columns, int32_t *const codes[],
                       struct error *e)
{
    (void)arg;
    (void)columns;
    (void)codes;
    return error_set(e, RAYTRAIN_EINVAL, "the change was not noticed");
}

static void a_file_that_changes_while_it_is_read_is_an_error(void **state)
{
    static const struct row_sink sink = {meddler_begin, meddler_put, meddler_end, NULL};
    static const struct meddler meddlers[] = {
        {"x\n1\n2\n", true},          /* shorter */
        {"x\n1\n2\n3\n4\n5\n", true}, /* longer */
        {"x\n1\n2\n345\n", true},     /* as long, with less rows */
        {"x\n1\n", false},
        {"x\n5\n6\n7\n8\n", false}, /* only its time tells */
    };
    static const struct timespec long_ago[2] = {{1, 0}, {1, 0}};
    struct comm *self = comm_self_create(&err);
    const struct text_source source = {.path = "a"};
    const struct csv_options options = {.block_bytes = 2};

    (void)state;
    for (size_t i = 0; i < sizeof meddlers / sizeof *meddlers; i++) {
        struct meddler m = meddlers[i];

        write_file("a", "x\n1\n2\n3\n4\n", 10);
        assert_int_equal(utimensat(AT_FDCWD, "a", long_ago, 0), 0);
        assert_int_equal(csv_convert(self, &source, 1, &options, &sink, &m, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
        assert_non_null(strstr(err.text, "written to while it was read"));
    }
    comm_free(self);
}

/* ---- Random tables ---- */

static uint64_t random_state = 1;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 20) % n;
}

/* A row as text of a file, and as it is printed. */
static void random_row(FILE *file, char *printed)
{
    static const struct {
        const char *in, *out;
    } words[] = {
        {"abc", "'abc'"},
        {"\"a,b\"", "'a,b'"},
        {"\"a\nb\"", "'a\nb'"},
        {"", "-"},
        {"NA", "-"},
        {"\"\"\"\"", "'\"'"},
        {"\"\r\n\r\n,\"", "'\r\n\r\n,'"},
        {"a\"b", "'a\"b'"},
        {"\"a\"b", "'ab'"},
        {" x ", "' x '"},
    };
    unsigned w = random_below(sizeof words / sizeof *words);
    int whole = (int)random_below(1000) - 500;
    double number = random_below(1000) / 8.0;
    const char *end = random_below(3) ? "\n" : random_below(2) ? "\r\n" : "\r";

    fprintf(file, random_below(4) ? "%d," : "\"%d\",", whole);
    fprintf(file, "%s,%.3f%s", words[w].in, number, end);
    if (random_below(5) == 0)
        fputs(random_below(2) ? "\n" : " \t\n", file);
    sprintf(printed, "%d %s %.17g", whole, words[w].out, number);
}

static void random_tables_come_back(void **state)
{
    static struct table table, expected;
    struct text_source sources[3] = {{.path = "a"}, {.path = "b"}, {.path = "c"}};
    struct job j = {.sources = sources, .n_sources = 3, .table = &table};

    (void)state;
    for (int i = 0; i < 60; i++) {
        expected.rows = 0;
        for (int k = 0; k < 3; k++) {
            FILE *f = fopen(sources[k].path, "w");

            fputs("i,w,x\n", f);
            for (unsigned n = random_below(i < 50 ? 20 : 1000); n > 0; n--)
                random_row(f, expected.row[expected.rows++]);
            fclose(f);
        }
        for (int ranks = 1; ranks <= 5; ranks++) {
            j.options.block_bytes = 1 + random_below(300);
            if (convert(&j, ranks) < 0)
                fail_msg("%s", err.text);
            assert_int_equal(table.rows, expected.rows);
            for (uint64_t r = 0; r < table.rows; r++)
                assert_string_equal(table.row[r], expected.row[r]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(rows_do_not_depend_on_ranks_and_blocks),
        SCRATCH(ids_beyond_int64_are_words_wherever_they_stand),
        SCRATCH(a_byte_order_mark_does_not_count),
        SCRATCH(many_files_are_one_dataset),
        SCRATCH(names_of_columns_are_made_unique),
        cmocka_unit_test(names_in_latin_1_become_utf_8),
        cmocka_unit_test(thousands_of_columns_may_have_one_name),
        SCRATCH(the_delimiter_is_found_out),
        SCRATCH(declared_types_are_kept),
        SCRATCH(errors_name_file_and_line),
        SCRATCH(a_byte_that_is_nul_is_named_by_its_line),
        SCRATCH(what_is_no_file_is_refused),
        SCRATCH(a_late_value_of_another_type_counts),
        SCRATCH(a_long_line_is_one_row),
        SCRATCH(a_file_that_changes_while_it_is_read_is_an_error),
        SCRATCH(random_tables_come_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
