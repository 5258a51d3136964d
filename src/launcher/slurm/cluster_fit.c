/* cluster_fit.c - a plan on all nodes of a partition, which resources.c reads from
 * sinfo. */
#include "config.h"

#include "slurm/cluster_fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/resources.h"
#include "slurm/slurm_tool.h"
#include "util/argv.h"

#define SINFO_ANSWER_MAX_S 10.0

int slurm_fit(const struct scaling_config *scaling, const struct resources *have,
              struct placement *plan, struct error *err)
{
    if (have->n_nodes == 0)
        return 0;
    if (placement_plan(scaling, have, plan, err) < 0)
        return -1;
    if (plan->n_nodes + (size_t)scaling->spare_nodes <= have->n_nodes)
        return 0;
    return error_set(err, RAYTRAIN_EFIT,
                     "%zu nodes and %d spare ones do not fit in %s: it has %zu",
                     plan->n_nodes, scaling->spare_nodes, have->what, have->n_nodes);
}

/* ---- One partition ---- */

/* NULL: the default one. */
static int partition_fit(const char *text, const struct scaling_config *scaling,
                         const char *name, struct placement *plan, struct error *err)
{
    struct resources have = {0};
    char *copy = strdup(text); /* to be cut into lines */
    int rc = -1;

    if (!copy)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a list of nodes");
    if (slurm_resources_sinfo(copy, name, scaling->accelerator_type, &have, err) == 0)
        rc = slurm_fit(scaling, &have, plan, err);
    if (rc < 0)
        placement_clear(plan);
    resources_clear(&have);
    free(copy);
    return rc;
}

/* ---- All of them ---- */

/* The names of all partitions; a partition has one line per node. */
static int partitions_list(const char *text, char ***names, struct error *err)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "*|\n");
        char name[128];

        snprintf(name, sizeof name, "%.*s", (int)length, line);
        if (length > 0 && length < sizeof name && !argv_has(*names, name) &&
            argv_append(names, name, err) < 0)
            return -1;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return 0;
}

/* Add to an error that another partition has room. */
static void advise(const char *text, const struct scaling_config *scaling,
                   struct error *err)
{
    struct placement plan = {0};
    char **names = NULL;
    bool found = false;

    if (err && partitions_list(text, &names, NULL) == 0)
        for (size_t i = 0; names && names[i] && !found; i++) {
            found = partition_fit(text, scaling, names[i], &plan, NULL) == 0 &&
                    plan.n_nodes > 0;
            if (found)
                error_set(err, err->code,
                          "%s\n  partition %s has room: add --partition %s", err->text,
                          names[i], names[i]);
            placement_clear(&plan);
        }
    argv_free(names);
}

int slurm_cluster_fit_text(const char *text, const struct scaling_config *scaling,
                           const char *partitions, struct placement *plan,
                           struct error *err)
{
    char *copy = partitions ? strdup(partitions) : NULL, *rest = copy, *name;
    int rc = -1;

    if (partitions && !copy)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a list of nodes");
    if (!copy)
        rc = partition_fit(text, scaling, NULL, plan, err);
    while (rc < 0 && (name = strsep(&rest, ",")))
        rc = partition_fit(text, scaling, name, plan, err);
    free(copy);
    if (rc < 0 && err && err->code == RAYTRAIN_EFIT)
        advise(text, scaling, err);
    return rc;
}

int slurm_cluster_fit(const struct scaling_config *scaling, const char *partitions,
                      struct placement *plan, struct error *err)
{
    char *show[] = SLURM_SINFO_QUESTION, *text;
    int rc;

    if (slurm_tool_read(show, SINFO_ANSWER_MAX_S, &text, err) < 0)
        return -1;
    rc = slurm_cluster_fit_text(text, scaling, partitions, plan, err);
    free(text);
    return rc;
}
