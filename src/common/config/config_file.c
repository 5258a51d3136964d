/*
 * config_file.c - libconfig text to a tree of nodes: first a pass over the text that
 * refuses mistakes which libconfig's scanner accepts; then the tree; and a single value
 * (--set).
 *
 * Only libconfig's grammar is used. Positions and names of its settings are copied into
 * a tree of our own, so that the file, --set and flags are treated alike.
 */
#include "config/config_file.h"

#include <ctype.h>
#include <errno.h>
#include <libconfig.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

/* ---- Mistakes that libconfig's scanner accepts ---- */

/*
 * It wraps integers that are too large, cuts strings at \x00, ends at an unclosed
 * comment or string, and follows @include anywhere. All of that is refused here. Every
 * integer is marked as a 64-bit one; lines stay where they are.
 */

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*_-"

struct scan {
    const char *p;         /* the rest of the text */
    /* The output: at most two bytes for each byte that is read */
    char *out;
    struct config_node at; /* with the current line, for messages */
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

/* The length of the rest of a real, from its point or exponent on. */
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

/* *out: the marked text, malloc'ed. */
static int text_scan(const char *text, const char *source, char **out,
                     struct error *err)
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

/* ---- The tree ---- */

static int node_from_setting(const config_setting_t *setting, struct config_node *node,
                             const struct config_where *where);

static int items_from_setting(const config_setting_t *setting, struct config_node *node,
                              const struct config_where *where)
{
    int n = config_setting_length(setting);

    for (int i = 0; i < n; i++) {
        const config_setting_t *item = config_setting_get_elem(setting, (unsigned)i);
        struct config_node *added = config_node_add(node, config_setting_name(item));
        struct config_where here = config_where_below(where, config_setting_name(item));

        if (!added)
            return config_fail_memory(where);
        if (node_from_setting(item, added, here.name ? &here : where))
            return -1;
    }
    return 0;
}

static int node_from_setting(const config_setting_t *setting, struct config_node *node,
                             const struct config_where *where)
{
    node->line = (int)config_setting_source_line(setting);
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_GROUP:
        node->type = NODE_GROUP;
        return items_from_setting(setting, node, where);
    case CONFIG_TYPE_ARRAY:
    case CONFIG_TYPE_LIST:
        node->type = NODE_ARRAY;
        return items_from_setting(setting, node, where);
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        node->type = NODE_INT;
        node->integer = config_setting_get_int64(setting);
        return 0;
    case CONFIG_TYPE_FLOAT:
        node->type = NODE_REAL;
        node->real = config_setting_get_float(setting);
        if (!isfinite(node->real))
            return config_fail(where, node, RAYTRAIN_EINVAL,
                               "this number is out of range: it exceeds a double");
        return 0;
    case CONFIG_TYPE_BOOL:
        node->type = NODE_BOOL;
        node->boolean = config_setting_get_bool(setting);
        return 0;
    default:
        node->type = NODE_STRING;
        node->string = strdup(config_setting_get_string(setting));
        return node->string ? 0 : config_fail_memory(where);
    }
}

/* The text of a line, trimmed: malloc'ed. NULL if there is no such line. */
static char *line_text(const char *text, int line)
{
    for (; line > 1; line--) {
        text = strchr(text, '\n');
        if (!text)
            return NULL;
        text++;
    }
    text += strspn(text, " \t");
    return strndup(text, strcspn(text, "\r\n"));
}

static int syntax_fail(const config_t *config, const char *text, const char *source,
                       struct error *err)
{
    struct config_where where = {.source = source, .err = err};
    struct config_node at = {.line = config_error_line(config)};
    char *line = line_text(text, at.line);
    char quoted[QUOTE_TEXT_MAX];
    const char *what = config_error_text(config);

    if (what && strstr(what, "duplicate"))
        config_fail(&where, &at, RAYTRAIN_EINVAL, "this key was set before, in: %s",
                    quote(line ? line : "", quoted));
    else
        config_fail(
            &where, &at, RAYTRAIN_EINVAL,
            "%s, here or on the line before: %s; settings look like: key = value;",
            what ? what : "syntax error", quote(line ? line : "", quoted));
    free(line);
    return -1;
}

int config_file_parse(const char *text, const char *source, struct config_node *root,
                      struct error *err)
{
    struct config_where where = {.source = source, .err = err};
    config_t config;
    char *scanned = NULL;
    int rc;

    memset(root, 0, sizeof *root);
    if (text_scan(text, source, &scanned, err))
        return -1;
    config_init(&config);
    if (!config_read_string(&config, scanned))
        rc = syntax_fail(&config, text, source, err);
    else
        rc = node_from_setting(config_root_setting(&config), root, &where);
    if (rc)
        config_node_clear(root);
    config_destroy(&config);
    free(scanned);
    return rc;
}

/* ---- A value ---- */

/* Parse `value = TEXT`; -1 if that is not exactly one setting. */
static int value_parse(const char *text, struct config_node *root, struct error *err)
{
    static const char before[] = "value = ";
    char *setting = malloc(sizeof before + strlen(text) + 1);
    int rc;

    if (!setting)
        return error_no_memory(err);
    strcpy(setting, before);
    strcat(setting, text);
    strcat(setting, "\n");
    rc = config_file_parse(setting, "value", root, err);
    free(setting);
    if (!rc && root->n_items != 1) {
        config_node_clear(root);
        return error_set(err, RAYTRAIN_EINVAL, "more than one value");
    }
    return rc;
}

static void lines_forget(struct config_node *node)
{
    node->line = 0;
    for (size_t i = 0; i < node->n_items; i++)
        lines_forget(&node->items[i]);
}

/* Make the only setting of root the value. Keep its text if it may be needed. */
static int value_take(struct config_node *root, struct config_node *value,
                      const char *text)
{
    char *name = value->name;

    free(root->items[0].name);
    *value = root->items[0];
    memset(&root->items[0], 0, sizeof root->items[0]);
    config_node_clear(root);
    value->name = name;
    lines_forget(value);
    if (value->type == NODE_INT || value->type == NODE_REAL || value->type == NODE_BOOL)
        return (value->raw = strdup(text)) ? 0 : -1;
    return 0;
}

int config_file_parse_value(const char *text, struct config_node *value,
                            const struct config_where *where)
{
    struct config_node root;
    char quoted[QUOTE_TEXT_MAX];
    struct error why;

    if (!value_parse(text, &root, &why))
        return value_take(&root, value, text) ? config_fail_memory(where) : 0;
    if (why.code == RAYTRAIN_ENOMEM)
        return config_fail_memory(where);
    if (strstr(why.text, "out of range"))
        return config_fail(where, NULL, RAYTRAIN_EINVAL,
                           "%s is out of range: it exceeds 64 bits",
                           quote(text, quoted));
    if (*text && strchr("\"{([", *text))
        return config_fail(where, NULL, RAYTRAIN_EINVAL,
                           "%s is not a value; write 5, 0.1, true, word, \"text\", "
                           "[1, 2] or { key = value; }",
                           quote(text, quoted));
    value->type = NODE_STRING;
    value->string = strdup(text);
    return value->string ? 0 : config_fail_memory(where);
}

bool config_file_is_name(const char *name)
{
    static const char letters[] =
        "*ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    if (!*name || !strchr(letters, *name))
        return false;
    for (; *name; name++)
        if (!strchr(letters, *name) && !strchr("0123456789_-", *name))
            return false;
    return true;
}
