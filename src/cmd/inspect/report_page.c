/* report_page.c - the report of a run as a page. */
#include "config.h"

#include "inspect/views.h"

int inspect_report_page(const char *run, const char *file, struct error *err)
{
    (void)run;
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "--output: %s: pages are not available in this version", file);
}
