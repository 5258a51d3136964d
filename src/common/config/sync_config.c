/* sync_config.c - the keys of SyncConfig. */
#include "config/sync_config.h"

#include <stddef.h>

#include "config/config_key.h"

static const struct config_key sync_keys[] = {
    {.name = "staging_path",
     .doc = "node-local storage that checkpoints are staged on",
     .type = CONFIG_STRING,
     .offset = offsetof(struct sync_config, staging_path)},
};
const struct config_table sync_config_table = CONFIG_TABLE(sync_keys);

void sync_config_init(struct sync_config *cfg)
{
    cfg->staging_path = NULL;
}
