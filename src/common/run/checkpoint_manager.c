#include "config.h"

#include "run/checkpoint_manager.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/checkpoint_name.h"
#include "run/run_dir.h"
#include "util/fault.h"
#include "util/fs.h"

static void __attribute__((format(printf, 3, 4)))
note_tell(void (*note)(void *arg, const char *text), void *arg, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    if (!note)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    note(arg, text);
}

/* ---- Names ------------------------------------------------------------------------
 */

static int64_t name_iteration(const char *name)
{
    return checkpoint_name_iteration(name, CHECKPOINT_ENDING);
}

static int number_add(int64_t **numbers, size_t *n, int64_t number)
{
    int64_t *bigger;

    /* Powers of two are the sizes at which it grows. */
    if ((*n & (*n - 1)) == 0) {
        bigger = realloc(*numbers, (*n ? 2 * *n : 1) * sizeof **numbers);
        if (!bigger)
            return -1;
        *numbers = bigger;
    }
    (*numbers)[(*n)++] = number;
    return 0;
}

int checkpoint_manager_list(const char *run_dir, int64_t **iterations, size_t *n,
                            struct error *err)
{
    DIR *d = opendir(run_dir);
    int64_t *found = NULL;
    size_t n_found = 0;
    struct dirent *e;
    int rc = 0;

