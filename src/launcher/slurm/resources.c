/* resources.c - the resources of an allocation, of a partition, and of a single node of
 * these. The nodes' GPUs come from the output of scontrol or sinfo. */
#include "config.h"

#include "slurm/resources.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "slurm/job.h"
#include "slurm/slurm_tool.h"
#include "util/argv.h"
#include "util/hostlist.h"
#include "util/name_index.h"
#include "util/quote.h"

#define MIB (1024ull * 1024)

static char what_text[64]; /* "allocation 4711": one per process */

/* ---- Names and CPUs ---- */

/* "4(x3),2": the next count and its repetitions; *p moves past it. -1: malformed. */
static int counts_next(const char **p, int *count, int *times)
{
    char *end;
    long n = strtol(*p, &end, 10), x = 1;

    if (end == *p || n < 0 || n > INT_MAX)
        return -1;
    if (end[0] == '(' && end[1] == 'x') {
        char *close;

        x = strtol(end + 2, &close, 10);
        if (close == end + 2 || *close != ')' || x < 1 || x > HOSTLIST_MAX)
            return -1;
        end = close + 1;
    }
    if (*end == ',')
        end++;
    else if (*end != '\0')
        return -1;
    *count = (int)n;
    *times = (int)x;
    *p = end;
    return 0;
}

/* 0 if there are as many counts as nodes. */
static int cpus_fill(const char *text, struct resources *r)
{
    size_t at = 0;
    int count, times;

    while (*text) {
        if (counts_next(&text, &count, &times) < 0)
            return -1;
        for (; times > 0; times--) {
            if (at == r->n_nodes)
                return -1;
            r->nodes[at++].cpus = count;
        }
    }
    return at == r->n_nodes ? 0 : -1;
}

static int nodes_fill(const char *list, struct resources *r, struct error *err)
{
    char **names = NULL;
    size_t n;

    if (hostlist_expand(list, &names, err) < 0)
        return error_prefix(err, "SLURM_JOB_NODELIST");
    n = argv_count(names);
    if (!(r->nodes = calloc(n + 1, sizeof *r->nodes))) {
        argv_free(names);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    }
    for (r->n_nodes = 0; r->n_nodes < n; r->n_nodes++)
        r->nodes[r->n_nodes].name = names[r->n_nodes];
    free(names); /* the names belong to the nodes now */
    return 0;
}

int slurm_resources_nodes(slurm_getenv *get, struct resources *out, struct error *err)
{
    const char *id = get("SLURM_JOB_ID"), *list = get("SLURM_JOB_NODELIST");
    const char *cpus = get("SLURM_JOB_CPUS_PER_NODE");
    struct resources r = {.what = what_text};
    char quoted[QUOTE_TEXT_MAX];

    if (!id || !*id || !list || !*list)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "there is no Slurm allocation here (SLURM_JOB_ID and "
                         "SLURM_JOB_NODELIST are not set).\n"
                         "Start it in an sbatch script or under salloc");
    snprintf(what_text, sizeof what_text, "allocation %.40s", id);
    if (nodes_fill(list, &r, err) < 0)
        return -1;
    if (!cpus || cpus_fill(cpus, &r) < 0) {
        size_t n = r.n_nodes;

        resources_clear(&r);
        return error_set(err, RAYTRAIN_EINVAL,
                         "SLURM_JOB_CPUS_PER_NODE=%s does not match the %zu nodes of "
                         "SLURM_JOB_NODELIST",
                         cpus ? quote(cpus, quoted) : "(not set)", n);
    }
    *out = r;
    return 0;
}

/* ---- Memory and GPUs ---- */

/* The value of " KEY=" in [text, end), and its length; NULL: not found. */
static const char *field_find(const char *text, const char *end, const char *key,
                              size_t *length)
{
    size_t n = strlen(key);

    for (const char *p = text; p + n < end; p++)
        if (*p == ' ' && strncmp(p + 1, key, n) == 0) {
            *length = strcspn(p + 1 + n, " \n");
            return p + 1 + n;
        }
    return NULL;
}

