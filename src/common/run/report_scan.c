/* report_scan.c - skip through a JSON object. */
#include "run/report_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *blanks_skip(const char *c)
{
    return c + strspn(c, " \t\r\n");
}

/* After the string that begins at c; NULL: it does not end. */
static const char *string_skip(const char *c)
{
    for (c++; *c && *c != '"'; c++)
        if (*c == '\\' && *++c == '\0')
            return NULL;
    return *c ? c + 1 : NULL;
}

/* After the object or array that begins at c; NULL: it does not end. */
static const char *group_skip(const char *c)
{
    size_t depth = 0;

    do {
        c += strcspn(c, "\"[]{}");
        if (*c == '\0')
            return NULL;
        if (*c == '"') {
            c = string_skip(c);
            if (!c)
                return NULL;
            continue;
        }
        if (*c == '[' || *c == '{')
            depth++;
        else
            depth--;
        c++;
    } while (depth > 0);
    return c;
}

/* After the value that begins at c; NULL: there is none. */
static const char *value_skip(const char *c)
{
    size_t n;

    if (*c == '"')
        return string_skip(c);
    if (*c == '[' || *c == '{')
        return group_skip(c);
    n = strspn(c, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    return n > 0 ? c + n : NULL;
}

/* ---- The members of an object ---- */

/* c: after the brace or a comma. After the member; NULL: there is none, or it does not
 * end. */
static const char *member_read(const char *c, struct report_member *m)
{
    const char *end;

    c = blanks_skip(c);
    end = *c == '"' ? string_skip(c) : NULL;
    if (!end)
        return NULL;
    m->key = c + 1;
    m->key_n = (size_t)(end - 1 - m->key);
    c = blanks_skip(end);
    if (*c != ':')
        return NULL;
    m->value = blanks_skip(c + 1);
    end = value_skip(m->value);
    m->value_n = end ? (size_t)(end - m->value) : 0;
    return end ? blanks_skip(end) : NULL;
}

static bool is_key(const struct report_member *m, const char *key, size_t n)
{
    return m->key_n == n && memcmp(m->key, key, n) == 0;
}

/* Deliver each member of text[0..n) until one is refused. False: it is not an
 * object. */
static bool members_each(const char *text, size_t n,
                         bool (*take)(void *arg, const struct report_member *m),
                         void *arg)
{
    const char *c = blanks_skip(text);
    struct report_member m;

    if (*c != '{')
        return false;
    if (*blanks_skip(c + 1) == '}')
        return (size_t)(blanks_skip(blanks_skip(c + 1) + 1) - text) >= n;
    do {
        c = member_read(c + 1, &m);
        if (!c || !take(arg, &m))
            return false;
    } while (*c == ',');
    return *c == '}' && (size_t)(blanks_skip(c + 1) - text) >= n;
}

/* ---- A few numbers ---- */

struct wanted {
    const char *const *keys;
    size_t n;
    double *values;
};

static double number_at(const char *c)
{
    return *c == '-' || (*c >= '0' && *c <= '9') ? strtod(c, NULL) : INFINITY;
}

static bool number_take(void *arg, const struct report_member *m)
{
    const struct wanted *w = arg;

    for (size_t i = 0; i < w->n; i++)
        if (is_key(m, w->keys[i], strlen(w->keys[i])))
            w->values[i] = number_at(m->value);
    return true;
}

bool report_scan(const char *line, size_t n, const char *const keys[], size_t n_keys,
                 double values[])
{
    struct wanted w = {keys, n_keys, values};

    for (size_t i = 0; i < n_keys; i++)
        values[i] = NAN;
    return members_each(line, n, number_take, &w);
}

/* ---- All members ---- */

static bool member_take(void *arg, const struct report_member *member)
{
    struct report_members *m = arg;

    if (m->n == m->room) {
        size_t room = 2 * m->room + 64;
        void *more = reallocarray(m->list, room, sizeof *m->list);

        m->no_memory = !more;
        if (!more)
            return false;
        m->list = more;
        m->room = room;
    }
    m->list[m->n++] = *member;
    return true;
}

bool report_members_read(struct report_members *m, const char *text, size_t n)
{
    m->n = 0;
    m->no_memory = false;
    return members_each(text, n, member_take, m);
}

const struct report_member *report_members_find(const struct report_members *m,
                                                const char *key, size_t key_n,
                                                size_t *at)
{
    for (size_t i = 0; i < m->n; i++) {
        size_t here = *at + i < m->n ? *at + i : (*at + i) % m->n;

        if (is_key(&m->list[here], key, key_n)) {
            *at = here + 1;
            return &m->list[here];
        }
    }
    return NULL;
}

void report_members_clear(struct report_members *m)
{
    free(m->list);
    *m = (struct report_members){0};
}
