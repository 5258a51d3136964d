/*
 * pmi1.c - see pmi1.h.
 *
 * A line is a list of key=value separated by blanks; "value" and the like are free text
 * and reach to the end of the line. Only spawn takes several lines.
 */
#include "config.h"

#include "wireup/pmi1.h"

#include <ctype.h>
#include <search.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 32

/* A pair, and a node of the tree of all pairs known here: key, NUL, value, NUL. */
struct pair {
    char *value;
    char key[];
};

struct field {
    const char *name, *value;
};

struct fields {
    struct field field[FIELDS_MAX];
    size_t n;
};

struct pmi1 {
    struct pmi1_config config;
    char kvsname[PMI1_KVSNAME_MAX];
    void *pairs;   /* tsearch(3) tree of struct pair */
    char *pending; /* put since the last barrier: key NUL value NUL ... */
    size_t n_pending;
    unsigned round;   /* barriers done */
    unsigned fetched; /* barriers whose blobs are in pairs */
    bool in_spawn;
    char reply[PMI1_LINE_MAX];
};

static int pair_compare(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return strcmp(x->key, y->key);
}

static struct pair *pair_create(const char *key, const char *value)
{
    size_t n_key = strlen(key) + 1, n_value = strlen(value) + 1;
    struct pair *pair = malloc(sizeof *pair + n_key + n_value);

    if (!pair)
        return NULL;
    memcpy(pair->key, key, n_key);
    pair->value = pair->key + n_key;
    memcpy(pair->value, value, n_value);
    return pair;
}

static const char *pairs_get(struct pmi1 *p, const char *key)
{
    struct pair *want = pair_create(key, ""), **found;

    if (!want)
        return NULL;
    found = tfind(want, &p->pairs, pair_compare);
    free(want);
    return found ? (*found)->value : NULL;
}

/* A key that exists already gets the new value. */
static int pairs_put(struct pmi1 *p, const char *key, const char *value,
                     struct error *err)
{
    struct pair *pair = pair_create(key, value), **at = NULL;

    if (pair)
        at = tsearch(pair, &p->pairs, pair_compare);
    if (!at) {
        free(pair);
        return error_set(err, RAYTRAIN_ENOMEM, "PMI bridge: no memory for key %s", key);
    }
    if (*at != pair) {
        free(*at);
        *at = pair;
    }
    return 0;
}

/* The pairs of one rank and barrier. They came through the group's own store, but are
 * parsed as what they are: bytes from another process. */
static int pairs_add_blob(struct pmi1 *p, const char *data, size_t n, struct error *err)
{
    while (n > 0) {
        size_t n_key = strnlen(data, n) + 1;
        size_t n_value = n_key < n ? strnlen(data + n_key, n - n_key) + 1 : n + 1;

        if (n_key + n_value > n)
            return error_set(err, RAYTRAIN_ECOMM,
                             "PMI bridge: another rank's keys are damaged");
        if (pairs_put(p, data, data + n_key, err) < 0)
            return -1;
        data += n_key + n_value;
        n -= n_key + n_value;
    }
    return 0;
}

static int pairs_fetch(struct pmi1 *p, struct error *err)
{
    for (; p->fetched < p->round; p->fetched++) {
        for (int r = 0; r < p->config.size; r++) {
            char *data = NULL;
            size_t n = 0;
            int rc;

            if (r == p->config.rank)
                continue;
            if (p->config.ops->fetch(p->config.arg, r, p->fetched, &data, &n, err) < 0)
                return -1;
            rc = pairs_add_blob(p, data, n, err);
            free(data);
            if (rc < 0)
                return -1;
        }
    }
    return 0;
}

static void reply_set(struct pmi1 *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void reply_set(struct pmi1 *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->reply, sizeof p->reply, fmt, ap);
    va_end(ap);
}

static bool is_free_text(const char *name)
{
    return strcmp(name, "value") == 0 || strcmp(name, "message") == 0 ||
           strcmp(name, "error_msg") == 0;
}

/* Cut line into its fields, in place. */
static int fields_parse(char *line, struct fields *f, struct error *err)
{
    f->n = 0;
    for (;;) {
        char *equals, *end;

        line += strspn(line, " ");
        if (*line == '\0')
            return 0;
        equals = strchr(line, '=');
        if (!equals || f->n == FIELDS_MAX)
            return error_set(
                err, RAYTRAIN_ECOMM,
                "PMI bridge: the MPI library sent something that is not PMI-1: "
                "%.100s",
                line);
        *equals = '\0';
        f->field[f->n++] = (struct field){.name = line, .value = equals + 1};
        if (is_free_text(line))
            return 0;
        end = strchr(equals + 1, ' ');
        if (!end)
            return 0;
        *end = '\0';
        line = end + 1;
    }
}

