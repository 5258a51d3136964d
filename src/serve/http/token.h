/*
 * token.h - the secret that clients of other machines send with each request, as
 * "Authorization: Bearer TOKEN". It is in a file that only its owner can read.
 */
#ifndef RAYTRAIN_HTTP_TOKEN_H
#define RAYTRAIN_HTTP_TOKEN_H

#include <stdbool.h>

#include "util/error.h"

/* Read the token of a file, which others must not be able to read, or make a new one and
 * write it there. *token is malloc'ed. RAYTRAIN_EINVAL: the file is not private, or has no
 * token; RAYTRAIN_ESTORAGE. */
int token_open(const char *path, char **token, struct error *err);
/* Does this header have the token? The time that it takes says nothing about the token.
 * NULL: there is no header. */
bool token_is_in(const char *authorization, const char *token);

#endif
