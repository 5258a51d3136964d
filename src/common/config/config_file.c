/*
 * libconfig is used for its grammar alone. Positions and names of its settings are
 * copied into a tree of our own, so that keys, --set and flags are treated alike.
 */
#include "config/config_file.h"

#include <libconfig.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_scan.h"
#include "util/quote.h"

static int node_from_setting(const config_setting_t *setting, struct config_node *node,
                             const struct config_where *where);

static int items_from_setting(const config_setting_t *setting, struct config_node *node,
                              const struct config_where *where)
{
    int n = config_setting_length(setting);

    for (int i = 0; i < n; i++) {
        const config_setting_t *item = config_setting_get_elem(setting, (unsigned)i);
        struct config_node *added = config_node_add(node, config_setting_name(item));
        struct config_where here = {where->source, where, config_setting_name(item),
                                    where->err};

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

/* The text of a line, trimmed: malloc'ed; NULL where there is none. */
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
        config_fail(&where, &at, RAYTRAIN_EINVAL,
                    "%s, here or just before: %s; settings look like: key = value;",
                    what ? what : "syntax error", quote(line ? line : "", quoted));
    free(line);
    return -1;
}

int config_file_parse(const char *text, const char *source, struct config_node *root,
                      struct error *err)
{
    struct config_where where = {.source = source, .err = err};
    config_t config;
    char *scanned;
    int rc;

    memset(root, 0, sizeof *root);
    if (config_scan(text, source, &scanned, err))
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

/* Parse `value = TEXT`; -1 where that is not exactly one setting. */
static int value_parse(const char *text, struct config_node *root, struct error *err)
{
    static const char before[] = "value = ";
    char *setting = malloc(sizeof before + strlen(text) + 1);
    int rc;

    if (!setting)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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

/* The only setting of root becomes the value; text is kept where it may be wanted. */
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
