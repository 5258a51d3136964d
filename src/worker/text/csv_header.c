/*
 * csv_header.c - guesses the delimiter, and names the columns, by the header or by
 * numbers. csv_value.c finds the types.
 */
#include "text/csv_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

/* ---- The delimiter ---- */

#define RECORDS 32 /* the number that is looked at */

struct fit {
    size_t fields; /* of the first record */
    bool even;     /* all records have this many */
};

static struct fit fit_of(char delimiter, const char *bytes, size_t n, bool last)
{
    struct csv_cursor c = {
        .at = bytes, .end = bytes + n, .delimiter = delimiter, .last = last};
    struct fit fit = {.even = true};

    for (int i = 0; i < RECORDS && csv_record_find(&c, c.end); i++) {
        enum csv_end end;
        const char *text;
        size_t length, fields = 0;

        do {
            end = csv_field_read(&c, &text, &length);
            fields++;
        } while (end == CSV_AT_DELIMITER);
        if (i == 0)
            fit.fields = fields;
        if (end != CSV_AT_LINE_END)
            break;
        fit.even = fit.even && fields == fit.fields;
    }
    csv_cursor_clear(&c);
    return fit;
}

char csv_delimiter_guess(const char *bytes, size_t n, bool last)
{
    static const char delimiters[] = {',', '\t', ';', '|'};
    struct fit best = {.fields = 1, .even = false};
    char delimiter = ',';

    for (size_t i = 0; i < sizeof delimiters; i++) {
        struct fit fit = fit_of(delimiters[i], bytes, n, last);

        if (fit.fields > 1 && fit.even >= best.even &&
            (fit.even > best.even || fit.fields > best.fields)) {
            best = fit;
            delimiter = delimiters[i];
        }
    }
    return delimiter;
}

/* ---- Names ---- */

void csv_names_clear(struct csv_names *names)
{
    free(names->text);
    *names = (struct csv_names){0};
}

/* Make room for more bytes. */
static int names_grow(struct csv_names *names, size_t n, struct error *err)
{
    size_t room = names->length + n;
    char *grown;

    if (room <= names->room)
        return 0;
    room *= 2;
    grown = realloc(names->text, room);
    if (!grown)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for names of columns");
    names->text = grown;
    names->room = room;
    return 0;
}

static int name_append(struct csv_names *names, const char *text, size_t n,
                       struct error *err)
{
    size_t most = 2 * n + 1; /* a byte of Latin-1 becomes two */
    char *name, *raw;

    if (memchr(text, '\0', n))
        return error_set(err, RAYTRAIN_EINVAL,
                         "the header has a NUL byte; is this text, in UTF-8?");
    if (names->n == CSV_COLUMNS_MAX)
        return error_set(err, RAYTRAIN_EINVAL, "there are more than %d columns",
                         CSV_COLUMNS_MAX);
    if (names_grow(names, most + n + 1, err) < 0)
        return -1;
    name = names->text + names->length;
    raw = name + most;
    memcpy(raw, text, n);
    raw[n] = '\0';
    (void)utf8_make(raw, name, most); /* it has room enough */
    names->length += strlen(name) + 1;
    names->n++;
    return 0;
}

static int csv_record_read(struct csv_cursor *c, struct csv_names *names, bool *cut,
                           struct error *err)
{
    enum csv_end end;
    const char *text;
    size_t n;

    do {
        end = csv_field_read(c, &text, &n);
        if (end <= CSV_AT_LINE_END && name_append(names, text, n, err) < 0)
            return -1;
    } while (end == CSV_AT_DELIMITER);
    *cut = end == CSV_AT_CUT;
    if (end == CSV_AT_QUOTE)
        return error_set(err, RAYTRAIN_EINVAL, "the file ends in a quoted field");
    if (end == CSV_AT_NO_MEMORY)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a field");
    return 0;
}

int csv_names_read(char delimiter, const char *bytes, size_t n, bool last,
                   struct csv_names *names, size_t *used, bool *cut, struct error *err)
{
    struct csv_cursor c = {
        .at = bytes, .end = bytes + n, .delimiter = delimiter, .last = last};
    int rc = 0;

