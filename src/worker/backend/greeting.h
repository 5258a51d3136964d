/*
 * greeting.h - finds the addresses of a node that another node reaches: the one listens
 * at all of them for a short time, and the other connects to each. Both prove that they
 * belong to the same run, so that the server of a stranger, or another run at the same
 * address (every node may have its own 172.17.0.1), does not count.
 */
#ifndef RAYTRAIN_BACKEND_GREETING_H
#define RAYTRAIN_BACKEND_GREETING_H

#include <stdint.h>

#include "backend/address.h"

#define GREETING_BYTES 16

/* What the other nodes get from the node that listens. */
struct invitation {
    int n;
    union address at[ADDRESSES_MAX];                                /* with ports */
    unsigned char question[GREETING_BYTES], answer[GREETING_BYTES]; /* random */
};

struct greeter;

/* Listen at these addresses, in a thread. The invitation has those at which it listens,
 * maybe none. */
int greeter_start(const union address *at, int n, struct invitation *invitation,
                  struct greeter **out, struct error *err);
void greeter_stop(struct greeter *g); /* accepts NULL */

/* The addresses that this node reaches: bit i is at[i]. Takes at most `limit_s`, and
 * `patience_s` after the first one is reached. */
uint64_t greeting_try(const struct invitation *invitation, double limit_s,
                      double patience_s);

#endif
