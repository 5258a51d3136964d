/* backend_config.c - the keys of BackendConfig, and the checks of its values. */
#include "config/backend_config.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/backend_row.h"
#include "config/config_key.h"

#define FIELD(member) .offset = offsetof(struct backend_config, member)

static const struct config_choice torch_backends[] = {
    {"gloo", NULL},
    {"nccl", NULL},
    {"cpu:gloo,cuda:nccl", NULL},
    {NULL, NULL},
};

static const struct config_key backend_keys[] = {
    {.name = "backend",
     .doc = "the backend of torch.distributed",
     .type = CONFIG_WORD,
     FIELD(backend),
     .choices = torch_backends},
    {.name = "init_method",
     .doc = "how torch.distributed starts",
     .type = CONFIG_STRING,
     FIELD(init_method)},
    {.name = "timeout_s",
     .doc = "seconds after which a collective of torch fails, 0: torch's default",
     .type = CONFIG_INT,
     FIELD(timeout_s),
     .min = 0,
     .max = INT_MAX},
};
const struct config_table backend_config_table = CONFIG_TABLE(backend_keys);

/* "HOST:PORT", "[fd00::1]:29500" */
static bool has_port(const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

    return colon && colon > text && digits > 0 && digits <= 5 &&
           colon[1 + digits] == '\0' && atoi(colon + 1) <= 65535 && atoi(colon + 1) > 0;
}

static bool init_method_is_valid(const char *method)
{
    if (strncmp(method, "tcp://", 6) == 0)
        return has_port(method + 6);
    if (strncmp(method, "file:///", 8) == 0)
        return method[8] != '\0';
    return strcmp(method, "env") == 0 || strcmp(method, "env://") == 0 ||
           strcmp(method, "tcp") == 0;
}

static bool setting_is_set(const struct config_key *key,
                           const struct backend_config *cfg)
{
    const char *member = (const char *)cfg + key->offset;

    return key->type == CONFIG_INT ? *(const int *)(const void *)member != 0
                                   : *(char *const *)(const void *)member != NULL;
}

/* The backend whose key it is, for a message. */
static const char *setting_owner(const char *key)
{
    for (const struct backend_row *row = backend_rows; row->name; row++)
        if (backend_row_has(row->keys, key))
            return row->name;
    return "none";
}

int backend_config_validate(const struct backend_config *cfg,
                            const struct backend_row *backend, struct error *err)
{
    if (cfg->init_method && !init_method_is_valid(cfg->init_method))
        return error_set(err, RAYTRAIN_EINVAL,
                         "backend_config.init_method: expected \"env\", \"tcp\", "
                         "\"tcp://HOST:PORT\" or \"file:///PATH\", not \"%s\"",
                         cfg->init_method);
    for (size_t i = 0; i < backend_config_table.n_keys; i++) {
        const struct config_key *key = &backend_keys[i];

        if (setting_is_set(key, cfg) && !backend_row_has(backend->keys, key->name))
            return error_set(err, RAYTRAIN_EINVAL,
                             "backend_config.%s: the backend \"%s\" has no such "
                             "setting, only \"%s\" has",
                             key->name, backend->name, setting_owner(key->name));
    }
    return 0;
}
