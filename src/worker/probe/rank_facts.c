/*
 * rank_facts.c - gathers what each rank knows: its node (site/node_facts.h), CPUs, GPUs
 * and the MPI library.
 */
#include "config.h"

#include "probe/rank_facts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hdf5/h5_facts.h"
#include "mpi/mpi_facts.h"
#include "site/gpu_facts.h"
#include "site/node_facts.h"
#include "site/storage_facts.h"
#include "util/quote.h"
#include "wireup/pmix_facts.h"

#define WRITTEN     ((size_t)4 << 20) /* bytes by each node, to measure the speed */
#define GPU_LIMIT_S 20.0              /* the driver may have to start */

/* COLLECTIVE: one JSON value of each rank; on rank 0 a list of them in `all`. */
static int values_gather(struct comm *comm, json_t *value, json_t **all,
                         struct error *err)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    void *facts = NULL;
    int rc = 0;

    *all = NULL;
    if (!text || !sizes)
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, text, strlen(text), &facts, sizes, 0, err);
    if (rc == 0 && comm->rank == 0) {
        const char *at = facts;

        *all = json_array();
        for (int i = 0; i < comm->size; at += sizes[i++]) {
            json_t *one = json_loadb(at, sizes[i], JSON_DECODE_ANY, NULL);

            json_array_append_new(*all, one ? one : json_null());
        }
    }
    free(facts);
    free(sizes);
    free(text);
    json_decref(value);
    return rc;
}

static json_t *environment_value(const char *name)
{
    const char *value = getenv(name);

    return value ? json_text(value) : json_null();
}

/* The variable that names the visible GPUs, as the vendor calls it, and its value. */
static json_t *visible_gpus(void)
{
    static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                        "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return environment_value(names[i]);
    return json_null();
}

/* The driver's library is opened only if GPUs were requested. */
static json_t *own_gpus(void)
{
    const char *each = getenv("RAYTRAIN_GPUS_PER_WORKER");

    return each && atoi(each) > 0
               ? gpu_facts(getenv("CUDA_VISIBLE_DEVICES"), GPU_LIMIT_S)
               : json_null();
}

static json_t *rank_describe(const struct world *world, const json_t *node)
{
    json_t *one = json_pack("{s:i, s:i, s:s}", "rank", world->rank, "local_rank",
                            world->local_rank, "host", world->host);

    json_object_set_new(one, "node", json_incref(json_object_get(node, "node")));
    json_object_set_new(one, "cpus", json_incref(json_object_get(node, "cpus")));
    json_object_set_new(one, "cuda_visible", visible_gpus());
    json_object_set_new(one, "gpus", own_gpus());
    return one;
}

static void node_complete(json_t *node, const char *run_dir)
{
    json_object_set_new(node, "version", json_string(PACKAGE_VERSION));
    json_object_set_new(node, "mpi", mpi_facts());
    json_object_set_new(node, "pmix", pmix_facts());
    json_object_set_new(node, "hdf5", h5_facts());
    json_object_set_new(node, "storage", storage_facts(run_dir, WRITTEN));
}

/* The values in a list, one per rank, that are not null. */
static json_t *without_null(json_t *all)
{
    json_t *rest = json_array();

    for (size_t i = 0; i < json_array_size(all); i++)
        if (!json_is_null(json_array_get(all, i)))
            json_array_append(rest, json_array_get(all, i));
    json_decref(all);
    return rest;
}

int rank_facts_gather(struct comm *comm, const struct world *world, const char *run_dir,
                      json_t *report, struct error *err)
{
    json_t *node = node_facts(), *one = rank_describe(world, node), *ranks, *nodes;

    if (world->local_rank == 0) {
        node_complete(node, run_dir);
    } else {
        json_decref(node);
        node = json_null();
    }
    if (values_gather(comm, one, &ranks, err) < 0) {
        json_decref(node);
        return -1;
    }
    json_object_set_new(report, "ranks", ranks ? ranks : json_null());
    if (values_gather(comm, node, &nodes, err) < 0)
        return -1;
    json_object_set_new(report, "nodes", nodes ? without_null(nodes) : json_null());
    return 0;
}

int rank_facts_add(struct comm *comm, const struct world *world, const char *key,
                   json_t *value, json_t *report, struct error *err)
{
    json_t *all, *nodes = json_object_get(report, "nodes");

    if (world->local_rank != 0) {
        json_decref(value);
        value = json_null();
    }
    if (values_gather(comm, value, &all, err) < 0)
        return -1;
    if (!all)
        return 0;
    all = without_null(all);
    for (size_t i = 0; i < json_array_size(all); i++)
        json_object_set(json_array_get(nodes, i), key, json_array_get(all, i));
    json_decref(all);
    return 0;
}

int rank_facts_each(struct comm *comm, const char *key, json_t *value, json_t *report,
                    struct error *err)
{
    json_t *all, *ranks = json_object_get(report, "ranks");

    if (values_gather(comm, value, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(all); i++)
        json_object_set(json_array_get(ranks, i), key, json_array_get(all, i));
    json_decref(all);
    return 0;
}
