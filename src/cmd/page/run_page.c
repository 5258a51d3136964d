/*
 * run_page.c - the sections of the page in their order; each is in a file of its own
 * (sections.h).
 */
#include "config.h"

#include "page/run_page.h"

#include "page/document.h"
#include "page/html.h"
#include "page/sections.h"

static void title_write(FILE *out, const void *arg)
{
    const struct facts *f = arg;

    html_text(out, f->name);
    fputs(" \xc2\xb7 ", out);
    html_text(out, f->status);
}

static int body_write(FILE *out, const void *arg, struct error *err)
{
    const struct facts *f = arg;

    summary_write(out, f);
    if (metrics_write(out, f, err) < 0)
        return -1;
    timeline_write(out, f);
    if (failures_write(out, f, err) < 0 || time_write(out, f, err) < 0)
        return -1;
    checkpoints_write(out, f);
    nodes_write(out, f);
    config_write(out, f);
    commands_write(out, f);
    return 0;
}

int inspect_report_page(const char *run, const char *file, struct error *err)
{
    struct facts f;
    int rc = facts_load(run, &f, err);

    if (rc == 0)
        rc = document_write(
            file,
            &(struct document){.title = title_write, .body = body_write, .arg = &f},
            err);
    facts_clear(&f);
    return rc;
}
