/* node_judge.c - the outcomes of a rule, grouped by verdict and text. */
#include "check/node_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hostlist.h"

struct outcome {
    enum verdict verdict;
    char text[JUDGED_TEXT_MAX];
    bool reported;
};

const char *fact_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

double fact_number(const json_t *object, const char *key, double missing)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : missing;
}

static bool same(const struct outcome *a, const struct outcome *b)
{
    return a->verdict == b->verdict && strcmp(a->text, b->text) == 0;
}

/* The nodes with the outcome of node `first`, "n[1-3]"; NULL without memory. */
static char *nodes_with(const json_t *nodes, struct outcome *outcomes, size_t first,
                        size_t *n_with)
{
    size_t n = json_array_size(nodes);
    char **names = calloc(n + 1, sizeof *names), *list = NULL;

    *n_with = 0;
    for (size_t i = first; names && i < n; i++)
        if (same(&outcomes[i], &outcomes[first])) {
            outcomes[i].reported = true;
            names[(*n_with)++] = (char *)fact_text(json_array_get(nodes, i), "node");
        }
    if (names && hostlist_compress(names, *n_with, &list, NULL) < 0)
        list = NULL;
    free(names);
    return list;
}

static void outcome_find(const struct node_rule_row *row, const json_t *node,
                         struct outcome *outcome)
{
    outcome->verdict = row->rule(node, outcome->text);
    if (*outcome->text)
        return;
    outcome->verdict = VERDICT_SKIPPED;
    snprintf(outcome->text, sizeof outcome->text, "no worker has reported it");
}

static const char *remedy_of(const struct node_rule_row *row,
                             const struct outcome *outcome)
{
    return outcome->verdict == VERDICT_SKIPPED
               ? "fix what is wrong or missing, and check again"
               : row->remedy;
}

void node_judge(const json_t *nodes, const char *topic, const struct node_rule_row *row,
                struct findings *findings)
{
    size_t n = json_array_size(nodes), n_with;
    struct outcome *outcomes = calloc(n + 1, sizeof *outcomes);

    for (size_t i = 0; outcomes && i < n; i++)
        outcome_find(row, json_array_get(nodes, i), &outcomes[i]);
    for (size_t i = 0; outcomes && i < n; i++) {
        char *list;

        if (outcomes[i].reported)
            continue;
        list = nodes_with(nodes, outcomes, i, &n_with);
        if (n_with == n)
            finding_add(findings, topic, row->name, outcomes[i].verdict,
                        remedy_of(row, &outcomes[i]), "%s", outcomes[i].text);
        else
            finding_add(findings, topic, row->name, outcomes[i].verdict,
                        remedy_of(row, &outcomes[i]), "%s: %s",
                        list ? list : "some nodes", outcomes[i].text);
        free(list);
    }
    if (!outcomes)
        findings->incomplete = true;
    free(outcomes);
}

void node_judge_all(const json_t *nodes, const char *topic,
                    const struct node_rule_row *rows, size_t n,
                    struct findings *findings)
{
    for (size_t i = 0; i < n; i++)
        node_judge(nodes, topic, &rows[i], findings);
}

void node_skip_all(const char *topic, const struct node_rule_row *rows, size_t n,
                   const char *why, const char *how, struct findings *findings)
{
    for (size_t i = 0; i < n; i++)
        finding_add(findings, topic, rows[i].name, VERDICT_SKIPPED, how, "%s", why);
}
