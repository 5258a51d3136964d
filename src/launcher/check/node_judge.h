/* node_judge.h - judge each node by the same rule, and add a finding for each
 * outcome. */
#ifndef RAYTRAIN_CHECK_NODE_JUDGE_H
#define RAYTRAIN_CHECK_NODE_JUDGE_H

#include "check/check.h"

#define JUDGED_TEXT_MAX 512

/* The verdict on a node; text gets the fact that was judged, such as "8M". */
typedef enum verdict node_rule(const json_t *node, char text[JUDGED_TEXT_MAX]);

struct node_rule_row {
    const char *name;
    node_rule *rule;
    const char *remedy; /* if the verdict is not ok */
};

/* Add the findings of one rule: one for each different outcome, with its nodes if
 * outcomes differ. If the rule leaves text empty, nothing is known about the node: that
 * is skipped. */
void node_judge(const json_t *nodes, const char *topic, const struct node_rule_row *row,
                struct findings *findings);

/* Add all rules of a table as skipped; or judge by each of them with node_judge(). */
void node_skip_all(const char *topic, const struct node_rule_row *rows, size_t n,
                   const char *why, const char *how, struct findings *findings);
void node_judge_all(const json_t *nodes, const char *topic,
                    const struct node_rule_row *rows, size_t n,
                    struct findings *findings);

/* The text or number of a member, or a default if it is missing. */
const char *fact_text(const json_t *object, const char *key);
double fact_number(const json_t *object, const char *key, double missing);

#endif
