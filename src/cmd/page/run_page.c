/*
 * run_page.c - the page from top to bottom: head, summary, metrics, attempts, failures,
 * time, checkpoints, nodes, configuration, commands.
 *
 * It is made in memory, which its parts bound, and then written under a temporary name.
 */
#include "config.h"

#include "page/run_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "page/assets.h"
#include "page/html.h"
#include "page/sections.h"
#include "util/clock.h"
#include "util/fs.h"

static void asset_write(FILE *out, const char *const *lines)
{
    for (; *lines; lines++)
        fputs(*lines, out);
}

/* No text of the run can know the number that makes a script one of this page. */
static int nonce_make(uint64_t nonce[2], struct error *err)
{
    if (getrandom(nonce, 2 * sizeof *nonce, 0) != 2 * sizeof *nonce)
        return error_set(err, RAYTRAIN_EFAILED, "cannot get random numbers");
    return 0;
}

static void head_write(FILE *out, const struct facts *f, const uint64_t nonce[2])
{
    fprintf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; script-src 'nonce-%016" PRIx64 "%016" PRIx64
        "'; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n"
        "<meta name=\"generator\" content=\"raytrain " PACKAGE_VERSION "\">\n"
        "<title>",
        nonce[0], nonce[1]);
    html_text(out, f->name);
    fputs(" \xc2\xb7 ", out);
    html_text(out, f->status);
    fputs("</title>\n<style>\n", out);
    asset_write(out, page_css);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

static void foot_write(FILE *out, const struct facts *f, const uint64_t nonce[2])
{
    char zone[HTML_NUMBER_MAX];

    fputs("</main>\n<footer>Written by raytrain-inspect " PACKAGE_VERSION ", ", out);
    html_date(out, f->now);
    fprintf(out, " (%s)", zone_text(f->now, zone));
    fprintf(out, "</footer>\n<script nonce=\"%016" PRIx64 "%016" PRIx64 "\">\n",
            nonce[0], nonce[1]);
    asset_write(out, page_js);
    fputs("</script>\n</body>\n</html>\n", out);
}

static int page_write(FILE *out, const struct facts *f, struct error *err)
{
    uint64_t nonce[2];

    if (nonce_make(nonce, err) < 0)
        return -1;
    head_write(out, f, nonce);
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
    foot_write(out, f, nonce);
    return 0;
}

int inspect_report_page(const char *run, const char *file, struct error *err)
{
    struct facts f;
    char *page = NULL;
    size_t n = 0;
    FILE *out;
    int rc = facts_load(run, &f, err);

    if (rc == 0) {
        out = open_memstream(&page, &n);
        if (out)
            rc = page_write(out, &f, err);
        if (!out || ferror(out) | fclose(out))
            rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    if (rc == 0 && fs_replace(file, page, n, 0666, err) < 0) {
        err->code = RAYTRAIN_ESTORAGE; /* also if its directory does not exist */
        rc = -1;
    }
    free(page);
    facts_clear(&f);
    return rc;
}
