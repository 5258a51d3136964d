/*
 * callback_config.c - read, check and render the list of callbacks. The launcher's
 * callback room has the callbacks themselves.
 */
#include "config/callback_config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config_key.h"
#include "util/quote.h"
#include "util/suggest.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* ---- The keys of each kind, besides `type` ---- */

#define NO_KEYS                                                                        \
    {                                                                                  \
        NULL, 0                                                                        \
    }

static const struct config_table table_of_json = NO_KEYS;
static const struct config_table table_of_csv = NO_KEYS;
static const struct config_table table_of_tensorboard = NO_KEYS;

static const struct config_choice events[] = {
    CALLBACK_EVENTS(REGISTRY_CHOICE){NULL, NULL},
};

#define FIELD(member) .offset = offsetof(struct callback_config, member)
#define INTEGER(key, member, least, most, text)                                        \
    {                                                                                  \
        .name = key, .doc = text, .type = CONFIG_INT, FIELD(member), .min = least,     \
        .max = most                                                                    \
    }
#define EVENTS                                                                         \
    {                                                                                  \
        .name = "events", .doc = "what it gets", .type = CONFIG_STRINGS,               \
        FIELD(events), .offset2 = offsetof(struct callback_config, n_events),          \
        .choices = events                                                              \
    }
#define EVERY INTEGER("every", every, 1, INT_MAX, "one report of each N")
#define GRACE                                                                          \
    INTEGER("grace_s", grace_s, 0, 3600, "seconds that it has after the end of the run")

static const struct config_key keys_of_prometheus[] = {
    {.name = "path",
     .doc = "a file, or a directory for it",
     .type = CONFIG_STRING,
     FIELD(path)},
    INTEGER("interval_s", interval_s, 1, 86400, "seconds between two writes"),
};
static const struct config_key keys_of_command[] = {
    {.name = "argv",
     .doc = "the program, and its arguments",
     .type = CONFIG_STRINGS,
     FIELD(argv),
     .offset2 = offsetof(struct callback_config, n_argv)},
    EVENTS,
    EVERY,
    GRACE,
};
static const struct config_key keys_of_library[] = {
    {.name = "path", .doc = "the shared object", .type = CONFIG_STRING, FIELD(path)},
    {.name = "args",
     .doc = "what its create function gets",
     .type = CONFIG_STRINGS,
     FIELD(argv),
     .offset2 = offsetof(struct callback_config, n_argv)},
    EVENTS,
    EVERY,
    GRACE,
};
static const struct config_table table_of_prometheus = CONFIG_TABLE(keys_of_prometheus);
static const struct config_table table_of_command = CONFIG_TABLE(keys_of_command);
static const struct config_table table_of_library = CONFIG_TABLE(keys_of_library);

#define TABLE_OF(kind) &table_of_##kind,
static const struct config_table *const tables[] = {CALLBACKS(TABLE_OF)};

/* ---- Names ---- */

/* Names that are not available come after the others. */
static const char *const names[] = {CALLBACKS(REGISTRY_WORD)
                                        CALLBACKS_LATER(REGISTRY_WORD)};
#define NAMES_TEXT CALLBACKS(REGISTRY_ENTRY)

const char *callback_kind_name(int kind)
{
    return names[kind];
}

static int callback_kind_of(const char *name, const struct config_node *node,
                            const struct config_where *where)
{
    char quoted[QUOTE_TEXT_MAX];
    const char *near;

    for (int i = 0; i < (int)N(names); i++) {
        if (strcasecmp(names[i], name) != 0)
            continue;
        if (i < CALLBACK_KINDS)
            return i;
        return config_fail(where, node, RAYTRAIN_ENOTSUP,
                           "there is a callback \"%s\", but it " CONFIG_LATER,
                           names[i]);
    }
    near = suggest_nearest(name, names, CALLBACK_KINDS);
    return config_fail(where, node, RAYTRAIN_EINVAL,
                       "there is no callback %s%s%s%s (callbacks: " NAMES_TEXT
                       "a group with one of them as its type)",
                       quote(name, quoted), near ? "; did you mean \"" : "",
                       near ? near : "", near ? "\"?" : "");
}

/* ---- One callback ---- */

static void defaults(struct callback_config *cfg, int kind)
{
    *cfg = (struct callback_config){
        .kind = kind, .interval_s = 5, .every = 1, .grace_s = 5};
}

/* Complete and check the values that were read. */
static int complete(struct callback_config *cfg, const struct config_node *node,
                    const struct config_where *where)
{
    char **program =
        cfg->kind == CALLBACK_command && cfg->n_argv > 0 ? cfg->argv : NULL;

    if (cfg->kind == CALLBACK_command && !program)
        return config_fail(
            where, node, RAYTRAIN_EINVAL,
            "it has no program; add argv = [\"./PROGRAM\"], in a list of "
            "callbacks { type = \"command\"; argv = ...; }");
    if (cfg->kind == CALLBACK_library && !cfg->path)
        return config_fail(
            where, node, RAYTRAIN_EINVAL,
            "it has no shared object; add path = \"./FILE.so\", in a list "
            "of callbacks { type = \"library\"; path = ...; }");
    if ((program && strchr(*program, '/') && path_make_absolute(program, where->err)) ||
        path_make_absolute(&cfg->path, where->err))
        return -1;
    return 0;
}

