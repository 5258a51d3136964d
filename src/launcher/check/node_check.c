/* node_check.c - the nodes of the workers, or this node if none ran: limits, memory,
 * the kernel, clocks, names. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/check_report.h"
#include "check/node_judge.h"
#include "protocol/site_report.h"
#include "util/size.h"

#define NODE_TOPIC "nodes"

#define MIB ((double)(1 << 20))

/* "64M", "unlimited" */
static const char *bytes_text(double bytes, char text[SIZE_TEXT_MAX])
{
    if (bytes < 0)
        return "unlimited";
    return size_format((uint64_t)bytes, text);
}

static double limit(const json_t *node, const char *name)
{
    return fact_number(json_object_get(node, "limits"), name, -1);
}

static enum verdict node_version_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const char *version = fact_text(node, "version");

    if (!*version)
        return VERDICT_OK;
    snprintf(text, JUDGED_TEXT_MAX, "%s", version);
    return strcmp(version, PACKAGE_VERSION) == 0 ? VERDICT_OK : VERDICT_WRONG;
}

static enum verdict cpus_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    snprintf(text, JUDGED_TEXT_MAX, "%.0f for a worker", fact_number(node, "cpus", 0));
    return VERDICT_OK;
}

static enum verdict memory_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    double bytes = fact_number(node, "memory_available", 0);
    char size[SIZE_TEXT_MAX];
    bool low = bytes < 512 * MIB;

    /* Rounded, because it keeps changing. */
    if (!low)
        bytes = floor(bytes / 1024 / MIB) * 1024 * MIB;
    snprintf(text, JUDGED_TEXT_MAX, "%s%s can still be allocated",
             low ? "" : "more than ", bytes_text(bytes, size));
    return low ? VERDICT_WARNING : VERDICT_OK;
}

/* Workers of a node share memory in it: MPI's, that of commands, replicas. When it is
 * full, touching new memory kills the process. */
static enum verdict shm_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *shm = json_object_get(node, "shm");
    double size = fact_number(shm, "size", -1),
           free_bytes = fact_number(shm, "free", 0);
    double memory = fact_number(node, "memory_available", 0);
    char size_text[SIZE_TEXT_MAX], free_text[SIZE_TEXT_MAX];

    if (size < 0) {
        snprintf(text, JUDGED_TEXT_MAX, "it is missing");
        return VERDICT_WRONG;
    }
    snprintf(text, JUDGED_TEXT_MAX, "%s%s%s%s", bytes_text(size, size_text),
             free_bytes < size / 2 ? ", of which is free: " : "",
             free_bytes < size / 2 ? bytes_text(free_bytes, free_text) : "",
             free_bytes > memory
                 ? "; more than the memory that a worker may use, so that is the limit"
                 : "");
    if (free_bytes < 32 * MIB)
        return VERDICT_WRONG;
    return free_bytes < 512 * MIB ? VERDICT_WARNING : VERDICT_OK;
}

static enum verdict tmp_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *tmp = json_object_get(node, "tmp");
    double bytes = fact_number(tmp, "free", -1);
    char size[SIZE_TEXT_MAX];

    if (json_is_true(json_object_get(tmp, "silent"))) {
        snprintf(text, JUDGED_TEXT_MAX, "%s does not answer", fact_text(tmp, "path"));
        return VERDICT_WRONG;
    }
    if (json_is_true(json_object_get(tmp, "not_asked"))) {
        snprintf(text, JUDGED_TEXT_MAX, "the command stat is not in PATH");
        return VERDICT_SKIPPED;
    }
    if (bytes < 0) {
        snprintf(text, JUDGED_TEXT_MAX, "the directory of TMPDIR, or /tmp, is missing");
        return VERDICT_WRONG;
    }
    if (bytes >= 64 * MIB) {
        snprintf(text, JUDGED_TEXT_MAX, "%s has space", fact_text(tmp, "path"));
        return VERDICT_OK;
    }
    snprintf(text, JUDGED_TEXT_MAX, "%s has only %s free", fact_text(tmp, "path"),
             bytes_text(bytes, size));
    return bytes < MIB ? VERDICT_WRONG : VERDICT_WARNING;
}

static enum verdict memlock_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    double bytes = limit(node, "memlock");
    bool rdma = fact_number(node, "rdma_devices", 0) > 0, low = bytes >= 0 && rdma;
    char size[SIZE_TEXT_MAX];

    snprintf(text, JUDGED_TEXT_MAX, "%s%s", bytes_text(bytes, size),
             low    ? ", and there are RDMA devices"
             : rdma ? ""
                    : ", and there are no RDMA devices");
    return low ? VERDICT_WARNING : VERDICT_OK;
}

/* A count with two limits: below one it is low, below the other nothing works. */
static enum verdict count_rule(const json_t *node, const char *name, double low,
                               double too_low, char text[JUDGED_TEXT_MAX])
{
    double n = limit(node, name);

    if (n < 0)
        snprintf(text, JUDGED_TEXT_MAX, "unlimited");
    else
        snprintf(text, JUDGED_TEXT_MAX, "%.0f", n);
    if (n >= 0 && n < too_low)
        return VERDICT_WRONG;
    return n >= 0 && n < low ? VERDICT_WARNING : VERDICT_OK;
}

static enum verdict nofile_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    return count_rule(node, "nofile", 1024, 128, text);
}

