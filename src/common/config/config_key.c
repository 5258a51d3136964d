/*
 * config_key.c - set, check and free members of structs by the tables of keys.
 * config_list.c and config_render.c print them; config_node.c composes messages.
 */
#include "config/config_key.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/other_words.h"
#include "util/quote.h"
#include "util/size.h"
#include "util/suggest.h"

#define AT(object, offset, type) ((type *)(void *)((char *)(object) + (offset)))

#define CAT(object, offset, type)                                                      \
    ((type const *)(const void *)((const char *)(object) + (offset)))

#define CHOICES_MAX    16
#define WORDS_TEXT_MAX 256
#define WRONG_MAX      8 /* errors of a group that are reported at once */

/* ---- helpers ---- */

int config_expected(const struct config_where *where, const struct config_node *node,
                    const char *what, const char *doc)
{
    char found[NODE_TEXT_MAX];

    return config_fail(where, node, RAYTRAIN_EINVAL, "expected %s, found %s%s%s%s",
                       what, config_node_describe(node, found), doc ? " (" : "",
                       doc ? doc : "", doc ? ")" : "");
}

int config_set_string(char **field, const char *value, const struct config_where *where)
{
    char *copy = strdup(value);

    if (!copy)
        return config_fail_memory(where);
    free(*field);
    *field = copy;
    return 0;
}

void config_strings_free(char **strings, size_t n)
{
    for (size_t i = 0; strings && i < n; i++)
        free(strings[i]);
    free(strings);
}

int config_strings_get(const struct config_node *node, bool empty_ok, char ***strings,
                       size_t *n, const char *doc, const struct config_where *where)
{
    char **copy;

    if (node->type != NODE_ARRAY)
        return config_expected(where, node, "a list of strings", doc);
    copy = calloc(node->n_items + 1, sizeof *copy);
    if (!copy)
        return config_fail_memory(where);
    for (size_t i = 0; i < node->n_items; i++) {
        const struct config_node *item = &node->items[i];
        bool bad = item->type != NODE_STRING || (!empty_ok && !*item->string);

        if (!bad && (copy[i] = strdup(item->string)))
            continue;
        config_strings_free(copy, i);
        if (bad)
            return config_expected(where, item,
                                   empty_ok ? "a list of strings"
                                            : "a list of strings that are not empty",
                                   doc);
        return config_fail_memory(where);
    }
    *strings = copy;
    *n = node->n_items;
    return 0;
}

/* ---- choices ---- */

/* The index of the word; -1: none. */
static int choice_find(const struct config_choice *choices, const char *word)
{
    for (int i = 0; choices[i].word; i++)
        if (!strcasecmp(choices[i].word, word))
            return i;
    return -1;
}

static void choices_join(const struct config_choice *choices, bool available_only,
                         char text[WORDS_TEXT_MAX])
{
    size_t used = 0;

    text[0] = '\0';
    for (; choices->word && used < WORDS_TEXT_MAX; choices++)
        if (!available_only || !choices->refused)
            used += (size_t)snprintf(text + used, WORDS_TEXT_MAX - used, "%s%s",
                                     used ? ", " : "", choices->word);
}

static const char *choice_nearest(const struct config_choice *choices,
                                  const char *typed)
{
    const char *words[CHOICES_MAX];
    size_t n = 0;

    for (; choices->word && n < CHOICES_MAX; choices++)
        words[n++] = choices->word;
    return suggest_meant(typed, words, n);
}

/* The index of the word in the node; -1 with the error. */
static int choice_get(const struct config_key *key, const struct config_node *node,
                      const struct config_where *where)
{
    const char *word = node->type == NODE_STRING ? node->string : node->raw;
    const char *near = NULL;
    char allowed[WORDS_TEXT_MAX], found[NODE_TEXT_MAX];
    int i = word ? choice_find(key->choices, word) : -1;

    if (i >= 0)
        return i;
    choices_join(key->choices, false, allowed);
    if (word)
        near = choice_nearest(key->choices, word);
    return config_fail(
        where, node, RAYTRAIN_EINVAL, "expected one of %s, found %s%s%s%s (%s)",
        allowed, config_node_describe(node, found), near ? "; did you mean \"" : "",
        near ? near : "", near ? "\"?" : "", key->doc);
}

