/* failures.c - why attempts did not finish, with the end of the log of the rank to
 * blame. */
#include "config.h"

#include "page/sections.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/output.h"
#include "page/html.h"
#include "page/log_tail.h"
#include "run/run_dir.h"

#define FAILURES_SHOWN 5 /* the newest */
#define LOG_LINES      40

static bool is_failure(const json_t *a)
{
    return *string_of(a, "message") && strcmp(string_of(a, "outcome"), "finished") != 0;
}

static void facts_write(FILE *out, const json_t *a)
{
    static const struct {
        const char *key, *name;
    } numbers[] = {{"exit_status", "exit status"}, {"signal", "signal"}};

    const char *before = "";

    fputs("<p class=\"what\">", out);
    if (json_is_integer(json_object_get(a, "rank")) && integer_of(a, "rank") >= 0) {
        fprintf(out, "rank %lld", (long long)integer_of(a, "rank"));
        before = ", ";
    }
    if (*string_of(a, "host")) {
        fputs(*before ? " on " : "on ", out);
        html_text(out, string_of(a, "host"));
        before = ", ";
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (integer_of(a, numbers[i].key) > 0) {
            fprintf(out, "%s%s %lld", before, numbers[i].name,
                    (long long)integer_of(a, numbers[i].key));
            before = ", ";
        }
    fputs("</p>", out);
}

/* The path of the log of the rank to blame for this end; NULL: no rank is known. */
static char *log_path(const struct facts *f, const json_t *a, const char *ending)
{
    char *dir = run_dir_log_dir(f->path, (int)integer_of(a, "attempt")), *path;
    char stem[RUN_DIR_LOG_NAME_MAX], name[RUN_DIR_LOG_NAME_MAX + 8];
    json_int_t rank = integer_of(a, "rank"), workers = integer_of(a, "workers");

    if (!dir || !json_is_integer(json_object_get(a, "rank")) || rank < 0 ||
        rank >= 1 << 24 || workers < 1 || workers > 1 << 24 ||
        strchr(string_of(a, "host"), '/')) {
        free(dir);
        return NULL;
    }
    run_dir_log_name((int)workers, (int)rank, string_of(a, "host"), stem);
    snprintf(name, sizeof name, "%s%s", stem, ending);
    path = run_dir_file(dir, name);
    free(dir);
    return path;
}

static int log_write(FILE *out, const struct facts *f, const json_t *a,
                     const char *ending, bool *some, struct error *err)
{
    char *path = log_path(f, a, ending), *text = NULL;
    int rc = path ? log_tail(path, LOG_LINES, &text, err) : 0;

    if (text) {
        const char *base = strrchr(path, '/') + 1;

        fprintf(out, "<p class=\"what\">The end of <code>logs/attempt-%lld/",
                (long long)integer_of(a, "attempt"));
        html_text(out, base);
        fputs("</code></p>\n<pre tabindex=\"0\" role=\"group\" aria-label=\"", out);
        html_text(out, base);
        fputs("\">", out);
        html_lines(out, text);
        fputs("</pre>\n", out);
        *some = true;
    }
    free(text);
    free(path);
    return rc;
}

static int failure_write(FILE *out, const struct facts *f, const json_t *a,
                         struct error *err)
{
    bool some = false;
    int rc;

    fprintf(out, "<article class=\"failure\"><h3>Attempt %lld ",
            (long long)integer_of(a, "attempt"));
    html_text(out, string_of(a, "outcome"));
    fputs("</h3><p class=\"message\">", out);
    html_lines(out, string_of(a, "message"));
    fputs("</p>", out);
    facts_write(out, a);
    rc = log_write(out, f, a, ".err", &some, err);
    if (rc == 0 && !some)
        rc = log_write(out, f, a, ".out", &some, err);
    fputs("</article>\n", out);
    return rc;
}

int failures_write(FILE *out, const struct facts *f, struct error *err)
{
    size_t n = json_array_size(f->attempts), shown = 0, all = 0;
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        all += is_failure(json_array_get(f->attempts, i));
    if (all == 0)
        return 0;
    fputs("<section id=\"failures\" aria-labelledby=\"failures-title\">"
          "<h2 id=\"failures-title\">Failures and stops</h2>\n",
          out);
    for (size_t i = n; rc == 0 && i-- > 0 && shown < FAILURES_SHOWN;)
        if (is_failure(json_array_get(f->attempts, i))) {
            rc = failure_write(out, f, json_array_get(f->attempts, i), err);
            shown++;
        }
    if (shown < all)
        fprintf(out, "<p class=\"more\">and %zu more, of earlier attempts</p>\n",
                all - shown);
    fputs("</section>\n", out);
    return rc;
}
