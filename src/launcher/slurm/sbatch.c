/* sbatch.c - the script of batch_script.c given to sbatch, after checks that the job
 * can run. */
#include "config.h"

#include "slurm/sbatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/time_margin.h"
#include "slurm/batch_script.h"
#include "slurm/cluster_fit.h"
#include "slurm/slurm_tool.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/memory_file.h"
#include "util/time_limit.h"

extern char **environ;

#define SBATCH_ANSWER_MAX_S 30.0 /* sbatch itself would try for minutes */

/* ---- sbatch ---- */

static bool begins_with(const char *entry, const char *prefix)
{
    return strncmp(entry, prefix, strlen(prefix)) == 0;
}

/* As with any sbatch, the job inherits the environment, but without the variables of
 * another job or step, some of which srun would take as options. */
static bool sbatch_entry_stays(const char *entry)
{
    static const char *const cleared[] = {"SLURM_", "SLURMD_", "PMI_", "PMIX_"};
    static const char *const kept[] = {
        "SLURM_CONF=",     "SLURM_CONF_SERVER=", "SLURM_JWT=",
        "SLURM_CLUSTERS=", "SLURM_TIME_FORMAT=", "PMIX_MCA_"};

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (begins_with(entry, kept[i]))
            return true;
    for (size_t i = 0; i < sizeof cleared / sizeof *cleared; i++)
        if (begins_with(entry, cleared[i]))
            return false;
    return true;
}

static int environment(char ***out, struct error *err)
{
    int rc = 0;

    for (char **e = environ; rc == 0 && *e; e++)
        if (sbatch_entry_stays(*e))
            rc = argv_append(out, *e, err);
    return rc;
}

/* The script as a descriptor to read from. */
static int script_open(const char *script, struct error *err)
{
    size_t n = strlen(script);
    int fd = memory_file_create("batch script", n);

    if (fd < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot hold a batch script: %s",
                         strerror(errno));
    for (size_t done = 0; done < n;) {
        ssize_t wrote = pwrite(fd, script + done, n - done, (off_t)done);

        if (wrote < 0 && errno != EINTR) {
            error_set(err, RAYTRAIN_ENOMEM, "cannot hold a batch script: %s",
                      strerror(errno));
            close(fd);
            return -1;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return fd;
}

bool slurm_batch_id(const char *text, char id[BATCH_ID_MAX])
{
    for (const char *line = text; line;) {
        size_t digits = strspn(line, "0123456789");

        if (digits > 0 && digits < BATCH_ID_MAX &&
            (line[digits] == ';' || line[digits] == '\n')) {
            memcpy(id, line, digits);
            id[digits] = '\0';
            return true;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return false;
}

static int sbatch_run(char *const *argv, const char *script, char **answer,
                      struct error *err)
{
    char **env = NULL;
    double from = clock_now();
    int fd = script_open(script, err), rc = fd < 0 ? -1 : environment(&env, err);

    if (rc == 0) {
        const struct slurm_tool_spec spec = {.argv = argv, .env = env, .in = fd};

        rc = slurm_tool_answer(&spec, SBATCH_ANSWER_MAX_S, answer, err);
        if (rc < 0 && clock_now() - from >= SBATCH_ANSWER_MAX_S)
            error_set(err, RAYTRAIN_ENOTSUP,
                      "Slurm's controller does not answer or is busy: %s\n"
                      "  look with squeue --me whether the job is there before you try "
                      "again",
                      err->text);
        else if (rc < 0)
            error_prefix(err, "the job was not submitted");
    }
    argv_free(env);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* The options are repeated as arguments, which outrank the environment. */
static int job_submit(const struct batch_request *r, char *const *options,
                      const char *script, struct batch_ticket *ticket,
                      struct error *err)
{
    char **argv = NULL, *answer = NULL;
    int rc = -1;

    if (argv_append(&argv, "sbatch", err) == 0 &&
        argv_append(&argv, "--parsable", err) == 0 &&
        argv_append_all(&argv, options, err) == 0)
        rc = sbatch_run(argv, script, &answer, err);
    if (rc == 0 && !slurm_batch_id(answer, ticket->id))
        rc = error_set(err, RAYTRAIN_ENOTSUP,
                       "sbatch did not print the id of the job; look for it with "
                       "squeue --me");
    if (rc == 0)
        slurm_batch_log(r, ticket->id, ticket->log, sizeof ticket->log);
    free(answer);
    argv_free(argv);
    return rc;
}

/* ---- The request ---- */

/* Could the job ever run? Only showing the script does not require a cluster. */
static int fit_check(const struct batch_request *r, bool only_show,
                     struct placement *fits, struct error *err)
{
    char *partitions = NULL;
    struct error why = {.code = RAYTRAIN_OK};
    int rc;

    if (slurm_batch_partitions(r, &partitions, err) < 0)
        return -1;
    rc = slurm_cluster_fit(r->scaling, partitions, fits, &why);
    free(partitions);
    if (rc == 0 || (only_show && why.code == RAYTRAIN_ENOTSUP))
        return 0;
    if (why.code != RAYTRAIN_ENOTSUP)
        return error_set(err, why.code, "%s", why.text);
    return error_set(
        err, why.code,
        "no job can be submitted: %s\n"
        "  --submit --dry-run shows the batch script; without --submit the "
        "workers run on this machine",
        why.text);
}

/* Is there time to train before the workers are asked to stop? */
static int time_fits(const struct batch_request *r, struct error *err)
{
    int64_t length;
    char *text;
    int rc;

    if (slurm_batch_time(r, &text, err) < 0)
        return -1;
    rc = text && time_limit_parse(text, &length)
             ? time_margin_check("the job", length, r->stop_s, "--time", err)
             : 0;
    free(text);
    return rc;
}

int slurm_submit(const struct batch_request *r, bool only_show, char **script,
                 struct batch_ticket *ticket, struct error *err)
{
    struct placement fits = {0};
    char **options = NULL;
    int rc = time_fits(r, err);

    *script = NULL;
    if (rc == 0)
        rc = fit_check(r, only_show, &fits, err);
    if (rc == 0)
        rc = slurm_batch_options(r, fits.n_nodes > 0 ? &fits : NULL, &options, err);
    if (rc == 0)
        rc = slurm_batch_script(r, options, script, err);
    if (rc == 0 && !only_show)
        rc = job_submit(r, options, *script, ticket, err);
    argv_free(options);
    placement_clear(&fits);
    return rc;
}
