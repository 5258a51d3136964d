/*
 * xgboost_group.h - the members of a training by XGBoost, joined by its own
 * collectives.
 *
 * Up to 2.0 the rendezvous is raytrain's (rabit_tracker.h), later the library's. Either
 * is in rank 0's process, and listens at the address at which the other nodes reach
 * that node; on one node, at loopback alone.
 *
 * XGBoost's collectives belong to the thread that joins.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_GROUP_H
#define RAYTRAIN_GBDT_XGBOOST_GROUP_H

#include "comm/comm.h"
#include "xgboost/xgboost_library.h"
#include "wireup/wireup.h"

struct xgboost_group;

/* COLLECTIVE; several members. RAYTRAIN_ECOMM, on all of them. */
int xgboost_group_join(const struct xgboost_library *x, struct comm *c,
                       const struct world *world, struct xgboost_group **out,
                       struct error *err);

/* A call of the library has failed on this member: close its connections, so that those
 * that wait for it fail as well. May be called again. */
void xgboost_group_break(struct xgboost_group *g);

/* COLLECTIVE if clean; else it waits for no other member. NULL is fine. */
void xgboost_group_leave(struct xgboost_group *g, bool clean);

#endif
