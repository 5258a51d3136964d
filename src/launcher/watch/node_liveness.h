/*
 * node_liveness.h - is every node of the attempt alive?
 *
 * A node says so in its heartbeat file (rank/heartbeat.h). One that has said nothing
 * for half of node_timeout_s is asked (launcher.h); silent for all of it, and without
 * an answer since, it is given up. One that answers is left alone: what its workers do
 * not do is another watch's affair.
 *
 * A node may be cut off and reach the storage all the same. So where no report comes
 * for node_timeout_s all nodes are asked, and then less and less often, since a report
 * may take as long as it likes. One that beats but does not answer twice, while another
 * one does, is given up too.
 *
 * When a node dies, the workers of the others may see it first, and fail. Then Slurm
 * cannot end the group, for it waits for that node. So where a group that fails is not
 * gone at once all are asked, and who does not answer, while another one does, is what
 * failed.
 *
 * Silence is measured by our own clock, from the time when a change was last seen. Each
 * tick reads some of the files, so that all are read twice in a period of the
 * heartbeat, and none waits for more than a few.
 *
 * Nodes that were lost before are asked now and then, whether they are back.
 */
#ifndef RAYTRAIN_WATCH_NODE_LIVENESS_H
#define RAYTRAIN_WATCH_NODE_LIVENESS_H

#include "watch/watch.h"

extern const struct watch_ops node_watch;

#endif
