#include "config.h"
#include "inspect/views.h"
json_t *inspect_runs(const char *path, const struct run_list *list, struct error *err)
{
    (void)path;
    (void)list;
    error_set(err, RAYTRAIN_ENOTSUP,
              "directories of runs: not available in this version");
    return NULL;
}
void inspect_runs_print(FILE *out, const json_t *runs)
{
    (void)out;
    (void)runs;
}
void inspect_runs_csv(FILE *out, const json_t *runs)
{
    (void)out;
    (void)runs;
}
