/* Lines of text, and LIBSVM files, as rows: libsvm_convert() and lines_convert(). */
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
#include "text/libsvm.h"
#include "text/lines.h"
#include "thread_comm.h"
#include "util/fs.h"

#define ROWS_MAX 600
#define ROW_TEXT 160
#define FILES    8

static struct error err;

/* ---- A sink that prints ---- */

/* What all ranks have put. */
struct table {
    char header[600];
    uint64_t rows;
    int64_t width;
    int begun;
    char row[ROWS_MAX][ROW_TEXT];
};

enum format { LINES, LIBSVM };

struct job {
    enum format format;
    struct text_source sources[FILES];
    size_t n_sources;
    struct libsvm_options options;
    struct table *table;
    struct error errors[THREAD_COMM_MAX];
};

/* One rank's. */
struct printer {
    struct job *job;
    int rank, begun;
    uint64_t own[ROWS_MAX];
    size_t n_own;
};

static void header_print(char *header, const struct frame *columns)
{
    static const char *const kinds[] = {
        [FRAME_TEXT] = "text", [FRAME_SPARSE] = "sparse"};

    header[0] = '\0';
    for (size_t i = 0; i < columns->n_columns; i++) {
        const struct frame_column *c = &columns->columns[i];

        sprintf(header + strlen(header), "%s%.60s:%s", i > 0 ? " " : "", c->name,
                c->kind == FRAME_NUMBERS ? raytrain_dtype_name(c->row.dtype)
                                         : kinds[c->kind]);
    }
}

static int begin(void *arg, const struct frame *columns, uint64_t rows, struct error *e)
{
    struct printer *p = arg;

    for (size_t i = 0; i < p->n_own; i++)
        p->job->table->row[p->own[i]][0] = '\0';
    p->n_own = 0;
    p->begun++;
    if (rows > ROWS_MAX || columns->rows != 0)
        return error_set(e, RAYTRAIN_EFIT, "%d rows", (int)rows);
    if (p->rank == 0) {
        header_print(p->job->table->header, columns);
        p->job->table->rows = rows;
        p->job->table->begun = p->begun;
    }
    return 0;
}

static void text_print(char *out, const unsigned char *bytes, size_t n)
{
    if (n > 60) {
        sprintf(out, "%zu bytes", n);
        return;
    }
    *out++ = '\'';
    for (size_t i = 0; i < n; i++)
        *out++ = bytes[i] ? (char)bytes[i] : '@';
    strcpy(out, "'");
}

static void value_print(char *out, const struct frame_column *c, uint64_t row)
{
    const void *data = c->data;

    if (c->kind == FRAME_TEXT) {
        text_print(out, c->data + c->offsets[row],
                   c->offsets[row + 1] - c->offsets[row]);
    } else if (c->kind == FRAME_SPARSE) {
        *out = '\0';
        for (uint64_t i = c->offsets[row]; i < c->offsets[row + 1]; i++)
            out += sprintf(out, "%s%lld:%g", i > c->offsets[row] ? " " : "",
                           (long long)c->indices[i], (double)((const float *)data)[i]);
    } else if (c->row.dtype == RAYTRAIN_INT64) {
        sprintf(out, "q%lld", (long long)((const int64_t *)data)[row]);
    } else {
        sprintf(out, "%g", (double)((const float *)data)[row]);
    }
}

static int put(void *arg, uint64_t first, const struct frame *rows, struct error *e)
{
    struct printer *p = arg;

    for (uint64_t r = 0; r < rows->rows; r++) {
        char *out;

        if (first + r >= ROWS_MAX || p->job->table->row[first + r][0])
            return error_set(e, RAYTRAIN_EINVAL, "row %d twice", (int)(first + r));
        out = p->job->table->row[first + r];
        p->own[p->n_own++] = first + r;
        for (size_t i = 0; i < rows->n_columns; i++) {
            if (i > 0)
                strcat(out, " ");
            value_print(out + strlen(out), &rows->columns[i], r);
        }
    }
    return 0;
}

static int end(void *arg, const struct frame *columns, int32_t *const codes[],
               struct error *e)
{
    struct printer *p = arg;

