/* start_point.c - the record of the first attempt compared with the given
 * checkpoint. */
#include "train/start_point.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/checkpoint_manager.h"
#include "run/run_dir.h"
#include "util/quote.h"

/* The existing run. */
struct found {
    const char *run_dir;
    struct run_start start;
    bool saved;  /* it has its own checkpoint, or one may be on the disk of a node */
    bool needed; /* the run needs the file that it was started from */
};

static int found_read(const char *run_dir, bool finished,
                      const struct train_config *cfg, struct found *f,
                      struct error *err)
{
    *f = (struct found){.run_dir = run_dir,
                        .saved = checkpoint_manager_newest(run_dir) >= 0 ||
                                 cfg->run_config.sync_config.staging_path};
    f->needed = !f->saved && !finished;
    return run_start_read(run_dir, &f->start, err);
}

/* ---- What is wrong ---- */

static int fail_gone(const struct found *f, struct error *err)
{
    char path[QUOTE_TEXT_MAX], run[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_ESTORAGE,
                     "cannot find %s: %s: the run %s was started from it, and has no "
                     "checkpoint of its own yet\n"
                     "  put the file back and run the same line again, or start over: "
                     "another --name, or --fresh, which sets that run aside",
                     quote(f->start.path, path), strerror(errno),
                     quote(f->run_dir, run));
}

static int fail_other(const struct found *f, const char *given, struct error *err)
{
    char was[QUOTE_TEXT_MAX], is[QUOTE_TEXT_MAX], run[QUOTE_TEXT_MAX];

    quote(f->run_dir, run);
    quote(given, is);
    return error_set(
        err, RAYTRAIN_EINVAL,
        "the run %s was started %s%s, and cannot continue from %s\n"
        "  to continue it: --resume, without a checkpoint\n"
        "  to start from that checkpoint: another --name, or --fresh, which sets the "
        "run aside",
        run, f->start.path ? "from " : "without a checkpoint",
        f->start.path ? quote(f->start.path, was) : "", is);
}

static int fail_changed(const struct found *f, struct error *err)
{
    char path[QUOTE_TEXT_MAX], run[QUOTE_TEXT_MAX];

    return error_set(
        err, RAYTRAIN_EINVAL,
        "%s has other contents than when the run %s was started from it\n"
        "  to continue the run: %s\n"
        "  to start from the file as it is now: another --name, or --fresh, which sets "
        "the run aside",
        quote(f->start.path, path), quote(f->run_dir, run),
        f->saved ? "--resume, without a checkpoint" : "put the earlier file back");
}

static int fail_foreign(const struct found *f, struct error *err)
{
    char path[QUOTE_TEXT_MAX], run[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_EINVAL,
                     "the run %s was started from %s, as a record says that another "
                     "user may have written: %s\n"
                     "  if that is the checkpoint that is meant, name it: "
                     "--resume=CHECKPOINT",
                     quote(f->run_dir, run), quote(f->start.path, path),
                     f->start.foreign.text);
}

/* ---- Judge ---- */

/* The path in a record of another user is not opened, unless it was also typed. */
static int foreign_judge(struct found *f, const struct train_config *cfg,
                         struct error *err)
{
    if (!f->start.path || !f->start.foreign.code)
        return 0;
    if (f->needed && !cfg->resume_from_checkpoint)
        return fail_foreign(f, err);
    run_start_clear(&f->start);
    return 0;
}

/* Is the file the one that the run was started from? */
static int file_judge(const struct found *f, const char *given, struct error *err)
{
    bool in_place = f->start.path && strcmp(f->start.path, given) == 0, same;

    if (in_place && access(given, F_OK) < 0)
        return f->needed ? fail_gone(f, err) : 0;
    if (run_start_compare(&f->start, given, &same, err) < 0)
        return -1;
    if (same)
        return 0;
    return in_place ? fail_changed(f, err) : fail_other(f, given, err);
}

static int given_judge(const struct found *f, const struct train_config *cfg,
                       struct error *err)
{
    const char *given = cfg->resume_from_checkpoint;
    bool in_place = f->start.path && strcmp(f->start.path, given) == 0;

    if ((!in_place || access(given, F_OK) == 0) &&
        train_config_check_start(cfg, err) < 0)
        return -1;
    return f->start.known ? file_judge(f, given, err) : 0;
}

/* The configuration names the file as the record does: another name of the same file is
 * not another setting, except that the run may need the file where it is now. */
static int recorded_take(const struct found *f, struct train_config *cfg,
                         struct error *err)
{
    char *path;

    if (!f->start.path || (cfg->resume_from_checkpoint && f->needed))
        return 0;
    if (!(path = strdup(f->start.path)))
        return error_no_memory(err);
    free(cfg->resume_from_checkpoint);
    cfg->resume_from_checkpoint = path;
    return 0;
}

int start_point_settle(const char *run_dir, bool finished, struct options *opt,
                       struct train_config *cfg, struct error *err)
{
    struct found f;
    int rc = found_read(run_dir, finished, cfg, &f, err);

    if (rc == 0)
        rc = foreign_judge(&f, cfg, err);
    if (rc == 0 && cfg->resume_from_checkpoint)
        rc = given_judge(&f, cfg, err);
    else if (rc == 0 && f.start.path && f.needed)
        rc = file_judge(&f, f.start.path, err);
    if (rc == 0)
        rc = recorded_take(&f, cfg, err);
    if (rc == 0 && opt->warm && f.start.known)
        opt->resume = true;
    run_start_clear(&f.start);
    return rc;
}

int start_point_check(const char *run_dir, const struct train_config *cfg,
                      struct error *err)
{
    struct found f;
    int rc = found_read(run_dir, false, cfg, &f, err);

    if (rc == 0)
        rc = foreign_judge(&f, cfg, err);
    if (rc == 0 && cfg->resume_from_checkpoint && f.start.known && f.needed)
        rc = file_judge(&f, cfg->resume_from_checkpoint, err);
    run_start_clear(&f.start);
    return rc;
}
