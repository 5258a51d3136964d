/* gpu_lists.c - merges the lists of the ranks, and gathers them within a node. */
#include "config.h"

#include "backend/gpu_lists.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/argv.h"

/* Longer lists cannot be the GPUs of a rank. */
#define LIST_MAX 4096

/* ---- Merge ---- */

/* One rank's names. */
struct share {
    char **names;
    size_t n;
};

static int names_split(const char *list, struct share *s, struct error *err)
{
    *s = (struct share){.names = NULL};
    while (*list) {
        size_t n = strcspn(list, ",");

        if (n > 0 && argv_appendf(&s->names, err, "%.*s", (int)n, list) < 0)
            return -1;
        list += n + (list[n] == ',');
    }
    s->n = argv_count(s->names);
    return 0;
}

static bool all_equal(char *const lists[], int n)
{
    for (int i = 1; i < n; i++)
        if (strcmp(lists[0], lists[i]) != 0)
            return false;
    return true;
}

/* Is no name in two shares, and does every share have one? */
static bool are_apart(const struct share *shares, int n)
{
    for (int i = 0; i < n; i++) {
        if (shares[i].n == 0)
            return false;
        for (int j = 0; j < i; j++)
            for (size_t k = 0; k < shares[j].n; k++)
                if (argv_has(shares[i].names, shares[j].names[k]))
                    return false;
    }
    return true;
}

static int name_append(char **text, const char *name, struct error *err)
{
    char *longer;
    int rc =
        *text ? asprintf(&longer, "%s,%s", *text, name) : asprintf(&longer, "%s", name);

    if (rc < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a list of GPUs");
    free(*text);
    *text = longer;
    return 0;
}

/* Rank i has the first `each` names of its share; or, if all have the same list
 * (common), those from i * each on. */
static int interleave(const struct share *shares, int n, size_t each, bool common,
                      char **all, struct error *err)
{
    for (size_t k = 0; k < each; k++) {
        for (int i = 0; i < n; i++) {
            const struct share *s = &shares[common ? 0 : i];
            size_t at = common ? (size_t)i * each + k : k;

            if (at < s->n && name_append(all, s->names[at], err) < 0)
                return -1;
        }
    }
    return 0;
}

static int shares_merge(char *const lists[], const struct share *shares, int n,
                        int each, char **all, struct error *err)
{
    size_t longest = 0;

    if (each > 0 && all_equal(lists, n) && shares[0].n >= (size_t)n * (size_t)each)
        return interleave(shares, n, (size_t)each, true, all, err);
    if (!are_apart(shares, n))
        return 0;
    for (int i = 0; i < n; i++)
        longest = shares[i].n > longest ? shares[i].n : longest;
    return interleave(shares, n, longest, false, all, err);
}

int gpu_lists_merge(char *const lists[], int n, int each, char **all, struct error *err)
{
    struct share *shares = calloc((size_t)n, sizeof *shares);
    int rc = shares ? 0 : error_set(err, RAYTRAIN_ENOMEM, "no memory for %d ranks", n);

    *all = NULL;
    for (int i = 0; rc == 0 && i < n; i++)
        rc = names_split(lists[i], &shares[i], err);
    if (rc == 0)
        rc = shares_merge(lists, shares, n, each, all, err);
    for (int i = 0; shares && i < n; i++)
        argv_free(shares[i].names);
    free(shares);
    if (rc == 0)
        return 0;
    free(*all);
    *all = NULL;
    return -1;
}

/* ---- Share ---- */

struct seen {
    int local_rank;
    char list[LIST_MAX];
};

/* seen[0..n): what the ranks of this node see, in any order. */
static int node_merge(const struct seen *seen, int n, int each, char **all,
                      struct error *err)
{
    char **lists = calloc((size_t)n, sizeof *lists);
    int rc;

    if (!lists)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a list of GPUs");
    for (int i = 0; i < n; i++)
        lists[seen[i].local_rank] = (char *)seen[i].list;
    rc = gpu_lists_merge(lists, n, each, all, err);
    free(lists);
    return rc;
}

int gpu_lists_share(struct comm *c, const struct world *world, int each, char **all,
                    struct error *err)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    struct comm *node = NULL;
    struct seen *mine = calloc(1, sizeof *mine), *seen = NULL;
    int rc = c->ops->split_node(c, &node, err);

    *all = NULL;
    if (rc < 0) {
        free(mine);
        return -1;
    }
    seen = calloc((size_t)node->size, sizeof *seen);
    rc = comm_agree(
        node,
        mine && seen ? 0
                     : error_set(err, RAYTRAIN_ENOMEM, "no memory for a list of GPUs"),
        err);
    if (rc == 0) {
        mine->local_rank = world->local_rank;
        if (list && strlen(list) < LIST_MAX)
            strcpy(mine->list, list);
        rc = node->ops->allgather(node, mine, sizeof *mine, seen, err);
    }
    if (rc == 0)
        rc = node_merge(seen, node->size, each, all, err);
    free(mine);
    free(seen);
    comm_free(node);
    return rc;
}