static void last_remove(struct callbacks_config *cfg)
{
    struct callback_config *last = &cfg->list[--cfg->n];

    config_clear(tables[last->kind], last);
}

static int callback_add(struct callbacks_config *cfg, const char *type,
                        const struct config_node *group, const struct config_node *node,
                        const struct config_where *where)
{
    struct config_where here = config_where_below(where, type);
    int kind = callback_kind_of(type, node, where);
    struct callback_config *grown;

    if (kind < 0)
        return -1;
    here.all_keys = NULL; /* the keys of this group are not those of the file */
    grown = reallocarray(cfg->list, cfg->n + 1, sizeof *grown);
    if (!grown)
        return config_fail_memory(where);
    cfg->list = grown;
    defaults(&grown[cfg->n++], kind);
    if ((!group || config_apply(tables[kind], &grown[cfg->n - 1], group, &here) == 0) &&
        complete(&grown[cfg->n - 1], node, &here) == 0)
        return 0;
    last_remove(cfg);
    return -1;
}

/* { type = "NAME"; ... }: the group, except its type. */
static int group_add(struct callbacks_config *cfg, const struct config_node *item,
                     size_t type, const struct config_where *where)
{
    struct config_node *rest = calloc(item->n_items, sizeof *rest);
    struct config_node group = *item;
    int rc;

    if (!rest)
        return config_fail_memory(where);
    group.items = rest;
    group.n_items = 0;
    for (size_t i = 0; i < item->n_items; i++)
        if (i != type)
            rest[group.n_items++] = item->items[i];
    rc = callback_add(cfg, item->items[type].string, &group, item, where);
    free(rest);
    return rc;
}

static int callback_item_add(struct callbacks_config *cfg,
                             const struct config_node *item,
                             const struct config_where *where)
{
    if (item->type == NODE_STRING)
        return callback_add(cfg, item->string, NULL, item, where);
    for (size_t i = 0; item->type == NODE_GROUP && i < item->n_items; i++)
        if (!strcmp(item->items[i].name, "type") && item->items[i].type == NODE_STRING)
            return group_add(cfg, item, i, where);
    return config_expected(where, item,
                           "the name of a callback, or { type = \"NAME\"; ... }",
                           "what reports are passed to");
}

/* ---- The list ---- */

void callbacks_config_init(struct callbacks_config *cfg)
{
    cfg->list = calloc(1, sizeof *cfg->list);
    cfg->n = cfg->list ? 1 : 0;
    if (cfg->list)
        defaults(cfg->list, CALLBACK_json);
}

int callbacks_config_set(struct callbacks_config *cfg, const struct config_node *node,
                         const struct config_where *where)
{
    struct callbacks_config made = {calloc(1, sizeof *made.list), 0};

    if (!made.list)
        return config_fail_memory(where);
    if (node->type != NODE_ARRAY) {
        free(made.list);
        return config_expected(where, node, "a list of callbacks, ( \"csv\" )",
                               "what reports are passed to");
    }
    for (size_t i = 0; i < node->n_items; i++)
        if (callback_item_add(&made, &node->items[i], where)) {
            callbacks_config_clear(&made);
            return -1;
        }
    callbacks_config_clear(cfg);
    *cfg = made;
    return 0;
}

int callbacks_config_add(struct callbacks_config *cfg, const char *name,
                         const char *source, struct error *err)
{
    const struct config_where where = {.source = source, .err = err};
    struct callback_config *last;

    if (callback_add(cfg, name, NULL, NULL, &where))
        return -1;
    last = &cfg->list[cfg->n - 1];
    for (size_t i = 0; i + 1 < cfg->n; i++)
        if (cfg->list[i].kind == last->kind) {
            last_remove(cfg);
            break;
        }
    return 0;
}

void callbacks_config_render(const struct callbacks_config *cfg, const char *name,
                             FILE *out, int depth)
{
    config_render_name(out, depth, name);
    fputs("(", out);
    for (size_t i = 0; i < cfg->n; i++) {
        const struct callback_config *one = &cfg->list[i];

        fputs(i ? ", " : " ", out);
        if (tables[one->kind]->n_keys == 0) {
            config_render_string(out, names[one->kind]);
            continue;
        }
        fprintf(out, "{\n%*stype = \"%s\";\n", 4 * (depth + 1), "", names[one->kind]);
        config_render(tables[one->kind], one, out, depth + 1);
        fprintf(out, "%*s}", 4 * depth, "");
    }
    fputs(cfg->n ? " );\n" : ");\n", out);
}

void callbacks_config_clear(struct callbacks_config *cfg)
{
    for (size_t i = 0; i < cfg->n; i++)
        config_clear(tables[cfg->list[i].kind], &cfg->list[i]);
    free(cfg->list);
    *cfg = (struct callbacks_config){NULL, 0};
}