    for (size_t i = 0; i < columns->n_columns; i++) {
        if (codes[i])
            return error_set(e, RAYTRAIN_EINVAL, "codes of a column without words");
    }
    if (p->rank == 0)
        p->job->table->width = columns->columns[columns->n_columns - 1].row.shape[0];
    return 0;
}

static const struct row_sink printing = {begin, put, end, NULL};

static int body(struct comm *comm, void *arg)
{
    struct job *j = arg;
    struct printer *p = calloc(1, sizeof *p);
    struct error *e = &j->errors[comm->rank];
    int rc;

    p->job = j;
    p->rank = comm->rank;
    if (j->format == LINES)
        rc = lines_convert(comm, j->sources, j->n_sources, j->options.block_bytes,
                           &printing, p, e);
    else
        rc = libsvm_convert(comm, j->sources, j->n_sources, &j->options, &printing, p,
                            e);
    free(p);
    return rc;
}

/* 0, or -1 with the error of rank 0. */
static int convert(struct job *j, int ranks)
{
    int rc[THREAD_COMM_MAX];

    memset(j->table, 0, sizeof *j->table);
    thread_comm_run(ranks, body, j, rc);
    for (int r = 1; r < ranks; r++)
        assert_int_equal(rc[r], rc[0]);
    err = j->errors[0];
    return rc[0];
}

/* ---- Files ---- */

static void write_file(const char *path, const char *bytes, size_t n)
{
    assert_int_equal(fs_replace(path, bytes, n, 0600, &err), 0);
}

/* Files a, b, ... of these texts. */
static void files_write(struct job *j, const char *const texts[])
{
    static const char *const paths[FILES] = {"a", "b", "c", "d", "e", "f", "g", "h"};

    for (j->n_sources = 0; texts[j->n_sources]; j->n_sources++) {
        write_file(paths[j->n_sources], texts[j->n_sources],
                   strlen(texts[j->n_sources]));
        j->sources[j->n_sources] = (struct text_source){.path = paths[j->n_sources]};
    }
}

static const size_t block_sizes[] = {1, 2, 7, 64, 0};
static const int rank_counts[] = {1, 2, 3, 5};

#define EACH(i, array) (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

/* Call check(j, arg) for all numbers of ranks and sizes of blocks. */
static void each_way(struct job *j, void (*check)(struct job *j, const void *arg),
                     const void *arg, int wanted)
{
    static struct table table;

    j->table = &table;
    for
        EACH(r, rank_counts)
        {
        for
            EACH(b, block_sizes)
            {
                j->options.block_bytes = block_sizes[b];
                if (convert(j, rank_counts[r]) != wanted)
                    fail_msg("%d ranks, blocks of %zu: %s", rank_counts[r],
                             block_sizes[b], wanted ? "no error" : err.text);
                check(j, arg);
            }
        }
}

struct expected {
    const char *header, *rows;
    int64_t width;
};

static void table_check(struct job *j, const void *arg)
{
    static char found[ROWS_MAX * ROW_TEXT];
    const struct expected *e = arg;

    assert_string_equal(j->table->header, e->header);
    found[0] = '\0';
    for (uint64_t r = 0; r < j->table->rows; r++)
        strcat(strcat(found, r > 0 ? "|" : ""), j->table->row[r]);
    assert_string_equal(found, e->rows);
    assert_int_equal(j->table->width, e->width);
}

static void error_check(struct job *j, const void *why)
{
    (void)j;
    if (!strstr(err.text, why))
        fail_msg("'%s' instead of '%s'", err.text, (const char *)why);
}

#define TEXTS(...)                                                                     \
    (const char *const[])                                                              \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }

static void become_lines(const char *const texts[], const char *rows)
{
    struct job j = {.format = LINES};
    struct expected e = {"text:text", rows, 0};

    files_write(&j, texts);
    each_way(&j, table_check, &e, 0);
}

static void become(enum libsvm_base base, const char *const texts[],
                   struct expected expected)
{
    struct job j = {.format = LIBSVM, .options = {.base = base}};

    files_write(&j, texts);
    each_way(&j, table_check, &expected, 0);
}

static void fails(enum libsvm_base base, const char *const texts[],
                  raytrain_status code, const char *why)
{
    struct job j = {.format = LIBSVM, .options = {.base = base}};

    files_write(&j, texts);
    each_way(&j, error_check, why, -1);
    assert_int_equal(err.code, code);
}

