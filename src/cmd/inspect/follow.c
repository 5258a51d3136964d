#include "config.h"
#include "inspect/views.h"
int inspect_follow(FILE *out, const char *run, bool as_json, int *status,
                   struct error *err)
{
    (void)out;
    (void)run;
    (void)as_json;
    (void)status;
    return error_set(err, RAYTRAIN_ENOTSUP, "--follow: not available in this version");
}
