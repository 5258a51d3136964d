/* test_hdf5_strings.c - strings of HDF5 files as columns of words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/dataset.h"

#include "process_comm.h"
#include "scratch.h"

#define ROWS  100 /* of a file */
#define FILES 4
#define WIDTH 12

/* ---- Making files ---- */

/* Empty, of blanks, and with bytes beyond ASCII; file 3 has others than the rest. */
static const char *word_of(uint64_t row)
{
    static const char *const WORDS[] = {"Oslo", "",     "Z\xc3\xbcrich", "a b",
                                        "Rome", "Oslo", "twelve bytes"};

    if (row >= 3 * ROWS && row % 5 == 0)
        return row % 2 ? "Amman" : "Paris";
    return WORDS[row % (sizeof WORDS / sizeof *WORDS)];
}

enum packing { CONTIGUOUS, CHUNKED, GZIP };

static hid_t strings_type(H5T_str_t padding, H5T_cset_t charset, size_t width)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    assert_true(H5Tset_size(type, width) >= 0);
    assert_true(H5Tset_strpad(type, padding) >= 0);
    assert_true(H5Tset_cset(type, charset) >= 0);
    return type;
}

static void array_write(hid_t file, const char *name, hid_t type, hsize_t rows,
                        enum packing packing, const void *data)
{
    hsize_t chunk = 16;
    hid_t space = H5Screate_simple(1, &rows, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), set;

    if (packing != CONTIGUOUS)
        H5Pset_chunk(plist, 1, &chunk);
    if (packing == GZIP)
        H5Pset_deflate(plist, 1);
    set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(set >= 0);
    if (data)
        assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Pclose(plist);
    H5Sclose(space);
}

/* The words of rows first, first + 1, ...; width H5T_VARIABLE: of variable length. */
static void words_write(hid_t file, const char *name, H5T_str_t padding, size_t width,
                        enum packing packing, uint64_t first)
{
    static char fixed[ROWS * (WIDTH + 1)];
    static const char *variable[ROWS];
    hid_t type = strings_type(padding, H5T_CSET_UTF8, width);

    memset(fixed, padding == H5T_STR_SPACEPAD ? ' ' : '\0', sizeof fixed);
    for (uint64_t i = 0; i < ROWS; i++) {
        variable[i] = word_of(first + i);
        if (width != H5T_VARIABLE)
            memcpy(fixed + i * width, variable[i], strlen(variable[i]));
    }
    array_write(file, name, type, ROWS, packing,
                width == H5T_VARIABLE ? (const void *)variable : fixed);
    H5Tclose(type);
}

static void ids_write(hid_t file, const char *name, uint64_t first)
{
    static int64_t ids[ROWS];

    for (uint64_t i = 0; i < ROWS; i++)
        ids[i] = (int64_t)(first + i);
    array_write(file, name, H5T_NATIVE_INT64, ROWS, CONTIGUOUS, ids);
}

static hid_t file_make(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    assert_true(file >= 0);
    return file;
}

/* Files of one dataset, whose strings are stored in different ways. */
static void files_make(void)
{
    for (uint64_t i = 0; i < FILES; i++) {
        char path[16];
        hid_t file;

        snprintf(path, sizeof path, "d-%llu.h5", (unsigned long long)i);
        file = file_make(path);
        words_write(file, "city", i % 2 ? H5T_STR_NULLPAD : H5T_STR_SPACEPAD,
                    i < 2 ? H5T_VARIABLE : WIDTH, i % 2 ? GZIP : CONTIGUOUS, i * ROWS);
        ids_write(file, "id", i * ROWS);
        assert_true(H5Fclose(file) >= 0);
    }
}

/* ---- Reading them ---- */

static struct dataset_config config(const char *path, char **columns)
{
    struct dataset_config cfg = {
        .name = (char *)"d", .path = (char *)path, .columns = columns};

    while (columns && columns[cfg.n_columns])
        cfg.n_columns++;
    return cfg;
}

#define NAMES(...) ((char **)(const char *[]){__VA_ARGS__, NULL})

static raytrain_dataset *open_one(const char *path, char **columns, struct error *err)
{
    struct dataset_config cfg = config(path, columns);
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds = NULL;

    *err = (struct error){0};
    return dataset_open(&cfg, &env, &ds, err) == 0 ? ds : NULL;
}

static void check_refused(const char *path, char **columns, raytrain_status code,
                          const char *text)
{
    struct error err;
    raytrain_dataset *ds = open_one(path, columns, &err);

    if (ds)
        fail_msg("accepted where \"%s\" was expected", text);
    if (err.code != code || !strstr(err.text, text))
        fail_msg("expected %d \"%s\", got %d \"%s\"", code, text, err.code, err.text);
}