static int refuse_choice(const struct config_key *key, const char *word,
                         const struct config_where *where)
{
    char available[WORDS_TEXT_MAX];
    int i = choice_find(key->choices, word);

    if (i < 0 || !key->choices[i].refused)
        return 0;
    choices_join(key->choices, true, available);
    return config_fail(where, NULL, RAYTRAIN_ENOTSUP, "\"%s\" %s (available: %s)", word,
                       key->choices[i].refused, available);
}

/* ---- values ---- */

static int set_int(const struct config_key *key, void *object,
                   const struct config_node *node, const struct config_where *where)
{
    char what[96];

    if (node->type == NODE_INT && node->integer >= key->min &&
        node->integer <= key->max) {
        *AT(object, key->offset, int) = (int)node->integer;
        return 0;
    }
    snprintf(what, sizeof what, "an integer from %" PRId64 " to %" PRId64, key->min,
             key->max);
    return config_expected(where, node, what, key->doc);
}

static int set_u64(const struct config_key *key, void *object,
                   const struct config_node *node, const struct config_where *where)
{
    if (node->type != NODE_INT || node->integer < 0)
        return config_expected(where, node, "an integer from 0 to 9223372036854775807",
                               key->doc);
    *AT(object, key->offset, uint64_t) = (uint64_t)node->integer;
    return 0;
}

static int set_size(const struct config_key *key, void *object,
                    const struct config_node *node, const struct config_where *where)
{
    uint64_t bytes = 0;
    bool good = node->type == NODE_INT && node->integer >= 0;

    if (good)
        bytes = (uint64_t)node->integer;
    else if (node->type == NODE_STRING)
        good = !size_parse(node->string, &bytes, NULL) && bytes <= INT64_MAX;
    if (!good)
        return config_expected(where, node,
                               "a number of bytes or a size such as \"4G\"", key->doc);
    *AT(object, key->offset, uint64_t) = bytes;
    return 0;
}

static int set_bool(const struct config_key *key, void *object,
                    const struct config_node *node, const struct config_where *where)
{
    if (node->type != NODE_BOOL)
        return config_expected(where, node, "true or false", key->doc);
    *AT(object, key->offset, bool) = node->boolean;
    return 0;
}

static int set_string(const struct config_key *key, void *object,
                      const struct config_node *node, const struct config_where *where)
{
    const char *text = node->type == NODE_STRING ? node->string : node->raw;

    if (!text || !*text)
        return config_expected(
            where, node, text ? "a text that is not empty" : "a string", key->doc);
    return config_set_string(AT(object, key->offset, char *), text, where);
}

static int set_choice(const struct config_key *key, void *object,
                      const struct config_node *node, const struct config_where *where)
{
    int i = choice_get(key, node, where);

    if (i < 0)
        return -1;
    if (key->type == CONFIG_WORD)
        return config_set_string(AT(object, key->offset, char *), key->choices[i].word,
                                 where);
    if (key->type == CONFIG_ENUM) {
        *AT(object, key->offset, int) = i;
        return 0;
    }
    *AT(object, key->offset, bool) = i == 1;
    if (key->offset2)
        *AT(object, key->offset2, bool) = true;
    return 0;
}

static int set_strings(const struct config_key *key, void *object,
                       const struct config_node *node, const struct config_where *where)
{
    char ***field = AT(object, key->offset, char **), **strings;
    size_t *n_field = AT(object, key->offset2, size_t), n;

    if (config_strings_get(node, !key->min, &strings, &n, key->doc, where))
        return -1;
    for (size_t i = 0; key->choices && i < n; i++)
        if (choice_get(key, &node->items[i], where) < 0) {
            config_strings_free(strings, n);
            return -1;
        }
    config_strings_free(*field, *n_field);
    *field = strings;
    *n_field = n;
    return 0;
}

static int set_json(const struct config_key *key, void *object,
                    const struct config_node *node, const struct config_where *where)
{
    json_t *value;
    int rc;

    if (node->type != NODE_GROUP)
        return config_expected(where, node, "a group, { key = value; }", key->doc);
    value = config_node_json(node, where);
    if (!value)
        return -1;
    rc = json_object_update_recursive(*AT(object, key->offset, json_t *), value);
    json_decref(value);
    return rc ? config_fail_memory(where) : 0;
}

