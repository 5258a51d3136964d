/*
 * client_checkpoint.h - one checkpoint from what the clients of all ranks offer: the steps
 * of companion_checkpoint_make().
 */
#ifndef RAYTRAIN_COMMAND_CLIENT_CHECKPOINT_H
#define RAYTRAIN_COMMAND_CLIENT_CHECKPOINT_H

#include "checkpoint/checkpoint.h"
#include "command/checkpoint_offer.h"
#include "command/session_requests.h"
#include "command/shared_buffer.h"

/* In a checkpoint: what the Python object was, and its metadata, both JSON texts. */
#define PYTHON_STRUCTURE "python/structure"
#define PYTHON_METADATA  "python/metadata"
/* The positions of data loaders: a row of bytes for each rank that has one of its own,
 * filled with zeros. See loader_positions.c. */
#define LOADER_POSITIONS CHECKPOINT_RESERVED "/session/loaders"

/* What a rank says of its offer. */
struct offer_face {
    int kind;
    uint64_t bytes;          /* of its JSON text */
    uint64_t position_bytes; /* of the positions of its data loaders */
};

/* A checkpoint that the clients of all ranks offer. */
struct client_checkpoint {
    struct companion *c;
    struct comm *comm;
    const json_t *json;   /* of this rank; NULL: it offers nothing */
    const char *position; /* of this rank's data loaders; NULL: it has none */
    struct offer own;
    struct offer_face *faces; /* of every rank */
    int lowest, n_offers;     /* the lowest rank with one; how many there are */
    struct shared_buffer *buffer;
    raytrain_checkpoint *ck;
};

/* Ask the client to copy all entries to a buffer, or the sharded ones alone. */
int client_checkpoint_copy(struct client_checkpoint *m, bool sharded,
                           struct error *err);
/* For a tensor in the buffer: its release function, with the buffer as the argument. */
void client_checkpoint_release(void *data, void *buffer);

/* Put the texts; metadata NULL: none. All ranks put the same. */
int client_checkpoint_put_texts(struct client_checkpoint *m, const char *structure,
                                const char *metadata, struct error *err);

/* COLLECTIVE: fill m->ck from dicts, from directories. */
int client_checkpoint_put_dicts(struct client_checkpoint *m, struct error *err);
int client_checkpoint_put_directories(struct client_checkpoint *m, struct error *err);

/* Put the positions of the data loaders of all ranks; the faces are known. */
int client_checkpoint_put_positions(struct client_checkpoint *m, struct error *err);
/* Of a checkpoint, what ranks 0 and `rank` have put: a JSON list of two texts, empty ones
 * for a rank that has put nothing. */
json_t *loader_positions_json(raytrain_checkpoint *ck, int rank, struct error *err);

#endif