    if (!d)
        return fs_error(err, "open directory", run_dir);
    while (rc == 0 && (errno = 0, e = readdir(d))) {
        int64_t k = name_iteration(e->d_name);

        if (k >= 0 && number_add(&found, &n_found, k) < 0)
            rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    if (rc == 0 && errno)
        rc = fs_error(err, "read directory", run_dir);
    closedir(d);
    if (rc < 0) {
        free(found);
        return -1;
    }
    if (n_found > 1)
        qsort(found, n_found, sizeof *found, iteration_ascending);
    *iterations = found;
    *n = n_found;
    return 0;
}

int64_t checkpoint_manager_iteration(const char *path)
{
    const char *slash = strrchr(path, '/');

    return name_iteration(slash ? slash + 1 : path);
}

int64_t checkpoint_manager_newest(const char *run_dir)
{
    int64_t *iterations, newest;
    size_t n;

    if (checkpoint_manager_list(run_dir, &iterations, &n, NULL) < 0)
        return -1;
    newest = n ? iterations[n - 1] : -1;
    free(iterations);
    return newest;
}

/* ---- The newest that is valid -----------------------------------------------------
 */

/* Is this the file's fault, so that an older one will do? Where the storage fails, or
 * memory, going back would lose work that is there. */
static bool is_passed_over(const struct error *err)
{
    return err->code == RAYTRAIN_ECORRUPT || err->code == RAYTRAIN_ENOTFOUND ||
           err->code == RAYTRAIN_ENOTSUP;
}

/* COLLECTIVE: the list of rank 0 on every rank. */
static int list_share(struct comm *comm, const char *run_dir, int64_t **iterations,
                      size_t *n, struct error *err)
{
    uint64_t count = 0;
    int rc = 0;

    *iterations = NULL;
    *n = 0;
    if (comm->rank == 0)
        rc = checkpoint_manager_list(run_dir, iterations, n, err);
    if (comm_agree(comm, rc, err) < 0)
        return -1;
    count = *n;
    if (comm->ops->bcast(comm, &count, sizeof count, 0, err) < 0)
        return -1;
    if (comm->rank != 0) {
        *n = (size_t)count;
        *iterations = calloc(*n + 1, sizeof **iterations);
        if (!*iterations)
            rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    if (comm_agree(comm, rc, err) < 0)
        return -1;
    return count ? comm->ops->bcast(comm, *iterations, count * sizeof **iterations, 0,
                                    err)
                 : 0;
}

/* How a candidate fared. */
enum tried { TRIED_ERROR, TRIED_TAKEN, TRIED_PASSED, TRIED_DAMAGED };

/* COLLECTIVE: one that seemed damaged, as *err says. */
static enum tried damaged_try(struct comm *comm, const char *path,
                              raytrain_checkpoint **out, struct error *err)
{
    enum damage damage;
    struct error why;

    if (checkpoint_confirm_damage(comm, path, &damage, &why) < 0) {
        *err = why;
        return TRIED_ERROR;
    }
    if (damage == DAMAGE_CONFIRMED)
        return TRIED_DAMAGED;
    if (damage == DAMAGE_NONE && checkpoint_open(comm, path, out, &why) == 0)
        return TRIED_TAKEN;
    return TRIED_PASSED;
}

/* COLLECTIVE: one candidate; *out where it is taken. */
static enum tried candidate_try(struct comm *comm, const char *run_dir,
                                int64_t iteration, raytrain_checkpoint **out,
                                struct error *err)
{
    char *path = run_dir_checkpoint(run_dir, (long)iteration);
    int rc = path ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    enum tried tried = TRIED_TAKEN;

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = checkpoint_open(comm, path, out, err);
    if (rc < 0 && err->code == RAYTRAIN_ECORRUPT)
        tried = damaged_try(comm, path, out, err);
    else if (rc < 0)
        tried = is_passed_over(err) ? TRIED_PASSED : TRIED_ERROR;
    free(path);
    return tried;
}

/* Rank 0: a failure is told; a later save under that name replaces the file then. */
static void damaged_set_aside(const char *run_dir, int64_t iteration,
                              void (*note)(void *arg, const char *text), void *arg)
{
    char *path = run_dir_checkpoint(run_dir, (long)iteration), *aside = NULL;
    struct error why;

    if (path && checkpoint_set_aside(path, &aside, &why) < 0)
        note_tell(note, arg, "%s", why.text);
    if (aside)
        note_tell(note, arg, "the damaged checkpoint is set aside: it is now %s",
                  aside);
    free(aside);
    free(path);
}

int checkpoint_manager_latest(struct comm *comm, const char *run_dir,
                              void (*note)(void *arg, const char *text), void *arg,
                              raytrain_checkpoint **out, struct error *err)
{
    struct error why = {0};
    int64_t *iterations = NULL;
    size_t n = 0, n_damaged = 0;
    int rc = list_share(comm, run_dir, &iterations, &n, err);
    size_t total = n;

    *out = NULL;
    while (rc == 0 && n > 0 && !*out) {
        int64_t iteration = iterations[--n];
        enum tried tried = candidate_try(comm, run_dir, iteration, out, &why);

        if (tried == TRIED_ERROR)
            rc = error_set(err, why.code, "%s", why.text);
        else if (tried != TRIED_TAKEN && comm->rank == 0)
            note_tell(note, arg, "checkpoint passed over: %s", why.text);
        /* Those behind n are done with: their places keep the damaged ones. */
        if (tried == TRIED_DAMAGED)
            iterations[total - ++n_damaged] = iteration;
    }
    for (size_t i = 0; *out && comm->rank == 0 && i < n_damaged; i++)
        damaged_set_aside(run_dir, iterations[total - 1 - i], note, arg);
    free(iterations);
    if (rc == 0 && total > 0 && !*out)
        rc = error_set(err, RAYTRAIN_ECORRUPT,
                       "%s: none of its checkpoints is valid; of the oldest: %s\n"
                       "start anew with --fresh, or from another run's with "
                       "--resume=CHECKPOINT",
                       run_dir, why.text);
    return rc;
}

/* ---- Scores, retention ------------------------------------------------------------
 */

/* What the checkpoint says of itself; false where it says nothing that counts. */
static bool entry_read(const char *run_dir, int64_t iteration,
                       const struct checkpoint_config *cfg, struct checkpoint_entry *e)
{
    char *path = run_dir_checkpoint(run_dir, (long)iteration);
    const struct checkpoint_meta *meta;
    raytrain_checkpoint *ck = NULL;
    bool opened = path && checkpoint_open_index(path, &ck, NULL) == 0;

    *e = (struct checkpoint_entry){.iteration = iteration};
    if (opened && cfg->checkpoint_score_attribute) {
        meta = checkpoint_meta(ck);
        for (size_t i = 0; i < meta->n_metrics; i++) {
            if (strcmp(meta->metrics[i].name, cfg->checkpoint_score_attribute) != 0)
                continue;
            e->score = meta->metrics[i].value;
            e->has_score = true;
        }
    }
    checkpoint_destroy(ck);
    free(path);
    return opened;
}

/* Delete what drop marks; a failure is told and the rest goes on. */
static size_t entries_delete(const char *run_dir,
                             const struct checkpoint_entry *entries, const bool *drop,
                             size_t n, void (*note)(void *arg, const char *text),
                             void *arg)
{
    size_t deleted = 0;

    for (size_t i = 0; i < n; i++) {
        char *path =
            drop[i] ? run_dir_checkpoint(run_dir, (long)entries[i].iteration) : NULL;
        struct error why;

        if (path && fault_point("retention.delete", 0) == 0 && unlink(path) == 0) {
            deleted++;
        } else if (path && errno != ENOENT) {
            fs_error(&why, "delete the old checkpoint", path);
            note_tell(note, arg, "%s", why.text);
        }
        free(path);
    }
    return deleted;
}

/* Those that some other process left: only the holder of the run's lock has workers
 * that write, so they are ours or nobody's. */
static void temporaries_delete(const char *run_dir,
                               void (*note)(void *arg, const char *text), void *arg)
{
    DIR *d = opendir(run_dir);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        struct error why;

        if (strncmp(e->d_name, "." CHECKPOINT_PREFIX, strlen("." CHECKPOINT_PREFIX)) ||
            !fs_temp_is_left(e->d_name))
            continue;
        if (unlinkat(dirfd(d), e->d_name, 0) == 0 || errno == ENOENT)
            continue;
        fs_error(&why, "delete what an interrupted save left,", e->d_name);
        note_tell(note, arg, "%s", why.text);
    }
    if (d)
        closedir(d);
}

static int retention_apply(const char *run_dir, const struct checkpoint_config *cfg,
                           const int64_t *iterations, size_t n,
                           void (*note)(void *arg, const char *text), void *arg,
                           struct error *err)
{
    struct checkpoint_entry *entries = calloc(n + 1, sizeof *entries);
    bool *drop = calloc(n + 1, sizeof *drop);
    int rc = 0;

