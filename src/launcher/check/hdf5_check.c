/* hdf5_check.c - the HDF5 library of the workers. */
#include <stdio.h>
#include <string.h>

#include "check/check_report.h"
#include "check/node_judge.h"

#define HDF5_TOPIC "HDF5"

static enum verdict hdf5_version_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *hdf5 = json_object_get(node, "hdf5");
    const char *version = fact_text(hdf5, "version"), *built = fact_text(hdf5, "built");
    bool other = strcmp(version, built) != 0;

    snprintf(text, JUDGED_TEXT_MAX, "%s%s%s, %s", version,
             other ? ", but raytrain was built with " : "", other ? built : "",
             json_is_true(json_object_get(hdf5, "parallel")) ? "parallel" : "serial");
    return other ? VERDICT_WRONG : VERDICT_OK;
}

/* Datasets may be compressed; checkpoints are not. */
static enum verdict filters_rule(const json_t *node, char text[JUDGED_TEXT_MAX])
{
    const json_t *names = json_object_get(json_object_get(node, "hdf5"), "filters");
    bool deflate = false;
    size_t used = 0;

    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));

        deflate = deflate || strcmp(name, "deflate") == 0;
        used += (size_t)snprintf(text + used, JUDGED_TEXT_MAX - used, "%s%s",
                                 i > 0 ? " " : "", name);
    }
    if (!deflate)
        snprintf(text + used, JUDGED_TEXT_MAX - used, "%sno deflate", used ? ", " : "");
    return deflate ? VERDICT_OK : VERDICT_WARNING;
}

static const struct node_rule_row hdf5_rules[] = {
    {"version", hdf5_version_rule,
     "run with the HDF5 that raytrain was built with: look at LD_LIBRARY_PATH, or "
     "build "
     "raytrain again"},
    {"filters", filters_rule,
     "compressed datasets cannot be read: build HDF5 with zlib"},
};

static void file_skip(const char *why, const char *how, struct findings *findings)
{
    static const char *const names[] = {"file", NULL};

    findings_skip(findings, HDF5_TOPIC, names, how, why);
}

static void hdf5_skip(const char *why, const char *how, struct findings *findings)
{
    node_skip_all(HDF5_TOPIC, hdf5_rules, sizeof hdf5_rules / sizeof *hdf5_rules, why,
                  how, findings);
    file_skip(why, how, findings);
}

static void hdf5_run(struct check_context *context, struct findings *findings)
{
    const json_t *tried = json_object_get(context->report, "hdf5_file");
    const json_t *nodes = check_nodes(context);

    node_judge_all(nodes, HDF5_TOPIC, hdf5_rules,
                   sizeof hdf5_rules / sizeof *hdf5_rules, findings);
    if (json_is_string(tried))
        finding_add(findings, HDF5_TOPIC, "file", VERDICT_WRONG,
                    "see whether the storage is full, and the findings on it below",
                    "%s", json_string_value(tried));
    else if (tried)
        finding_add(findings, HDF5_TOPIC, "file", VERDICT_OK, NULL,
                    "written and read back in the directory of runs");
    else
        file_skip("the workers ended before they wrote one",
                  "fix the problem with the workers first, and check again", findings);
}

const struct check_ops check_hdf5 = {.topic = HDF5_TOPIC,
                                     .left_out = check_needs_report,
                                     .run = hdf5_run,
                                     .skip = hdf5_skip};
