/* Which entries of a directory are models, and which names they have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "life/models_dir.h"
#include "scratch.h"

static struct models_dir models;
static char skipped[1024];

static int setup(void **state)
{
    skipped[0] = '\0';
    return scratch_enter(state) || mkdir("m", 0777);
}

static int teardown(void **state)
{
    models_dir_clear(&models);
    return scratch_leave(state);
}

static void file(const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

static void on_skip(void *arg, const char *sentence)
{
    size_t n = strlen(skipped);

    assert_null(arg);
    snprintf(skipped + n, sizeof skipped - n, "%s\n", sentence);
}

/* Each model as "NAME PATH CONFIG,". */
static void reads(const char *expected)
{
    char found[1024] = "";
    struct error err;

    if (models_dir_read("m", &models, on_skip, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < models.n; i++) {
        const struct models_entry *e = &models.entries[i];
        size_t n = strlen(found);

        snprintf(found + n, sizeof found - n, "%s %s %s,", e->name, e->path,
                 e->config ? e->config : "-");
    }
    assert_string_equal(found, expected);
}

static void refuses(raytrain_status code, const char *word)
{
    struct error err;

    assert_int_equal(models_dir_read("m", &models, on_skip, NULL, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" is not in: %s", word, err.text);
    assert_int_equal(models.n, 0);
    assert_null(models.entries);
}

static void runs_and_checkpoints_and_links_to_them_are_models(void **state)
{
    (void)state;
    mkdir("m/run", 0777);
    mkdir("elsewhere", 0777);
    file("m/one.h5");
    file("elsewhere/checkpoint_000007.h5");
    assert_int_equal(symlink("../elsewhere", "m/linked"), 0);
    assert_int_equal(symlink("../elsewhere/checkpoint_000007.h5", "m/best"), 0);
    assert_int_equal(symlink("../elsewhere/checkpoint_000007.h5", "m/a.h5"), 0);
    reads("a m/a.h5 -,best m/best -,linked m/linked -,one m/one.h5 -,run m/run -,");
    assert_string_equal(skipped, "");
}

static void a_configuration_belongs_to_the_model_of_its_name(void **state)
{
    (void)state;
    mkdir("m/run", 0777);
    file("m/one.h5");
    file("m/one.cfg");
    reads("one m/one.h5 m/one.cfg,run m/run -,");
}

static void a_configuration_of_no_model_is_refused(void **state)
{
    (void)state;
    mkdir("m/run", 0777);
    file("m/rum.cfg");
    refuses(RAYTRAIN_EINVAL, "\"rum\"");
}

static void other_entries_are_left_out_with_a_sentence_each(void **state)
{
    (void)state;
    mkdir("m/run", 0777);
    mkdir("m/.hidden", 0777);
    file("m/README");
    assert_int_equal(mkfifo("m/pipe.h5", 0666), 0);
    reads("run m/run -,");
    assert_non_null(strstr(skipped, "\".hidden\" is left out"));
    assert_non_null(strstr(skipped, "\"README\" is left out"));
    assert_non_null(strstr(skipped, "\"pipe.h5\" is left out"));
}

static void the_directory_of_the_service_is_no_model(void **state)
{
    (void)state;
    mkdir("m/run", 0777);
    mkdir("m/serve", 0777);
    reads("run m/run -,");
    assert_string_equal(skipped, "");
}

static void a_model_cannot_have_the_name_of_that_directory(void **state)
{
    (void)state;
    mkdir("m/serve", 0777);
    file("m/serve/checkpoint_000001.h5");
    refuses(RAYTRAIN_EINVAL, "\"serve\"");
    unlink("m/serve/checkpoint_000001.h5");
    rmdir("m/serve");
    file("m/serve.h5");
    refuses(RAYTRAIN_EINVAL, "\"serve\"");
}

static void names_that_cannot_be_in_a_path_are_refused(void **state)
{
    static const char *const bad[] = {"m/a b", "m/1st", "m/a%2f", "m/\xc3\xa9",
                                      "m/a?x"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mkdir(bad[i], 0777);
        refuses(RAYTRAIN_EINVAL, "rename");
        rmdir(bad[i]);
    }
}

static void two_models_of_one_name_are_refused(void **state)
{
    (void)state;
    mkdir("m/a", 0777);
    file("m/a.h5");
    refuses(RAYTRAIN_EINVAL, "\"a\" is there twice");
}

static void a_link_that_leads_nowhere_is_an_error_with_its_name(void **state)
{
    (void)state;
    mkdir("m/run", 0777);
    assert_int_equal(symlink("absent", "m/gone"), 0);
    refuses(RAYTRAIN_ENOTFOUND, "m/gone");
}

static void without_a_model_the_directory_is_refused(void **state)
{
    (void)state;
    refuses(RAYTRAIN_ENOTFOUND, "no model in");
    file("m/README");
    refuses(RAYTRAIN_ENOTFOUND, "no model in");
    unlink("m/README");
    rmdir("m");
    refuses(RAYTRAIN_ENOTFOUND, "m");
    file("m");
    refuses(RAYTRAIN_ESTORAGE, "m");
}

static void the_directory_of_a_run_is_refused(void **state)
{
    (void)state;
    file("m/checkpoint_000001.h5");
    reads("checkpoint_000001 m/checkpoint_000001.h5 -,");
    models_dir_clear(&models);
    file("m/run.cfg");
    refuses(RAYTRAIN_EINVAL, "directory of a run");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(runs_and_checkpoints_and_links_to_them_are_models),
        TEST(a_configuration_belongs_to_the_model_of_its_name),
        TEST(a_configuration_of_no_model_is_refused),
        TEST(other_entries_are_left_out_with_a_sentence_each),
        TEST(the_directory_of_the_service_is_no_model),
        TEST(a_model_cannot_have_the_name_of_that_directory),
        TEST(names_that_cannot_be_in_a_path_are_refused),
        TEST(two_models_of_one_name_are_refused),
        TEST(a_link_that_leads_nowhere_is_an_error_with_its_name),
        TEST(without_a_model_the_directory_is_refused),
        TEST(the_directory_of_a_run_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
