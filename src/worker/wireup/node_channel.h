/*
 * node_channel.h - connections between the first rank of a node, the leader, and the
 * others, over which the leader sends numbers. Only the leader's user can connect, with
 * a secret that the ranks have exchanged.
 */
#ifndef RAYTRAIN_WIREUP_NODE_CHANNEL_H
#define RAYTRAIN_WIREUP_NODE_CHANNEL_H

#include "wireup/wireup.h"

struct node_channel;

/* COLLECTIVE over all ranks: connect those of each node. Waits for them, for 30 s at
 * most. */
int node_channel_open(struct wireup *w, struct node_channel **out, struct error *err);
/* NULL is fine. */
void node_channel_close(struct node_channel *c);

/* On a leader: send a number to the others, without waiting. A rank that is gone, or
 * that does not read, does not get it. */
void node_channel_send(struct node_channel *c, unsigned number);
/* On another rank: a descriptor to poll for reading; -1: on a leader, or the leader is
 * gone. */
int node_channel_fd(const struct node_channel *c);
/* Does not wait. False: there is none. */
bool node_channel_receive(struct node_channel *c, unsigned *number);

#endif
