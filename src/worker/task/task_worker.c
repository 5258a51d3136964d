/* task_worker.c - starts workers in the place of srun. */
#include "config.h"

#include "task/task_worker.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/worker_env.h"
#include "run/run_dir.h"
#include "util/argv.h"
#include "util/fs.h"

#define ATTEMPT_VARIABLE "RAYTRAIN_ATTEMPT="

extern char **environ;

/* ---- The environment ---- */

/* The step's PMIx server knows this process only, and a new attempt its number. What a
 * user has set for all PMIx libraries stays. */
static bool entry_stays(const char *entry)
{
    if (strncmp(entry, ATTEMPT_VARIABLE, strlen(ATTEMPT_VARIABLE)) == 0)
        return false;
    return strncmp(entry, "PMIX_MCA_", 9) == 0 ||
           (strncmp(entry, "PMIX_", 5) != 0 && strncmp(entry, "PMI_", 4) != 0);
}

static int worker_environment(const struct task_worker_spec *spec, char ***env,
                              struct error *err)
{
    *env = NULL;
    for (char **at = environ; *at; at++)
        if (entry_stays(*at) && argv_append(env, *at, err) < 0)
            return -1;
    if (argv_append_all(env, spec->variables, err) < 0)
        return -1;
    if (argv_appendf(env, err, WORKER_TASK_MARK "=%s", spec->mark) < 0 ||
        argv_appendf(env, err, WORKER_TASK_DESCRIPTOR "=%d", spec->left) < 0)
        return -1;
    return argv_appendf(env, err, ATTEMPT_VARIABLE "%d", spec->attempt);
}

/* ---- Logs ---- */

/* If the output of ranks is shown, standard output goes to raytrain-run, and the program
 * opens that log itself (launcher/show/tee.h). */
static bool is_shown(char *const *argv)
{
    const char *name = strrchr(argv[0], '/');

    return strcmp(name ? name + 1 : argv[0], "raytrain-keeper") == 0 && argv[1] &&
           strcmp(argv[1], "show") == 0;
}

static int log_open(const struct task_worker_spec *spec, const char *ending,
                    struct error *err)
{
    const char *node = getenv("SLURMD_NODENAME");
    char stem[RUN_DIR_LOG_NAME_MAX], path[PATH_MAX];
    int fd;

    run_dir_log_name(spec->workers, spec->rank, node ? node : "unknown", stem);
    if ((size_t)snprintf(path, sizeof path, "%s/%s.%s", spec->log_dir, stem, ending) >=
        sizeof path)
        return error_set(err, RAYTRAIN_ESTORAGE, "the path of a log is too long: %s",
                         spec->log_dir);
    fd = open(path, FS_WRITE | O_CREAT | O_APPEND, 0666);
    return fd < 0 ? fs_error(err, "open", path) : fd;
}

int task_errors_redirect(const struct task_worker_spec *spec, struct error *err)
{
    int log = log_open(spec, "err", err);

    if (log < 0)
        return -1;
    dup2(log, STDERR_FILENO);
    close(log);
    return 0;
}

/* ---- The start ---- */

int task_worker_start(const struct task_worker_spec *spec, struct child *worker,
                      struct error *err)
{
    struct child_spec child = {.argv = spec->argv,
                               .in = -1,
                               .out = STDOUT_FILENO,
                               .err = STDERR_FILENO,
                               .kept = spec->left,
                               .own_group = true,
                               .die_with_parent = true};
    char **env = NULL;
    int rc = worker_environment(spec, &env, err);

    if (rc == 0 && !spec->has_log && !is_shown(spec->argv))
        rc = child.out = log_open(spec, "out", err);
    if (rc >= 0) {
        child.env = env;
        rc = child_spawn(&child, worker, err);
    }
    if (child.out > STDERR_FILENO)
        close(child.out);
    argv_free(env);
    return rc;
}
