/*
 * site_config.h - the site's file: settings of an administrator for all runs that start
 * on a machine, which apply before the files and flags of users.
 *
 * To add a key: add a member and a row to the table in site_config.c, use it in
 * site_take() or site_arguments() of options.c or where it matters, describe it in
 * raytrain-site.cfg(5), and try it in t/1482-site.t.
 */
#ifndef RAYTRAIN_CONFIG_SITE_CONFIG_H
#define RAYTRAIN_CONFIG_SITE_CONFIG_H

#include <stddef.h>

#include "config/scaling_config.h"
#include "util/error.h"

/* Every pointer may be NULL: not set. */
struct site_config {
    char *path; /* the file that was read; NULL: there is none */
    /* Come before those of --srun-args, with the plugin of `mpi`. */
    char *srun_args;
    char *mpi;         /* Slurm's plugin for PMIx, such as "pmix_v4" */
    char *sbatch_args; /* come before those of --sbatch-args */
    /* For batch jobs: a file whose lines come before those of --prologue. */
    char *prologue;
    char *storage_path; /* the default for run_config.storage_path */
    char **login_nodes; /* patterns of host names, as for fnmatch(3) */
    size_t n_login_nodes;
    int local_workers_max; /* on login nodes; default 0 */
};

/*
 * Read the file that RAYTRAIN_SITE_CONFIG names ("": none), or else raytrain/site.cfg
 * in the directory for configuration of this installation, or in /etc. A missing file
 * is only an error if the variable names it. RAYTRAIN_EINVAL with file and line; also
 * if others than its owner may change the file, or if the owner is neither root nor
 * this user. site->path is set even then, if the file exists.
 */
int site_config_read(struct site_config *site, struct error *err);
void site_config_clear(struct site_config *site);

/* May this number of workers run on this host, as processes of this machine? A range is
 * made smaller if necessary. RAYTRAIN_EFIT if even its minimum is too large. */
int site_config_admit(const struct site_config *site, const char *host,
                      struct scaling_config *scaling, struct error *err);

/* Put the arguments of the site before *args (malloc'ed or NULL). Both may be NULL. */
int site_args_prepend(const char *of_site, char **args, struct error *err);

#endif
