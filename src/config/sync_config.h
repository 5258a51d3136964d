/* sync_config.h - SyncConfig: staging on node-local storage. */
#ifndef RAYTRAIN_CONFIG_SYNC_CONFIG_H
#define RAYTRAIN_CONFIG_SYNC_CONFIG_H

struct sync_config {
    char *staging_path; /* NULL: none */
};

#endif