static enum verdict nproc_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    return count_rule(node, "nproc", 1024, 64, text);
}

static enum verdict core_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    double bytes = limit(node, "core");
    char size[SIZE_TEXT_MAX];

    snprintf(text, JUDGED_TEXT_MAX, "%s", bytes == 0 ? "no core files" : "up to ");
    if (bytes != 0)
        snprintf(text + strlen(text), JUDGED_TEXT_MAX - strlen(text), "%s",
                 bytes_text(bytes, size));
    return VERDICT_OK;
}

static enum verdict kernel_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    bool pidfd = json_is_true(json_object_get(node, "pidfd"));

    snprintf(text, JUDGED_TEXT_MAX, "%s%s", fact_text(node, "kernel"),
             pidfd ? "" : ", without pidfds (processes are watched by threads)");
    return VERDICT_OK;
}

/* Only in the report of workers. MUNGE rejects credentials from clocks that differ by
 * five minutes. */
static enum verdict clock_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    double ahead = fact_number(node, "clock_s", 0);
    double error = fact_number(node, "clock_error_s", 0);
    bool off = fabs(ahead) > 1 + error;

    if (!json_object_get(node, "clock_s"))
        return VERDICT_OK;
    if (off)
        snprintf(text, JUDGED_TEXT_MAX, "%.1f s %s the clock of the first node",
                 fabs(ahead), ahead > 0 ? "ahead of" : "behind");
    else
        snprintf(text, JUDGED_TEXT_MAX, "the same, within a second");
    if (fabs(ahead) > 60 + error)
        return VERDICT_WRONG;
    return off ? VERDICT_WARNING : VERDICT_OK;
}

static enum verdict names_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *unresolved = json_object_get(node, "unresolved");
    size_t n = json_array_size(unresolved);

    if (!unresolved)
        return VERDICT_OK;
    if (n == 0)
        snprintf(text, JUDGED_TEXT_MAX, "the names of all nodes resolve");
    else
        snprintf(text, JUDGED_TEXT_MAX, "cannot resolve %s%s",
                 json_string_value(json_array_get(unresolved, 0)),
                 n > 1 ? " and others" : "");
    return n > 0 ? VERDICT_WRONG : VERDICT_OK;
}

static const struct node_rule_row node_rules[] = {
    {"raytrain", node_version_rule,
     "install the same version of raytrain on all nodes"},
    {"CPUs", cpus_rule, NULL},
    {"memory", memory_rule,
     "ask for more with --mem-per-worker, or end other processes"},
    {"/dev/shm", shm_rule,
     "workers share memory there, and die if it is full: mount it larger (docker run "
     "--shm-size), or remove what is left in it"},
    {"temporary files", tmp_rule,
     "free space there, or set TMPDIR to another directory"},
    {"memlock", memlock_rule,
     "RDMA locks memory: raise the limit for users, and for slurmd "
     "(LimitMEMLOCK=infinity "
     "in its unit; PropagateResourceLimits in slurm.conf)"},
    {"nofile", nofile_rule, "raise it with ulimit -n, or for all users in limits.conf"},
    {"nproc", nproc_rule, "raise it with ulimit -u, or for all users in limits.conf"},
    {"core", core_rule, NULL},
    {"kernel", kernel_rule, NULL},
};

static const struct node_rule_row between[] = {
    {"clocks", clock_rule,
     "let chronyd or ntpd run on all nodes: credentials and times of files depend on "
     "it"},
    {"host names", names_rule,
     "add the nodes to the name server, or to /etc/hosts on all nodes"},
};

/* Nodes of the allocation without a worker, and names that were not looked up. */
static void untried_name(const struct check_context *context, size_t n,
                         struct findings *findings)
{
    if (context->report && context->n_nodes > n)
        finding_add(findings, NODE_TOPIC, "other nodes", VERDICT_SKIPPED,
                    "check with as many workers as there are nodes, with --workers",
                    "no worker ran on %zu of %zu nodes", context->n_nodes - n,
                    context->n_nodes);
    if (context->report && n > SITE_NAMES_MAX)
        finding_add(findings, NODE_TOPIC, "other host names", VERDICT_SKIPPED,
                    "check on fewer nodes at a time",
                    "only those of the first %d nodes were looked up", SITE_NAMES_MAX);
}

static void node_run(struct check_context *context, struct findings *findings)
{
    const json_t *nodes = check_nodes(context);
    const char *how, *why = check_needs_nodes(context, &how);

    node_judge_all(nodes, NODE_TOPIC, node_rules,
                   sizeof node_rules / sizeof *node_rules, findings);
    if (why)
        node_skip_all(NODE_TOPIC, between, sizeof between / sizeof *between, why, how,
                      findings);
    else
        node_judge_all(nodes, NODE_TOPIC, between, sizeof between / sizeof *between,
                       findings);
    untried_name(context, json_array_size(nodes), findings);
}

static void node_skip(const char *why, const char *how, struct findings *findings)
{
    node_skip_all(NODE_TOPIC, node_rules, sizeof node_rules / sizeof *node_rules, why,
                  how, findings);
    node_skip_all(NODE_TOPIC, between, sizeof between / sizeof *between, why, how,
                  findings);
}

const struct check_ops check_node = {
    .topic = NODE_TOPIC, .run = node_run, .skip = node_skip};
