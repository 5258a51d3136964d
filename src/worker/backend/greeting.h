/*
 * greeting.h - finds out which addresses of a node another node reaches: one listens at
 * all of them for a short time, and the other connects to each. Both prove that they
 * belong to the same run, so that a stranger's server, or another run at the same
 * address (each node may have a 172.17.0.1 of its own), does not count.
 */
#ifndef RAYTRAIN_BACKEND_GREETING_H
#define RAYTRAIN_BACKEND_GREETING_H

#include <stdint.h>

#include "backend/address.h"

#define GREETING_BYTES 16

/* What the node that listens publishes. */
struct greeting_offer {
    int n;
    union address at[ADDRESSES_MAX];                                /* with ports */
    unsigned char question[GREETING_BYTES], answer[GREETING_BYTES]; /* random */
};

struct greeter;

/* Listen at these addresses, in a thread. The offer leaves out those at which it cannot
 * listen, and may be empty. */
int greeter_start(const union address *at, int n, struct greeting_offer *offer,
                  struct greeter **out, struct error *err);
void greeter_stop(struct greeter *g); /* accepts NULL */

/* The addresses of the offer that can be reached from here: bit i is at[i]. Takes at
 * most `limit_s`, and `patience_s` once one has been reached. */
uint64_t greeting_try(const struct greeting_offer *offer, double limit_s,
                      double patience_s);

#endif
