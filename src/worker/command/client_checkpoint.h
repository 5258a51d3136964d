/*
 * client_checkpoint.h - a checkpoint that the clients of all ranks offer, while
 * companion_checkpoint_make() makes it, and the steps of that.
 */
#ifndef RAYTRAIN_COMMAND_CLIENT_CHECKPOINT_H
#define RAYTRAIN_COMMAND_CLIENT_CHECKPOINT_H

#include "checkpoint/checkpoint.h"
#include "command/checkpoint_offer.h"
#include "command/companion.h"
#include "command/shared_buffer.h"

/* In a checkpoint: what the Python object was, and its metadata, both JSON texts. */
#define PYTHON_STRUCTURE "python/structure"
#define PYTHON_METADATA  "python/metadata"
/* The positions of data loaders: a row of bytes for each rank (loader_positions.c). */
#define LOADER_POSITIONS CHECKPOINT_RESERVED "/session/loaders"

/* What the other ranks have to know about the offer of a rank. */
struct offer_summary {
    int kind;
    uint64_t bytes;          /* the size of its JSON text */
    uint64_t position_bytes; /* the size of the positions of its data loaders */
};

struct client_checkpoint {
    struct companion *c;
    struct comm *comm;
    const json_t *json;              /* what this rank offers; NULL: nothing */
    const char *position;            /* that of its data loaders; NULL: none */
    struct offer own;                /* json, parsed */
    struct offer_summary *summaries; /* one for each rank */
    int lowest, n_offers;            /* the lowest rank with an offer; their number */
    struct shared_buffer *buffer;
    raytrain_checkpoint *ck;
};

/* Ask the client to copy all its entries to a buffer, or only the sharded ones. */
int client_checkpoint_copy(struct client_checkpoint *m, bool sharded,
                           struct error *err);
/* The release function of a tensor in a shared buffer, which is its argument. */
void client_checkpoint_release(void *data, void *buffer);

/* Put the texts, the same on all ranks; metadata NULL: none. */
int client_checkpoint_put_texts(struct client_checkpoint *m, const char *structure,
                                const char *metadata, struct error *err);

/* COLLECTIVE: fill m->ck from dicts, or from directories. */
int client_checkpoint_put_dicts(struct client_checkpoint *m, struct error *err);
int client_checkpoint_put_directories(struct client_checkpoint *m, struct error *err);

/* Put the positions of data loaders; needs the summaries. */
int client_checkpoint_put_positions(struct client_checkpoint *m, struct error *err);
/* The positions that ranks 0 and `rank` have put into a checkpoint, as a JSON list of
 * two texts; an empty text if a rank has put nothing. A new reference. */
json_t *loader_positions_json(raytrain_checkpoint *ck, int rank, struct error *err);

#endif