static const char *fields_get(const struct fields *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->field[i].name, name) == 0)
            return f->field[i].value;
    return NULL;
}

static enum pmi1_next answer_init(struct pmi1 *p, const struct fields *f,
                                  struct error *err)
{
    const char *version = fields_get(f, "pmi_version");
    bool ours = version && strcmp(version, "1") == 0;

    (void)err;
    reply_set(p, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
              ours ? 0 : -1);
    return PMI1_GO_ON;
}

static enum pmi1_next answer_maxes(struct pmi1 *p, const struct fields *f,
                                   struct error *err)
{
    (void)f, (void)err;
    reply_set(p, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n",
              PMI1_KVSNAME_MAX, PMI1_KEY_MAX, PMI1_VALUE_MAX);
    return PMI1_GO_ON;
}

static enum pmi1_next answer_appnum(struct pmi1 *p, const struct fields *f,
                                    struct error *err)
{
    (void)f, (void)err;
    reply_set(p, "cmd=appnum appnum=0\n");
    return PMI1_GO_ON;
}

static enum pmi1_next answer_kvsname(struct pmi1 *p, const struct fields *f,
                                     struct error *err)
{
    (void)f, (void)err;
    reply_set(p, "cmd=my_kvsname kvsname=%s\n", p->kvsname);
    return PMI1_GO_ON;
}

static enum pmi1_next answer_universe_size(struct pmi1 *p, const struct fields *f,
                                           struct error *err)
{
    (void)f, (void)err;
    reply_set(p, "cmd=universe_size size=%d\n", p->config.size);
    return PMI1_GO_ON;
}

/* Why put and get refuse these arguments, in PMI's words; NULL: they do not. */
static const char *arguments_refuse(const struct pmi1 *p, const char *kvsname,
                                    const char *key)
{
    if (kvsname && strcmp(kvsname, p->kvsname) != 0)
        return "kvs_unknown";
    if (!key || *key == '\0')
        return "key_missing";
    if (strlen(key) >= PMI1_KEY_MAX)
        return "key_too_long";
    return NULL;
}

static enum pmi1_next answer_put(struct pmi1 *p, const struct fields *f,
                                 struct error *err)
{
    const char *key = fields_get(f, "key"), *value = fields_get(f, "value");
    const char *refused = arguments_refuse(p, fields_get(f, "kvsname"), key);
    size_t n_key, n_value;
    char *bigger;

    if (!refused && !value)
        refused = "value_missing";
    if (!refused && strlen(value) >= PMI1_VALUE_MAX)
        refused = "value_too_long";
    if (refused) {
        reply_set(p, "cmd=put_result rc=-1 msg=%s\n", refused);
        return PMI1_GO_ON;
    }
    n_key = strlen(key) + 1;
    n_value = strlen(value) + 1;
    bigger = realloc(p->pending, p->n_pending + n_key + n_value);
    if (!bigger)
        return error_set(err, RAYTRAIN_ENOMEM, "PMI bridge: no memory for key %s", key);
    p->pending = bigger;
    memcpy(p->pending + p->n_pending, key, n_key);
    memcpy(p->pending + p->n_pending + n_key, value, n_value);
    p->n_pending += n_key + n_value;
    if (pairs_put(p, key, value, err) < 0)
        return PMI1_ERROR;
    reply_set(p, "cmd=put_result rc=0 msg=success\n");
    return PMI1_GO_ON;
}

static enum pmi1_next answer_get(struct pmi1 *p, const struct fields *f,
                                 struct error *err)
{
    const char *key = fields_get(f, "key"), *value = NULL;
    const char *refused = arguments_refuse(p, fields_get(f, "kvsname"), key);

    if (!refused && strcmp(key, "PMI_process_mapping") == 0) {
        value = p->config.mapping;
    } else if (!refused && strcmp(key, "PMI_dead_processes") == 0) {
        /* MPICH (ch3) asks this after each SIGUSR1, and fails without an answer. There
         * are none: the launcher itself ends a group that has lost a rank. */
        value = "";
    } else if (!refused) {
        value = pairs_get(p, key);
        if (!value && pairs_fetch(p, err) < 0)
            return PMI1_ERROR;
        if (!value)
            value = pairs_get(p, key);
    }
    /* The mapping of a very irregular layout may be too long: the client then finds out
     * by itself, from host names. */
    if (value && strlen(value) < PMI1_VALUE_MAX)
        reply_set(p, "cmd=get_result rc=0 msg=success value=%s\n", value);
    else
        reply_set(p, "cmd=get_result rc=-1 msg=%s value=unknown\n",
                  refused ? refused : "key_not_found");
    return PMI1_GO_ON;
}

