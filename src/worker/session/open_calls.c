/*
 * open_calls.c - opens any checkpoint, or a plain HDF5 file; closes it; lists its
 * names.
 */
#include "config.h"
#include "session/session.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "run/checkpoint_manager.h"
#include "session/checkpoints.h"
#include "session/collectives.h"
#include "util/fs.h"
#include "util/quote.h"

struct session_opened {
    struct session_opened *next;
    raytrain_checkpoint *ck;
};

/* ---- Rank 0: which file? ---- */

/* What rank 0 sends. */
struct target {
    bool is_own;         /* of this run, whose saves must end before */
    bool is_dir;         /* a run, whose best checkpoint is opened */
    char path[PATH_MAX]; /* absolute */
};

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static bool path_is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int path_set(struct target *t, const char *path, struct error *err)
{
    char here[PATH_MAX] = "";
    int n;

    if (path[0] != '/' && !getcwd(here, sizeof here))
        return fs_error(err, "find the directory of", path);
    n = snprintf(t->path, sizeof t->path, "%s%s%s", here, here[0] ? "/" : "", path);
    if (n < 0 || (size_t)n >= sizeof t->path)
        return error_set(err, RAYTRAIN_EINVAL, "the path is longer than %d bytes",
                         PATH_MAX - 1);
    return 0;
}

/* path NULL: this run. */
static int target_find(const raytrain_context *ctx, const char *path, struct target *t,
                       struct error *err)
{
    char *slash, parent[PATH_MAX];

    if (path_set(t, path ? path : ctx->env.run_dir, err) < 0)
        return -1;
    t->is_dir = path_is_directory(t->path);
    strcpy(parent, t->path);
    slash = strrchr(parent, '/');
    if (slash && slash > parent)
        *slash = '\0';
    t->is_own = is_same_file(t->is_dir ? t->path : parent, ctx->env.run_dir);
    return 0;
}

/* A directory becomes the best checkpoint in it. */
static int target_choose(struct target *t, struct error *err)
{
    char *best = NULL, *latest = NULL, dir[PATH_MAX];
    int rc;

    if (!t->is_dir)
        return 0;
    strcpy(dir, t->path);
    if (checkpoint_manager_best_of(dir, &best, &latest, err) < 0)
        return -1;
    rc = best ? path_set(t, best, err)
              : error_set(err, RAYTRAIN_ENOTFOUND,
                          "%s: this directory has no complete checkpoint: name "
                          "the directory of a run, a checkpoint or an HDF5 file",
                          dir);
    free(best);
    free(latest);
    return rc;
}

/* ---- Open ---- */

/* COLLECTIVE: all ranks get rank 0's target. */
static int target_share(raytrain_context *ctx, int rc, struct target *t,
                        struct error *err)
{
    if (comm_agree(ctx->comm, rc, err) < 0)
        return -1;
    return ctx->comm->ops->bcast(ctx->comm, t, sizeof *t, 0, err);
}

/* COLLECTIVE */
static int target_resolve(raytrain_context *ctx, const char *path, struct target *t,
                          struct error *err)
{
    bool first = ctx->comm->rank == 0;

    if (target_share(ctx, first ? target_find(ctx, path, t, err) : 0, t, err) < 0)
        return -1;
    if (t->is_own && saving_drain(ctx->saving, err) < 0)
        return -1;
    return target_share(ctx, first ? target_choose(t, err) : 0, t, err);
}

static void open_say(const void *arg, char text[CALL_TEXT_MAX])
{
    char quoted[QUOTE_TEXT_MAX];

    snprintf(text, CALL_TEXT_MAX, "called raytrain_checkpoint_open(%.110s)",
             arg ? quote(arg, quoted) : "NULL");
}

/* COLLECTIVE */
static int opened_add(raytrain_context *ctx, const char *path, struct error *err)
{
    struct session_opened *o = calloc(1, sizeof *o);
    struct target *t = calloc(1, sizeof *t);
    int rc = o && t ? 0 : error_no_memory(err);

    rc = comm_agree(ctx->comm, rc, err);
    if (rc == 0)
        rc = target_resolve(ctx, path, t, err);
    if (rc == 0)
        rc = checkpoint_open_any(ctx->comm, t->path, &o->ck, err);
    if (rc == 0) {
        o->next = ctx->opened;
        ctx->opened = o;
    } else {
        free(o);
    }
    free(t);
    return rc;
}

raytrain_checkpoint *raytrain_checkpoint_open(raytrain_context *ctx, const char *path)
{
    const struct session_call call = {CALL_OPEN, open_say, path};

    if (!ctx) {
        session_null(ctx, __func__, "context");
        return NULL;
    }
    collective_wait_begin(&ctx->waiting, "open checkpoint");
    if (session_match_arguments(ctx, &call, path ? XXH3_64bits(path, strlen(path)) : 0,
                                &ctx->error) < 0 ||
        opened_add(ctx, path, &ctx->error) < 0)
        return NULL;
    return ctx->opened->ck;
}

/* ---- Close ---- */

static void opened_close(struct session_opened **at)
{
    struct session_opened *o = *at;

    *at = o->next;
    checkpoint_destroy(o->ck);
    free(o);
}

void session_opened_clear(raytrain_context *ctx)
{
    while (ctx->opened)
        opened_close(&ctx->opened);
}

void raytrain_checkpoint_close(raytrain_checkpoint *ck)
{
    raytrain_context *ctx = session_current();
    struct session_opened **at = ctx ? &ctx->opened : NULL;

    if (!ck || !ctx)
        return;
    if (ck == ctx->restored) {
        checkpoint_destroy(ck);
        ctx->restored = NULL;
        return;
    }
    while (*at && (*at)->ck != ck)
        at = &(*at)->next;
    if (*at)
        opened_close(at);
    else
        error_set(&ctx->error, RAYTRAIN_EINVAL,
                  "%s: this checkpoint was not opened, or is closed already; "
                  "raytrain_checkpoint_discard() destroys one that is being written",
                  __func__);
}

/* ---- What it is ---- */

bool raytrain_checkpoint_is_verified(const raytrain_checkpoint *ck)
{
    return ck && checkpoint_is_verified(ck);
}

const char *raytrain_checkpoint_name(const raytrain_checkpoint *ck, size_t i)
{
    if (session_readable((raytrain_checkpoint *)ck, __func__))
        return NULL;
    return checkpoint_name(ck, i);
}