    *names = (struct csv_names){0};
    *cut = false;
    if (csv_record_find(&c, c.end))
        rc = csv_record_read(&c, names, cut, err);
    else
        *cut = !last;
    *used = (size_t)(c.at - bytes);
    if (rc < 0 || *cut)
        csv_names_clear(names);
    csv_cursor_clear(&c);
    return rc;
}

/* ---- Columns ---- */

/* The names in the header, and those that columns have got. For each name in the
 * header, the last number that was appended to it: a line of numbers that is taken for
 * a header may have thousands of equal names. */
struct naming {
    struct dictionary *taken, *given;
    size_t *times; /* the last number, for each of `given` */
};

static void naming_clear(struct naming *n)
{
    dictionary_destroy(n->taken);
    dictionary_destroy(n->given);
    free(n->times);
}

static bool csv_name_is_used(const struct naming *n, const char *name, size_t length)
{
    return dictionary_find(n->taken, name, length) >= 0 ||
           dictionary_find(n->given, name, length) >= 0;
}

/* Add a name of the header. */
static int name_give(struct naming *n, const char *name, size_t i, struct error *err)
{
    size_t length = strlen(name);
    char quoted[QUOTE_TEXT_MAX];
    int32_t code;

    if (length > RAYTRAIN_NAME_MAX)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "the name of column %zu, %s, has more than %d bytes; is the first "
            "line a header?",
            i + 1, quote(name, quoted), RAYTRAIN_NAME_MAX);
    return length > 0 ? dictionary_add(n->given, name, length, &code, err) : 0;
}

static int naming_init(struct naming *n, const struct csv_names *names,
                       struct error *err)
{
    const char *name = names->text;
    int rc = 0;

    *n = (struct naming){dictionary_create(), dictionary_create(),
                         calloc(names->n + 1, sizeof *n->times)};
    if (!n->taken || !n->given || !n->times)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for names of columns");
    for (size_t i = 0; i < names->n && rc == 0; i++) {
        rc = name_give(n, name, i, err);
        name += strlen(name) + 1;
    }
    return rc;
}

/* Make a new name by appending a number to `name`; *times is the last number that was
 * used. */
static int csv_name_make(const struct naming *n, const char *name, size_t *times,
                         char own[RAYTRAIN_NAME_MAX + 1], struct error *err)
{
    size_t room = RAYTRAIN_NAME_MAX + 1, length;
    char quoted[QUOTE_TEXT_MAX];

    do {
        length = (size_t)snprintf(own, room, "%s.%zu", name, ++*times);
        if (length >= room)
            return error_set(err, RAYTRAIN_EINVAL, "several columns are named %s",
                             quote(name, quoted));
    } while (csv_name_is_used(n, own, length));
    return 0;
}

/* Give column i its name: `name`, unless an earlier column has it. */
static int column_name(struct naming *n, size_t i, const char *name,
                       char own[RAYTRAIN_NAME_MAX + 1], struct error *err)
{
    char unnamed[32];
    size_t none = 0, *times = &none;
    bool again;
    int32_t code;

    if (*name) {
        times = &n->times[dictionary_find(n->given, name, strlen(name))];
        again = dictionary_find(n->taken, name, strlen(name)) >= 0;
    } else {
        again = csv_name_is_used(
            n, unnamed, (size_t)snprintf(unnamed, sizeof unnamed, "Unnamed: %zu", i));
        name = unnamed;
    }
    strcpy(own, name);
    if (again && csv_name_make(n, name, times, own, err) < 0)
        return -1;
    return dictionary_add(n->taken, own, strlen(own), &code, err);
}

int csv_names_columns(const struct csv_names *names, bool header,
                      struct csv_column **columns, struct error *err)
{
    const char *name = names->text;
    struct naming naming = {NULL, NULL, NULL};
    int rc = 0;

    *columns = calloc(names->n + 1, sizeof **columns);
    if (header)
        rc = naming_init(&naming, names, err);
    if (rc == 0 && !*columns)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for names of columns");
    for (size_t i = 0; i < names->n && rc == 0; i++) {
        if (header)
            rc = column_name(&naming, i, name, (*columns)[i].name, err);
        else
            snprintf((*columns)[i].name, sizeof(*columns)[i].name, "%zu", i);
        name += strlen(name) + 1;
    }
    naming_clear(&naming);
    if (rc < 0) {
        free(*columns);
        *columns = NULL;
    }
    return rc;
}
