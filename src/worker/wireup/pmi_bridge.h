/*
 * pmi_bridge.h - PMI-1 for an MPI library, in this process or in a child: a socketpair,
 * one end of which the library finds in PMI_FD, and a thread at the other end that
 * speaks pmi1.h.
 */
#ifndef RAYTRAIN_WIREUP_PMI_BRIDGE_H
#define RAYTRAIN_WIREUP_PMI_BRIDGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "wireup/pmi1.h"

struct pmi_bridge;

/* Sets PMI_FD, PMI_RANK and PMI_SIZE. If the thread cannot answer, it calls
 * config->ops->abort. config is copied; what it points to is borrowed until stop. */
int pmi_bridge_start(const struct pmi1_config *config, struct pmi_bridge **out,
                     struct error *err);
/* The same for an MPI program in a child: *fd is the end that it inherits, which stays
 * the bridge's. This process's environment is unchanged. */
int pmi_bridge_start_child(const struct pmi1_config *config, struct pmi_bridge **out,
                           int *fd, struct error *err);
/* The process that made the last request of a child's bridge; 0: none has, or it is not
 * visible from here. */
pid_t pmi_bridge_client(const struct pmi_bridge *b);
/* Has a client made a request? */
bool pmi_bridge_used(const struct pmi_bridge *b);
/* Remove PMI_* from the environment again. */
void pmi_bridge_hide(void);
/* Ends the thread and frees. The client must make no more calls. NULL is fine. */
void pmi_bridge_stop(struct pmi_bridge *b);

#endif