/* ---- Lines ---- */

static void a_row_is_a_line_without_its_end(void **state)
{
    (void)state;
    become_lines(TEXTS("a\nbc\r\n\n d \ne"), "'a'|'bc'|''|' d '|'e'");
    become_lines(TEXTS("\n"), "''");
    become_lines(TEXTS(""), "");
    become_lines(TEXTS("\r\n\r\r\na\rb\nc\r"), "''|'\r'|'a\rb'|'c\r'");
    become_lines(TEXTS("a", "", "\n", "b\n",
                       "\xef\xbb\xbf"
                       "c",
                       "\xef\xbb\xbf"),
                 "'a'|''|'b'|'c'");
}

static void a_line_may_have_any_bytes(void **state)
{
    static struct table table;
    static const char bytes[] = "a\0b\n\0\n";
    struct job j = {
        .sources = {{.path = "a"}}, .n_sources = 1, .table = &table, .format = LINES};

    (void)state;
    write_file("a", bytes, sizeof bytes - 1);
    assert_int_equal(convert(&j, 2), 0);
    assert_int_equal(table.rows, 2);
    assert_string_equal(table.row[0], "'a@b'");
    assert_string_equal(table.row[1], "'@'");
}

static void a_line_may_be_longer_than_blocks_and_ranges(void **state)
{
    enum { LENGTH = 10 * 1000 * 1000 };
    static struct table table;
    struct job j = {
        .sources = {{.path = "a"}}, .n_sources = 1, .table = &table, .format = LINES};
    char *text = malloc(LENGTH + 3);

    (void)state;
    memset(text, 'x', LENGTH + 3);
    text[1] = text[LENGTH + 2] = '\n';
    write_file("a", text, LENGTH + 3);
    free(text);
    assert_int_equal(convert(&j, 3), 0);
    assert_int_equal(table.rows, 2);
    assert_string_equal(table.row[0], "'x'");
    assert_string_equal(table.row[1], "10000000 bytes");
}

/* ---- LIBSVM ---- */

static void rows_have_label_weight_query_and_features(void **state)
{
    (void)state;
    become(
        LIBSVM_AUTO, TEXTS("1 0:.5 3:2\n-1 1:1e2\n"),
        (struct expected){"label:float32 features:sparse", "1 0:0.5 3:2|-1 1:100", 4});
    become(LIBSVM_AUTO, TEXTS("1:0.5 0:1\n2 1:2\n"),
           (struct expected){"label:float32 weight:float32 features:sparse",
                             "1 0.5 0:1|2 1 1:2", 2});
    become(LIBSVM_AUTO, TEXTS("1 qid:7 0:1\n", "0 qid:-8\n2:3 qid:9 4:5"),
           (struct expected){"label:float32 weight:float32 qid:int64 features:sparse",
                             "1 1 q7 0:1|0 1 q-8 |2 3 q9 4:5", 5});
    become(LIBSVM_AUTO, TEXTS("nan 0:inf\n"),
           (struct expected){"label:float32 features:sparse", "nan 0:inf", 1});
}

static void comments_blank_lines_and_ends_of_lines_do_not_count(void **state)
{
    (void)state;
    become(LIBSVM_AUTO,
           TEXTS("# 1 2:3\n\n \t\r\n1\t 0:1 \t2:3 \r\n  2 0:2# 5:6\n#\n3 #x\n\n", "#",
                 "",
                 "\xef\xbb\xbf"
                 "4 1:1"),
           (struct expected){"label:float32 features:sparse",
                             "1 0:1 2:3|2 0:2|3 |4 1:1", 3});
    become(LIBSVM_AUTO, TEXTS("# nothing\n", ""),
           (struct expected){"label:float32 features:sparse", "", 0});
}

static void indices_may_begin_with_one(void **state)
{
    static const char text[] = "1 1:1 3:2\n0 2:1\n";

    (void)state;
    become(LIBSVM_AUTO, TEXTS(text),
           (struct expected){"label:float32 features:sparse", "1 0:1 2:2|0 1:1", 3});
    become(LIBSVM_FROM_ONE, TEXTS(text),
           (struct expected){"label:float32 features:sparse", "1 0:1 2:2|0 1:1", 3});
    become(LIBSVM_FROM_ZERO, TEXTS(text),
           (struct expected){"label:float32 features:sparse", "1 1:1 3:2|0 2:1", 4});
    become(LIBSVM_AUTO, TEXTS("1\n2\n"),
           (struct expected){"label:float32 features:sparse", "1 |2 ", 0});
    become(LIBSVM_AUTO, TEXTS("1 1:1 4294967295:2\n"),
           (struct expected){"label:float32 features:sparse", "1 0:1 4294967294:2",
                             INT64_C(4294967295)});
}