static enum pmi1_next answer_barrier(struct pmi1 *p, const struct fields *f,
                                     struct error *err)
{
    (void)f;
    if (p->config.ops->share(p->config.arg, p->round, p->pending, p->n_pending, err) <
        0)
        return PMI1_ERROR;
    p->round++;
    p->n_pending = 0;
    reply_set(p, "cmd=barrier_out rc=0\n");
    return PMI1_GO_ON;
}

static enum pmi1_next answer_finalize(struct pmi1 *p, const struct fields *f,
                                      struct error *err)
{
    (void)f, (void)err;
    reply_set(p, "cmd=finalize_ack rc=0\n");
    return PMI1_FINISHED;
}

/* Only the lowest 8 bits of an exit status survive, and they must not mean success. */
static enum pmi1_next answer_abort(struct pmi1 *p, const struct fields *f,
                                   struct error *err)
{
    const char *text = fields_get(f, "exitcode");
    int status = text ? (int)(strtol(text, NULL, 10) & 0xff) : 1;

    (void)err;
    p->config.ops->abort(p->config.arg, status != 0 ? status : 1,
                         "MPI_Abort was called");
    return PMI1_FINISHED;
}

static enum pmi1_next answer_publish(struct pmi1 *p, const struct fields *f,
                                     struct error *err)
{
    (void)f, (void)err;
    reply_set(p, "cmd=publish_result rc=1 msg=not_supported\n");
    return PMI1_GO_ON;
}

static enum pmi1_next answer_unpublish(struct pmi1 *p, const struct fields *f,
                                       struct error *err)
{
    (void)f, (void)err;
    reply_set(p, "cmd=unpublish_result rc=1 msg=not_supported\n");
    return PMI1_GO_ON;
}

static enum pmi1_next answer_lookup(struct pmi1 *p, const struct fields *f,
                                    struct error *err)
{
    (void)f, (void)err;
    reply_set(p, "cmd=lookup_result rc=1 msg=not_supported\n");
    return PMI1_GO_ON;
}

static const struct command {
    const char *name;
    enum pmi1_next (*answer)(struct pmi1 *p, const struct fields *f, struct error *err);
} commands[] = {
    {"init", answer_init},
    {"get_maxes", answer_maxes},
    {"get_appnum", answer_appnum},
    {"get_my_kvsname", answer_kvsname},
    {"get_universe_size", answer_universe_size},
    {"put", answer_put},
    {"get", answer_get},
    {"barrier_in", answer_barrier},
    {"finalize", answer_finalize},
    {"abort", answer_abort},
    {"publish_name", answer_publish},
    {"unpublish_name", answer_unpublish},
    {"lookup_name", answer_lookup},
};

/* MPI_Comm_spawn: several lines up to "endcmd", then a refusal. */
static enum pmi1_next spawn_line(struct pmi1 *p, const char *line)
{
    p->in_spawn = strcmp(line, "endcmd") != 0;
    if (!p->in_spawn)
        reply_set(p, "cmd=spawn_result rc=1 msg=not_supported\n");
    return PMI1_GO_ON;
}

enum pmi1_next pmi1_line(struct pmi1 *p, char *line, const char **reply,
                         struct error *err)
{
    struct fields f;
    const char *name;

    p->reply[0] = '\0';
    *reply = p->reply;
    if (p->in_spawn || strcmp(line, "mcmd=spawn") == 0)
        return spawn_line(p, line);
    if (fields_parse(line, &f, err) < 0)
        return PMI1_ERROR;
    name = fields_get(&f, "cmd");
    for (size_t i = 0; name && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].answer(p, &f, err);
    return error_set(err, RAYTRAIN_ECOMM,
                     "PMI bridge: the MPI library sent the command '%.100s', which "
                     "PMI-1 does not have; is this an MPICH of another generation?",
                     name ? name : "");
}

struct pmi1 *pmi1_create(const struct pmi1_config *config, struct error *err)
{
    struct pmi1 *p = calloc(1, sizeof *p);

    if (!p) {
        error_set(err, RAYTRAIN_ENOMEM, "no memory for the PMI bridge");
        return NULL;
    }
    p->config = *config;
    snprintf(p->kvsname, sizeof p->kvsname, "%s", config->kvsname);
    /* the name is one word of the protocol, whatever the resource manager chose */
    for (char *c = p->kvsname; *c; c++)
        if (!isgraph((unsigned char)*c) || *c == '=')
            *c = '_';
    return p;
}

void pmi1_destroy(struct pmi1 *p)
{
    if (!p)
        return;
    tdestroy(p->pairs, free);
    free(p->pending);
    free(p);
}
