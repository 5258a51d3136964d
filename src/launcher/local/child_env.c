/* child_env.c - variables removed from the environment of a child, and those added. The
 * GPUs are named by gpus.c. */
#include "local/child_env.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/argv.h"

/*
 * raytrain-run may itself be a task of srun, mpiexec or another raytrain-run, and
 * workers must not inherit its rank in that group. The user's settings of the PMIx
 * library (PMIX_MCA_*) are kept.
 */
static const char *const foreign[] = {"PMIX_", "PMI_",      "PMI2_",
                                      "HYDI_", "MPI_LOCAL", "RAYTRAIN_GROUP="};
static const char user_setting[] = "PMIX_MCA_";

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "NAME=..." of name? */
static bool is_variable(const char *entry, const char *name)
{
    return starts_with(entry, name) && entry[strlen(name)] == '=';
}

static bool entry_stays(const char *entry, const struct placement *plan,
                        const struct gpus *gpus)
{
    if (plan->gpus_per_worker > 0 && is_variable(entry, gpus->variable))
        return false;
    if (starts_with(entry, user_setting))
        return true;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (starts_with(entry, foreign[i]))
            return false;
    return true;
}

static int base_append(char *const *base, const struct placement *plan,
                       const struct gpus *gpus, char ***env, struct error *err)
{
    bool threads_set = false;

    for (; base && *base; base++) {
        threads_set = threads_set || is_variable(*base, "OMP_NUM_THREADS");
        if (entry_stays(*base, plan, gpus) && argv_append(env, *base, err) < 0)
            return -1;
    }
    if (threads_set)
        return 0;
    return argv_appendf(env, err, "OMP_NUM_THREADS=%d", plan->cpus_per_worker);
}

char *local_names_join(char *const *names, size_t n)
{
    size_t room = 1;
    char *list, *end;

    for (size_t i = 0; i < n; i++)
        room += strlen(names[i]) + 1;
    end = list = malloc(room);
    for (size_t i = 0; list && i < n; i++)
        end += sprintf(end, i ? ",%s" : "%s", names[i]);
    return list;
}

size_t local_first_gpu(const struct placement *plan, int rank)
{
    int sharing = plan->workers_per_gpu > 1 ? plan->workers_per_gpu : 1;

    return (size_t)(rank / sharing) * (size_t)plan->gpus_per_worker;
}

static int gpus_append(const struct placement *plan, int rank, const struct gpus *gpus,
                       char ***env, struct error *err)
{
    size_t each = (size_t)plan->gpus_per_worker, first = local_first_gpu(plan, rank);
    char *list;
    int rc;

    if (first + each > gpus->n)
        return error_set(err, RAYTRAIN_EFIT,
                         "%d workers need %d GPUs, and this machine has %zu",
                         plan->workers, placement_gpus(plan, plan->workers), gpus->n);
    list = local_names_join(gpus->names + first, each);
    if (!list)
        return error_no_memory(err);
    rc = argv_appendf(env, err, "%s=%s", gpus->variable, list);
    free(list);
    return rc;
}

int local_env_make(char *const *base, const struct placement *plan, int rank,
                   const struct gpus *gpus, char ***env, struct error *err)
{
    char **made = NULL;

    if (base_append(base, plan, gpus, &made, err) < 0 ||
        (plan->gpus_per_worker > 0 && gpus_append(plan, rank, gpus, &made, err) < 0)) {
        argv_free(made);
        return -1;
    }
    *env = made;
    return 0;
}

int local_helper_env_make(char *const *base, char ***env, struct error *err)
{
    char **made = NULL;

    for (; base && *base; base++)
        if (!is_variable(*base, "RAYTRAIN_RUN_DIR") &&
            argv_append(&made, *base, err) < 0) {
            argv_free(made);
            return -1;
        }
    *env = made;
    return 0;
}