/* Are the words sorted, and each there once? */
static bool words_sorted(const struct dictionary *words)
{
    for (size_t i = 1, n; i < dictionary_count(words); i++)
        if (strcmp(dictionary_word(words, i - 1, &n), dictionary_word(words, i, &n)) >=
            0)
            return false;
    return true;
}

/* The rows of a batch, whose word is that of their id: they are counted in seen[]. */
static int batch_check(raytrain_dataset *ds, uint64_t rows, unsigned char *seen)
{
    const struct frame_column *city, *id;
    struct error err;
    size_t n;

    city = dataset_frame_column(ds, "city", &err);
    id = dataset_frame_column(ds, "id", &err);
    if (!city || !id || city->kind != FRAME_WORDS)
        return -1;
    for (uint64_t i = 0; i < rows; i++) {
        int32_t code = ((const int32_t *)(const void *)city->data)[i];
        int64_t row = ((const int64_t *)(const void *)id->data)[i];

        if (code < 0 || (size_t)code >= dictionary_count(city->words) || row < 0 ||
            row >= FILES * ROWS)
            return -1;
        if (strcmp(dictionary_word(city->words, (size_t)code, &n),
                   word_of((uint64_t)row)) != 0)
            return -1;
        seen[row]++;
    }
    return words_sorted(city->words) ? 0 : -1;
}

/* Column `name` has the words of all ROWS rows. */
static void column_check(raytrain_dataset *ds, const char *name)
{
    const struct frame_column *c;
    struct error err;
    uint64_t rows;
    size_t n;

    assert_int_equal(dataset_set_batch_size(ds, ROWS, &err), 0);
    assert_int_equal(dataset_next(ds, &rows, &err), 0);
    assert_int_equal(rows, ROWS);
    c = dataset_frame_column(ds, name, &err);
    assert_non_null(c);
    assert_int_equal(c->kind, FRAME_WORDS);
    assert_int_equal(dictionary_count(c->words), 6);
    assert_true(words_sorted(c->words));
    for (size_t i = 0; i < ROWS; i++)
        assert_string_equal(
            dictionary_word(c->words,
                            ((size_t)((const int32_t *)(const void *)c->data)[i]), &n),
            word_of(i));
    assert_int_equal(dataset_words(ds, name, &err) == c->words, 1);
}

static void strings_of_every_kind_are_words(void **state)
{
    static const struct {
        H5T_str_t padding;
        size_t width;
    } T[] = {{H5T_STR_NULLPAD, WIDTH},
             {H5T_STR_NULLTERM, WIDTH},
             {H5T_STR_NULLTERM, WIDTH + 1},
             {H5T_STR_SPACEPAD, WIDTH + 1},
             {H5T_STR_NULLTERM, H5T_VARIABLE}};

    (void)state;
    for (size_t i = 0; i < sizeof T / sizeof *T; i++)
        for (enum packing p = CONTIGUOUS; p <= GZIP; p++) {
            hid_t file = file_make("d.h5");
            struct error err;
            raytrain_dataset *ds;

            words_write(file, "s", T[i].padding, T[i].width, p, 0);
            assert_true(H5Fclose(file) >= 0);
            ds = open_one("d.h5", NULL, &err);
            if (!ds)
                fail_msg("%s", err.text);
            column_check(ds, "s");
            dataset_close(ds);
        }
}

static void rows_that_were_never_written_are_empty_strings(void **state)
{
    static const size_t WIDTHS[] = {WIDTH, H5T_VARIABLE};
    size_t n;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        hid_t file = file_make("d.h5");
        hid_t type = strings_type(H5T_STR_SPACEPAD, H5T_CSET_ASCII, WIDTHS[i]);
        const struct dictionary *words;
        struct error err;
        raytrain_dataset *ds;

        array_write(file, "s", type, ROWS, CHUNKED, NULL);
        H5Tclose(type);
        assert_true(H5Fclose(file) >= 0);
        ds = open_one("d.h5", NULL, &err);
        assert_non_null(ds);
        words = dataset_words(ds, "s", &err);
        assert_int_equal(dictionary_count(words), 1);
        assert_string_equal(dictionary_word(words, 0, &n), "");
        dataset_close(ds);
    }
}

