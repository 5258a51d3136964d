/* sync_config.h - SyncConfig: staging on node-local storage. */
#ifndef RAYTRAIN_CONFIG_SYNC_CONFIG_H
#define RAYTRAIN_CONFIG_SYNC_CONFIG_H

struct sync_config {
    char *staging_path; /* NULL: none */
};

struct config_table;
extern const struct config_table sync_config_table;

void sync_config_init(struct sync_config *cfg);

#endif
