/*
 * mpi_plugins.c - Slurm's plugins for MPI, from its list.
 *
 * Up to 21.08, `srun --mpi=list` prints "srun: MPI types are..." and a line "srun:
 * NAME" for each; later releases print "MPI plugin types are...", a line "NAME" for
 * each, and then a line with the versions of PMIx. A name is a line of one word.
 */
#include "config.h"

#include "slurm/mpi_plugins.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm_tool.h"
#include "util/argv.h"

#define PLUGINS_ANSWER_MAX_S 10.0 /* srun only lists its plugins */

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/* ---- The plugin that a step would use ---- */

/* srun takes the last --mpi. */
static const char *type_find(char *const *args)
{
    const char *type = SLURM_MPI_TYPE;

    for (size_t i = 0; args && args[i]; i++) {
        if (strncmp(args[i], "--mpi=", 6) == 0)
            type = args[i] + 6;
        else if (strcmp(args[i], "--mpi") == 0 && args[i + 1])
            type = args[i + 1];
    }
    return type;
}

/* Is it a plugin for another interface than PMIx? */
static bool type_is_other(const char *type)
{
    static const char *const others[] = {"none", "openmpi", "pmi2", "cray_shasta"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(type, others[i]) == 0)
            return true;
    return false;
}

/* ---- The plugins that Slurm has ---- */

static bool list_has(const char *list, const char *type)
{
    size_t length = strlen(type), n;

    for (const char *at = list; *at; at += n > 0 ? n : 1) {
        n = strspn(at, name_letters);
        if (n == length && strncmp(at, type, n) == 0)
            return true;
    }
    return false;
}

/* The names in it, separated by commas; "" if it has none. */
static char *list_names(const char *list)
{
    char *names = calloc(1, 2 * strlen(list) + 1), *copy = strdup(list), *rest = copy;
    char *line;

    while (names && copy && (line = strsep(&rest, "\n"))) {
        size_t n;

        if (strncmp(line, "srun: ", 6) == 0)
            line += 6;
        line += strspn(line, " \t");
        n = strspn(line, name_letters);
        if (n > 0 && line[n] == '\0')
            sprintf(names + strlen(names), "%s%s", *names ? ", " : "", line);
    }
    free(copy);
    return names;
}

/* A list without names rejects nothing. */
static int type_missing(const char *list, const char *type, struct error *err)
{
    char *names = list_names(list);
    const char *version = strstr(list, "pmix_v");
    int rc;

    if (!names)
        return error_no_memory(err);
    if (!*names) {
        free(names);
        return 0;
    }
    if (version)
        rc = error_set(err, RAYTRAIN_ENOTSUP,
                       "Slurm has no plugin mpi/%s here; srun --mpi=list has: %s.\n"
                       "Choose one for PMIx: --srun-args=--mpi=%.*s",
                       type, names, (int)strspn(version, name_letters), version);
    else
        rc = error_set(err, RAYTRAIN_ENOTSUP,
                       "Slurm cannot start workers here: they need its plugin mpi/%s "
                       "(mpi_pmix.so), and srun --mpi=list has only: %s.\n"
                       "Ask the site for a Slurm that is built with PMIx; on one node, "
                       "--launcher local works without it",
                       type, names);
    free(names);
    return rc;
}

int slurm_mpi_judge(const char *list, const char *srun_args, struct error *err)
{
    char **args = NULL;
    const char *type;
    int rc = 0;

    if (srun_args && argv_split(srun_args, &args, err) < 0)
        return error_prefix(err, "--srun-args");
    type = type_find(args);
    if (type_is_other(type))
        rc = list_has(list, SLURM_MPI_TYPE)
                 ? error_set(err, RAYTRAIN_ENOTSUP,
                             "--srun-args: a step with --mpi=%s has no PMIx, which "
                             "workers need to find each other.\n"
                             "Leave it out: --mpi=" SLURM_MPI_TYPE " is the default",
                             type)
                 : type_missing(list, SLURM_MPI_TYPE, err);
    else if (strncmp(type, SLURM_MPI_TYPE, strlen(SLURM_MPI_TYPE)) == 0 &&
             !list_has(list, type))
        rc = type_missing(list, type, err);
    argv_free(args);
    return rc;
}

int slurm_mpi_check(const char *srun_args, struct error *err)
{
    char *argv[] = {(char *)"srun", (char *)"--mpi=list", NULL}, *list;
    int rc;

    if (slurm_tool_read(argv, PLUGINS_ANSWER_MAX_S, &list, NULL) < 0)
        return 0;
    rc = slurm_mpi_judge(list, srun_args, err);
    free(list);
    return rc;
}
