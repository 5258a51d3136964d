/* train_config_merge.c - texts, files and single keys, merged into a configuration. */
#include "config/train_config_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_file.h"
#include "config/config_key.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

static int tree_merge(struct train_config *cfg, const struct config_node *root,
                      const char *source, struct error *err)
{
    struct config_where where = {
        .source = source, .err = err, .all_keys = &train_config_table, .own = OWN_KEYS};

    if (!train_config_is_whole(cfg))
        return config_fail_memory(&where);
    if (config_apply(&train_config_table, cfg, root, &where))
        return -1;
    data_config_settle(&cfg->data_config, cfg->datasets, cfg->n_datasets);
    return 0;
}

int train_config_merge_text(struct train_config *cfg, const char *text,
                            const char *source, struct error *err)
{
    struct config_node root;
    int rc;

    if (config_file_parse(text, source, &root, err))
        return -1;
    rc = tree_merge(cfg, &root, source, err);
    config_node_clear(&root);
    return rc;
}

static int bytes_merge(struct train_config *cfg, const char *text, size_t n,
                       const char *path, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (strlen(text) == n)
        return train_config_merge_text(cfg, text, path, err);
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s is not a configuration file: it contains bytes of value 0",
                     quote(path, quoted));
}

int train_config_merge_found(struct train_config *cfg, const char *path,
                             struct error *err)
{
    struct error why;
    char *text;
    size_t n;
    int rc;

    if (record_read_owned(path, &text, &n, &why) < 0)
        return error_set(err, why.code, "%s%s", why.text,
                         why.code == RAYTRAIN_EINVAL
                             ? "\n  to use it, put a copy of your own in its place"
                             : "");
    rc = bytes_merge(cfg, text, n, path, err);
    free(text);
    return rc;
}

int train_config_merge_file(struct train_config *cfg, const char *path,
                            struct error *err)
{
    char *text;
    size_t n;
    int rc;

    if (fs_read(path, &text, &n, err))
        return -1;
    rc = bytes_merge(cfg, text, n, path, err);
    free(text);
    return rc;
}

static int fail_key(const char *key, const struct config_where *where)
{
    char quoted[QUOTE_TEXT_MAX];

    return config_fail(where, NULL, RAYTRAIN_EINVAL,
                       "%s is not a key; keys look like run_config.name",
                       quote(key, quoted));
}

/* Below run_config.stop, the rest of a key is a single name, since names of metrics may
 * contain dots. */
static bool key_is_metric(const char *key, const char *left)
{
    static const char stop[] = "run_config.stop.";

    return !strncmp(key, stop, sizeof stop - 1) &&
           left - key >= (ptrdiff_t)sizeof stop - 1;
}

/* Make the groups of a dotted key, each in the one before. *value is the innermost,
 * still to be filled. On failure there is nothing to clear. */
static int key_nodes(const char *key, struct config_node *root,
                     struct config_node **value, const struct config_where *where)
{
    const char *left = key;
    int rc = 0;

    memset(root, 0, sizeof *root);
    *value = root;
    for (int depth = 0; !rc; depth++) {
        bool metric = key_is_metric(key, left);
        size_t n = metric ? strlen(left) : strcspn(left, ".");
        char *part = strndup(left, n);

        if (!part || !(*value = config_node_add(*value, part)))
            rc = config_fail_memory(where);
        else if ((!metric && !config_file_is_name(part)) || depth == CONFIG_DEPTH_MAX)
            rc = fail_key(key, where);
        free(part);
        if (rc || !left[n])
            break;
        left += n + 1;
    }
    if (rc)
        config_node_clear(root);
    return rc;
}

/* Blanks around the key and before the value are ignored. */
static int assignment_split(const char *assignment, char **key, const char **value,
                            const struct config_where *where)
{
    const char *equals = strchr(assignment, '=');
    char quoted[QUOTE_TEXT_MAX];
    size_t n;

    if (!equals)
        return config_fail(where, NULL, RAYTRAIN_EINVAL,
                           "%s has no '='; write --set KEY=VALUE",
                           quote(assignment, quoted));
    *value = equals + 1 + strspn(equals + 1, " \t");
    assignment += strspn(assignment, " \t");
    for (n = (size_t)(equals - assignment); n && strchr(" \t", assignment[n - 1]);)
        n--;
    *key = strndup(assignment, n);
    return *key ? 0 : config_fail_memory(where);
}

int train_config_set(struct train_config *cfg, const char *assignment,
                     struct error *err)
{
    struct config_where where = {.source = "--set", .err = err};
    struct config_node root, *node;
    const char *value = NULL;
    char *key;
    int rc;

    if (assignment_split(assignment, &key, &value, &where))
        return -1;
    rc = key_nodes(key, &root, &node, &where);
    free(key);
    if (rc)
        return -1;
    rc = config_file_parse_value(value, node, &where);
    if (!rc)
        rc = tree_merge(cfg, &root, where.source, err);
    config_node_clear(&root);
    return rc;
}

static bool is_integer(const char *text)
{
    const char *digits = text + (*text == '-');

    errno = 0;
    (void)strtoll(text, NULL, 10);
    return *digits && strspn(digits, "0123456789") == strlen(digits) && errno == 0;
}

int train_config_set_text(struct train_config *cfg, const char *key, const char *text,
                          const char *source, struct error *err)
{
    struct config_where where = {.source = source, .err = err};
    struct config_node root, *value;
    int rc;

    if (key_nodes(key, &root, &value, &where))
        return -1;
    value->type = is_integer(text) ? NODE_INT : NODE_STRING;
    value->integer = strtoll(text, NULL, 10);
    value->string = strdup(text);
    value->raw = strdup(text);
    rc = value->string && value->raw ? tree_merge(cfg, &root, source, err)
                                     : config_fail_memory(&where);
    config_node_clear(&root);
    return rc;
}

int train_config_set_bool(struct train_config *cfg, const char *key, bool value,
                          const char *source, struct error *err)
{
    struct config_where where = {.source = source, .err = err};
    struct config_node root, *node;
    int rc;

    if (key_nodes(key, &root, &node, &where))
        return -1;
    node->type = NODE_BOOL;
    node->boolean = value;
    rc = tree_merge(cfg, &root, source, err);
    config_node_clear(&root);
    return rc;
}
