/*
 * document.c - the head with the style sheet and a policy that allows no script but the
 * page's own; the foot with that script.
 *
 * The page is first written to memory, since its parts are bounded, and then to a
 * temporary file.
 */
#include "config.h"

#include "page/document.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "page/assets.h"
#include "page/html.h"
#include "util/clock.h"
#include "util/fs.h"

static void asset_write(FILE *out, const char *const *lines)
{
    for (; *lines; lines++)
        fputs(*lines, out);
}

/* A random number marks the page's own script; no text of the run can contain it. */
static int nonce_make(uint64_t nonce[2], struct error *err)
{
    if (getrandom(nonce, 2 * sizeof *nonce, 0) != 2 * sizeof *nonce)
        return error_set(err, RAYTRAIN_EFAILED, "cannot get random numbers");
    return 0;
}

static void document_head_write(FILE *out, const struct document *d,
                                const uint64_t nonce[2])
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
    d->title(out, d->arg);
    fputs("</title>\n<style>\n", out);
    asset_write(out, page_css);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

static void foot_write(FILE *out, const uint64_t nonce[2])
{
    double now = clock_unix_double();
    char zone[HTML_NUMBER_MAX];

    fputs("</main>\n<footer>Written by raytrain-inspect " PACKAGE_VERSION ", ", out);
    html_date(out, now);
    fprintf(out, " (%s)", zone_text(now, zone));
    fprintf(out, "</footer>\n<script nonce=\"%016" PRIx64 "%016" PRIx64 "\">\n",
            nonce[0], nonce[1]);
    asset_write(out, page_js);
    fputs("</script>\n</body>\n</html>\n", out);
}

static int all_write(FILE *out, const struct document *d, struct error *err)
{
    uint64_t nonce[2];

    if (nonce_make(nonce, err) < 0)
        return -1;
    document_head_write(out, d, nonce);
    if (d->body(out, d->arg, err) < 0)
        return -1;
    foot_write(out, nonce);
    return 0;
}

int document_write(const char *file, const struct document *d, struct error *err)
{
    char *page = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&page, &n);
    int rc = 0;

    if (out)
        rc = all_write(out, d, err);
    if (!out || ferror(out) | fclose(out))
        rc = error_no_memory(err);
    if (rc == 0 && fs_replace(file, page, n, 0666, err) < 0) {
        err->code = RAYTRAIN_ESTORAGE; /* also if the directory does not exist */
        rc = -1;
    }
    free(page);
    return rc;
}
