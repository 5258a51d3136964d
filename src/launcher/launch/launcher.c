/* launcher.c - the launchers there are, by name. */
#include "launch/launcher.h"

#include <string.h>

#include "util/quote.h"
#include "util/suggest.h"

/* In the order in which "auto" asks them. */
static const struct launcher_ops *const launchers[] = {&launcher_slurm, &launcher_local};

#define N_LAUNCHERS (sizeof launchers / sizeof *launchers)

static int launcher_unknown(const char *name, struct error *err)
{
    const char *words[N_LAUNCHERS + 1] = {"auto"};
    char quoted[QUOTE_TEXT_MAX];
    const char *near;

    for (size_t i = 0; i < N_LAUNCHERS; i++)
        words[i + 1] = launchers[i]->name;
    near = suggest_nearest(name, words, N_LAUNCHERS + 1);
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "there is no launcher %s: use auto, slurm or local%s%s%s",
                     quote(name, quoted), near ? " (did you mean " : "", near ? near : "",
                     near ? "?)" : "");
}

int launcher_find(const char *name, const struct launcher_ops **out, struct error *err)
{
    bool any = strcmp(name, "auto") == 0;

    for (size_t i = 0; i < N_LAUNCHERS; i++)
        if (any ? launchers[i]->usable() : strcmp(name, launchers[i]->name) == 0) {
            *out = launchers[i];
            return 0;
        }
    return launcher_unknown(name, err);
}

int launcher_check(const struct launcher_ops *launcher, const char *srun_args,
                   struct error *err)
{
    return launcher->check ? launcher->check(srun_args, err) : 0;
}
