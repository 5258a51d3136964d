/* device_check.c - what workers have tried with their GPUs: copies, a sum over all of
 * them, and NCCL. */
#include <string.h>

#include "check/check_report.h"
#include "check/node_judge.h"

#define DEVICE_TOPIC "GPUs"

static const char *const names[] = {"copy", "sum over GPUs", "NCCL", NULL};

static const char remedy_copy[] = "see nvidia-smi and the messages of the kernel "
                                  "(dmesg) on that node, and drain it if "
                                  "the GPU is broken";

/* ---- Copies ---- */

/* Is there a driver, so that a missing or too old library is an error? */
static bool has_driver(const struct check_context *context, const json_t *rank)
{
    const json_t *nodes = check_nodes(context);

    if (json_is_object(json_object_get(rank, "gpus")))
        return true;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);

        if (strcmp(fact_text(node, "node"), fact_text(rank, "node")) == 0)
            return fact_number(node, "gpu_devices", 0) > 0;
    }
    return false;
}

/* The first GPU of this rank that failed; NULL: none did. */
static const json_t *failed_device(const json_t *rank)
{
    const json_t *devices = json_object_get(rank, "devices");

    for (size_t i = 0; i < json_array_size(devices); i++)
        if (*fact_text(json_array_get(devices, i), "failed"))
            return json_array_get(devices, i);
    return NULL;
}

/* True: a problem was found and added. */
static bool rank_judge(const struct check_context *context, size_t i,
                       const json_t *rank, struct findings *findings)
{
    const json_t *device = failed_device(rank),
                 *devices = json_object_get(rank, "devices");
    bool missing = json_is_true(json_object_get(device, "missing"));

    if (json_is_string(devices))
        finding_add(findings, DEVICE_TOPIC, "copy", VERDICT_WRONG, remedy_copy,
                    "the driver of %s does not answer rank %zu",
                    fact_text(rank, "node"), i);
    else if (device && missing && !has_driver(context, rank))
        finding_add(findings, DEVICE_TOPIC, "copy", VERDICT_SKIPPED,
                    "install the driver, with its library, on the nodes with GPUs",
                    "rank %zu on %s: %s", i, fact_text(rank, "node"),
                    fact_text(device, "failed"));
    else if (device)
        finding_add(findings, DEVICE_TOPIC, "copy", VERDICT_WRONG, remedy_copy,
                    "rank %zu on %s, GPU %.0f: %s", i, fact_text(rank, "node"),
                    fact_number(device, "id", 0), fact_text(device, "failed"));
    return json_is_string(devices) || device;
}

static void speed_say(const json_t *ranks, struct findings *findings)
{
    double slowest = 0;
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(ranks); i++) {
        const json_t *devices = json_object_get(json_array_get(ranks, i), "devices");

        for (size_t k = 0; k < json_array_size(devices); k++, n++) {
            double speed = fact_number(json_array_get(devices, k), "bytes_s", 0);

            slowest = n == 0 || speed < slowest ? speed : slowest;
        }
    }
    finding_add(findings, DEVICE_TOPIC, "copy", VERDICT_OK, NULL,
                "%zu GPU%s, there and back: the same bytes, %s%.1f GB/s", n,
                n == 1 ? "" : "s", n == 1 ? "" : "the slowest ", slowest / 1e9);
}

/* Are the copies of all ranks right? */
static bool copies_judge(const struct check_context *context, const json_t *ranks,
                         struct findings *findings)
{
    for (size_t i = 0; i < json_array_size(ranks); i++)
        if (rank_judge(context, i, json_array_get(ranks, i), findings))
            return false;
    speed_say(ranks, findings);
    return true;
}

/* ---- Collectives ---- */

static void library_judge(const json_t *sum, struct findings *findings)
{
    int version = (int)fact_number(sum, "version", 0);

    if (*fact_text(sum, "host"))
        finding_add(
            findings, DEVICE_TOPIC, "NCCL", VERDICT_SKIPPED,
            "with NCCL 2.10 or later (libnccl.so.2) on all nodes, and a GPU for "
            "each worker, collectives do not go through host memory",
            "%s", fact_text(sum, "host"));
    else
        finding_add(findings, DEVICE_TOPIC, "NCCL", VERDICT_OK, NULL,
                    "%s, version %d.%d.%d", fact_text(sum, "library"), version / 10000,
                    version / 100 % 100, version % 100);
}

/* Without an outcome, the workers did not return from it. */
static void sum_judge(const json_t *sum, struct findings *findings)
{
    const char *failed = fact_text(sum, "failed");

    if (json_is_true(json_object_get(sum, "right"))) {
        finding_add(findings, DEVICE_TOPIC, "sum over GPUs", VERDICT_OK, NULL,
                    "an allreduce of GPU memory has the right result");
        library_judge(sum, findings);
        return;
    }
    finding_add(
        findings, DEVICE_TOPIC, "sum over GPUs", VERDICT_WRONG,
        "set NCCL_DEBUG=INFO, and look at what NCCL says in a run; "
        "NCCL_SOCKET_IFNAME names the network, and /dev/shm must be large enough",
        "%s", *failed ? failed : "the workers did not return from it");
    findings_skip(findings, DEVICE_TOPIC, names + 2,
                  "fix the problem with the sum first", "the sum over GPUs has failed");
}

/* ---- The check ---- */

static const char *device_left_out(const struct check_context *context,
                                   const char **how)
{
    if (context->cfg->scaling_config.gpus_per_worker > 0)
        return check_needs_report(context, how);
    *how = "check with --gpu, on nodes with GPUs";
    return "workers were started without GPUs";
}

static void device_skip(const char *why, const char *how, struct findings *findings)
{
    findings_skip(findings, DEVICE_TOPIC, names, how, why);
}

static void device_run(struct check_context *context, struct findings *findings)
{
    const json_t *ranks = json_object_get(context->report, "ranks");
    const json_t *sum = json_object_get(context->report, "device_sum");

    if (!json_object_get(json_array_get(ranks, 0), "devices"))
        device_skip("the workers ended before they reported it",
                    "fix the problem with the workers first, and check again",
                    findings);
    else if (!copies_judge(context, ranks, findings))
        findings_skip(findings, DEVICE_TOPIC, names + 1,
                      "fix the problem with the copy first",
                      "copies to and from a GPU have failed");
    else if (sum)
        sum_judge(sum, findings);
    else
        findings_skip(findings, DEVICE_TOPIC, names + 1,
                      "fix the problem with the workers first, and check again",
                      "the workers ended before this");
}

const struct check_ops check_device = {.topic = DEVICE_TOPIC,
                                       .left_out = device_left_out,
                                       .run = device_run,
                                       .skip = device_skip};
