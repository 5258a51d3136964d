/* serve_config.c - the keys of `serve`, and the checks of its values. */
#include "config/serve_config.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "config/config_key.h"
#include "util/api_names.h"
#include "util/fs.h"
#include "util/quote.h"

#define FIELD(member) .offset = offsetof(struct serve_config, member)

static const struct config_key serve_keys[] = {
    {.name = "name",
     .doc = "the name of the model in the paths of requests",
     .type = CONFIG_STRING,
     FIELD(name)},
    {.name = "listen",
     .doc = "ADDRESS:PORT, or the path of a socket",
     .type = CONFIG_STRING,
     FIELD(listen)},
    {.name = "token_file",
     .doc = "the file of the token that clients must know",
     .type = CONFIG_STRING,
     FIELD(token_file)},
    {.name = "no_token",
     .doc = "at a port of this machine, clients need no token",
     .type = CONFIG_BOOL,
     FIELD(no_token)},
    {.name = "tls_cert",
     .doc = "the file of the certificate, for TLS",
     .type = CONFIG_STRING,
     FIELD(tls_cert)},
    {.name = "tls_key",
     .doc = "the file of the certificate's key",
     .type = CONFIG_STRING,
     FIELD(tls_key)},
    {.name = "max_batch",
     .doc = "rows of a batch; 0: the predictor chooses",
     .type = CONFIG_INT,
     FIELD(max_batch),
     .min = 0,
     .max = INT_MAX},
    {.name = "max_wait_us",
     .doc = "microseconds that a batch waits for more rows",
     .type = CONFIG_INT,
     FIELD(max_wait_us),
     .min = 0,
     .max = 60 * 1000 * 1000},
    {.name = "queue",
     .doc = "requests that may wait",
     .type = CONFIG_INT,
     FIELD(queue),
     .min = 1,
     .max = INT_MAX},
    {.name = "max_body",
     .doc = "bytes of a request, such as 64M",
     .type = CONFIG_SIZE,
     FIELD(max_body)},
    {.name = "max_connections",
     .doc = "clients at the same time",
     .type = CONFIG_INT,
     FIELD(max_connections),
     .min = 1,
     .max = 1000 * 1000},
    {.name = "timeout_s",
     .doc = "seconds for a request to arrive, and for its answer",
     .type = CONFIG_INT,
     FIELD(timeout_s),
     .min = 1,
     .max = 24 * 3600},
    {.name = "access_log",
     .doc = "a file with a line for each request, or - for standard error",
     .type = CONFIG_STRING,
     FIELD(access_log)},
    {.name = "follow",
     .doc = "change to newer checkpoints of the run",
     .type = CONFIG_BOOL,
     FIELD(follow)},
};
const struct config_table serve_config_table = CONFIG_TABLE(serve_keys);

static void set_unless(int *value, int standard)
{
    if (*value == 0)
        *value = standard;
}

void serve_config_complete(struct serve_config *cfg)
{
    set_unless(&cfg->queue, 1024);
    set_unless(&cfg->max_connections, 1024);
    set_unless(&cfg->timeout_s, 60);
    if (cfg->max_body == 0)
        cfg->max_body = (uint64_t)64 << 20;
}

static int files_settle(struct serve_config *cfg, struct error *err)
{
    char **files[] = {&cfg->token_file, &cfg->tls_cert, &cfg->tls_key};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (*files[i] && path_make_absolute(files[i], err) < 0)
            return -1;
    if (cfg->access_log && strcmp(cfg->access_log, "-") != 0)
        return path_make_absolute(&cfg->access_log, err);
    return 0;
}

int serve_name_check(const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (metric_name_is_valid(name) && !strchr(name, '/'))
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s cannot be in the path of a request: a letter or _, then "
                     "letters, digits, _ . @ - (at most %d bytes)",
                     quote(name, quoted), RAYTRAIN_NAME_MAX);
}

int serve_config_validate(struct serve_config *cfg, struct error *err)
{
    if (!cfg->tls_cert != !cfg->tls_key)
        return error_set(err, RAYTRAIN_EINVAL,
                         "serve.%s is missing: TLS needs a certificate and its key",
                         cfg->tls_cert ? "tls_key" : "tls_cert");
    if (cfg->no_token && cfg->token_file)
        return error_set(err, RAYTRAIN_EINVAL,
                         "serve.token_file and serve.no_token exclude each other; "
                         "leave out --token-file or --no-token");
    if (cfg->name && serve_name_check(cfg->name, err) < 0)
        return error_prefix(err, "serve.name");
    return files_settle(cfg, err);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

const char *serve_config_conflict(const struct serve_config *a,
                                  const struct serve_config *b)
{
    const struct {
        const char *key;
        bool same;
    } shared[] = {
        {"name", same_text(a->name, b->name)},
        {"listen", same_text(a->listen, b->listen)},
        {"token_file", same_text(a->token_file, b->token_file)},
        {"no_token", a->no_token == b->no_token},
        {"tls_cert", same_text(a->tls_cert, b->tls_cert)},
        {"tls_key", same_text(a->tls_key, b->tls_key)},
        {"access_log", same_text(a->access_log, b->access_log)},
        {"max_body", a->max_body == b->max_body},
        {"max_connections", a->max_connections == b->max_connections},
        {"timeout_s", a->timeout_s == b->timeout_s},
    };

    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (!shared[i].same)
            return shared[i].key;
    return NULL;
}
