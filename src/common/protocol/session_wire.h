/*
 * session_wire.h - how a command's process and its worker talk: messages over a Unix
 * socket, whose path the command finds in RAYTRAIN_SESSION.
 *
 * A message is a header of four little-endian 32-bit numbers (WIRE_MAGIC, the bytes of
 * its text, the bytes of its data, 0), then the text, a JSON object, then the data, which
 * are opaque. Descriptors travel with the header. The client sends a request and reads
 * the reply. Before the reply, the worker may ask questions, which the client answers:
 *
 *   {"op": NAME, ...}                           a request
 *   {...}                                       its reply
 *   {"error": {"code": "ESTORAGE", "text": "..."}}  its reply, if it has failed
 *   {"ask": NAME, ...}                          a question, before the reply
 *   {"op": "answer", ...}                       its answer
 *
 * Large data do not go through the socket: they are in memory (memfd_create(2)) whose
 * descriptor is sent.
 */
#ifndef RAYTRAIN_PROTOCOL_SESSION_WIRE_H
#define RAYTRAIN_PROTOCOL_SESSION_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

#define WIRE_VARIABLE "RAYTRAIN_SESSION"
#define WIRE_VERSION  1
#define WIRE_MAGIC    0x31535452u        /* "RTS1" */
#define WIRE_MAX      ((size_t)64 << 20) /* of text, and of data */
#define WIRE_FDS_MAX  8

struct wire_message {
    json_t *text; /* an object */
    void *data;   /* malloc'ed; NULL: none */
    size_t n_data;
    int fds[WIRE_FDS_MAX];
    int n_fds;
};

/* Send a message, all of it. RAYTRAIN_ECOMM: the other end is gone. */
int wire_send(int socket, const json_t *text, const void *data, size_t n_data,
              const int fds[], int n_fds, struct error *err);
/*
 * Receive one. Memory is taken as bytes arrive, not as the header claims. 1: *message
 * is filled, for wire_clear(); 0: the other end has closed the socket between two
 * messages; -1: RAYTRAIN_ECORRUPT if these bytes are not a message (the stream is useless
 * from then on), RAYTRAIN_ECOMM, RAYTRAIN_ENOMEM.
 */
int wire_receive(int socket, struct wire_message *message, struct error *err);
/* Free text and data, close the descriptors. */
void wire_clear(struct wire_message *message);

/* The name of a status in a reply, such as "ESTORAGE", and back; an unknown name is
 * RAYTRAIN_EFAILED. */
const char *wire_code_name(raytrain_status code);
raytrain_status wire_code(const char *name);

#endif