static void what_the_beginnings_do_not_have_is_found_later(void **state)
{
    static struct table table;
    struct job j = {.format = LIBSVM, .table = &table};

    (void)state;
    files_write(&j, TEXTS("1 1:1\n2 2:1\n3:5 0:4\n"));
    j.options.block_bytes = 8;
    assert_int_equal(convert(&j, 1), 0);
    assert_int_equal(table.begun, 2);
    table_check(&j, &(struct expected){"label:float32 weight:float32 features:sparse",
                                       "1 1 1:1|2 1 2:1|3 5 0:4", 3});
}

static void errors_name_file_and_line(void **state)
{
    (void)state;
    fails(LIBSVM_AUTO, TEXTS("1 0:1\n", "1 0:1\n\n# x\n1 3:1 2:4\n"), RAYTRAIN_EINVAL,
          "b:4: \"2:4\": the index follows 3");
    fails(LIBSVM_AUTO, TEXTS("1 0:1\r\n1 2:1 2:4\r\n"), RAYTRAIN_EINVAL,
          "a:2: \"2:4\"");
    fails(LIBSVM_AUTO, TEXTS("1 0:1\n1 -2:1\n"), RAYTRAIN_EINVAL,
          "a:2: \"-2:1\": the index of a feature is negative");
    fails(LIBSVM_AUTO, TEXTS("1 0:1\n1 4294967296:1\n"), RAYTRAIN_EINVAL,
          "a:2: \"4294967296:1\": the index of a feature is beyond");
    fails(LIBSVM_AUTO, TEXTS("1 99999999999999999999:1\n"), RAYTRAIN_EINVAL,
          "a:1: \"99999999999999999999:1\": the index of a feature is not an integer");
    fails(LIBSVM_AUTO, TEXTS("1 0:1\nx 0:1\n"), RAYTRAIN_EINVAL,
          "a:2: \"x\": a line begins with the label");
    fails(LIBSVM_AUTO, TEXTS("1,2 0:1\n"), RAYTRAIN_EINVAL, "a:1: \"1,2\": the label");
    fails(LIBSVM_AUTO, TEXTS("1:w 0:1\n"), RAYTRAIN_EINVAL, "a:1: \"1:w\": the weight");
    fails(LIBSVM_AUTO, TEXTS("1 qid:x 0:1\n"), RAYTRAIN_EINVAL, "\"qid:x\": the query");
    fails(LIBSVM_AUTO, TEXTS("1 0:1 qid:1\n"), RAYTRAIN_EINVAL, "a:1: \"qid:1\"");
    fails(LIBSVM_AUTO, TEXTS("1 0:1\n1 0\n"), RAYTRAIN_EINVAL,
          "a:2: \"0\": a feature is");
    fails(LIBSVM_AUTO, TEXTS("1 0:1\n1 0:1x\n"), RAYTRAIN_EINVAL,
          "a:2: \"0:1x\": the value");
    fails(LIBSVM_AUTO, TEXTS("1 0:1\n1 0: 1\n"), RAYTRAIN_EINVAL,
          "a:2: \"0:\": the value");
    fails(LIBSVM_FROM_ONE, TEXTS("1 1:1\n1 0:1\n"), RAYTRAIN_EINVAL,
          "a:2: \"0:1\": there is no index 0");
    fails(LIBSVM_AUTO, TEXTS("1 qid:1\n\n1 0:1\n", "1 qid:2\n"), RAYTRAIN_EINVAL,
          "a:3: the row has no qid");
    fails(LIBSVM_AUTO, TEXTS("1\n1\n", "1 qid:2\n"), RAYTRAIN_EINVAL,
          "a:1: the row has no qid");
}

