/*
 * xgboost_group.h - joins the members of a training for XGBoost's own collectives.
 *
 * Up to 2.0 the rendezvous is raytrain's (rabit_tracker.h), later the library's. Both
 * run in rank 0's process, and listen at the address at which other nodes reach its
 * node; if there is only one node, at loopback.
 *
 * XGBoost's collectives belong to the thread that joins.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_GROUP_H
#define RAYTRAIN_GBDT_XGBOOST_GROUP_H

#include "comm/comm.h"
#include "xgboost/xgboost_library.h"
#include "wireup/wireup.h"

struct xgboost_group;

/* COLLECTIVE, for two or more members. RAYTRAIN_ECOMM, on all of them. */
int xgboost_group_join(const struct xgboost_library *x, struct comm *c,
                       const struct world *world, struct xgboost_group **out,
                       struct error *err);

/* After a call of the library that failed on this member: closes its connections, so
 * that members that wait for it fail too. May be called again. */
void xgboost_group_break(struct xgboost_group *g);

/* COLLECTIVE if clean; otherwise does not wait for other members. NULL is fine. */
void xgboost_group_leave(struct xgboost_group *g, bool clean);

#endif
