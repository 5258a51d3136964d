#include "config/config_scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_node.h"

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*_-"

struct scan {
    const char *p;         /* what is still to be read */
    char *out;             /* where it goes; each byte read is at most two written */
    struct config_node at; /* its line is the current one, for messages */
    struct config_where where;
    int depth;
};

static void scan_copy(struct scan *s, size_t n)
{
    for (; n > 0; n--) {
        s->at.line += *s->p == '\n';
        *s->out++ = *s->p++;
    }
}

static int scan_fail(const struct scan *s, const char *text)
{
    return config_fail(&s->where, &s->at, RAYTRAIN_EINVAL, "%s", text);
}

static int scan_string(struct scan *s)
{
    int first_line = s->at.line;

    for (scan_copy(s, 1); *s->p != '"';) {
        if (!*s->p || (*s->p == '\\' && !s->p[1])) {
            s->at.line = first_line;
            return scan_fail(s, "the string that begins here has no closing quote");
        }
        if (*s->p == '\\' && (s->p[1] | 0x20) == 'x' && s->p[2] == '0' &&
            s->p[3] == '0')
            return scan_fail(s, "a string cannot hold \\x00");
        scan_copy(s, *s->p == '\\' ? 2 : 1);
    }
    scan_copy(s, 1);
    return 0;
}

static int scan_comment(struct scan *s)
{
    const char *end;
    int first_line = s->at.line;

    if (s->p[1] != '*') {
        scan_copy(s, strcspn(s->p, "\n"));
        return 0;
    }
    end = strstr(s->p + 2, "*/");
    if (!end) {
        s->at.line = first_line;
        return scan_fail(s, "the comment that begins here has no closing */");
    }
    scan_copy(s, (size_t)(end + 2 - s->p));
    return 0;
}

/* The bytes of a real from its point or its exponent on. */
static size_t real_rest(const char *p)
{
    size_t n = 0;

    if (p[n] == '.')
        n += 1 + strspn(p + 1, "0123456789");
    if ((p[n] | 0x20) == 'e') {
        n += p[n + 1] == '-' || p[n + 1] == '+' ? 2 : 1;
        n += strspn(p + n, "0123456789");
    }
    return n;
}

static int scan_number(struct scan *s)
{
    size_t sign = *s->p == '-' || *s->p == '+';
    bool hex = s->p[sign] == '0' && (s->p[sign + 1] | 0x20) == 'x';
    size_t n = sign + (hex ? 2 : 0);

    while (hex ? isxdigit((unsigned char)s->p[n]) : isdigit((unsigned char)s->p[n]))
        n++;
    if (!hex && (s->p[n] == '.' || (s->p[n] | 0x20) == 'e')) {
        scan_copy(s, n + real_rest(s->p + n));
        return 0;
    }
    errno = 0;
    (void)strtoll(s->p, NULL, hex ? 16 : 10);
    if (errno == ERANGE)
        return scan_fail(s, "this integer is out of range: it exceeds 64 bits");
    scan_copy(s, n);
    if (*s->p != 'L')
        *s->out++ = 'L';
    else
        scan_copy(s, strspn(s->p, "L"));
    return 0;
}

static int scan_bracket(struct scan *s)
{
    s->depth += strchr("({[", *s->p) ? 1 : -1;
    if (s->depth > CONFIG_DEPTH_MAX)
        return scan_fail(s, "groups and lists are nested too deeply");
    scan_copy(s, 1);
    return 0;
}

static bool is_number(const char *p)
{
    p += *p == '-' || *p == '+';
    return isdigit((unsigned char)*p);
}

static int scan_token(struct scan *s)
{
    if (*s->p == '"')
        return scan_string(s);
    if (*s->p == '#' || (*s->p == '/' && (s->p[1] == '/' || s->p[1] == '*')))
        return scan_comment(s);
    if (strchr("(){}[]", *s->p))
        return scan_bracket(s);
    if (*s->p == '@')
        return scan_fail(s, "@include is not available: put everything into one file");
    if (is_number(s->p))
        return scan_number(s);
    if (*s->p == '.')
        scan_copy(s, real_rest(s->p));
    else if (isalpha((unsigned char)*s->p) || *s->p == '*')
        scan_copy(s, strspn(s->p, NAME_BYTES));
    else
        scan_copy(s, 1);
    return 0;
}

int config_scan(const char *text, const char *source, char **out, struct error *err)
{
    size_t n = strlen(text);
    char *copy = malloc(2 * n + 1);
    struct scan s = {.p = text,
                     .out = copy,
                     .at = {.line = 1},
                     .where = {.source = source, .err = err}};

    if (!copy)
        return config_fail_memory(&s.where);
    while (*s.p)
        if (scan_token(&s)) {
            free(copy);
            return -1;
        }
    *s.out = '\0';
    *out = copy;
    return 0;
}
