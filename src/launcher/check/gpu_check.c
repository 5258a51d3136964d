/* gpu_check.c - GPUs: the devices of each node, and which of them a worker sees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/command_output.h"
#include "check/check_report.h"
#include "check/node_judge.h"
#include "site/nvml.h"

#define GPU_TOPIC "GPUs"
#define LIMIT_S 20.0 /* the driver may have to start */
#define GIB     (1024.0 * 1024 * 1024)

static enum verdict devices_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    double n = fact_number(node, "gpu_devices", 0);

    if (n > 0)
        snprintf(text, JUDGED_TEXT_MAX, "%.0f NVIDIA", n);
    else
        snprintf(text, JUDGED_TEXT_MAX, "no NVIDIA GPUs");
    return VERDICT_OK;
}

static const struct node_rule_row devices = {"devices", devices_rule, NULL};

static void driver_ask(struct findings *findings)
{
    char *argv[] = {(char *)"nvidia-smi", (char *)"--query-gpu=driver_version",
                    (char *)"--format=csv,noheader", NULL};
    struct error err;
    char *text;

    if (command_output(argv, LIMIT_S, &text, &err) == 0)
        finding_add(findings, GPU_TOPIC, "driver", VERDICT_OK, NULL, "%.*s",
                    (int)strcspn(text, "\n"), text);
    else if (err.code == RAYTRAIN_ENOTFOUND)
        finding_add(findings, GPU_TOPIC, "driver", VERDICT_SKIPPED,
                    "install nvidia-smi, or put it into PATH",
                    "nvidia-smi is not here");
    else
        finding_add(findings, GPU_TOPIC, "driver", VERDICT_WRONG,
                    "the driver does not answer: load it again, or drain the node",
                    "%s", err.text);
    free(text);
}

/* How many names CUDA_VISIBLE_DEVICES has. */
static int visible_count(const json_t *rank)
{
    const char *list = fact_text(rank, "cuda_visible");
    int n = *list != '\0';

    for (; (list = strchr(list, ',')); list++)
        n++;
    return n;
}

static bool sees_same(const json_t *a, const json_t *b)
{
    return strcmp(fact_text(a, "node"), fact_text(b, "node")) == 0 &&
           strcmp(fact_text(a, "cuda_visible"), fact_text(b, "cuda_visible")) == 0;
}

/* How many earlier ranks see the same. */
static int sharers_before(const json_t *ranks, size_t i)
{
    int n = 0;

    for (size_t k = 0; k < i; k++)
        n += sees_same(json_array_get(ranks, k), json_array_get(ranks, i));
    return n;
}

/* Each worker has the requested GPUs, each shared by at most `sharing` workers. */
static void binding_judge(const json_t *ranks, int asked, int sharing,
                          struct findings *findings)
{
    static const char remedy[] =
        "see what gres.conf and TaskPlugin (task/cgroup, ConstrainDevices) say about "
        "GPUs, and what srun --gpus-per-task=1 env shows";

    for (size_t i = 0; i < json_array_size(ranks); i++) {
        const json_t *rank = json_array_get(ranks, i);
        int n = visible_count(rank);

        if (n != asked) {
            finding_add(findings, GPU_TOPIC, "binding", VERDICT_WRONG, remedy,
                        "rank %zu on %s sees %d GPUs, not %d (CUDA_VISIBLE_DEVICES is "
                        "'%s')",
                        i, fact_text(rank, "node"), n, asked,
                        fact_text(rank, "cuda_visible"));
            return;
        }
        if (sharers_before(ranks, i) >= sharing) {
            finding_add(findings, GPU_TOPIC, "binding", VERDICT_WRONG, remedy,
                        "ranks %zu and %zu on %s share GPU %s", i - 1, i,
                        fact_text(rank, "node"), fact_text(rank, "cuda_visible"));
            return;
        }
    }
    if (sharing > 1)
        finding_add(findings, GPU_TOPIC, "binding", VERDICT_OK, NULL,
                    "at most %d workers see the same GPU", sharing);
    else
        finding_add(findings, GPU_TOPIC, "binding", VERDICT_OK, NULL,
                    "each worker sees %d of its own", asked);
}

/* ---- What the driver reports about each rank's GPUs ---- */

static const json_t *gpus_of(const json_t *rank)
{
    return json_object_get(rank, "gpus");
}

static void driver_judge(const json_t *ranks, struct findings *findings)
{
    const char *first = "";

    for (size_t i = 0; i < json_array_size(ranks); i++) {
        const json_t *rank = json_array_get(ranks, i);
        const char *version = fact_text(gpus_of(rank), "driver");

        if (json_is_string(gpus_of(rank))) {
            finding_add(findings, GPU_TOPIC, "driver", VERDICT_WRONG,
                        "load it again, or drain the node",
                        "the one of %s does not answer rank %zu",
                        fact_text(rank, "node"), i);
            return;
        }
        if (*first && *version && strcmp(first, version) != 0) {
            finding_add(findings, GPU_TOPIC, "driver", VERDICT_WARNING,
                        "install the same version on all nodes", "%s, but %s on %s",
                        first, version, fact_text(rank, "node"));
            return;
        }
        first = *first ? first : version;
    }
    if (*first)
        finding_add(findings, GPU_TOPIC, "driver of workers", VERDICT_OK, NULL, "%s",
                    first);
}