/* One is longer than all that are usually read at once. */
static void long_strings_are_read(void **state)
{
    static const size_t LENGTHS[] = {7 << 20, 7 << 20, 3, 7 << 20, 17 << 20, 1};
    const size_t n = sizeof LENGTHS / sizeof *LENGTHS;
    hid_t file = file_make("d.h5");
    hid_t type = strings_type(H5T_STR_NULLTERM, H5T_CSET_ASCII, H5T_VARIABLE);
    const struct dictionary *words;
    char *strings[sizeof LENGTHS / sizeof *LENGTHS];
    struct error err;
    raytrain_dataset *ds;
    size_t length;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        strings[i] = malloc(LENGTHS[i] + 1);
        memset(strings[i], 'a' + (int)i, LENGTHS[i]);
        strings[i][LENGTHS[i]] = '\0';
    }
    array_write(file, "s", type, n, CONTIGUOUS, strings);
    H5Tclose(type);
    assert_true(H5Fclose(file) >= 0);
    ds = open_one("d.h5", NULL, &err);
    if (!ds)
        fail_msg("%s", err.text);
    words = dataset_words(ds, "s", &err);
    assert_int_equal(dictionary_count(words), n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(dictionary_word(words, i, &length), strings[i]);
        free(strings[i]);
    }
    dataset_close(ds);
}

/* ---- Many files, on many ranks ---- */

/* A share of an epoch, or of the rest of one. */
struct share {
    struct dataset_state from;
    uint64_t batches; /* of this rank */
    bool shuffle;
};

/* Rank r of n counts its rows in file "seen-r", and leaves its last state in "at". */
static int share_read(struct comm *all, struct comm *node, void *arg)
{
    const struct share *s = arg;
    struct dataset_config cfg = config("d-*.h5", NULL);
    struct dataset_env env = {
        .rank = all->rank, .size = all->size, .node = node, .all = all, .seed = 7};
    unsigned char seen[FILES * ROWS] = {0};
    struct dataset_state at;
    raytrain_dataset *ds;
    struct error err;
    char name[16];
    uint64_t rows;
    FILE *out;
    int rc = 0;

    cfg.shuffle = s->shuffle;
    if (dataset_open(&cfg, &env, &ds, &err) < 0 || dataset_compare(ds, all, &err) < 0) {
        fprintf(stderr, "rank %d: %s\n", all->rank, err.text);
        return 1;
    }
    if (dataset_set_batch_size(ds, 9, &err) < 0 ||
        dataset_state_set(ds, &s->from, &err) < 0)
        return 2;
    for (uint64_t i = 0; i < s->batches && rc == 0; i++) {
        rc = dataset_next(ds, &rows, &err);
        if (rc == 0 && batch_check(ds, rows, seen) < 0)
            return 3;
    }
    dataset_state_get(ds, &at);
    dataset_close(ds);
    snprintf(name, sizeof name, "seen-%d", all->rank);
    out = fopen(name, "wb");
    fwrite(seen, 1, sizeof seen, out);
    fclose(out);
    if (all->rank == 0) {
        out = fopen("at", "wb");
        fwrite(&at, sizeof at, 1, out);
        fclose(out);
    }
    return rc < 0 ? 4 : 0;
}

/* Run it, and add up what the ranks have seen. */
static void shares_read(int ranks, int per_node, const struct share *s,
                        struct dataset_state *at, unsigned char *seen)
{
    unsigned char some[FILES * ROWS];
    FILE *in;

    assert_int_equal(
        process_comm_run(ranks, per_node, share_read, (void *)(uintptr_t)s), 0);
    for (int r = 0; r < ranks; r++) {
        char name[16];

        snprintf(name, sizeof name, "seen-%d", r);
        in = fopen(name, "rb");
        assert_non_null(in);
        assert_int_equal(fread(some, 1, sizeof some, in), sizeof some);
        fclose(in);
        for (size_t i = 0; i < sizeof some; i++)
            seen[i] = (unsigned char)(seen[i] + some[i]);
    }
    in = fopen("at", "rb");
    assert_non_null(in);
    assert_int_equal(fread(at, sizeof *at, 1, in), 1);
    fclose(in);
}

static void every_row_is_read_once_on_any_number_of_ranks(void **state)
{
    static const int RANKS[][2] = {{1, 1}, {2, 2}, {2, 1}, {3, 2}, {3, 3}};

    (void)state;
    files_make();
    for (size_t i = 0; i < sizeof RANKS / sizeof *RANKS; i++)
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            struct share s = {.batches = 1000, .shuffle = shuffle};
            unsigned char seen[FILES * ROWS] = {0};
            struct dataset_state at;

            shares_read(RANKS[i][0], RANKS[i][1], &s, &at, seen);
            for (size_t k = 0; k < sizeof seen; k++)
                assert_int_equal(seen[k], 1);
        }
}

static void an_epoch_goes_on_on_another_number_of_ranks(void **state)
{
    struct share s = {.batches = 4, .shuffle = true};
    unsigned char seen[FILES * ROWS] = {0};
    struct dataset_state at;

    (void)state;
    files_make();
    shares_read(3, 2, &s, &at, seen);
    assert_int_equal(at.position, 4 * 9 * 3);
    s.from = at;
    s.batches = 1000;
    shares_read(2, 1, &s, &at, seen);
    for (size_t k = 0; k < sizeof seen; k++)
        assert_int_equal(seen[k], 1);
}

