#include "check/node_judge.h"

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

void node_judge(const json_t *nodes, const char *topic, const struct node_rule_row *row,
                struct findings *findings)
{
    size_t n = json_array_size(nodes), n_with;
    struct outcome *outcomes = calloc(n + 1, sizeof *outcomes);

    for (size_t i = 0; outcomes && i < n; i++)
        outcomes[i].verdict = row->rule(json_array_get(nodes, i), outcomes[i].text);
    for (size_t i = 0; outcomes && i < n; i++) {
        char *list;

        if (outcomes[i].reported || !*outcomes[i].text)
            continue;
        list = nodes_with(nodes, outcomes, i, &n_with);
        if (n_with == n)
            finding_add(findings, topic, row->name, outcomes[i].verdict, row->remedy,
                        "%s", outcomes[i].text);
        else
            finding_add(findings, topic, row->name, outcomes[i].verdict, row->remedy,
                        "%s: %s", list ? list : "some nodes", outcomes[i].text);
        free(list);
    }
    if (!outcomes)
        findings->incomplete = true;
    free(outcomes);
}
