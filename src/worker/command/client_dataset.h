/*
 * client_dataset.h - a dataset of files that a client opens itself. What its user should
 * know of it, such as columns and files that are left out, is in the reply to the request
 * that opens it: "warnings", a list of texts, which the client shows.
 */
#ifndef RAYTRAIN_COMMAND_CLIENT_DATASET_H
#define RAYTRAIN_COMMAND_CLIENT_DATASET_H

#include "command/companion.h"

/* dataset_env.warn, with the reply as its arg. */
void client_dataset_warn(void *reply, const char *text);
/* In messages it is called by the last part of its path. -1 without memory. */
int client_dataset_name(struct dataset_config *cfg, struct error *err);

#endif
