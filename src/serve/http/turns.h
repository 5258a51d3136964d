/*
 * turns.h - the callbacks of libmicrohttpd for a request: its header; its body, in parts;
 * its end; and the answer of a service.
 */
#ifndef RAYTRAIN_HTTP_TURNS_H
#define RAYTRAIN_HTTP_TURNS_H

#include "http/exchange.h"

enum MHD_Result exchange_turn(void *front, struct MHD_Connection *connection,
                              const char *url, const char *method, const char *version,
                              const char *upload, size_t *n, void **state);
void exchange_end(void *front, struct MHD_Connection *connection, void **state,
                  enum MHD_RequestTerminationCode why);

#endif
