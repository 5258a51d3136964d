/* shipped_function.c - copies the file of RAYTRAIN_FIT, whose content only Python
 * reads. */
#include "train/shipped_function.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/run_dir.h"
#include "train/aside.h"
#include "util/fs.h"
#include "util/run_record.h"

#define FIT_VARIABLE "RAYTRAIN_FIT"
#define FIT_MODULE   "raytrain._worker"
#define KEPT_NAME    "trainer.pkl"

/* Is it this run that fit() has started? Others inherit the variable, for example those of a
 * callback's command; and trees have no function. */
static bool is_shipped(const struct train_config *cfg)
{
    for (size_t i = 0; i < cfg->n_args; i++)
        if (strcmp(cfg->args[i], FIT_MODULE) == 0)
            return getenv(FIT_VARIABLE) != NULL;
    return false;
}

static int owner_check(const char *path, struct error *err)
{
    int fd = record_open(path, RECORD_OF_RUN), rc;

    if (fd < 0)
        return 0; /* reading it says why */
    rc = record_check_owner(fd, path, err);
    close(fd);
    return rc;
}

/* A job that Slurm has requeued still has the variable, but not the file: the run has
 * its copy by then. */
static int copy_work(void *arg, json_t **answer, struct error *err)
{
    const struct run *run = arg;
    const char *shipped = getenv(FIT_VARIABLE);
    char *kept = run_dir_file(run->dir, KEPT_NAME), *function = NULL;
    size_t n;
    int rc;

    (void)answer;
    if (!kept)
        return error_no_memory(err);
    rc = owner_check(shipped, err);
    if (rc == 0)
        rc = record_read_large(shipped, RECORD_OF_RUN, &function, &n, err);
    if (rc == 0)
        rc = fs_write_atomic(kept, function, n, 0600, err);
    else if (err->code == RAYTRAIN_ENOTFOUND)
        rc = 0;
    free(function);
    free(kept);
    return rc;
}

int shipped_function_keep(struct run *run, struct error *err)
{
    json_t *none = NULL;

    if (!is_shipped(run->cfg))
        return 0;
    return aside(run, "keep the training function", copy_work, run, &none, err);
}
