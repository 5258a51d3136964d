/* mpi_check.c - MPI and PMIx of the workers, and how fast two of them communicate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_report.h"
#include "check/node_judge.h"

#define MPI_TOPIC "MPI"

/* "libfabric.so.1 libucp.so.0", "" */
static void words_join(const json_t *list, char *text, size_t size)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < json_array_size(list) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? " " : "",
                                 json_string_value(json_array_get(list, i)));
}

static enum verdict library_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *mpi = json_object_get(node, "mpi");

    snprintf(text, JUDGED_TEXT_MAX, "%s, standard %s", fact_text(mpi, "library"),
             fact_text(mpi, "standard"));
    return VERDICT_OK;
}

/* A missing network is not detected here, but by speed. */
static enum verdict transport_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *mpi = json_object_get(node, "mpi");
    const char *device = fact_text(mpi, "device");
    char loaded[160], settings[240];

    words_join(json_object_get(mpi, "transports"), loaded, sizeof loaded);
    words_join(json_object_get(mpi, "settings"), settings, sizeof settings);
    snprintf(text, JUDGED_TEXT_MAX, "%s%s%s%s%s", *device ? device : "unknown device",
             *loaded ? ", with " : "", loaded, *settings ? ", set by " : "", settings);
    return VERDICT_OK;
}

static enum verdict pmix_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *pmix = json_object_get(node, "pmix");
    const char *client = fact_text(pmix, "client"), *built = fact_text(pmix, "built");
    const char *server = fact_text(pmix, "server");
    bool other = atoi(client) != atoi(built); /* the major number */

    snprintf(text, JUDGED_TEXT_MAX, "client %s%s%s%s%s", client,
             *server ? ", server " : "", server, other ? ", but built with " : "",
             other ? built : "");
    return other ? VERDICT_WARNING : VERDICT_OK;
}

static enum verdict psec_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *pmix = json_object_get(node, "pmix");
    const char *modes = fact_text(pmix, "security");

    snprintf(text, JUDGED_TEXT_MAX, *modes ? "the server offers %s" : "not known%s",
             modes);
    return VERDICT_OK;
}

static const struct node_rule_row mpi_rules[] = {
    {"library", library_rule, NULL},
    {"transport", transport_rule, NULL},
    {"PMIx", pmix_rule,
     "run with the PMIx that raytrain was built with: look at LD_LIBRARY_PATH, or "
     "build "
     "raytrain again"},
    {"psec", psec_rule, NULL},
};

/* All nodes must have the same library, or they may not understand each other's
 * messages. */
static void same_everywhere(const json_t *nodes, struct findings *findings)
{
    const char *first = NULL;

    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        const char *library = fact_text(json_object_get(node, "mpi"), "library");

        if (!first)
            first = library;
        if (strcmp(first, library) == 0)
            continue;
        finding_add(findings, MPI_TOPIC, "versions", VERDICT_WRONG,
                    "install the same MPI library on all nodes", "%s has %s, %s has %s",
                    fact_text(json_array_get(nodes, 0), "node"), first,
                    fact_text(node, "node"), library);
        return;
    }
}

static const char *const link_names[] = {"between workers", "between nodes", NULL};

/* Explains why nothing was measured. */
static void link_skip(size_t n_ranks, struct findings *findings)
{
    if (n_ranks == 1)
        findings_skip(findings, MPI_TOPIC, link_names,
                      "check with --workers 2, where there is room for two",
                      "there was one worker");
    else
        findings_skip(findings, MPI_TOPIC, link_names,
                      "fix the problem with the workers first, and check again",
                      "the workers ended before they measured it");
}

/* Between nodes, the speed of 1 Gbit/s Ethernet or less, or a round trip of more than a
 * millisecond, is too slow for training. */
static void link_judge(const json_t *report, struct findings *findings)
{
    const json_t *link = json_object_get(report, "link");
    const json_t *ranks = json_object_get(report, "ranks");
    const char *from = fact_text(json_array_get(ranks, 0), "node"), *to;
    double bytes = fact_number(link, "bytes_s", 0);
    double latency = fact_number(link, "latency_s", 0);
    bool far, slow;

    if (!link) {
        link_skip(json_array_size(ranks), findings);
        return;
    }
    to = fact_text(json_array_get(ranks, (size_t)json_integer_value(
                                             json_object_get(link, "rank"))),
                   "node");
    far = strcmp(from, to) != 0;
    slow = bytes < 100e6 || latency > 1e-3;
    finding_add(
        findings, MPI_TOPIC, far ? "between nodes" : "between workers",
        slow ? VERDICT_WARNING : VERDICT_OK,
        far ? "see which network MPI has chosen: FI_PROVIDER, FI_TCP_IFACE, UCX_TLS "
              "or UCX_NET_DEVICES can name another one"
            : "workers of one node share memory: see whether /dev/shm is large "
              "enough, and whether other processes use the cores",
        "%s%s%s: %.0f MB/s, %.1f us", from, far ? " and " : ", 2 workers",
        far ? to : "", bytes / 1e6, latency * 1e6);
    if (!far)
        finding_add(findings, MPI_TOPIC, "between nodes", VERDICT_SKIPPED,
                    "check in an allocation of several nodes, or with --launcher "
                    "slurm, which takes one",
                    "all workers ran on one node");
}

static void mpi_skip(const char *why, const char *how, struct findings *findings)
{
    node_skip_all(MPI_TOPIC, mpi_rules, sizeof mpi_rules / sizeof *mpi_rules, why, how,
                  findings);
    findings_skip(findings, MPI_TOPIC, link_names, how, why);
}

static void mpi_run(struct check_context *context, struct findings *findings)
{
    const json_t *nodes = check_nodes(context);

    node_judge_all(nodes, MPI_TOPIC, mpi_rules, sizeof mpi_rules / sizeof *mpi_rules,
                   findings);
    same_everywhere(nodes, findings);
    link_judge(context->report, findings);
}

const struct check_ops check_mpi = {.topic = MPI_TOPIC,
                                    .left_out = check_needs_report,
                                    .run = mpi_run,
                                    .skip = mpi_skip};
