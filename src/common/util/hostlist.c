/* hostlist.c - Slurm's compressed node lists: expand, compress. */
#include "config.h"

#include "util/hostlist.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/argv.h"

/* Bytes of one name. HOST_NAME_MAX is less. */
#define HOSTLIST_NAME_MAX 255
#define HOSTLIST_DIGITS   9 /* for a number in brackets */

struct expansion {
    const char *text; /* for messages */
    char **names;
    size_t n, room;
    struct error *err;
};

static int expansion_fail(struct expansion *x, const char *what)
{
    return error_set(x->err, RAYTRAIN_EINVAL, "node list '%.200s': %s", x->text, what);
}

static int expansion_add(struct expansion *x, const char *name)
{
    if (strlen(name) > HOSTLIST_NAME_MAX)
        return expansion_fail(x, "a node name is too long");
    if (x->n == HOSTLIST_MAX)
        return expansion_fail(x, "it names too many nodes");
    if (x->n + 2 > x->room) {
        size_t room = x->room ? 2 * x->room : 16;
        char **grown = realloc(x->names, room * sizeof *grown);

        if (!grown)
            return error_set(x->err, RAYTRAIN_ENOMEM, "out of memory for a node list");
        x->names = grown;
        x->room = room;
    }
    if (!(x->names[x->n] = strdup(name)))
        return error_set(x->err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    x->names[++x->n] = NULL;
    return 0;
}

/* Read a number of at most HOSTLIST_DIGITS digits; advances *p. */
static int host_number_read(const char **p, unsigned long *value)
{
    size_t digits = strspn(*p, "0123456789");

    if (digits == 0 || digits > HOSTLIST_DIGITS)
        return -1;
    *value = strtoul(*p, NULL, 10);
    *p += digits;
    return (int)digits;
}

static int name_expand(struct expansion *x, const char *prefix, const char *rest);

/* "3" or "08-12" in brackets; the names continue with `tail`. */
static int range_expand(struct expansion *x, const char *prefix, const char **range,
                        const char *tail)
{
    unsigned long first, last;
    int digits = host_number_read(range, &first);
    char name[HOSTLIST_NAME_MAX + 1];

    if (digits < 0)
        return expansion_fail(x, "brackets must contain numbers such as [1-3,7]");
    last = first;
    if (**range == '-') {
        ++*range;
        if (host_number_read(range, &last) < 0)
            return expansion_fail(x, "a range needs two numbers, such as 1-3");
    }
    if (last < first)
        return expansion_fail(x, "a range runs backwards");
    for (unsigned long i = first; i <= last; i++) {
        int len = snprintf(name, sizeof name, "%s%0*lu", prefix, digits, i);

        if (len < 0 || (size_t)len >= sizeof name)
            return expansion_fail(x, "a node name is too long");
        if (name_expand(x, name, tail) < 0)
            return -1;
    }
    return 0;
}

/* All names of one element that begin with prefix and continue with rest. */
static int name_expand(struct expansion *x, const char *prefix, const char *rest)
{
    char name[HOSTLIST_NAME_MAX + 1];
    size_t plain = strcspn(rest, "[]");
    int len = snprintf(name, sizeof name, "%s%.*s", prefix,
                       (int)(plain > HOSTLIST_NAME_MAX ? sizeof name : plain), rest);
    const char *range = rest + plain, *end;

    if (len < 0 || (size_t)len >= sizeof name)
        return expansion_fail(x, "a node name is too long");
    if (*range == '\0')
        return expansion_add(x, name);
    if (*range == ']' || !(end = strchr(range, ']')))
        return expansion_fail(x, "a bracket is not closed");
    do {
        range++;
        if (range_expand(x, name, &range, end + 1) < 0)
            return -1;
    } while (*range == ',');
    if (range != end)
        return expansion_fail(x, "brackets must contain numbers such as [1-3,7]");
    return 0;
}

/* Length of the first element: up to a comma outside brackets. */
static size_t element_length(const char *text)
{
    int depth = 0;
    size_t i;

    for (i = 0; text[i] && !(text[i] == ',' && depth == 0); i++)
        depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    return i;
}

static int expansion_run(struct expansion *x)
{
    const char *p = x->text;

    while (*p) {
        size_t n = element_length(p);
        char *element = strndup(p, n);
        int rc;

        if (!element)
            return error_set(x->err, RAYTRAIN_ENOMEM, "out of memory for a node list");
        if (n == 0)
            rc = expansion_fail(x, "a name is missing at a comma");
        else if (strpbrk(element, " \t\n"))
            rc = expansion_fail(x, "there is a blank in it");
        else
            rc = name_expand(x, "", element);
        free(element);
        if (rc < 0)
            return -1;
        p += n;
        if (*p == ',' && *++p == '\0')
            return expansion_fail(x, "a name is missing after the last comma");
    }
    return 0;
}

int hostlist_expand(const char *text, char ***names, struct error *err)
{
    struct expansion x = {.text = text, .err = err};

    if (expansion_run(&x) < 0) {
        argv_free(x.names);
        return -1;
    }
    *names = x.names;
    return 0;
}

/* A name as a prefix and a number of `digits` digits. digits is 0 if the name does not
 * end in a number. */
struct split_name {
    size_t prefix;
    int digits;
    unsigned long value;
};

static struct split_name name_split(const char *name)
{
    struct split_name s = {.prefix = strlen(name)};

    while (s.prefix > 0 && isdigit((unsigned char)name[s.prefix - 1]) &&
           s.digits < HOSTLIST_DIGITS) {
        s.prefix--;
        s.digits++;
    }
    if (s.digits > 0)
        s.value = strtoul(name + s.prefix, NULL, 10);
    return s;
}

static bool names_share_prefix(const char *a, struct split_name sa, const char *b,
                               struct split_name sb)
{
    return sa.digits > 0 && sb.digits > 0 && sa.prefix == sb.prefix &&
           memcmp(a, b, sa.prefix) == 0;
}

/* Does b follow a, with the same number of digits? (Slurm pads a range to the width of
 * its first number: 08-10, but 9,10.) */
static bool names_follow(struct split_name a, struct split_name b)
{
    return b.value == a.value + 1 && a.digits == b.digits;
}

/* names[0..n) share a prefix: "n[1-3,7]". */
static void group_print(FILE *out, char *const *names, size_t n)
{
    size_t i = 0;

    if (n == 1) {
        fputs(names[0], out);
        return;
    }
    fprintf(out, "%.*s[", (int)name_split(names[0]).prefix, names[0]);
    while (i < n) {
        struct split_name first = name_split(names[i]), last = first;
        const char *sep = i > 0 ? "," : "";

        while (++i < n && names_follow(last, name_split(names[i])))
            last = name_split(names[i]);
        if (last.value > first.value)
            fprintf(out, "%s%0*lu-%0*lu", sep, first.digits, first.value, last.digits,
                    last.value);
        else
            fprintf(out, "%s%0*lu", sep, first.digits, first.value);
    }
    putc(']', out);
}

int hostlist_compress(char *const *names, size_t n, char **text, struct error *err)
{
    char *list = NULL;
    size_t size = 0, i = 0;
    FILE *out = open_memstream(&list, &size);
    bool bad;

    if (!out)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    while (i < n) {
        size_t first = i;
        struct split_name s = name_split(names[first]);

        while (++i < n &&
               names_share_prefix(names[first], s, names[i], name_split(names[i])))
            ;
        if (first > 0)
            putc(',', out);
        group_print(out, names + first, i - first);
    }
    bad = ferror(out);
    if (fclose(out) != 0 || bad) {
        free(list);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    }
    *text = list;
    return 0;
}
