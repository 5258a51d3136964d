/* configuration.c - Slurm's variables, the usual places of slurm.conf, and the message
 * of a command that finds no configuration. */
#include "config.h"

#include "slurm/configuration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/quote.h"

#define OR_LOCAL "; without Slurm, workers run on this machine (--launcher local)"

static const char *variable_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

bool slurm_has_configuration(void)
{
    static const char *const variables[] = {"SLURM_CONF", "SLURM_CONF_SERVER",
                                            "SLURM_JOB_ID"};
    static const char *const files[] = {"/etc/slurm/slurm.conf",
                                        "/etc/slurm-llnl/slurm.conf",
                                        "/run/slurm/conf/slurm.conf"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (variable_set(variables[i]))
            return true;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (access(files[i], F_OK) == 0)
            return true;
    return false;
}

int slurm_configuration_check(struct error *err)
{
    const char *conf = variable_set("SLURM_CONF");
    char quoted[QUOTE_TEXT_MAX];

    /* Inside a job there is a cluster, and the file may be about to be replaced. */
    if (!conf || variable_set("SLURM_JOB_ID") || access(conf, F_OK) == 0 ||
        errno != ENOENT)
        return 0;
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "SLURM_CONF is %s, and there is no such file.\n"
                     "Set it to the path of slurm.conf, or unset it" OR_LOCAL,
                     quote(conf, quoted));
}

bool slurm_configuration_is_missing(const char *output)
{
    return strstr(output, "configuration source") && !slurm_has_configuration();
}

int slurm_configuration_missing(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "Slurm's commands are here, but they find no configuration: this "
                     "machine is not part of a cluster.\n"
                     "Set SLURM_CONF to the path of slurm.conf" OR_LOCAL);
}
