/* reconfigure.c - run.cfg of the last attempt compared with the new configuration. */
#include "train/reconfigure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_diff.h"
#include "run/attempt_config.h"
#include "run/checkpoint_manager.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/quote.h"

#define LINES_MAX 20

/* ---- Another training function ---- */

/* *same: true even in another directory, or if one is a shared object and the other a
 * program. */
static int function_compare(const char *a, const char *b, bool *same, struct error *err)
{
    char *name_a = run_config_default_name(a), *name_b = run_config_default_name(b);
    int rc = 0;

    if (!name_a || !name_b)
        rc = error_no_memory(err);
    else
        *same = strcmp(name_a, name_b) == 0;
    free(name_a);
    free(name_b);
    return rc;
}

static int change_refuse(const char *run_dir, const char *before, const char *now,
                         struct error *err)
{
    int64_t newest = checkpoint_manager_newest(run_dir);
    char old[QUOTE_TEXT_MAX], new[QUOTE_TEXT_MAX], from[1200] = "";
    char *run = printable_text(run_dir);
    char *checkpoint = newest >= 0 ? run_dir_checkpoint(run_dir, (long)newest) : NULL;
    char *shown = checkpoint ? printable_text(checkpoint) : NULL;

    if (shown)
        snprintf(from, sizeof from,
                 "\n  to start from what that run has saved: --name NEW --resume=%s",
                 shown);
    error_set(
        err, RAYTRAIN_EINVAL,
        "%s is a run of %s, not of %s: a run continues with its own training "
        "function\n"
        "  to start over: another --name, or --fresh, which sets that run aside%s",
        run ? run : "this", quote(before, old), quote(now, new), from);
    free(shown);
    free(checkpoint);
    free(run);
    return -1;
}

int reconfigure_check(const char *run_dir, const struct train_config *cfg,
                      struct error *err)
{
    char *text = attempt_config_newest(run_dir, run_dir_last_attempt(run_dir));
    char *before = text ? config_string_of(text, "train_func") : NULL;
    const char *now = cfg->train_func ? cfg->train_func : cfg->trainer;
    bool same = true;
    int rc = 0;

    if (text && !before) /* a trainer with its own loop */
        before = config_string_of(text, "trainer");
    if (before)
        rc = function_compare(before, now, &same, err);
    if (!same)
        rc = change_refuse(run_dir, before, now, err);
    free(before);
    free(text);
    return rc;
}

/* ---- Other settings ---- */

static void changes_report(const struct config_changes *changes, int attempt,
                           struct callback_list *callbacks)
{
    for (size_t i = 0; i < changes->n && i < LINES_MAX; i++) {
        const struct config_change *c = &changes->list[i];

        callback_note(callbacks, "changed since attempt %d: %s: %s -> %s", attempt,
                      c->key, c->before ? c->before : "(not set)",
                      c->now ? c->now : "(not set)");
    }
    if (changes->n > LINES_MAX)
        callback_note(callbacks,
                      "%zu more settings have changed: compare run.cfg with "
                      "logs/attempt-%d/run.cfg",
                      changes->n - LINES_MAX, attempt);
}

void reconfigure_report(const char *run_dir, const char *config,
                        struct callback_list *callbacks)
{
    int last = run_dir_last_attempt(run_dir);
    char *before = attempt_config_newest(run_dir, last);
    struct config_changes changes;
    struct error why;

    if (!before || last < 0) {
        free(before);
        return;
    }
    if (config_diff(before, config, &changes, &why) < 0) {
        callback_note(
            callbacks,
            "cannot compare the configuration with that of the last attempt: %s",
            why.text);
    } else {
        changes_report(&changes, last, callbacks);
        config_changes_clear(&changes);
    }
    free(before);
}