/* Many rows, printed in two ways. */
static void rows_do_not_depend_on_ranks_and_blocks(void **state)
{
    static char text[ROWS_MAX * ROW_TEXT], rows[ROWS_MAX * ROW_TEXT];
    char *t = text, *r = rows;
    unsigned random = 12345;
    int64_t width = 0;

    (void)state;
    for (int i = 0; i < ROWS_MAX; i++) {
        int index = 0;

        t += sprintf(t, "%d", i % 5);
        r += sprintf(r, "%s%d ", i > 0 ? "|" : "", i % 5);
        for (int k = 0; k < i % 7; k++) {
            random = random * 1664525 + 1013904223;
            t += sprintf(t, " %d:%d.5", index, (int)(random >> 24));
            r += sprintf(r, "%s%d:%d.5", k > 0 ? " " : "", index, (int)(random >> 24));
            width = index >= width ? index + 1 : width;
            index += 1 + (int)(random >> 22) % 5;
        }
        t += sprintf(t, i % 11 ? "\n" : " # x:y\n\n");
    }
    become(LIBSVM_FROM_ZERO, TEXTS(text),
           (struct expected){"label:float32 features:sparse", rows, width});
}

/* ---- Files ---- */

static void what_is_no_file_is_refused(void **state)
{
    static struct table table;
    struct job j = {.sources = {{.path = "none"}}, .n_sources = 1, .table = &table};

    (void)state;
    for (j.format = LINES; j.format <= LIBSVM; j.format++) {
        assert_int_equal(convert(&j, 2), -1);
        assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    }
    assert_int_equal(mkdir("none", 0700), 0);
    assert_int_equal(convert(&j, 2), -1);
    assert_non_null(strstr(err.text, "not a regular file"));
    j.n_sources = 0;
    assert_int_equal(convert(&j, 2), -1);
}

/* A sink that writes to the file when it begins, after rows were counted, or when it gets
 * rows. */
struct meddler {
    const char *text;
    bool at_begin;
};

static int meddle(const struct meddler *m)
{
    FILE *f = fopen("a", "w");

    if (!f || fputs(m->text, f) < 0)
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

    if (first + rows->rows > 4)
        return error_set(e, RAYTRAIN_EINVAL, "more rows than there are");
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
        {"1\n2\n", true},          /* shorter */
        {"1\n2\n3\n4\n5\n", true}, /* longer */
        {"1\n2\n345\n", true},     /* as long, with fewer rows */
        {"1\n\n\n\n2\n3", true},   /* with more lines, and fewer rows */
        {"1\n", false},
        {"5\n6\n7\n8\n", false}, /* only its time tells */
    };
    static const struct timespec long_ago[2] = {{1, 0}, {1, 0}};
    struct comm *self = comm_self_create(&err);
    const struct text_source source = {.path = "a"};
    const struct libsvm_options options = {.block_bytes = 2};

    (void)state;
    for (size_t i = 0; i < 2 * (sizeof meddlers / sizeof *meddlers); i++) {
        struct meddler m = meddlers[i / 2];
        int rc;

        write_file("a", "1\n2\n3\n4\n", 8);
        assert_int_equal(utimensat(AT_FDCWD, "a", long_ago, 0), 0);
        if (i % 2)
            rc = lines_convert(self, &source, 1, 2, &sink, &m, &err);
        else
            rc = libsvm_convert(self, &source, 1, &options, &sink, &m, &err);
        assert_int_equal(rc, -1);
        if (err.code != RAYTRAIN_ECORRUPT ||
            !strstr(err.text, "written to while it was read"))
            fail_msg("%d: %s", (int)i, err.text);
    }
    comm_free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_row_is_a_line_without_its_end),
        SCRATCH(a_line_may_have_any_bytes),
        SCRATCH(a_line_may_be_longer_than_blocks_and_ranges),
        SCRATCH(rows_have_label_weight_query_and_features),
        SCRATCH(comments_blank_lines_and_ends_of_lines_do_not_count),
        SCRATCH(indices_may_begin_with_one),
        SCRATCH(what_the_beginnings_do_not_have_is_found_later),
        SCRATCH(errors_name_file_and_line),
        SCRATCH(rows_do_not_depend_on_ranks_and_blocks),
        SCRATCH(what_is_no_file_is_refused),
        SCRATCH(a_file_that_changes_while_it_is_read_is_an_error),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
