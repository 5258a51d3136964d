#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/argv.h"

/* text, and its words joined by '|'; NULL: refused */
static const struct {
    const char *text, *words;
} split_rows[] = {
    {"", ""},
    {"  \t ", ""},
    {"a", "a"},
    {"--x=1  -w n1", "--x=1|-w|n1"},
    {"'a b' \"c d\"", "a b|c d"},
    {"a'b'c\"d\"e", "abcde"},
    {"''", "<empty>"},
    {"a \"\" b", "a|<empty>|b"},
    {"\\ a\\'b", " a'b"},
    {"\"\\\"x\\n\\$\"", "\"x\\n$"},
    {"'\\'", "\\"},
    {"\"it's\" 'say \"hi\"'", "it's|say \"hi\""},
    {"$HOME;rm *", "$HOME;rm|*"},
    {"a\nb", "a|b"},
    {"a\\\nb", "ab"},
    {"'open", NULL},
    {"a \"open", NULL},
    {"end\\", NULL},
};

static void words_join(char *const *v, char *out)
{
    *out = '\0';
    for (size_t i = 0; v && v[i]; i++) {
        strcat(out, i ? "|" : "");
        strcat(out, *v[i] ? v[i] : "<empty>");
    }
}

static void lines_are_split_like_a_shell_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof split_rows / sizeof *split_rows; i++) {
        char **v = NULL, joined[256];
        struct error err;
        int rc = argv_split(split_rows[i].text, &v, &err);

        if (!split_rows[i].words) {
            assert_int_equal(rc, -1);
            assert_int_equal(err.code, RAYTRAIN_EUSAGE);
        } else {
            assert_int_equal(rc, 0);
            words_join(v, joined);
            assert_string_equal(joined, split_rows[i].words);
        }
        argv_free(v);
    }
}

static void a_failed_split_keeps_the_vector(void **state)
{
    char **v = NULL;
    struct error err;

    (void)state;
    assert_int_equal(argv_append(&v, "first", &err), 0);
    assert_int_equal(argv_split("a b 'c", &v, &err), -1);
    assert_int_equal(argv_count(v), 1);
    assert_string_equal(v[0], "first");
    argv_free(v);
}

static void joined_arguments_read_back(void **state)
{
    const char *words[] = {"plain",    "",          "it's", "a b",
                           "$x;\"y\"", "new\nline", "\\",   NULL};
    char **back = NULL, *text;
    struct error err;

    (void)state;
    assert_int_equal(argv_join((char *const *)words, &text, &err), 0);
    assert_int_equal(argv_split(text, &back, &err), 0);
    assert_int_equal(argv_count(back), argv_count((char *const *)words));
    for (size_t i = 0; words[i]; i++)
        assert_string_equal(back[i], words[i]);
    assert_memory_equal(text, "plain '' ", 9);
    free(text);
    argv_free(back);
}

static void vectors_are_built(void **state)
{
    char **v = NULL, x[] = "x", y[] = "y", *more[] = {x, y, NULL};

    (void)state;
    assert_int_equal(argv_count(NULL), 0);
    assert_int_equal(argv_appendf(&v, NULL, "--n=%d", 3), 0);
    assert_int_equal(argv_append_all(&v, more, NULL), 0);
    assert_int_equal(argv_append_all(&v, NULL, NULL), 0);
    assert_int_equal(argv_count(v), 3);
    assert_string_equal(v[0], "--n=3");
    assert_string_equal(v[2], "y");
    argv_free(v);
    argv_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_split_like_a_shell_does),
        cmocka_unit_test(a_failed_split_keeps_the_vector),
        cmocka_unit_test(joined_arguments_read_back),
        cmocka_unit_test(vectors_are_built),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
