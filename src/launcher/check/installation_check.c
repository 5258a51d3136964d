/* installation_check.c - the parts of raytrain, and the optional software that it
 * uses. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/check_report.h"
#include "config/registry.h"
#include "util/command_output.h"
#include "train/attempt.h"

#define INSTALLATION_TOPIC "installation"
#define LIMIT_S 20.0 /* Python may be on slow storage */

static void worker_judge(struct findings *findings)
{
    char path[PATH_MAX];
    struct error err;

    if (attempt_worker_program(path, sizeof path, &err) == 0)
        finding_add(findings, INSTALLATION_TOPIC, "raytrain-worker", VERDICT_OK, NULL,
                    "%s", path);
    else
        finding_add(findings, INSTALLATION_TOPIC, "raytrain-worker", VERDICT_WRONG,
                    "install raytrain again, or move bin, lib and libexec together",
                    "%s", err.text);
}

/* The share directory beside this program's bin directory, or the configured one. */
static int module_find(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    self[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 2 && (slash = strrchr(self, '/')); up++)
        *slash = '\0';
    if ((size_t)snprintf(path, size, "%s/share/raytrain/python", self) < size &&
        access(path, R_OK) == 0)
        return 0;
    snprintf(path, size, "%s/python", RAYTRAIN_PKGDATADIR);
    return access(path, R_OK);
}

static void python_judge(struct findings *findings)
{
    char *argv[] = {(char *)"python3", (char *)"-c",
                    (char *)"import sys; sys.path.insert(0, sys.argv[1]); "
                            "import raytrain; print(sys.version.split()[0])",
                    NULL, NULL};
    char path[PATH_MAX], *text;
    struct error err;

    if (module_find(path, sizeof path) < 0) {
        finding_add(findings, INSTALLATION_TOPIC, "Python", VERDICT_WARNING,
                    "install the module raytrain if training functions are in Python",
                    "%s is missing", path);
        return;
    }
    argv[3] = path;
    if (command_output(argv, LIMIT_S, &text, &err) == 0)
        finding_add(findings, INSTALLATION_TOPIC, "Python", VERDICT_OK, NULL,
                    "%s, module in %s", text, path);
    else if (err.code == RAYTRAIN_ENOTFOUND)
        finding_add(
            findings, INSTALLATION_TOPIC, "Python", VERDICT_SKIPPED,
            "install python3, 3.9 or newer, if training functions are in Python",
            "python3 is missing");
    else
        finding_add(
            findings, INSTALLATION_TOPIC, "Python", VERDICT_WARNING,
            "see why `import raytrain` fails; a python3 of 3.9 or newer is needed",
            "%s", err.text);
    free(text);
}

static void installation_run(struct check_context *context, struct findings *findings)
{
    (void)context;
    finding_add(findings, INSTALLATION_TOPIC, "raytrain", VERDICT_OK, NULL, "%s",
                PACKAGE_VERSION);
    worker_judge(findings);
    python_judge(findings);
}

static void installation_skip(const char *why, const char *how,
                              struct findings *findings)
{
    static const char *const names[] = {"raytrain-worker", "Python", NULL};

    findings_skip(findings, INSTALLATION_TOPIC, names, how, why);
}

const struct check_ops check_installation = {
    .topic = INSTALLATION_TOPIC, .run = installation_run, .skip = installation_skip};

/* ---- Libraries that a worker has tried to load ---- */

static const char *library_left_out(const struct check_context *context,
                                    const char **how)
{
    const char *why = check_needs_report(context, how);

    if (why || json_is_object(json_object_get(context->report, "trees")))
        return why;
    *how = "fix the problem with the workers first, and check again";
    return "the workers ended before they looked for it";
}

static void library_skip(const char *why, const char *how, struct findings *findings)
{
    static const char *const names[] = {BOOSTERS(REGISTRY_WORD) NULL};

    findings_skip(findings, INSTALLATION_TOPIC, names, how, why);
}

static void library_run(struct check_context *context, struct findings *findings)
{
    json_t *trees = json_object_get(context->report, "trees"), *version;
    const char *name;

    json_object_foreach(trees, name, version)
    {
        if (json_is_string(version))
            finding_add(findings, INSTALLATION_TOPIC, name, VERDICT_OK, NULL, "%s",
                        json_string_value(version));
        else
            finding_add(findings, INSTALLATION_TOPIC, name, VERDICT_SKIPPED,
                        "install it to use it; raytrain-trees(7) says where "
                        "it is looked for",
                        "not found; only --trainer %s needs it", name);
    }
}

const struct check_ops check_libraries = {.topic = INSTALLATION_TOPIC,
                                          .left_out = library_left_out,
                                          .run = library_run,
                                          .skip = library_skip};
