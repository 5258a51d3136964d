/* test_data_files.c - which files a path of a dataset means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <sys/stat.h>

#include "config/data_config.h"
#include "config/data_files.h"
#include "util/fs.h"

#include "idx_file.h"

static void file_make(const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

static void check_list(const char *path, const char *format, const char *expected)
{
    struct data_files files;
    struct error err = {0};
    char text[512] = "";

    if (data_files_list(path, format, &files, &err) < 0)
        fail_msg("%s: %s", path, err.text);
    for (size_t i = 0; i < files.n; i++) {
        strcat(text, i ? " " : "");
        strcat(text, files.paths[i]);
    }
    assert_string_equal(text, expected);
    data_files_clear(&files);
}

static void check_refused(const char *path, const char *format, raytrain_status code,
                          const char *text)
{
    struct data_files files;
    struct error err = {0};

    assert_int_equal(data_files_list(path, format, &files, &err), -1);
    if (err.code != code || !strstr(err.text, text))
        fail_msg("expected %d \"%s\", got %d \"%s\"", code, text, err.code, err.text);
    assert_int_equal(files.n, 0);
}

static void check_others(const char *path, const char *format, const char *expected)
{
    struct data_files files;
    struct error err = {0};
    char text[512] = "";

    assert_int_equal(data_files_list(path, format, &files, &err), 0);
    for (size_t i = 0; i < files.n_others; i++) {
        strcat(text, i ? " " : "");
        strcat(text, files.others[i]);
    }
    assert_string_equal(text, expected);
    data_files_clear(&files);
}

static void endings_are_in_any_case(void **state)
{
    (void)state;
    assert_int_equal(mkdir("case", 0700), 0);
    file_make("case/A.CSV");
    file_make("case/b.csv.GZ");
    file_make("case/c.Txt");
    check_list("case", NULL, "case/A.CSV case/b.csv.GZ");
    check_list("case", "csv", "case/A.CSV case/b.csv.GZ");
    check_others("case", NULL, "case/c.Txt");
    assert_string_equal(data_files_text_format("X.CSV"), "csv");
    assert_string_equal(data_files_text_format("X.TSV.ZST"), "tsv");
}

static void directories_list_data_files_in_order(void **state)
{
    (void)state;
    assert_int_equal(mkdir("d", 0700), 0);
    assert_int_equal(mkdir("d/z.h5", 0700), 0);
    file_make("d/b.h5");
    file_make("d/B.hdf5");
    file_make("d/a10.h5");
    file_make("d/a2.h5");
    file_make("d/.hidden.h5");
    file_make("d/README");
    file_make("d/b.h5.tmp");
    file_make("d/t-images-idx3-ubyte");
    file_make("d/t-labels-idx1-ubyte");
    assert_int_equal(symlink("b.h5", "d/link.h5"), 0);
    assert_int_equal(symlink("z.h5", "d/link-to-directory.h5"), 0);
    assert_int_equal(symlink("gone", "d/dangling.h5"), 0);
    check_list("d", "hdf5", "d/B.hdf5 d/a10.h5 d/a2.h5 d/b.h5 d/dangling.h5 d/link.h5");
    check_others("d", "hdf5",
                 "d/README d/b.h5.tmp d/link-to-directory.h5 d/t-images-idx3-ubyte "
                 "d/t-labels-idx1-ubyte d/z.h5");
    check_others("d", NULL, "d/README d/b.h5.tmp d/link-to-directory.h5 d/z.h5");
    check_list("d///", "idx", "d/t-images-idx3-ubyte");
    unlink("d/dangling.h5");
    check_list("d", NULL,
               "d/B.hdf5 d/a10.h5 d/a2.h5 d/b.h5 d/link.h5 d/t-images-idx3-ubyte");
    assert_int_equal(mkdir("empty", 0700), 0);
    file_make("empty/README");
    check_refused("empty", NULL, RAYTRAIN_ENOTFOUND, "no data files in the directory");
    check_refused("empty", "hdf5", RAYTRAIN_ENOTFOUND,
                  "*.h5, *.hdf5, *.hdf, *.he5; a pattern");
}

/* The order is that of bytes, as in a worker whose training function sets a locale. */
static void patterns_list_what_they_match(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C.UTF-8");
    assert_int_equal(mkdir("p", 0700), 0);
    file_make("p/a-1.bin");
    file_make("p/A-2.bin");
    file_make("p/a-10.bin");
    file_make("p/.a-3.bin");
    assert_int_equal(mkdir("p/a-4.bin", 0700), 0);
    check_list("p/*.bin", NULL, "p/A-2.bin p/a-1.bin p/a-10.bin");
    check_list("p/a-[0-9].bin", "hdf5", "p/a-1.bin");
    check_others("p/a-[0-9].bin", "hdf5", "p/a-4.bin");
    check_refused("p/*.h5", NULL, RAYTRAIN_ENOTFOUND, "no file matches \"p/*.h5\"");
    check_refused("no/*.h5", NULL, RAYTRAIN_ENOTFOUND, "no file matches");
    check_refused("p/a-4*", NULL, RAYTRAIN_ENOTFOUND, "no file matches");
}

