/*
 * container.c - recognizes the program of a container, and says what its inside lacks.
 * From apptainer 1.4, internal/pkg/util/env/clean.go: APPTAINERENV_NAME becomes NAME
 * inside, also with --cleanenv; APPTAINER_BIND works with --containall, too. From
 * enroot 4, doc/cmd/start.md: only what --env, --mount and --conf name gets inside.
 */
#include "command/container.h"

#include <stdio.h>
#include <string.h>

const char *const container_prefixes[] = {"APPTAINERENV_", "SINGULARITYENV_", NULL};
const char *const container_binds[] = {"APPTAINER_BIND", "SINGULARITY_BIND", NULL};
const char *const container_devices[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                         "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
                                         NULL};

enum container_kind {
    KIND_NONE,
    KIND_APPTAINER, /* gets all it needs by variables */
    KIND_ENROOT,
    KIND_OTHER,
};

static enum container_kind container_kind_of(const char *program)
{
    static const struct {
        const char *name;
        enum container_kind kind;
    } known[] = {
        {"apptainer", KIND_APPTAINER}, {"singularity", KIND_APPTAINER},
        {"enroot", KIND_ENROOT},       {"podman", KIND_OTHER},
        {"docker", KIND_OTHER},        {"ch-run", KIND_OTHER},
        {"shifter", KIND_OTHER},       {"sarus", KIND_OTHER},
        {"udocker", KIND_OTHER},
    };
    const char *slash = strrchr(program, '/');

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(slash ? slash + 1 : program, known[i].name) == 0)
            return known[i].kind;
    return KIND_NONE;
}

static const char *environment_value(char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return "";
}

/* The path of enroot.conf: beside the last directory, which has the module. */
static int enroot_conf(const char *directories, char *path, size_t size)
{
    const char *module = strrchr(directories, ':');
    const char *last = module ? strrchr(module, '/') : NULL;

    return last ? snprintf(path, size, "%.*s/enroot.conf", (int)(last - module - 1),
                           module + 1)
                : snprintf(path, size, "enroot.conf");
}

bool container_remark(char *const *argv, char *const *env, bool well, char *text,
                      size_t size)
{
    const char *directories = environment_value(env, CONTAINER_DIRECTORIES);
    char conf[4096];
    enum container_kind kind = container_kind_of(argv[0]);

    if (kind == KIND_NONE || (kind == KIND_APPTAINER && well))
        return false;
    switch (kind) {
    case KIND_APPTAINER:
        snprintf(text, size,
                 "its container has not connected to its session; if its script uses "
                 "the module raytrain, %s must get the variables APPTAINER_BIND and "
                 "APPTAINERENV_* of this command, or --bind %s",
                 argv[0], directories);
        break;
    case KIND_ENROOT:
        enroot_conf(directories, conf, sizeof conf);
        snprintf(text, size,
                 "its container has not connected to its session, and enroot passes no "
                 "variables by itself; pass these and the module raytrain with: enroot "
                 "start --conf %s",
                 conf);
        break;
    default:
        snprintf(
            text, size,
            "its container has not connected to its session; a script that uses "
            "RANK or the module raytrain needs the variables of this command (%s), "
            "and the directories %s at the same paths",
            environment_value(env, CONTAINER_VARIABLES), directories);
    }
    return true;
}