struct gres {
    int gpus;
    char type[64];        /* "": unknown, or several */
    char sliced[8];       /* "shard" or "mps", if there are slices of GPUs */
    int slices, slice_of; /* their number, and the number of GPUs that they are of */
};

/* How many numbers "(IDX:0-1,3)" has; 1: it has none. */
static int index_count(const char *item, size_t length)
{
    const char *end = item + length, *p = memchr(item, '(', length);
    int n = 0;

    while (p && p < end && (p = memchr(p, ':', (size_t)(end - p)))) {
        for (p++; p < end && (*p == ',' || (*p >= '0' && *p <= '9'));) {
            char *rest;
            long first, last;

            p += *p == ',';
            first = last = strtol(p, &rest, 10);
            if (rest == p)
                break;
            if (rest < end && *rest == '-')
                last = strtol(rest + 1, &rest, 10);
            n += last >= first && last - first < HOSTLIST_MAX ? (int)(last - first) + 1
                                                              : 1;
            p = rest;
        }
        break;
    }
    return n > 0 ? n : 1;
}

/* "shard:8", "shard:fake:16", "mps:400(IDX:0-3)". Those of one name are counted. */
static void slices_add(const char *item, size_t length, struct gres *g)
{
    char copy[128], *fields = copy, *name, *second, *third;
    long count;

    snprintf(copy, sizeof copy, "%.*s", (int)length, item);
    copy[strcspn(copy, "(")] = '\0';
    name = strsep(&fields, ":");
    second = strsep(&fields, ":");
    third = strsep(&fields, ":");
    if ((strcmp(name, "shard") != 0 && strcmp(name, "mps") != 0) || !second ||
        (g->sliced[0] && strcmp(name, g->sliced) != 0))
        return;
    count = strtol(third ? third : second, NULL, 10);
    if (count <= 0 || count > INT_MAX - g->slices)
        return;
    snprintf(g->sliced, sizeof g->sliced, "%s", name);
    g->slices += (int)count;
    g->slice_of += index_count(item, length);
}

/* One of "gpu:fake:4(IDX:0-3)", "gpu:4". */
static void gres_add(const char *item, size_t length, const char *type, struct gres *g)
{
    char copy[128], *fields = copy, *name, *second, *third, *own_type;
    long count;

    snprintf(copy, sizeof copy, "%.*s", (int)length, item);
    copy[strcspn(copy, "(")] = '\0';
    name = strsep(&fields, ":");
    second = strsep(&fields, ":");
    third = strsep(&fields, ":");
    if (strcmp(name, "gpu") != 0 || !second)
        return;
    count = strtol(third ? third : second, NULL, 10);
    own_type = third ? second : (char *)"";
    if (count <= 0 || count > INT_MAX - g->gpus ||
        (type && strcasecmp(type, own_type) != 0 && g->gpus > 0))
        return;
    if (type && strcasecmp(type, own_type) == 0 && strcasecmp(type, g->type) != 0)
        g->gpus = 0; /* those counted so far are of another type */
    if (g->gpus == 0)
        snprintf(g->type, sizeof g->type, "%s", own_type);
    else if (strcmp(g->type, own_type) != 0)
        g->type[0] = '\0';
    g->gpus += (int)count;
}

/* "gpu:a100:2(IDX:0,3),gpu:v100:1(IDX:1)": commas in parentheses do not separate. */
static void gres_parse(const char *text, size_t length, const char *type,
                       struct gres *g)
{
    size_t first = 0;
    int depth = 0;

    *g = (struct gres){0};
    for (size_t i = 0; i <= length; i++) {
        if (i == length || (text[i] == ',' && depth == 0)) {
            gres_add(text + first, i - first, type, g);
            slices_add(text + first, i - first, g);
            first = i + 1;
        } else {
            depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        }
    }
}

static int node_fill(struct node_resources *node, uint64_t memory, const struct gres *g,
                     struct error *err)
{
    node->memory = memory;
    node->gpus = g->gpus;
    node->gpu_slices = g->gpus > 0 ? 0 : g->slices;
    free(node->gpu_type);
    node->gpu_type = g->type[0] ? strdup(g->type) : NULL;
    if (g->type[0] && !node->gpu_type)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    return 0;
}

