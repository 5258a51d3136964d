/* shipped_function.c - copies the file of RAYTRAIN_FIT, whose content is defined by
 * Python. */
#include "train/shipped_function.h"

#include <stdlib.h>
#include <unistd.h>

#include "run/run_dir.h"
#include "train/aside.h"
#include "util/fs.h"
#include "util/run_record.h"

#define FIT_VARIABLE "RAYTRAIN_FIT"
#define KEPT_NAME    "trainer.pkl"

static int copy_work(void *arg, json_t **answer, struct error *err)
{
    const struct run *run = arg;
    char *kept = run_dir_file(run->dir, KEPT_NAME), *function = NULL;
    size_t n;
    int rc;

    (void)answer;
    if (!kept)
        return error_no_memory(err);
    rc = record_read_large(getenv(FIT_VARIABLE), RECORD_OF_RUN, &function, &n, err);
    if (rc == 0)
        rc = fs_write_atomic(kept, function, n, 0600, err);
    free(function);
    free(kept);
    return rc;
}

int shipped_function_keep(struct run *run, struct error *err)
{
    const char *shipped = getenv(FIT_VARIABLE);
    json_t *none = NULL;

    /* Trees have no function. A job that Slurm requeued still has the variable, but not
     * the file. */
    if (!run->cfg->train_func || !shipped || access(shipped, F_OK) < 0)
        return 0;
    return aside(run, "keep the training function", copy_work, run, &none, err);
}