static int set_group(const struct config_key *key, void *object,
                     const struct config_node *node, const struct config_where *where)
{
    if (node->type != NODE_GROUP)
        return config_expected(where, node, "a group, { key = value; }", key->doc);
    return config_apply(key->table, AT(object, key->offset, char), node, where);
}

static int key_set(const struct config_key *key, void *object,
                   const struct config_node *node, const struct config_where *where)
{
    switch (key->type) {
    case CONFIG_INT:
        return set_int(key, object, node, where);
    case CONFIG_U64:
        return set_u64(key, object, node, where);
    case CONFIG_SIZE:
        return set_size(key, object, node, where);
    case CONFIG_BOOL:
        return set_bool(key, object, node, where);
    case CONFIG_STRING:
        return set_string(key, object, node, where);
    case CONFIG_WORD:
    case CONFIG_ENUM:
    case CONFIG_WORD_BOOL:
        return set_choice(key, object, node, where);
    case CONFIG_STRINGS:
        return set_strings(key, object, node, where);
    case CONFIG_JSON:
        return set_json(key, object, node, where);
    case CONFIG_GROUP:
        return set_group(key, object, node, where);
    case CONFIG_CUSTOM:
        return key->ops->set(object, node, where);
    case CONFIG_REFUSED:
        break;
    }
    return config_fail(where, node, RAYTRAIN_ENOTSUP, "%s", key->refused);
}

/* ---- a group of keys ---- */

struct nearest {
    const char *typed;
    size_t distance;
    char path[160];
};

/* The key in or below this table whose own name is nearest to what was typed. */
static void nearest_below(const struct config_table *table, const char *prefix,
                          struct nearest *found)
{
    char path[sizeof found->path];

    for (size_t i = 0; i < table->n_keys; i++) {
        const struct config_key *key = &table->keys[i];
        size_t distance = suggest_distance(found->typed, key->name);

        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", key->name);
        if (distance < found->distance) {
            found->distance = distance;
            strcpy(found->path, path);
        }
        if (key->type == CONFIG_GROUP)
            nearest_below(key->table, path, found);
    }
}

/* The same key of another program, if this is a key at the top or one of a dataset;
 * else NULL. */
static const struct other_word *other_of(const struct config_node *node,
                                         const struct config_where *here)
{
    const struct config_where *group = here->up;
    bool top = group && !group->name && here->own;
    bool dataset =
        group && group->up && group->up->name && !strcmp(group->up->name, "datasets");

    return top || dataset ? other_key(node->name, top) : NULL;
}

/* At the top: a key of another program, or a setting of the user's own function. */
static int fail_other(const struct config_node *node, const struct config_where *where,
                      const struct other_word *other)
{
    if (other)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "unknown key; here it is \"%s\"%s%s%s", other->here,
                           other->why ? " (" : "", other->why ? other->why : "",
                           other->why ? ")" : "");
    return config_fail(where, node, RAYTRAIN_EINVAL,
                       "unknown key; a setting that the training function reads is "
                       "\"%s.%s\"%s%s%s (all keys: raytrain.cfg(5))",
                       where->own, node->name,
                       is_tree_parameter(node->name) ? ", and a parameter of trees "
                                                       "\"params."
                                                     : "",
                       is_tree_parameter(node->name) ? node->name : "",
                       is_tree_parameter(node->name) ? "\"" : "");
}

/* Names in this group are preferred: a key of another group must be nearer. */
static int fail_unknown(const struct config_table *table,
                        const struct config_node *node,
                        const struct config_where *where)
{
    struct nearest found = {.typed = node->name, .distance = SIZE_MAX};
    const struct other_word *other = other_of(node, where);
    char known[400] = "";
    size_t used = 0;

    for (size_t i = 0; i < table->n_keys; i++) {
        size_t distance = suggest_distance(node->name, table->keys[i].name);

        if (distance < found.distance) {
            found.distance = distance;
            snprintf(found.path, sizeof found.path, "%s", table->keys[i].name);
        }
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     i ? ", " : "", table->keys[i].name);
    }
    if (where->all_keys)
        nearest_below(where->all_keys, "", &found);
    if (other)
        return fail_other(node, where, other);
    if (suggest_is_near(node->name, found.distance))
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "unknown key; did you mean \"%s\"?", found.path);
    if (table == where->all_keys && where->own)
        return fail_other(node, where, NULL);
    return config_fail(where, node, RAYTRAIN_EINVAL, "unknown key; known here: %s",
                       known);
}

