#include "config.h"
#include "inspect/views.h"
json_t *inspect_compare(const struct run_list *list, struct error *err)
{
    (void)list;
    error_set(err, RAYTRAIN_ENOTSUP, "--compare: not available in this version");
    return NULL;
}
void inspect_compare_print(FILE *out, const json_t *comparison)
{
    (void)out;
    (void)comparison;
}
void inspect_compare_csv(FILE *out, const json_t *comparison)
{
    (void)out;
    (void)comparison;
}
