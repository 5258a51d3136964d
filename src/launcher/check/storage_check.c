/*
 * storage_check.c - the directory of runs, as seen by this process and, after workers
 * have run, by their nodes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/bounded.h"
#include "check/check_report.h"
#include "check/node_judge.h"
#include "site/storage_facts.h"
#include "site/storage_owner.h"
#include "util/fs.h"
#include "util/size.h"

#define STORAGE_TOPIC "storage"

#define LOOK_MAX_S  10.0 /* for one query about a directory */
#define TRIAL_MAX_S 60.0 /* to write, sync, lock and rename */

#define WRITTEN     ((size_t)16 << 20)
#define FREE_LOW    ((double)(1ull << 30))
#define INODES_LOW  1000
#define SPEED_LOW   20e6 /* bytes per second */
#define SYNC_HIGH_S 0.1

/* ---- The directory ---- */

/* Make it, if necessary; the first directory that had to be made is kept in the
 * context, which removes it. */
static int directory_enter(struct check_context *context, struct error *err)
{
    const char *path = context->cfg->run_config.storage_path;
    struct stat st;
    char *top = strdup(path), *slash;

    if (!top)
        return error_no_memory(err);
    if (stat(path, &st) == 0) {
        free(top);
        return S_ISDIR(st.st_mode)
                   ? 0
                   : error_set(err, RAYTRAIN_ESTORAGE, "%s is not a directory", path);
    }
    while ((slash = strrchr(top, '/')) && slash > top) {
        *slash = '\0';
        if (stat(top, &st) == 0) {
            *slash = '/';
            break;
        }
    }
    context->storage_made = top;
    return fs_mkdirs(path, 0777, err);
}

void check_storage_leave(struct check_context *context)
{
    char *path = strdup(context->cfg->run_config.storage_path), *slash;
    size_t top = context->storage_made ? strlen(context->storage_made) : 0;

    while (!context->storage_silent && path && top > 0 && strlen(path) >= top &&
           rmdir(path) == 0 && (slash = strrchr(path, '/')))
        *slash = '\0';
    free(path);
    free(context->storage_made);
    context->storage_made = NULL;
}

/* ---- By one process ---- */

static enum verdict space_rule(const json_t *facts, char text[JUDGED_TEXT_MAX])
{
    char free_text[SIZE_TEXT_MAX], size_text[SIZE_TEXT_MAX];
    double free_bytes = fact_number(facts, "free", 0);
    double inodes = fact_number(facts, "inodes_free", -1);

    size_format((uint64_t)free_bytes, free_text);
    size_format((uint64_t)fact_number(facts, "size", 0), size_text);
    snprintf(text, JUDGED_TEXT_MAX, "%s free of %s", free_text, size_text);
    if (inodes >= 0 && inodes < INODES_LOW)
        snprintf(text + strlen(text), JUDGED_TEXT_MAX - strlen(text),
                 ", and room for %.0f files", inodes);
    return free_bytes < FREE_LOW || (inodes >= 0 && inodes < INODES_LOW)
               ? VERDICT_WARNING
               : VERDICT_OK;
}

/* A step that must work. */
static enum verdict step_rule(const json_t *facts, const char *step, const char *works,
                              char text[JUDGED_TEXT_MAX])
{
    const json_t *outcome = json_object_get(facts, step);

    if (json_is_true(outcome))
        snprintf(text, JUDGED_TEXT_MAX, "%s", works);
    else
        snprintf(text, JUDGED_TEXT_MAX, "%s",
                 outcome ? json_string_value(outcome) : "an earlier step has failed");
    if (!outcome)
        return VERDICT_SKIPPED;
    return json_is_true(outcome) ? VERDICT_OK : VERDICT_WRONG;
}

/* A step that a run can do without. */
static enum verdict optional_rule(const json_t *facts, const char *step,
                                  const char *works, char text[JUDGED_TEXT_MAX])
{
    enum verdict verdict = step_rule(facts, step, works, text);

    return verdict == VERDICT_WRONG ? VERDICT_WARNING : verdict;
}

static enum verdict create_rule(const json_t *facts, char text[JUDGED_TEXT_MAX])
{
    return step_rule(facts, "create", "a file can be created", text);
}

static enum verdict write_rule(const json_t *facts, char text[JUDGED_TEXT_MAX])
{
    enum verdict verdict = step_rule(facts, "write", "", text);
    double speed = fact_number(facts, "write_bytes_s", 0);

    if (verdict != VERDICT_OK || speed <= 0)
        return verdict;
    snprintf(text, JUDGED_TEXT_MAX, "%.0f MB/s, synced", speed / 1e6);
    return speed < SPEED_LOW ? VERDICT_WARNING : VERDICT_OK;
}

static enum verdict sync_rule(const json_t *facts, char text[JUDGED_TEXT_MAX])
{
    enum verdict verdict = step_rule(facts, "sync", "", text);
    double seconds = fact_number(facts, "sync_s", -1);

    if (verdict != VERDICT_OK || seconds < 0)
        return verdict;
    snprintf(text, JUDGED_TEXT_MAX, "%.1f ms for a page", seconds * 1e3);
    return seconds > SYNC_HIGH_S ? VERDICT_WARNING : VERDICT_OK;
}