    if (!entries || !drop)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (cfg->checkpoint_score_attribute)
            entry_read(run_dir, iterations[i], cfg, &entries[i]);
        else
            entries[i].iteration = iterations[i];
    }
    if (rc == 0) {
        checkpoint_retention(entries, n, cfg, drop);
        if (entries_delete(run_dir, entries, drop, n, note, arg) > 0) {
            fault_point("retention.deleted", 0);
            rc = fs_sync_dir(run_dir, err);
        }
    }
    free(entries);
    free(drop);
    return rc;
}

int checkpoint_manager_prune(const char *run_dir, const struct checkpoint_config *cfg,
                             void (*note)(void *arg, const char *text), void *arg,
                             struct error *err)
{
    int64_t *iterations;
    size_t n;
    int rc = 0;

    temporaries_delete(run_dir, note, arg);
    if (cfg->num_to_keep <= 0)
        return 0;
    if (checkpoint_manager_list(run_dir, &iterations, &n, err) < 0)
        return -1;
    if (n > (size_t)cfg->num_to_keep)
        rc = retention_apply(run_dir, cfg, iterations, n, note, arg, err);
    free(iterations);
    return rc;
}

int checkpoint_manager_best(const char *run_dir, const struct checkpoint_config *cfg,
                            char **best, char **latest, struct error *err)
{
    struct checkpoint_entry top = {0}, e;
    int64_t *iterations, newest = -1;
    size_t n;
    bool found = false;

    if (checkpoint_manager_list(run_dir, &iterations, &n, err) < 0)
        return -1;
    while (n > 0) {
        if (!entry_read(run_dir, iterations[--n], cfg, &e))
            continue;
        if (newest < 0)
            newest = e.iteration;
        if (!found || checkpoint_entry_better(&e, &top, cfg))
            top = e;
        found = true;
        if (!cfg->checkpoint_score_attribute)
            break; /* the newest is the best */
    }
    free(iterations);
    *best = found ? run_dir_checkpoint(run_dir, (long)top.iteration) : NULL;
    *latest = found ? run_dir_checkpoint(run_dir, (long)newest) : NULL;
    if (found && (!*best || !*latest)) {
        free(*best);
        free(*latest);
        *best = *latest = NULL;
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    return 0;
}
