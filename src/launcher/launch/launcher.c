/* launcher.c - the table of launchers. */
#include "launch/launcher.h"

#include <string.h>

#include "config/registry.h"
#include "util/quote.h"
#include "util/suggest.h"

#define LAUNCHER(name) {#name, &launcher_##name},
static const struct {
    const char *name;
    const struct launcher_ops *ops;
} launchers[] = {LAUNCHERS(LAUNCHER)};

#define N_LAUNCHERS (sizeof launchers / sizeof *launchers)

static int launcher_unknown(const char *name, struct error *err)
{
    static const char *const words[] = {"auto", LAUNCHERS(REGISTRY_WORD)};
    const char *near = suggest_nearest(name, words, N_LAUNCHERS + 1);
    char quoted[QUOTE_TEXT_MAX];

    return error_set(
        err, RAYTRAIN_ENOTSUP,
        "there is no launcher %s: use auto" LAUNCHERS(REGISTRY_TEXT) "%s%s%s",
        quote(name, quoted), near ? " (did you mean " : "", near ? near : "",
        near ? "?)" : "");
}

int launcher_find(const char *name, const struct launcher_ops **out, struct error *err)
{
    bool any = strcmp(name, "auto") == 0;

    for (size_t i = 0; i < N_LAUNCHERS; i++)
        if (any ? launchers[i].ops->usable() : strcmp(name, launchers[i].name) == 0) {
            *out = launchers[i].ops;
            return 0;
        }
    return launcher_unknown(name, err);
}

const struct launcher_ops *launcher_of_batch(void)
{
    for (size_t i = 0; i < N_LAUNCHERS; i++)
        if (launchers[i].ops->submit)
            return launchers[i].ops;
    return NULL;
}

const char *launcher_name(const struct launcher_ops *launcher)
{
    for (size_t i = 0; i < N_LAUNCHERS; i++)
        if (launchers[i].ops == launcher)
            return launchers[i].name;
    return "?";
}

int launcher_check_start(const char *name, struct error *err)
{
    bool all = strcmp(name, "auto") == 0;

    for (size_t i = 0; i < N_LAUNCHERS; i++)
        if ((all || strcmp(name, launchers[i].name) == 0) &&
            launchers[i].ops->check_start && launchers[i].ops->check_start(err) < 0)
            return -1;
    return 0;
}

bool launcher_in_step(const struct launcher_ops *launcher)
{
    return launcher->in_step && launcher->in_step();
}

int launcher_check(const struct launcher_ops *launcher, const char *srun_args,
                   struct error *err)
{
    return launcher->check ? launcher->check(srun_args, err) : 0;
}

void launcher_examine(const struct launcher_ops *launcher, const char *srun_args,
                      struct findings *findings)
{
    for (size_t i = 0; i < N_LAUNCHERS; i++)
        if ((!launcher || launcher == launchers[i].ops) && launchers[i].ops->examine)
            launchers[i].ops->examine(srun_args, findings);
}