static enum verdict rename_rule(const json_t *facts, char text[JUDGED_TEXT_MAX])
{
    return step_rule(facts, "rename", "a file can be renamed", text);
}

static enum verdict fcntl_rule(const json_t *facts, char text[JUDGED_TEXT_MAX])
{
    return optional_rule(facts, "fcntl", "fcntl locks work", text);
}

static enum verdict flock_rule(const json_t *facts, char text[JUDGED_TEXT_MAX])
{
    return optional_rule(facts, "flock", "flock works", text);
}

/* Records and checkpoints are trusted as far as their owner: a user who may rename a
 * run's directory can replace it. */
static enum verdict owner_rule(const json_t *facts, char text[JUDGED_TEXT_MAX])
{
    const char *refused = fact_text(facts, "refused");
    const char *foreign = fact_text(facts, "foreign");

    snprintf(text, JUDGED_TEXT_MAX, "%s", *refused ? refused : foreign);
    if (*refused)
        return geteuid() == 0 ? VERDICT_WARNING : VERDICT_WRONG;
    if (*foreign)
        return VERDICT_WARNING;
    snprintf(
        text, JUDGED_TEXT_MAX, "%s",
        json_is_true(json_object_get(facts, "shared"))
            ? "other users cannot replace a run, except those of its group, who may "
              "write there"
            : "other users cannot replace a run");
    return VERDICT_OK;
}

static const char remedy_write[] =
    "choose another directory with --storage, or have this one made writable for you";

static const struct node_rule_row storage_rules[] = {
    {"create", create_rule, remedy_write},
    {"owner", owner_rule,
     "users who may write there can put their files in the place of runs and "
     "checkpoints: "
     "choose your own directory with --storage, or remove that permission (chmod "
     "o-w, or +t)"},
    {"space", space_rule, "free space, or choose another directory with --storage"},
    {"write", write_rule,
     "free space, or choose faster storage with --storage; checkpoints take this long"},
    {"sync", sync_rule,
     "each report with a checkpoint waits for this: choose faster storage "
     "with "
     "--storage"},
    {"rename", rename_rule, remedy_write},
    {"fcntl", fcntl_rule,
     "mount it with locks; without, raytrain watches for a minute whether another run "
     "uses a directory"},
    {"flock", flock_rule,
     "mount it with flock; programs that open HDF5 files there may need "
     "HDF5_USE_FILE_LOCKING=FALSE"},
};

static bool is_true(const json_t *facts, const char *step)
{
    return json_is_true(json_object_get(facts, step));
}

/* Does the storage answer at all? */
static json_t *directory_look(const void *path)
{
    struct stat st;

    return json_boolean(stat(path, &st) == 0);
}

static json_t *facts_find(const void *path)
{
    json_t *facts = storage_facts(path, WRITTEN), *owner = storage_owner(path);

    if (facts && owner)
        json_object_update(facts, owner);
    json_decref(owner);
    return facts;
}

static void storage_skip(const char *why, const char *how, struct findings *findings)
{
    node_skip_all(STORAGE_TOPIC, storage_rules,
                  sizeof storage_rules / sizeof *storage_rules, why, how, findings);
}

static void storage_all_skip(const char *why, const char *how,
                             struct findings *findings)
{
    static const char *const names[] = {"directory", NULL};

    findings_skip(findings, STORAGE_TOPIC, names, how, why);
    storage_skip(why, how, findings);
}

static const char remedy_silent[] =
    "see whether the server of this file system runs and is reached from here";

static void silence_report(const char *path, double limit_s, struct findings *findings)
{
    finding_add(findings, STORAGE_TOPIC, "directory", VERDICT_WRONG, remedy_silent,
                "%s has not answered for %.0f s", path, limit_s);
    storage_skip("the storage does not answer", remedy_silent, findings);
}

static void storage_run(struct check_context *context, struct findings *findings)
{
    const char *path = context->cfg->run_config.storage_path;
    json_t *list, *facts = bounded_call(directory_look, path, LOOK_MAX_S);
    struct error err;

    context->storage_silent = !facts;
    json_decref(facts);
    if (context->storage_silent) {
        silence_report(path, LOOK_MAX_S, findings);
        return;
    }
    if (directory_enter(context, &err) < 0) {
        finding_add(findings, STORAGE_TOPIC, "directory", VERDICT_WRONG, remedy_write,
                    "%s", err.text);
        storage_skip("the directory does not exist", remedy_write, findings);
        return;
    }
    facts = bounded_call(facts_find, path, TRIAL_MAX_S);
    context->storage_silent = !facts;
    if (!facts) {
        silence_report(path, TRIAL_MAX_S, findings);
        return;
    }
    list = json_array();
    finding_add(findings, STORAGE_TOPIC, "directory", VERDICT_OK, NULL, "%s (%s)%s",
                path, fact_text(facts, "type"),
                context->storage_made ? ", which does not exist yet" : "");
    context->storage_works = is_true(facts, "create") && is_true(facts, "write") &&
                             is_true(facts, "sync") && is_true(facts, "rename");
    json_array_append_new(list, facts);
    node_judge_all(list, STORAGE_TOPIC, storage_rules,
                   sizeof storage_rules / sizeof *storage_rules, findings);
    json_decref(list);
}