/* ---- What is refused ---- */

static void strings_beside_the_rows_are_left_out(void **state)
{
    hid_t file = file_make("d.h5");
    hid_t type = strings_type(H5T_STR_NULLPAD, H5T_CSET_ASCII, 2);
    struct error err;
    raytrain_dataset *ds;

    (void)state;
    array_write(file, "a_names", type, 3, CONTIGUOUS, "x1x2x3");
    words_write(file, "city", H5T_STR_NULLPAD, WIDTH, CONTIGUOUS, 0);
    ids_write(file, "id", 0);
    H5Tclose(type);
    assert_true(H5Fclose(file) >= 0);
    ds = open_one("d.h5", NULL, &err);
    assert_non_null(ds);
    assert_int_equal(dataset_n_columns(ds), 2);
    column_check(ds, "city");
    dataset_close(ds);
    check_refused("d.h5", NAMES("id", "a_names"), RAYTRAIN_EINVAL,
                  "column \"a_names\": it has 3 rows, but \"id\" has 100");
}

static void files_without_strings_in_the_column_are_refused(void **state)
{
    hid_t file = file_make("d-0.h5");

    (void)state;
    words_write(file, "x", H5T_STR_NULLPAD, WIDTH, CONTIGUOUS, 0);
    assert_true(H5Fclose(file) >= 0);
    file = file_make("d-1.h5");
    ids_write(file, "x", 0);
    assert_true(H5Fclose(file) >= 0);
    check_refused("d-*.h5", NULL, RAYTRAIN_ETYPE,
                  "\"x\" is of strings in d-0.h5, but int64 in d-1.h5");
}

/* Every heap of strings of variable length in the file gets a byte changed. */
static void heaps_damage(const char *path, size_t at, unsigned char byte)
{
    static char data[1 << 20];
    int fd = open(path, O_RDWR);
    ssize_t n = read(fd, data, sizeof data);
    int found = 0;

    for (ssize_t i = 0; i + 64 < n; i++)
        if (memcmp(data + i, "GCOL", 4) == 0) {
            found++;
            assert_int_equal(pwrite(fd, &byte, 1, (off_t)((size_t)i + at)), 1);
        }
    assert_true(found > 0);
    close(fd);
}

static void damaged_strings_are_an_error_if_they_are_read(void **state)
{
    hid_t file = file_make("d.h5");
    struct error err;
    raytrain_dataset *ds;

    (void)state;
    words_write(file, "city", H5T_STR_NULLTERM, H5T_VARIABLE, CONTIGUOUS, 0);
    ids_write(file, "id", 0);
    assert_true(H5Fclose(file) >= 0);
    heaps_damage("d.h5", 1, 'X');
    check_refused("d.h5", NULL, RAYTRAIN_ECORRUPT,
                  "d.h5: column \"city\": cannot read the strings");
    ds = open_one("d.h5", NAMES("id"), &err);
    assert_non_null(ds);
    dataset_close(ds);
}

static void truncated_strings_are_an_error(void **state)
{
    static const size_t WIDTHS[] = {WIDTH, H5T_VARIABLE};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        hid_t file = file_make("d.h5");
        int fd;

        ids_write(file, "id", 0);
        words_write(file, "s", H5T_STR_NULLTERM, WIDTHS[i], CONTIGUOUS, 0);
        assert_true(H5Fclose(file) >= 0);
        fd = open("d.h5", O_RDWR);
        assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 200), 0);
        close(fd);
        check_refused("d.h5", NULL, RAYTRAIN_ECORRUPT, "d.h5");
    }
}

static void more_strings_than_the_memory_holds_are_refused(void **state)
{
    hid_t file = file_make("d.h5");
    hid_t type = strings_type(H5T_STR_NULLPAD, H5T_CSET_ASCII, 4);

    (void)state;
    array_write(file, "s", type, UINT64_C(1) << 44, CHUNKED, NULL);
    H5Tclose(type);
    assert_true(H5Fclose(file) >= 0);
    check_refused("d.h5", NULL, RAYTRAIN_EFIT,
                  "column \"s\": the codes of its 17592186044416 strings take more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(strings_of_every_kind_are_words),
        SCRATCH(rows_that_were_never_written_are_empty_strings),
        SCRATCH(long_strings_are_read),
        SCRATCH(every_row_is_read_once_on_any_number_of_ranks),
        SCRATCH(an_epoch_goes_on_on_another_number_of_ranks),
        SCRATCH(strings_beside_the_rows_are_left_out),
        SCRATCH(files_without_strings_in_the_column_are_refused),
        SCRATCH(damaged_strings_are_an_error_if_they_are_read),
        SCRATCH(truncated_strings_are_an_error),
        SCRATCH(more_strings_than_the_memory_holds_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