/* One "Nodes=n[1-2] CPU_IDs=0-3 Mem=2000 GRES=gpu:fake:4(IDX:0-3)" in [text, end). */
static int group_fill(const char *text, const char *end, const char *type,
                      const struct name_index *index, struct resources *r,
                      struct error *err)
{
    size_t length;
    const char *list = field_find(text, end, "Nodes=", &length);
    char *copy = strndup(list, length), **names = NULL;
    struct gres gres = {0};
    uint64_t memory = 0;
    const char *value;
    int rc = 0;

    if (!copy)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    if ((value = field_find(text, end, "Mem=", &length)))
        memory = strtoull(value, NULL, 10) * MIB;
    if ((value = field_find(text, end, "GRES=", &length)))
        gres_parse(value, length, type, &gres);
    if (hostlist_expand(copy, &names, NULL) == 0)
        for (size_t i = 0; names && names[i] && rc == 0; i++) {
            size_t at = name_index_find(index, names[i]);

            if (at != NAME_INDEX_NONE)
                rc = node_fill(&r->nodes[at], memory, &gres, err);
            if (at != NAME_INDEX_NONE && gres.gpus == 0 && gres.slices > 0) {
                r->nodes[at].gpus = gres.slice_of;
                snprintf(r->slices.name, sizeof r->slices.name, "%s", gres.sliced);
            }
        }
    argv_free(names);
    free(copy);
    return rc;
}

/* Nodes with slices only are useful only if no node has a whole GPU. Up to here, such
 * nodes have the GPUs that their slices belong to. */
static void slices_settle(struct resources *r)
{
    bool whole = false;

    for (size_t i = 0; i < r->n_nodes; i++)
        whole = whole || (r->nodes[i].gpus > 0 && r->nodes[i].gpu_slices == 0);
    r->slices.only = r->slices.name[0] && !whole;
    for (size_t i = 0; i < r->n_nodes && whole; i++)
        if (r->nodes[i].gpu_slices > 0)
            r->nodes[i].gpus = r->nodes[i].gpu_slices = 0;
}

int slurm_resources_details(const char *text, const char *type, struct resources *out,
                            struct error *err)
{
    const char *group = strstr(text, " Nodes=");
    struct name_index index;
    int rc = 0;

    if (name_index_make(&index, &out->nodes[0].name, sizeof *out->nodes, out->n_nodes) <
        0)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    while (group && rc == 0) {
        const char *next = strstr(group + 1, " Nodes=");
        const char *end = next ? next : group + strlen(group);

        rc = group_fill(group, end, type, &index, out, err);
        group = next;
    }
    name_index_clear(&index);
    slices_settle(out);
    return rc;
}

/* ---- A partition ---- */

/* "main*" is the default partition. */
static bool partition_is(char *field, const char *wanted)
{
    char *star = strchr(field, '*');

    if (!wanted)
        return star != NULL;
    if (star)
        *star = '\0';
    return strcmp(field, wanted) == 0;
}

