/*
 * client_dataset.h - a dataset of files that a client opens itself. Warnings about it,
 * such as columns and files that are left out, go to the client: the reply to the
 * request that opens it has "warnings", a list of texts, which the client shows.
 */
#ifndef RAYTRAIN_COMMAND_CLIENT_DATASET_H
#define RAYTRAIN_COMMAND_CLIENT_DATASET_H

#include "command/companion.h"

/* For dataset_env.warn; its argument is the reply. */
void client_dataset_warn(void *reply, const char *text);
/* Name it by the last part of its path, for messages. -1 without memory. */
int client_dataset_name(struct dataset_config *cfg, struct error *err);

#endif
