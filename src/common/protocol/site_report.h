/*
 * site_report.h - what the workers of raytrain-run --check report: rank 0 writes one JSON
 * object to this file in the log directory, the more complete the further they came.
 *
 *   {"ranks": [{"rank", "local_rank", "node", "cpus", "cuda_visible": text or null,
 *              "gpus": gpu_facts(),
 *              "devices": null without GPUs; "silent": they have not answered in time; or
 *              [{"id", "device": a raytrain_device, "failed": null or what failed,
 *               "missing": it is the library, "bytes_s": speed of copies}]}],
 *    "nodes": [node_facts() of one rank per node, with "storage": storage_facts(),
 *              "mpi", "pmix", "hdf5": *_facts(), "version": of raytrain,
 *              "unresolved": hosts of other nodes that it cannot resolve,
 *              "clock_s": how far its clock is ahead of that of rank 0,
 *              "clock_error_s": how exact that is}],
 *    "allreduce": true,
 *    "link": {"from", "to": nodes, "latency_s", "bytes_s"} or null,
 *    "hdf5_file": null or what failed,
 *    "trees": {"xgboost": version or null, "lightgbm": ...},
 *    "shared": {"appears", "grows", "changes", "renamed", "absent", "flock", "fcntl",
 *               "same_page": [whether this works, for each node]} if there are several nodes
 *    "checkpoint": true, "checkpoint_s": how long it took,
 *    "device_sum": {"right": true, "failed": or why not; without either the workers have
 *                   not come back; "library", "version": of NCCL, "host": or why it goes
 *                   through the host} if all workers have GPUs that work}
 */
#ifndef RAYTRAIN_PROTOCOL_SITE_REPORT_H
#define RAYTRAIN_PROTOCOL_SITE_REPORT_H

#define SITE_REPORT "check.json"

/* The most names of nodes that each node resolves. */
#define SITE_NAMES_MAX 64

/* The argument of raytrain-worker that chooses this in place of a training function. */
#define SITE_CHECK_ARGUMENT "--check"

#endif
