/*
 * config_diff.c - walk through two trees of configuration side by side, and list the
 * values that differ.
 */
#include "config/config_diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_file.h"
#include "config/config_key.h"
#include "util/quote.h"

#define VALUE_BYTES 100 /* at most, of a value in a message */

static const struct config_node no_group = {.type = NODE_GROUP};

static const struct config_node *item_find(const struct config_node *group,
                                           const char *name)
{
    for (size_t i = 0; i < group->n_items; i++)
        if (strcmp(group->items[i].name, name) == 0)
            return &group->items[i];
    return NULL;
}

/* ---- Values ---- */

static bool node_equal(const struct config_node *a, const struct config_node *b);

static bool items_equal(const struct config_node *a, const struct config_node *b)
{
    if (a->n_items != b->n_items)
        return false;
    for (size_t i = 0; i < a->n_items; i++) {
        const struct config_node *other =
            a->type == NODE_GROUP ? item_find(b, a->items[i].name) : &b->items[i];

        if (!other || !node_equal(&a->items[i], other))
            return false;
    }
    return true;
}

static bool node_equal(const struct config_node *a, const struct config_node *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case NODE_INT:
        return a->integer == b->integer;
    case NODE_REAL:
        return a->real == b->real;
    case NODE_BOOL:
        return a->boolean == b->boolean;
    case NODE_STRING:
        return strcmp(a->string, b->string) == 0;
    default:
        return items_equal(a, b);
    }
}

static void node_write(FILE *out, const struct config_node *node)
{
    char quoted[QUOTE_TEXT_MAX];
    bool group = node->type == NODE_GROUP;

    switch (node->type) {
    case NODE_INT:
        fprintf(out, "%" PRId64, node->integer);
        return;
    case NODE_REAL:
        config_render_real(out, node->real);
        return;
    case NODE_BOOL:
        fputs(node->boolean ? "true" : "false", out);
        return;
    case NODE_STRING:
        fputs(quote(node->string, quoted), out);
        return;
    default:
        break;
    }
    fputc(group ? '{' : '(', out);
    for (size_t i = 0; i < node->n_items; i++) {
        fputs(i ? ", " : "", out);
        if (group)
            fprintf(out, "%s = ", quote(node->items[i].name, quoted));
        node_write(out, &node->items[i]);
    }
    fputc(group ? '}' : ')', out);
}

/* malloc'ed; NULL without memory. */
static char *node_text(const struct config_node *node)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    bool bad;

    if (!out)
        return NULL;
    node_write(out, node);
    bad = ferror(out) != 0;
    if (fclose(out) || bad) {
        free(text);
        return NULL;
    }
    if (n <= VALUE_BYTES)
        return text;
    n = VALUE_BYTES;
    while (n > 0 &&
           ((unsigned char)text[n] & 0xc0) == 0x80) /* do not cut a character */
        n--;
    strcpy(text + n - 3, "...");
    return text;
}

/* ---- Trees ---- */

static char *key_join(const char *group, const char *name)
{
    char quoted[QUOTE_TEXT_MAX], *key;

    if (!config_file_is_name(name))
        name = quote(name, quoted);
    return asprintf(&key, "%s%s%s", group, *group ? "." : "", name) < 0 ? NULL : key;
}

/* Takes ownership of the key. NULL: not set. */
static int change_add(struct config_changes *changes, char *key,
                      const struct config_node *before, const struct config_node *now)
{
    struct config_change *grown =
        reallocarray(changes->list, changes->n + 1, sizeof *grown);
    struct config_change *c;

    if (!grown) {
        free(key);
        return -1;
    }
    changes->list = grown;
    c = &grown[changes->n++];
    *c = (struct config_change){.key = key};
    if (before)
        c->before = node_text(before);
    if (now)
        c->now = node_text(now);
    return (before && !c->before) || (now && !c->now) ? -1 : 0;
}

static int group_diff(const char *name, const struct config_node *before,
                      const struct config_node *now, struct config_changes *changes);

/* One of them may be NULL: not set. A group that is not set counts as empty. */
static int item_diff(const char *group, const char *name,
                     const struct config_node *before, const struct config_node *now,
                     struct config_changes *changes)
{
    bool groups =
        (!before || before->type == NODE_GROUP) && (!now || now->type == NODE_GROUP);
    char *key;
    int rc;

    if ((before && now && node_equal(before, now)) ||
        (!*group && strcmp(name, "train_func_kind") == 0))
        return 0;
    if (!(key = key_join(group, name)))
        return -1;
    if (!groups)
        return change_add(changes, key, before, now);
    rc = group_diff(key, before ? before : &no_group, now ? now : &no_group, changes);
    free(key);
    return rc;
}

static int group_diff(const char *name, const struct config_node *before,
                      const struct config_node *now, struct config_changes *changes)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < now->n_items; i++)
        rc = item_diff(name, now->items[i].name, item_find(before, now->items[i].name),
                       &now->items[i], changes);
    for (size_t i = 0; rc == 0 && i < before->n_items; i++)
        if (!item_find(now, before->items[i].name))
            rc = item_diff(name, before->items[i].name, &before->items[i], NULL,
                           changes);
    return rc;
}

int config_diff(const char *before, const char *now, struct config_changes *changes,
                struct error *err)
{
    struct config_node old, new;
    int rc;

    *changes = (struct config_changes){0};
    if (config_file_parse(before, "the configuration before", &old, err) < 0)
        return -1;
    if (config_file_parse(now, "the configuration now", &new, err) < 0) {
        config_node_clear(&old);
        return -1;
    }
    rc = group_diff("", &old, &new, changes);
    config_node_clear(&old);
    config_node_clear(&new);
    if (rc == 0)
        return 0;
    config_changes_clear(changes);
    return error_no_memory(err);
}

void config_changes_clear(struct config_changes *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        free(changes->list[i].key);
        free(changes->list[i].before);
        free(changes->list[i].now);
    }
    free(changes->list);
    *changes = (struct config_changes){0};
}

char *config_string_of(const char *text, const char *name)
{
    const struct config_node *item;
    struct config_node root;
    char *string = NULL;

    if (config_file_parse(text, "the configuration", &root, NULL) < 0)
        return NULL;
    item = item_find(&root, name);
    if (item && item->type == NODE_STRING)
        string = strdup(item->string);
    config_node_clear(&root);
    return string;
}
