/*
 * checkpoint_manager.c - list the checkpoints of a run; open the newest valid one,
 * after setting aside those whose damage is confirmed; apply retention; find the best.
 */
#include "config.h"

#include "run/checkpoint_manager.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/train_config.h"
#include "run/extracted.h"
#include "run/run_dir.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/run_record.h"

#define DAMAGED     ".damaged"
#define ASIDE_TRIES 1000

static void __attribute__((format(printf, 3, 4)))
note_add(void (*note)(void *arg, const char *text), void *arg, const char *fmt, ...)
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

/* ---- Names ---- */

static int64_t name_iteration(const char *name)
{
    return checkpoint_name_iteration(name, CHECKPOINT_ENDING);
}

static int number_add(int64_t **numbers, size_t *n, int64_t number)
{
    int64_t *bigger;

    /* The array is full when n is a power of two (or 0). */
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
            rc = error_no_memory(err);
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

/* ---- Confirm damage ---- */

/* One rank's word is not enough to rename a checkpoint: its node may have cached an old
 * page of the file, or seen half of it. */

/* Ask this node to drop its cached pages of the file; it may ignore that. */
static void cache_drop(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

/* Open the file again on this rank; verify everything except the tensors, and this
 * rank's share of the tensors. *ck is NULL if it cannot be opened. */
static bool looks_damaged(const struct comm *comm, const char *path,
                          raytrain_checkpoint **ck)
{
    struct error why = {0};

    cache_drop(path);
    *ck = NULL;
    return (checkpoint_open_index(path, ck, &why) < 0 ||
            checkpoint_verify_share(*ck, comm->rank, comm->size, &why) < 0) &&
           why.code == RAYTRAIN_ECORRUPT;
}

/* Rank 0: does it see any of the damage that other ranks see? */
static bool damage_seen(const raytrain_checkpoint *ck, const char *damaged, int size)
{
    struct error why = {0};

    for (int r = 0; r < size; r++)
        if (damaged[r] && checkpoint_verify_share(ck, r, size, &why) < 0 &&
            why.code == RAYTRAIN_ECORRUPT)
            return true;
    return false;
}

int checkpoint_confirm_damage(struct comm *comm, const char *path, enum damage *damage,
                              struct error *err)
{
    char *damaged = calloc((size_t)comm->size, 1), mine;
    raytrain_checkpoint *ck = NULL;
    uint32_t found = DAMAGE_NONE;
    int rc = comm_agree(comm, damaged ? 0 : error_no_memory(err), err);

    mine = rc == 0 && looks_damaged(comm, path, &ck);
    if (rc == 0)
        rc = comm->ops->allgather(comm, &mine, sizeof mine, damaged, err);
    for (int r = 0; rc == 0 && r < comm->size; r++)
        if (damaged[r])
            found = DAMAGE_DOUBTED;
    if (found == DAMAGE_DOUBTED && comm->rank == 0 &&
        (mine || (ck && damage_seen(ck, damaged, comm->size))))
        found = DAMAGE_CONFIRMED;
    if (rc == 0)
        rc = comm->ops->bcast(comm, &found, sizeof found, 0, err);
    *damage = (enum damage)found;
    checkpoint_destroy(ck);
    free(damaged);
    return rc;
}

/* ---- Set aside ---- */

/* A damaged checkpoint is renamed, so that no run starts from it again, and nothing is
 * lost: it can still be examined, or single tensors be saved from it. */

/* The n-th name to try: NAME.damaged, NAME.damaged.2, ... */
static char *aside_name(const char *path, int n)
{
    char *name;
    int rc = n == 1 ? asprintf(&name, "%s" DAMAGED, path)
                    : asprintf(&name, "%s" DAMAGED ".%d", path, n);

    return rc < 0 ? NULL : name;
}

int checkpoint_set_aside(const char *path, char **aside, struct error *err)
{
    for (int n = 1; n <= ASIDE_TRIES; n++) {
        char *name = aside_name(path, n);

        if (!name)
            return error_no_memory(err);
        if (fs_rename_new(path, name) == 0) {
            *aside = name;
            return fs_sync_parent(path, err);
        }
        free(name);
        if (errno != EEXIST)
            break;
    }
    *aside = NULL;
    return fs_error(err, "set aside the damaged checkpoint", path);
}

/* ---- The newest that is valid ---- */

/* Is the file at fault, so that an older one may be used? If storage or memory fails
 * instead, going back would lose work that exists. */
static bool is_passed_over(const struct error *err)
{
    return err->code == RAYTRAIN_ECORRUPT || err->code == RAYTRAIN_ENOTFOUND ||
           err->code == RAYTRAIN_ENOTSUP;
}

/* COLLECTIVE: all ranks get rank 0's list. */
static int list_bcast(struct comm *comm, const char *run_dir, int64_t **iterations,
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
            rc = error_no_memory(err);
    }
    if (comm_agree(comm, rc, err) < 0)
        return -1;
    return count ? comm->ops->bcast(comm, *iterations, count * sizeof **iterations, 0,
                                    err)
                 : 0;
}

/* The result of trying a candidate. */
enum tried { TRIED_ERROR, TRIED_TAKEN, TRIED_PASSED, TRIED_DAMAGED };

/* COLLECTIVE: a candidate that seemed damaged, as *err says. */
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

/* COLLECTIVE: try a candidate; *out if it is taken. */
static enum tried candidate_try(struct comm *comm, const char *run_dir,
                                int64_t iteration, raytrain_checkpoint **out,
                                struct error *err)
{
    char *path = run_dir_checkpoint(run_dir, (long)iteration);
    int rc = path ? 0 : error_no_memory(err);
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

/* Rank 0. If it fails, that is reported; a later save under this name replaces the
 * file. */
static void damaged_set_aside(const char *run_dir, int64_t iteration,
                              void (*note)(void *arg, const char *text), void *arg)
{
    char *path = run_dir_checkpoint(run_dir, (long)iteration), *aside = NULL;
    struct error why;

    if (path && checkpoint_set_aside(path, &aside, &why) < 0)
        note_add(note, arg, "%s", why.text);
    if (aside)
        note_add(note, arg, "the damaged checkpoint is set aside: it is now %s", aside);
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
    int rc = list_bcast(comm, run_dir, &iterations, &n, err);
    size_t total = n;

    *out = NULL;
    while (rc == 0 && n > 0 && !*out) {
        int64_t iteration = iterations[--n];
        enum tried tried = candidate_try(comm, run_dir, iteration, out, &why);

        if (tried == TRIED_ERROR)
            rc = error_set(err, why.code, "%s", why.text);
        else if (tried != TRIED_TAKEN && comm->rank == 0)
            note_add(note, arg, "checkpoint passed over: %s", why.text);
        /* Entries from n on have been tried: the damaged ones are kept there. */
        if (tried == TRIED_DAMAGED)
            iterations[total - ++n_damaged] = iteration;
    }
    for (size_t i = 0; *out && comm->rank == 0 && i < n_damaged; i++)
        damaged_set_aside(run_dir, iterations[total - 1 - i], note, arg);
    free(iterations);
    if (rc == 0 && total > 0 && !*out)
        rc = error_set(err, RAYTRAIN_ECORRUPT,
                       "%s: none of its checkpoints is valid; the oldest: %s\n"
                       "start over with --fresh, or from another run's with "
                       "--resume=CHECKPOINT",
                       run_dir, why.text);
    return rc;
}

/* ---- Retention: which to keep ---- */

static bool is_ranked(const struct checkpoint_entry *e)
{
    return e->has_score && !isnan(e->score);
}

bool checkpoint_entry_better(const struct checkpoint_entry *a,
                             const struct checkpoint_entry *b,
                             const struct checkpoint_config *cfg)
{
    bool by_score = cfg->checkpoint_score_attribute != NULL;

    if (by_score && is_ranked(a) != is_ranked(b))
        return is_ranked(a);
    if (by_score && is_ranked(a) && a->score != b->score)
        return cfg->checkpoint_score_min ? a->score < b->score : a->score > b->score;
    return a->iteration > b->iteration;
}

/* The number of entries that are better than entry i. */
static size_t rank_of(const struct checkpoint_entry *entries, size_t n, size_t i,
                      const struct checkpoint_config *cfg)
{
    size_t better = 0;

    for (size_t k = 0; k < n; k++)
        better += k != i && checkpoint_entry_better(&entries[k], &entries[i], cfg);
    return better;
}

void checkpoint_retention(const struct checkpoint_entry *entries, size_t n,
                          const struct checkpoint_config *cfg, bool *drop)
{
    for (size_t i = 0; i < n; i++)
        drop[i] = cfg->num_to_keep > 0 && i != n - 1 &&
                  rank_of(entries, n, i, cfg) >= (size_t)cfg->num_to_keep;
}

/* ---- Retention: delete the others ---- */

/* Read the metadata of the checkpoint; false if it cannot be opened. */
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

/* Delete the marked entries; a failure is reported, and the rest is deleted. */
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
            note_add(note, arg, "%s", why.text);
        }
        free(path);
    }
    return deleted;
}

