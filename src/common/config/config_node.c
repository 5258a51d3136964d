/*
 * config_node.c - build and clear the trees of values, compose the messages about wrong
 * values, and check paths.
 */
#include "config/config_node.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/quote.h"

#define PATH_TEXT_MAX 512

/* The name, quoted if it has characters that are not harmless. */
static const char *name_show(const char *name, char out[QUOTE_TEXT_MAX])
{
    quote(name, out);
    if (strlen(out) != strlen(name) + 2)
        return out;
    return name;
}

/* The dotted path, outermost name first. */
static void path_write(const struct config_where *where, char path[PATH_TEXT_MAX])
{
    char shown[QUOTE_TEXT_MAX];
    size_t used;

    path[0] = '\0';
    if (!where || !where->name)
        return;
    path_write(where->up, path);
    used = strlen(path);
    snprintf(path + used, PATH_TEXT_MAX - used, "%s%s", used ? "." : "",
             name_show(where->name, shown));
}

int config_fail(const struct config_where *where, const struct config_node *node,
                raytrain_status code, const char *fmt, ...)
{
    char path[PATH_TEXT_MAX], line[16] = "", shown[QUOTE_TEXT_MAX];
    char text[ERROR_TEXT_MAX / 2];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    path_write(where, path);
    if (node && node->line > 0)
        snprintf(line, sizeof line, ":%d", node->line);
    return error_set(where->err, code, "%s%s: %s%s%s", name_show(where->source, shown),
                     line, path, path[0] ? ": " : "", text);
}

int config_fail_memory(const struct config_where *where)
{
    return error_no_memory(where->err);
}

char *config_node_describe(const struct config_node *node, char text[NODE_TEXT_MAX])
{
    char quoted[QUOTE_TEXT_MAX];

    switch (node->type) {
    case NODE_GROUP:
        return strcpy(text, "a group");
    case NODE_ARRAY:
        return strcpy(text, "a list");
    case NODE_INT:
        snprintf(text, NODE_TEXT_MAX, "the integer %" PRId64, node->integer);
        break;
    case NODE_REAL:
        snprintf(text, NODE_TEXT_MAX, "the number %.17g", node->real);
        break;
    case NODE_BOOL:
        return strcpy(text, node->boolean ? "true" : "false");
    case NODE_STRING:
        snprintf(text, NODE_TEXT_MAX, "the string %s", quote(node->string, quoted));
        break;
    }
    return text;
}

struct config_node *config_node_add(struct config_node *parent, const char *name)
{
    struct config_node *items, *node;
    char *copy = NULL;

    if (name && !(copy = strdup(name)))
        return NULL;
    /* The array is full if n_items is a power of two (or 0). */
    if ((parent->n_items & (parent->n_items - 1)) == 0) {
        size_t room = parent->n_items ? 2 * parent->n_items : 1;

        items = reallocarray(parent->items, room, sizeof *items);
        if (!items) {
            free(copy);
            return NULL;
        }
        parent->items = items;
    }
    node = &parent->items[parent->n_items++];
    memset(node, 0, sizeof *node);
    node->name = copy;
    return node;
}

void config_node_clear(struct config_node *node)
{
    for (size_t i = 0; i < node->n_items; i++)
        config_node_clear(&node->items[i]);
    free(node->items);
    free(node->name);
    free(node->raw);
    free(node->string);
    memset(node, 0, sizeof *node);
}

static json_t *group_json(const struct config_node *node,
                          const struct config_where *where)
{
    json_t *object = json_object();

    for (size_t i = 0; object && i < node->n_items; i++) {
        struct config_where here = config_where_below(where, node->items[i].name);
        json_t *value = config_node_json(&node->items[i], &here);

        if (!value) {
            json_decref(object);
            return NULL;
        }
        if (json_object_set_new(object, node->items[i].name, value)) {
            json_decref(object);
            object = NULL;
        }
    }
    if (!object)
        config_fail_memory(where);
    return object;
}

static json_t *array_json(const struct config_node *node,
                          const struct config_where *where)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < node->n_items; i++) {
        json_t *value = config_node_json(&node->items[i], where);

        if (!value) {
            json_decref(array);
            return NULL;
        }
        if (json_array_append_new(array, value)) {
            json_decref(array);
            array = NULL;
        }
    }
    if (!array)
        config_fail_memory(where);
    return array;
}

static bool is_utf8(const char *s)
{
    while (*s) {
        int n = utf8_length(s);

        if (n == 0)
            return false;
        s += n;
    }
    return true;
}

json_t *config_node_json(const struct config_node *node,
                         const struct config_where *where)
{
    char text[NODE_TEXT_MAX];
    json_t *value = NULL;

    switch (node->type) {
    case NODE_GROUP:
        return group_json(node, where);
    case NODE_ARRAY:
        return array_json(node, where);
    case NODE_INT:
        value = json_integer(node->integer);
        break;
    case NODE_REAL:
        value = json_real(node->real);
        break;
    case NODE_BOOL:
        value = json_boolean(node->boolean);
        break;
    case NODE_STRING:
        if (!is_utf8(node->string)) {
            config_fail(where, node, RAYTRAIN_EINVAL, "expected UTF-8, found %s",
                        config_node_describe(node, text));
            return NULL;
        }
        value = json_string(node->string);
        break;
    }
    if (!value)
        config_fail_memory(where);
    return value;
}

/* ---- Paths ---- */

int path_make_absolute(char **path, struct error *err)
{
    const char *rest = *path;
    char cwd[PATH_MAX], *joined;

    if (!rest || *rest == '/')
        return 0;
    if (!getcwd(cwd, sizeof cwd))
        return error_set(err, RAYTRAIN_ESTORAGE,
                         "cannot find the working directory: %s", strerror(errno));
    while (rest[0] == '.' && rest[1] == '/')
        rest += 1 + strspn(rest + 1, "/");
    if (asprintf(&joined, "%s%s%s", cwd, strcmp(cwd, "/") ? "/" : "", rest) < 0)
        return error_no_memory(err);
    free(*path);
    *path = joined;
    return 0;
}

int path_check_file(const char *what, const char *path, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    if (stat(path, &st))
        return error_set(
            err,
            errno == ENOENT || errno == ENOTDIR ? RAYTRAIN_ENOTFOUND : RAYTRAIN_EINVAL,
            "%s: cannot find %s: %s", what, quote(path, quoted), strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: %s is a directory; name a file in it", what,
                         quote(path, quoted));
    if (!S_ISREG(st.st_mode))
        return error_set(err, RAYTRAIN_EINVAL, "%s: %s is not a regular file", what,
                         quote(path, quoted));
    if (access(path, R_OK))
        return error_set(err, RAYTRAIN_EINVAL, "%s: cannot read %s: %s", what,
                         quote(path, quoted), strerror(errno));
    return 0;
}