static void existing_names_are_no_patterns(void **state)
{
    (void)state;
    file_make("a[1].h5");
    file_make("a1.h5");
    check_list("a[1].h5", NULL, "a[1].h5");
    unlink("a[1].h5");
    check_list("a[1].h5", NULL, "a1.h5");
    check_list("missing.h5", NULL, "missing.h5"); /* opening it says so */
}

/* In a directory whose name could be a pattern. */
static void absolute_patterns_match_the_same(void **state)
{
    char *path = strdup("*.h5"), *file = strdup("./x.h5"), expected[256];
    struct data_files files;
    struct error err;

    assert_int_equal(mkdir("[w]*", 0700), 0);
    assert_int_equal(mkdir("w", 0700), 0);
    file_make("w/wrong.h5");
    assert_int_equal(chdir("[w]*"), 0);
    file_make("x.h5");
    assert_int_equal(data_files_absolute(&path, &err), 0);
    assert_int_equal(data_files_absolute(&file, &err), 0);
    assert_int_equal(chdir(".."), 0);
    snprintf(expected, sizeof expected, "%s/[w]*/x.h5", (const char *)*state);
    assert_string_equal(file, expected);
    assert_int_equal(data_files_list(path, NULL, &files, &err), 0);
    assert_int_equal(files.n, 1);
    assert_string_equal(files.paths[0], expected);
    data_files_clear(&files);
    free(path);
    free(file);
}

static void check_validation(const char *path, const char *label, const char *text)
{
    struct dataset_config cfg = {.name = strdup("t"), .path = strdup(path)};
    struct error err = {0};

    cfg.label = label ? strdup(label) : NULL;
    assert_int_equal(data_config_validate(&(struct data_config){0}, &cfg, 1, &err),
                     text ? -1 : 0);
    if (text && (!strstr(err.text, text) || !strstr(err.text, "datasets.t")))
        fail_msg("expected \"%s\", got \"%s\"", text, err.text);
    free(cfg.name);
    free(cfg.path);
    free(cfg.label);
}

static void validation_says_what_is_wrong(void **state)
{
    (void)state;
    assert_int_equal(mkdir("v", 0700), 0);
    check_validation("v", NULL, "no data files in the directory");
    check_validation("v/*", NULL, "no file matches");
    check_validation("v/x.h5", NULL, "cannot find");
    file_make("v/x-1.h5");
    file_make("v/x-2.h5");
    file_make("v/y-1.bin");
    check_validation("v", NULL, NULL);
    check_validation("v/x-*", NULL, NULL);
    check_validation("v/x-*", "v/y-*", "1 files of labels for 2 files of rows");
    file_make("v/y-2.bin");
    check_validation("v/x-*", "v/y-*", NULL);
    check_validation("v/x-*", "a column", NULL);
    assert_int_equal(mkfifo("v/pipe.h5", 0600), 0);
    check_validation("v/*.h5", NULL, "is not a regular file");
    unlink("v/pipe.h5");
    assert_int_equal(symlink("gone", "v/z.h5"), 0);
    check_validation("v", NULL, "z.h5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directories_list_data_files_in_order),
        cmocka_unit_test(endings_are_in_any_case),
        cmocka_unit_test(patterns_list_what_they_match),
        cmocka_unit_test(existing_names_are_no_patterns),
        cmocka_unit_test(absolute_patterns_match_the_same),
        cmocka_unit_test(validation_says_what_is_wrong),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
