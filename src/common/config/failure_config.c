/* failure_config.c - the keys of FailureConfig. */
#include "config/failure_config.h"

#include <limits.h>
#include <stddef.h>

#include "config/config_key.h"

#define FIELD(member) .offset = offsetof(struct failure_config, member)

static const struct config_choice restarts[] = {
    {"new_step", NULL},
    {"same_step", NULL},
    {NULL, NULL},
};

static const struct config_key failure_keys[] = {
    {.name = "max_failures",
     .doc = "restarts after failures of workers, -1: no limit",
     .type = CONFIG_INT,
     FIELD(max_failures),
     .min = -1,
     .max = INT_MAX},
    {.name = "reset_on_progress",
     .doc = "a new checkpoint resets the count of failures",
     .type = CONFIG_BOOL,
     FIELD(reset_on_progress)},
    {.name = "max_preemptions",
     .doc = "restarts after preemptions, -1: no limit",
     .type = CONFIG_INT,
     FIELD(max_preemptions),
     .min = -1,
     .max = INT_MAX},
    {.name = "fail_fast",
     .doc = "never restart",
     .type = CONFIG_BOOL,
     FIELD(fail_fast)},
    {.name = "hang_timeout_s",
     .doc = "seconds without a report that are a hang, 0: off",
     .type = CONFIG_INT,
     FIELD(hang_timeout_s),
     .min = 0,
     .max = INT_MAX},
    {.name = "start_timeout_s",
     .doc = "seconds for the workers of an attempt to come together, 0: no limit",
     .type = CONFIG_INT,
     FIELD(start_timeout_s),
     .min = 0,
     .max = INT_MAX},
    {.name = "node_timeout_s",
     .doc = "seconds without an answer after which a node is given up, 0: never",
     .type = CONFIG_INT,
     FIELD(node_timeout_s),
     .min = 0,
     .max = INT_MAX},
    {.name = "restart",
     .doc = "under Slurm, where the workers restart",
     .type = CONFIG_WORD_BOOL,
     FIELD(same_step),
     .choices = restarts},
};
const struct config_table failure_config_table = CONFIG_TABLE(failure_keys);

void failure_config_init(struct failure_config *cfg)
{
    cfg->max_failures = 0;
    cfg->reset_on_progress = true;
    cfg->max_preemptions = -1;
    cfg->fail_fast = false;
    cfg->hang_timeout_s = 0;
    cfg->start_timeout_s = 60;
    cfg->node_timeout_s = 30;
    cfg->same_step = false;
}

double failure_config_heartbeat_s(const struct failure_config *cfg)
{
    return cfg->node_timeout_s / 4.0;
}
