/* batch_system.c - the batch systems, and how long to wait for one that does not
 * answer. */
#include "launch/batch_system.h"

#include <stddef.h>

static const struct batch_ops *const systems[] = {&batch_slurm};

static struct batch_patience patience;

const struct batch_ops *batch_find(void)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (systems[i]->job_id())
            return systems[i];
    return NULL;
}

void batch_patience_set(double seconds, void (*say)(const char *text))
{
    patience = (struct batch_patience){.seconds = seconds, .say = say};
}

const struct batch_patience *batch_patience(void)
{
    return &patience;
}
