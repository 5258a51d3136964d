/*
 * torch_backend.c - PyTorch: env:// of torch.distributed, and the variables that
 * torchrun and the launchers of DeepSpeed and Accelerate set. The port is held without
 * listening until rank 0's child listens there, which torch does with SO_REUSEADDR.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/accelerators.h"
#include "backend/framework.h"
#include "backend/gpu_lists.h"
#include "config/train_config.h"
#include "util/argv.h"

/* The variables of torchrun, which replace those of the environment. There is no agent
 * whose store the ranks could use. */
static int torchrun_variables(const struct torch_place *p, char ***v, struct error *err)
{
    const struct world *w = p->world;

    if (argv_appendf(v, err, "MASTER_ADDR=%s", p->address) < 0 ||
        argv_appendf(v, err, "MASTER_PORT=%d", p->port) < 0 ||
        argv_appendf(v, err, "GROUP_WORLD_SIZE=%d", w->n_nodes) < 0 ||
        argv_appendf(v, err, "ROLE_RANK=%d", w->rank) < 0 ||
        argv_appendf(v, err, "ROLE_WORLD_SIZE=%d", w->size) < 0 ||
        argv_append(v, "ROLE_NAME=default", err) < 0 ||
        argv_appendf(v, err, "TORCHELASTIC_RUN_ID=%s", p->run) < 0 ||
        argv_appendf(v, err, "TORCHELASTIC_RESTART_COUNT=%d", p->attempt) < 0 ||
        argv_append(v, "TORCHELASTIC_USE_AGENT_STORE=False", err) < 0)
        return -1;
    return argv_appendf(v, err, "TORCHELASTIC_MAX_RESTARTS=%d", p->max_failures);
}

/* For DeepSpeed, whose launcher sets these, too: without LOCAL_SIZE it does not use
 * shared memory on CPUs. */
static int deepspeed_variables(const struct torch_place *p, char ***v,
                               struct error *err)
{
    const struct world *w = p->world;

    if (argv_appendf(v, err, "LOCAL_SIZE=%d", w->local_size) < 0 ||
        argv_appendf(v, err, "CROSS_RANK=%d", w->node_rank) < 0)
        return -1;
    return argv_appendf(v, err, "CROSS_SIZE=%d", w->n_nodes);
}

/* For raytrain.torch. NCCL refuses ranks that share a GPU. */
static int config_variables(const struct torch_place *p, char ***v, struct error *err)
{
    const struct backend_config *c = p->config;
    const char *backend = c->backend ? c->backend : p->shared_gpus ? "gloo" : NULL;

    if (backend && argv_appendf(v, err, "RAYTRAIN_TORCH_BACKEND=%s", backend) < 0)
        return -1;
    if (c->init_method &&
        argv_appendf(v, err, "RAYTRAIN_TORCH_INIT_METHOD=%s", c->init_method) < 0)
        return -1;
    if (c->timeout_s <= 0)
        return 0;
    return argv_appendf(v, err, "RAYTRAIN_TORCH_TIMEOUT_S=%d", c->timeout_s);
}

/* Without these, Accelerate, and with it the Trainer of Transformers, takes processes
 * without a GPU for trainings of one process each; with the first one only, their
 * device is "cpu:0", to which torch.load() cannot map a checkpoint. */
static int accelerate_variables(char ***v, struct error *err)
{
    if (getenv("ACCELERATE_USE_CPU"))
        return 0;
    return argv_append(v, "ACCELERATE_USE_CPU=true", err) < 0
               ? -1
               : framework_default(v, err, "ACCELERATE_TORCH_DEVICE", "cpu");
}

/* USE_LIBUV: builds of torch 2.4 and later without libuv, such as Debian's, fail unless
 * it is 0; others ignore it, or work as well without libuv. */
static int default_variables(const struct torch_place *p, char ***v, struct error *err)
{
    char cpus[16];

    snprintf(cpus, sizeof cpus, "%d", p->cpus);
    if (framework_default(v, err, "USE_LIBUV", "0") < 0 ||
        framework_default(v, err, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1") < 0 ||
        (p->no_gpus && accelerate_variables(v, err) < 0) ||
        (p->cpus > 0 && framework_default(v, err, "OMP_NUM_THREADS", cpus) < 0))
        return -1;
    if (!p->interface[0])
        return 0;
    return framework_default(v, err, "GLOO_SOCKET_IFNAME", p->interface);
}

int torch_variables(const struct torch_place *p, char ***variables, struct error *err)
{
    if (torchrun_variables(p, variables, err) < 0 ||
        deepspeed_variables(p, variables, err) < 0 ||
        config_variables(p, variables, err) < 0)
        return -1;
    return default_variables(p, variables, err);
}

static int torch_fill(struct framework *f, const struct backend *b, struct error *err)
{
    const struct seat *first = &f->rendezvous.seats[0];
    const struct train_config *cfg = b->config;
    const struct torch_place place = {
        .address = first->address,
        .port = first->port,
        .interface = f->rendezvous.interface,
        .run = cfg->run_config.name ? cfg->run_config.name : "raytrain",
        .attempt = b->attempt,
        .max_failures = cfg->run_config.failure_config.max_failures,
        .world = b->world,
        .config = &cfg->backend_config,
        .cpus = cfg->scaling_config.cpus_per_worker,
        .shared_gpus = scaling_config_workers_per_gpu(&cfg->scaling_config) > 1,
        .no_gpus = cfg->scaling_config.gpus_per_worker <= 0 &&
                   !accelerators_any(getenv("CUDA_VISIBLE_DEVICES"), "/dev"),
    };

    return torch_variables(&place, &f->variables, err);
}

/* COLLECTIVE: the child sees the GPUs of all ranks on its node, unless ranks share
 * GPUs: a GPU cannot be in the variable twice, so each child then sees its own as
 * number 0. The variable is removed first: its value is this worker's own, not a user's
 * setting. */
static int gpus_show(struct backend *b, struct error *err)
{
    struct framework *f = b->impl;
    int each = b->config->scaling_config.gpus_per_worker;
    char *all = NULL;
    int rc = 0;

    if (each <= 0 || b->config->scaling_config.gpu_parts > 0)
        return 0;
    rc = gpu_lists_share(b->comm, b->world, each, &all, err);
    if (rc == 0 && all)
        rc = argv_append(&f->variables, "CUDA_VISIBLE_DEVICES", err);
    if (rc == 0 && all)
        rc = argv_appendf(&f->variables, err, "CUDA_VISIBLE_DEVICES=%s", all);
    free(all);
    return comm_agree(b->comm, rc, err);
}

static int torch_training_start(struct backend *b, struct error *err)
{
    if (framework_training_start(b, PORT_OF_RANK_0, torch_fill, err) < 0)
        return -1;
    return gpus_show(b, err);
}

const struct backend_ops backend_torch = {
    .on_start = framework_start,
    .on_training_start = torch_training_start,
    .on_call = framework_call,
    .environment = framework_environment,
    .on_shutdown = framework_shutdown,
};