const struct check_ops check_storage = {
    .topic = STORAGE_TOPIC, .run = storage_run, .skip = storage_all_skip};

/* ---- By nodes ---- */

/* Changes that a node sees late. */
static enum verdict cached_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    static const struct {
        const char *key, *what;
    } seen[] = {{"appears", "new files"},
                {"absent", "files that were absent before"},
                {"grows", "new sizes"},
                {"changes", "new contents"},
                {"renamed", "renamed files"}};
    const json_t *shared = json_object_get(node, "shared");
    size_t used = 0;

    if (!shared)
        return VERDICT_OK;

    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        if (json_is_false(json_object_get(shared, seen[i].key)))
            used += (size_t)snprintf(
                text + used, JUDGED_TEXT_MAX - used, "%s%s",
                used ? ", " : "sees changes of other nodes late: ", seen[i].what);
    if (used == 0)
        snprintf(text, JUDGED_TEXT_MAX, "sees changes of other nodes at once");
    return used > 0 ? VERDICT_WARNING : VERDICT_OK;
}

static enum verdict page_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *kept = json_object_get(json_object_get(node, "shared"), "same_page");

    if (!kept)
        return VERDICT_OK;
    snprintf(text, JUDGED_TEXT_MAX, "%s",
             json_is_false(kept)
                 ? "two nodes that write to one page of a file lose data"
                 : "two nodes can write to one page of a file");
    return json_is_false(kept) ? VERDICT_WARNING : VERDICT_OK;
}

static enum verdict lock_rule(const json_t *node, const char *key,
                              char text[JUDGED_TEXT_MAX])
{
    const json_t *outcome = json_object_get(json_object_get(node, "shared"), key);

    if (json_is_true(outcome))
        snprintf(text, JUDGED_TEXT_MAX, "a lock of another node is respected");
    else if (json_is_false(outcome))
        snprintf(text, JUDGED_TEXT_MAX, "a lock of another node is not seen");
    else if (outcome)
        snprintf(text, JUDGED_TEXT_MAX, "%s", json_string_value(outcome));
    return !outcome || json_is_true(outcome) ? VERDICT_OK : VERDICT_WARNING;
}

static enum verdict shared_fcntl_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    return lock_rule(node, "fcntl", text);
}

static enum verdict shared_flock_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    return lock_rule(node, "flock", text);
}

static enum verdict node_write_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *facts = json_object_get(node, "storage");
    const char *type = fact_text(facts, "type");
    char speed[JUDGED_TEXT_MAX];
    enum verdict verdict = create_rule(facts, speed);

    if (verdict == VERDICT_OK)
        verdict = write_rule(facts, speed);
    /* Numbers differ between nodes: one line for all if none is slow. */
    if (verdict == VERDICT_OK)
        snprintf(text, JUDGED_TEXT_MAX, "%s, writable", type);
    else
        snprintf(text, JUDGED_TEXT_MAX, "%s, %.400s", type, speed);
    return verdict;
}

static const struct node_rule_row shared_rules[] = {
    {"on nodes", node_write_rule,
     "mount the storage on these nodes like on the others, or choose another with "
     "--storage"},
    {"coherence", cached_rule,
     "nodes cache attributes or pages; raytrain does not rely on them, but other "
     "programs "
     "in a run may: mount with a shorter cache (actimeo of NFS)"},
    {"page of two nodes", page_rule,
     "raytrain lets one node write each page; do not write your own files "
     "by "
     "several nodes"},
};

/* For all nodes but the first, which holds the lock. */
static const struct node_rule_row lock_rules[] = {
    {"fcntl of nodes", shared_fcntl_rule,
     "mount it with locks that all nodes share; without, raytrain watches for a minute "
     "whether another run uses a directory"},
    {"flock of nodes", shared_flock_rule,
     "mount it with flock for all nodes (Lustre: -o flock), if other programs need it"},
};

static void shared_run(struct check_context *context, struct findings *findings)
{
    json_t *others = json_copy((json_t *)check_nodes(context));

    json_array_remove(others, 0);
    node_judge_all(check_nodes(context), STORAGE_TOPIC, shared_rules,
                   sizeof shared_rules / sizeof *shared_rules, findings);
    node_judge_all(others, STORAGE_TOPIC, lock_rules,
                   sizeof lock_rules / sizeof *lock_rules, findings);
    json_decref(others);
}

static void shared_skip(const char *why, const char *how, struct findings *findings)
{
    node_skip_all(STORAGE_TOPIC, shared_rules,
                  sizeof shared_rules / sizeof *shared_rules, why, how, findings);
    node_skip_all(STORAGE_TOPIC, lock_rules, sizeof lock_rules / sizeof *lock_rules,
                  why, how, findings);
}

const struct check_ops check_shared_storage = {.topic = STORAGE_TOPIC,
                                               .left_out = check_needs_nodes,
                                               .run = shared_run,
                                               .skip = shared_skip};