typedef bool device_rule(const json_t *rank, const json_t *device, int sharing,
                         struct findings *findings);

/* With MPS, several processes are one client of the GPU. */
static bool mode_judge(const json_t *rank, const json_t *device, int sharing,
                       struct findings *findings)
{
    double mode = fact_number(device, "mode", NVML_SHARED);
    bool mps = json_is_true(json_object_get(gpus_of(rank), "mps"));
    bool alone = mode == NVML_EXCLUSIVE && sharing > 1 && !mps;

    if (mode != NVML_PROHIBITED && !alone)
        return true;
    finding_add(
        findings, GPU_TOPIC, "compute mode", VERDICT_WRONG,
        mode == NVML_PROHIBITED
            ? "an administrator has to allow it: nvidia-smi -c DEFAULT"
            : "start an MPS daemon on the node (nvidia-cuda-mps-control -d), or "
              "let an administrator run nvidia-smi -c DEFAULT",
        "GPU %.0f (PCI %s) of %s %s", fact_number(device, "number", 0),
        fact_text(device, "pci"), fact_text(rank, "node"),
        alone ? "admits one process at a time, and workers share it"
              : "does not admit any process");
    return false;
}

static bool free_judge(const json_t *rank, const json_t *device, int sharing,
                       struct findings *findings)
{
    double total = fact_number(device, "total", 0),
           left = fact_number(device, "free", 0);

    (void)sharing;
    if (left >= total / 2)
        return true;
    finding_add(findings, GPU_TOPIC, "memory", VERDICT_WARNING,
                "see with nvidia-smi whose processes use it, and end them",
                "GPU %.0f (PCI %s) of %s has %.1f of %.1f GiB free",
                fact_number(device, "number", 0), fact_text(device, "pci"),
                fact_text(rank, "node"), left / GIB, total / GIB);
    return false;
}

/* The first GPU that breaks the rule is enough. */
static bool devices_judge(const json_t *ranks, device_rule *rule, int sharing,
                          struct findings *findings)
{
    size_t k;
    json_t *device;

    for (size_t i = 0; i < json_array_size(ranks); i++) {
        const json_t *rank = json_array_get(ranks, i);

        json_array_foreach(json_object_get(gpus_of(rank), "devices"), k, device)
        {
            if (!rule(rank, device, sharing, findings))
                return false;
        }
    }
    return true;
}

static void sharing_tell(const json_t *ranks, struct findings *findings)
{
    const json_t *gpus = gpus_of(json_array_get(ranks, 0));

    if (json_is_object(gpus))
        finding_add(findings, GPU_TOPIC, "sharing", VERDICT_OK, NULL, "%s",
                    json_is_true(json_object_get(gpus, "mps"))
                        ? "by the MPS daemon that runs here"
                        : "in turns: without an MPS daemon, kernels of different "
                          "workers do not run at the same time");
}

/* Has the driver answered any of them? */
static bool devices_known(const json_t *ranks)
{
    for (size_t i = 0; i < json_array_size(ranks); i++)
        if (!json_is_null(gpus_of(json_array_get(ranks, i))))
            return true;
    return false;
}

static const char *const binding_names[] = {"binding", NULL};
static const char *const driver_names[] = {"driver of workers", "compute mode",
                                           "memory", NULL};

/* No worker had a GPU. */
static void gpu_skip(int asked, const struct check_context *context,
                     struct findings *findings)
{
    const char *how = "check with --gpu, on nodes with GPUs";
    const char *why = "workers were started without GPUs";

    if (asked > 0)
        why = check_needs_report(context, &how);
    findings_skip(findings, GPU_TOPIC, binding_names, how, why ? why : "");
    findings_skip(findings, GPU_TOPIC, driver_names, how, why ? why : "");
}

static void gpu_all_skip(const char *why, const char *how, struct findings *findings)
{
    node_skip_all(GPU_TOPIC, &devices, 1, why, how, findings);
    findings_skip(findings, GPU_TOPIC, binding_names, how, why);
    findings_skip(findings, GPU_TOPIC, driver_names, how, why);
}

static void gpu_run(struct check_context *context, struct findings *findings)
{
    const json_t *nodes = check_nodes(context);
    const json_t *ranks = json_object_get(context->report, "ranks");
    int asked = context->cfg->scaling_config.gpus_per_worker;
    int sharing = scaling_config_workers_per_gpu(&context->cfg->scaling_config);

    node_judge(nodes, GPU_TOPIC, &devices, findings);
    if (fact_number(json_array_get(context->own, 0), "gpu_devices", 0) > 0)
        driver_ask(findings);
    if (asked <= 0 || json_array_size(ranks) == 0) {
        gpu_skip(asked, context, findings);
        return;
    }
    binding_judge(ranks, asked, sharing, findings);
    driver_judge(ranks, findings);
    if (!devices_known(ranks)) {
        findings_skip(findings, GPU_TOPIC, driver_names,
                      "install the driver's library (libnvidia-ml.so.1) on these nodes",
                      "the driver's library is not found");
        return;
    }
    if (devices_judge(ranks, mode_judge, sharing, findings) && sharing > 1)
        sharing_tell(ranks, findings);
    devices_judge(ranks, free_judge, sharing, findings);
}

const struct check_ops check_gpu = {
    .topic = GPU_TOPIC, .run = gpu_run, .skip = gpu_all_skip};
