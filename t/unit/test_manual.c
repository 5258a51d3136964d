/* The manuals against the tables of the configuration: every key and every backend is
 * documented, and those that are documented exist. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/backend_row.h"
#include "config/config_key.h"
#include "config/preprocessor_row.h"
#include "config/train_config.h"

extern const struct config_table train_config_table;

/* raytrain.cfg(5), where a name has an entry by "\n.B NAME\n". */
static char *page;

/* Malloc'ed. */
static char *page_read(const char *name)
{
    const char *dir = getenv("top_srcdir");
    char *path, *text;
    FILE *in;
    long n;

    assert_true(asprintf(&path, "%s/share/man/%s", dir ? dir : ".", name) > 0);
    in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    n = ftell(in);
    rewind(in);
    text = calloc(1, (size_t)n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)n, in), n);
    fclose(in);
    free(path);
    return text;
}

/* If the user chooses a name below a key, "datasets.NAME.path", the keys below that
 * have entries. */
static bool is_family(const char *name)
{
    char entry[600];

    snprintf(entry, sizeof entry, "\n.B %s.NAME.", name);
    return strstr(page, entry) != NULL;
}

static int keys_missing(const struct config_table *table, const char *prefix)
{
    int missing = 0;

    for (size_t i = 0; i < table->n_keys; i++) {
        const struct config_key *key = &table->keys[i];
        char name[512], entry[600];

        snprintf(name, sizeof name, "%s%s", prefix, key->name);
        snprintf(entry, sizeof entry, "\n.B %s\n", name);
        if (key->type == CONFIG_GROUP) {
            strcat(name, ".");
            missing += keys_missing(key->table, name);
        } else if (!strstr(page, entry) && !is_family(name)) {
            print_error("raytrain.cfg(5) does not say: %s\n", name);
            missing++;
        }
    }
    return missing;
}

static void every_key_is_documented(void **state)
{
    (void)state;
    assert_int_equal(keys_missing(&train_config_table, ""), 0);
}

/* Does a table lead to this dotted name? Groups of the user's own accept any. */
static bool key_exists(const struct config_table *table, const char *name)
{
    for (size_t i = 0; i < table->n_keys; i++) {
        const struct config_key *key = &table->keys[i];
        size_t n = strlen(key->name);

        if (strncmp(name, key->name, n) != 0)
            continue;
        if (name[n] == '\0')
            return key->type != CONFIG_GROUP;
        if (name[n] == '.')
            return key->type == CONFIG_GROUP ? key_exists(key->table, name + n + 1)
                                             : key->type == CONFIG_CUSTOM;
    }
    return false;
}

static void every_documented_key_exists(void **state)
{
    const char *end = strstr(page, "\n.SH EXAMPLE");
    const char *at = strstr(page, "\n.SH KEYS");

    (void)state;
    assert_non_null(at);
    while ((at = strstr(at, "\n.TP\n.B ")) && (!end || at < end)) {
        char name[512] = "";

        assert_int_equal(sscanf(at, "\n.TP\n.B %511s", name), 1);
        if (!key_exists(&train_config_table, name))
            fail_msg("raytrain.cfg(5) has an entry for %s, which is not a key", name);
        at++;
    }
}

/* The text of a section, malloc'ed; the page is freed. */
static char *section_of(char *text, const char *heading)
{
    char *at = strstr(text, heading), *end, *section;

    assert_non_null(at);
    end = strstr(at + strlen(heading), "\n.S"); /* .SH, .SS */
    section = strndup(at, end ? (size_t)(end - at) : strlen(at));
    assert_non_null(section);
    free(text);
    return section;
}

/* Each has a paragraph, which begins with the modules of scripts that ask for it. */
static void backends_of_commands_are_documented(void **state)
{
    char *section =
        section_of(page_read("raytrain-run.1"), "\n.SH BACKENDS OF COMMANDS");
    const char *at = section;
    size_t documented = 0, found = 0;

    (void)state;
    for (const struct backend_row *row = backend_rows; row->name; row++) {
        char entry[256];
        int n = snprintf(entry, sizeof entry, "\n.TP\n.B %s\n", row->name);

        for (const char *const *m = row->modules; m && *m; m++)
            n += snprintf(entry + n, sizeof entry - (size_t)n, "%s%s%s",
                          m == row->modules ? "(" : ", ", *m, m[1] ? "" : ")\n");
        if (!(row->uses & BACKEND_OF_COMMANDS))
            continue;
        documented++;
        if (!strstr(section, entry))
            fail_msg("raytrain-run(1) has no entry for a backend, as this one:%s",
                     entry);
    }
    while ((at = strstr(at, "\n.TP\n.B "))) {
        found++;
        at++;
    }
    assert_int_equal(found, documented);
    free(section);
}

/* The number of preprocessors that the section has entries for,
 * "\n.TP\n\\fBNAME\\fR, \\fBNAME\\fR". */
static size_t preprocessor_entries(const char *section)
{
    size_t found = 0;

    for (const char *at = section; (at = strstr(at, "\n.TP\n\\fB")); at++)
        for (const char *name = at + 5; (name = strstr(name, "\\fB")); name++) {
            if (memchr(at + 5, '\n', (size_t)(name - at - 5)))
                break;
            found++;
        }
    return found;
}

static bool names_in_bold(const char *section, const char *name)
{
    static const char *const forms[] = {"\n.B %s\n", "\n.BR %s ", "\\fB%s\\fR"};
    char text[128];

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        snprintf(text, sizeof text, forms[i], name);
        if (strstr(section, text))
            return true;
    }
    return false;
}

static void preprocessors_and_their_keys_are_documented(void **state)
{
    char *section = section_of(strdup(page), "\n.SS preprocessor");

    (void)state;
    for (int kind = 0; kind < PREPROCESSOR_KINDS; kind++) {
        const struct preprocessor_row *row = &preprocessor_rows[kind];

        if (!names_in_bold(section, row->name))
            fail_msg("raytrain.cfg(5) lacks the preprocessor %s", row->name);
        for (size_t i = 0; i < row->keys.n_keys; i++)
            if (!names_in_bold(section, row->keys.keys[i].name))
                fail_msg("raytrain.cfg(5) lacks the key %s of the preprocessor %s",
                         row->keys.keys[i].name, row->name);
    }
    assert_int_equal(preprocessor_entries(section), PREPROCESSOR_KINDS);
    free(section);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_documented),
        cmocka_unit_test(every_documented_key_exists),
        cmocka_unit_test(backends_of_commands_are_documented),
        cmocka_unit_test(preprocessors_and_their_keys_are_documented),
    };
    int failed;

    cmocka_set_message_output(CM_OUTPUT_TAP);
    page = page_read("raytrain.cfg.5");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(page);
    return failed;
}