/* Temporary files of other processes. Only the holder of the run's lock has workers
 * that write, so they are either ours or left over. */
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
        note_add(note, arg, "%s", why.text);
    }
    if (d)
        closedir(d);
}

void checkpoint_manager_tidy(const char *run_dir,
                             void (*note)(void *arg, const char *text), void *arg)
{
    temporaries_delete(run_dir, note, arg);
    extracted_tidy(run_dir, note, arg);
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
        rc = error_no_memory(err);
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
            extracted_tidy(run_dir, note, arg);
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

/* ---- The best ---- */

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
        return error_no_memory(err);
    }
    return 0;
}

int checkpoint_manager_best_of(const char *run_dir, char **best, char **latest,
                               struct error *err)
{
    char *config = run_dir_file(run_dir, "run.cfg"), *text = NULL;
    struct train_config cfg;
    int rc;

    train_config_init(&cfg);
    /* Without a configuration there is no score, and the newest is the best. */
    if (config && record_read(config, RECORD_OF_RUN, &text, NULL, NULL) == 0)
        train_config_merge_text(&cfg, text, config, NULL);
    rc = checkpoint_manager_best(run_dir, &cfg.run_config.checkpoint_config, best,
                                 latest, err);
    train_config_clear(&cfg);
    free(text);
    free(config);
    return rc;
}

static int entry_check(const char *run_dir, int64_t iteration, struct error *err)
{
    char *path = run_dir_checkpoint(run_dir, (long)iteration);
    raytrain_checkpoint *ck = NULL;
    int rc = path ? checkpoint_open_index(path, &ck, err) : error_no_memory(err);

    checkpoint_destroy(ck);
    free(path);
    return rc;
}

int checkpoint_manager_check(const char *run_dir, int64_t after, struct error *err)
{
    int64_t *iterations;
    size_t n;
    int rc = 0;

    if (checkpoint_manager_list(run_dir, &iterations, &n, err) < 0)
        return -1;
    while (rc == 0 && n > 0 && iterations[n - 1] > after)
        rc = entry_check(run_dir, iterations[--n], err);
    free(iterations);
    return rc;
}