static int item_apply(const struct config_table *table, void *object,
                      const struct config_node *node, const struct config_where *where)
{
    struct config_where here = config_where_below(where, node->name);

    for (size_t k = 0; k < table->n_keys; k++)
        if (!strcmp(table->keys[k].name, node->name))
            return key_set(&table->keys[k], object, node, &here);
    return fail_unknown(table, node, &here);
}

/* Report all errors, one on each line. */
int config_apply(const struct config_table *table, void *object,
                 const struct config_node *group, const struct config_where *where)
{
    struct error all, *err = where->err;
    int n_wrong = 0;

    for (size_t i = 0; i < group->n_items && n_wrong < WRONG_MAX; i++) {
        if (item_apply(table, object, &group->items[i], where) == 0)
            continue;
        if (!err || err->code == RAYTRAIN_ENOMEM)
            return -1;
        if (n_wrong++ == 0)
            all = *err;
        else
            error_set(&all, all.code, "%s\n%s", all.text, err->text);
    }
    if (n_wrong > 0)
        *err = all;
    return n_wrong > 0 ? -1 : 0;
}

/* ---- keys that are not available yet ---- */

static bool key_is_set(const struct config_key *key, const void *object)
{
    switch (key->type) {
    case CONFIG_INT:
        return *CAT(object, key->offset, int) > 0;
    case CONFIG_BOOL:
        return *CAT(object, key->offset, bool);
    case CONFIG_STRING:
        return *CAT(object, key->offset, char *) != NULL;
    default:
        return false;
    }
}

static int key_check(const struct config_key *key, const void *object,
                     const struct config_where *where)
{
    char *const *strings;

    if (key->refused && key_is_set(key, object))
        return config_fail(where, NULL, RAYTRAIN_ENOTSUP, "%s", key->refused);
    switch (key->type) {
    case CONFIG_WORD:
        if (!*CAT(object, key->offset, char *))
            return 0;
        return refuse_choice(key, *CAT(object, key->offset, char *), where);
    case CONFIG_ENUM:
        return refuse_choice(key, key->choices[*CAT(object, key->offset, int)].word,
                             where);
    case CONFIG_STRINGS:
        strings = *CAT(object, key->offset, char **);
        for (size_t i = 0; key->choices && i < *CAT(object, key->offset2, size_t); i++)
            if (refuse_choice(key, strings[i], where))
                return -1;
        return 0;
    case CONFIG_GROUP:
        return config_check(key->table, CAT(object, key->offset, char), where);
    case CONFIG_CUSTOM:
        return key->ops->check ? key->ops->check(object, where) : 0;
    default:
        return 0;
    }
}

int config_check(const struct config_table *table, const void *object,
                 const struct config_where *where)
{
    for (size_t i = 0; i < table->n_keys; i++) {
        struct config_where here = config_where_below(where, table->keys[i].name);

        if (key_check(&table->keys[i], object, &here))
            return -1;
    }
    return 0;
}

/* ---- freeing ---- */

static void key_clear(const struct config_key *key, void *object)
{
    switch (key->type) {
    case CONFIG_STRING:
    case CONFIG_WORD:
        free(*AT(object, key->offset, char *));
        *AT(object, key->offset, char *) = NULL;
        break;
    case CONFIG_STRINGS:
        config_strings_free(*AT(object, key->offset, char **),
                            *AT(object, key->offset2, size_t));
        *AT(object, key->offset, char **) = NULL;
        *AT(object, key->offset2, size_t) = 0;
        break;
    case CONFIG_JSON:
        json_decref(*AT(object, key->offset, json_t *));
        *AT(object, key->offset, json_t *) = NULL;
        break;
    case CONFIG_GROUP:
        config_clear(key->table, AT(object, key->offset, char));
        break;
    case CONFIG_CUSTOM:
        if (key->ops->clear)
            key->ops->clear(object);
        break;
    default:
        break;
    }
}

void config_clear(const struct config_table *table, void *object)
{
    for (size_t i = 0; i < table->n_keys; i++)
        key_clear(&table->keys[i], object);
}
