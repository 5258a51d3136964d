/* dry_run.c - prints the configuration and the command of a run that is not started. */
#include "config.h"

#include "train/dry_run.h"

#include <stdlib.h>

#include "run/run_dir.h"
#include "train/allocation.h"
#include "train/attempt.h"
#include "util/argv.h"

static int dry_run_print(const struct run *run, char *const *command, FILE *out,
                         struct error *err)
{
    char *config = NULL, *line = NULL;
    int rc = -1;

    if (train_config_render(run->cfg, &config, err) == 0 &&
        argv_join(command, &line, err) == 0) {
        rc = 0;
        if (run->opt->site.path)
            fprintf(out, "# the site's file: %s\n", run->opt->site.path);
        if (fprintf(out, "# %s/run.cfg\n%s\n# command\n%s\n", run->dir, config, line) <
                0 ||
            fflush(out) != 0)
            rc = error_set(err, RAYTRAIN_ESTORAGE, "cannot write to standard output");
    }
    free(line);
    free(config);
    return rc;
}

/* The command that takes an allocation if one is needed; else that of the workers. */
static int dry_run_command(struct run *run, const struct trainer *trainer,
                           char *const argv[], char ***command, struct error *err)
{
    const struct allocation_request request = allocation_request_of(trainer, argv);

    *command = NULL;
    if (trainer->launcher->allocate_command &&
        trainer->launcher->allocate_command(&request, command, err) < 0)
        return -1;
    if (*command)
        return 0;
    return run_plan(run, err) < 0 ? -1 : attempt_command(run, command, err);
}

int trainer_dry_run(const struct trainer *trainer, char *const argv[], FILE *out,
                    struct error *err)
{
    const struct run_config *cfg = &trainer->cfg->run_config;
    char *run_dir = run_dir_file(cfg->storage_path, cfg->name), **command = NULL;
    struct run run = trainer_run(trainer);
    int rc = -1;

    run.dir = run_dir;
    if (!run_dir)
        error_no_memory(err);
    else if (dry_run_command(&run, trainer, argv, &command, err) == 0)
        rc = dry_run_print(&run, command, out, err);
    argv_free(command);
    run_close(&run);
    free(run_dir);
    return rc;
}