static int node_append(struct resources *r, char *name, struct error *err)
{
    struct node_resources *grown =
        realloc(r->nodes, (r->n_nodes + 1) * sizeof *r->nodes);

    if (grown)
        r->nodes = grown;
    if (!grown || !(name = strdup(name)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    r->nodes[r->n_nodes++] = (struct node_resources){.name = name};
    return 0;
}

static int sinfo_line(char *line, const char *partition, const char *type,
                      struct resources *r, struct error *err)
{
    char *fields[5];
    struct gres gres;
    size_t n = 0;

    while (n < 5 && (fields[n] = strsep(&line, "|")))
        n++;
    if (n < 5 || !partition_is(fields[0], partition))
        return 0;
    gres_parse(fields[4], strlen(fields[4]), type, &gres);
    if (node_append(r, fields[1], err) < 0)
        return -1;
    r->nodes[r->n_nodes - 1].cpus = atoi(fields[2]);
    if (gres.slices > 0 && gres.gpus > 0 && r->slices.each == 0) {
        snprintf(r->slices.name, sizeof r->slices.name, "%s", gres.sliced);
        r->slices.each = gres.slices / gres.gpus;
    }
    return node_fill(&r->nodes[r->n_nodes - 1], strtoull(fields[3], NULL, 10) * MIB,
                     &gres, err);
}

int slurm_resources_sinfo(char *text, const char *partition, const char *type,
                          struct resources *out, struct error *err)
{
    struct resources r = {.what = what_text};
    char *line;

    snprintf(what_text, sizeof what_text, "%s%.40s",
             partition ? "partition " : "the default partition",
             partition ? partition : "");
    while ((line = strsep(&text, "\n")))
        if (sinfo_line(line, partition, type, &r, err) < 0) {
            resources_clear(&r);
            return -1;
        }
    *out = r;
    return 0;
}

int slurm_resources_partition(const char *partition, const char *type,
                              struct resources *out, struct error *err)
{
    char *show[] = SLURM_SINFO_QUESTION, *text;
    int rc;

    if (slurm_ask(show, &text, err) < 0)
        return -1;
    rc = slurm_resources_sinfo(text, partition, type, out, err);
    free(text);
    return rc;
}

/* ---- This allocation ---- */

/* The other nodes are removed. */
static int node_keep(const char *name, struct resources *r, struct error *err)
{
    struct node_resources *node = NULL, kept;

    for (size_t i = 0; name && i < r->n_nodes; i++)
        if (strcmp(r->nodes[i].name, name) == 0)
            node = &r->nodes[i];
    if (!node)
        return error_set(err, RAYTRAIN_EFIT,
                         "this process is not on a node of %s, and its workers have to "
                         "be on its node: start it in an sbatch script or by srun, or "
                         "give --launcher local",
                         r->what);
    kept = *node;
    *node = r->nodes[0];
    r->nodes[0] = kept;
    while (r->n_nodes > 1) {
        node = &r->nodes[--r->n_nodes];
        free(node->name);
        free(node->gpu_type);
    }
    return 0;
}

/* How many slices does a GPU have? Only the records of whole nodes say so. */
static int slices_ask(struct resources *r, struct error *err)
{
    struct resources all = {0};
    const char *what = r->what;
    char kept[sizeof what_text];

    snprintf(kept, sizeof kept, "%s", what);
    if (slurm_resources_partition(getenv("SLURM_JOB_PARTITION"), NULL, &all, err) < 0)
        return -1;
    snprintf(what_text, sizeof what_text, "%s", kept);
    if (strcmp(all.slices.name, r->slices.name) == 0)
        r->slices.each = all.slices.each;
    resources_clear(&all);
    return 0;
}

int slurm_resources(const struct scaling_config *scaling, struct resources *out,
                    struct error *err)
{
    char *show[] = {(char *)"scontrol",
                    (char *)"--oneliner",
                    (char *)"--details",
                    (char *)"show",
                    (char *)"job",
                    getenv("SLURM_JOB_ID"),
                    NULL};
    char *text = NULL, *record;
    int rc;

    if (slurm_resources_nodes(getenv, out, err) < 0)
        return -1;
    if (scaling->on_this_node && node_keep(getenv("SLURMD_NODENAME"), out, err) < 0) {
        resources_clear(out);
        return -1;
    }
    if (scaling->gpus_per_worker <= 0 && scaling->memory_per_worker == 0 &&
        !scaling->accelerator_type)
        return 0;
    rc = slurm_ask(show, &text, err);
    if (rc == 0 && (record = slurm_job_record(text, getenv("SLURM_JOB_ID"))))
        rc = slurm_resources_details(record, scaling->accelerator_type, out, err);
    else if (rc == 0)
        rc = error_set(err, RAYTRAIN_ENOTSUP, "scontrol does not know job %s",
                       getenv("SLURM_JOB_ID"));
    free(text);
    if (rc == 0 && out->slices.only && scaling->gpu_parts > 0)
        rc = slices_ask(out, err);
    if (rc < 0)
        resources_clear(out);
    return rc;
}
