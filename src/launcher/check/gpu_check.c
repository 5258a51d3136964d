/* gpu_check.c - GPUs: the devices of each node, and which of them a worker sees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/command_output.h"
#include "check/node_judge.h"

#define TOPIC   "GPUs"
#define LIMIT_S 20.0 /* the driver may have to start */

static enum verdict devices_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    double n = fact_number(node, "gpu_devices", 0);

    if (n > 0)
        snprintf(text, JUDGED_TEXT_MAX, "%.0f of NVIDIA", n);
    else
        snprintf(text, JUDGED_TEXT_MAX, "none of NVIDIA");
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
        finding_add(findings, TOPIC, "driver", VERDICT_OK, NULL, "%.*s",
                    (int)strcspn(text, "\n"), text);
    else if (err.code != RAYTRAIN_ENOTFOUND)
        finding_add(findings, TOPIC, "driver", VERDICT_WRONG,
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

/* Each worker has the GPUs that were asked for, and none that another one has. */
static void binding_judge(const json_t *ranks, int asked, struct findings *findings)
{
    static const char remedy[] =
        "see what gres.conf and TaskPlugin (task/cgroup, ConstrainDevices) say about "
        "GPUs, and what srun --gpus-per-task=1 env shows";

    for (size_t i = 0; i < json_array_size(ranks); i++) {
        const json_t *rank = json_array_get(ranks, i);
        int n = visible_count(rank);

        if (n != asked) {
            finding_add(findings, TOPIC, "binding", VERDICT_WRONG, remedy,
                        "rank %zu on %s sees %d GPUs, not %d (CUDA_VISIBLE_DEVICES is "
                        "'%s')",
                        i, fact_text(rank, "node"), n, asked,
                        fact_text(rank, "cuda_visible"));
            return;
        }
        if (i > 0 && sees_same(rank, json_array_get(ranks, i - 1))) {
            finding_add(findings, TOPIC, "binding", VERDICT_WRONG, remedy,
                        "ranks %zu and %zu on %s share GPU %s", i - 1, i,
                        fact_text(rank, "node"), fact_text(rank, "cuda_visible"));
            return;
        }
    }
    finding_add(findings, TOPIC, "binding", VERDICT_OK, NULL,
                "each worker sees %d of its own", asked);
}

static void gpu_run(struct check_context *context, struct findings *findings)
{
    const json_t *nodes = check_nodes(context);
    const json_t *ranks = json_object_get(context->report, "ranks");
    int asked = context->cfg->scaling_config.gpus_per_worker;

    node_judge(nodes, TOPIC, &devices, findings);
    if (fact_number(json_array_get(context->own, 0), "gpu_devices", 0) > 0)
        driver_ask(findings);
    if (asked > 0 && json_array_size(ranks) > 0)
        binding_judge(ranks, asked, findings);
}

const struct check_ops check_gpu = {.topic = TOPIC, .run = gpu_run};
