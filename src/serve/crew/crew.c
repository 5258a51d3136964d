/* crew.c - groups of members: the events of members, and what they mean for their
 * group. One member is in member.c. */
#include "crew/crew.h"

#include <stdlib.h>

struct group {
    struct crew *crew;
    struct group *next;
    int number;
    struct member **members;
    int left; /* members that have not ended */
    bool ready, retired;
    bool busy; /* a function iterates over its members */
};

struct crew {
    struct crew_config config;
    struct member_env env;
    struct group *groups;
    int next_group, next_member;
};

/* ---- A group ---- */

static void group_free(struct group *g)
{
    for (int i = 0; g->members && i < g->crew->config.workers; i++)
        member_destroy(g->members[i]);
    free(g->members);
    free(g);
}

static void group_remove(struct group *g)
{
    struct group **at = &g->crew->groups;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    group_free(g);
}

static struct group *group_find(const struct crew *crew, int number)
{
    struct group *g = crew->groups;

    while (g && g->number != number)
        g = g->next;
    return g;
}

static bool all_joined(const struct group *g)
{
    for (int i = 0; i < g->crew->config.workers; i++)
        if (!member_has_joined(g->members[i]))
            return false;
    return true;
}

/* ---- What members do ---- */

/* The model can be loaded: also start members again that ended before. */
static void members_prove(struct group *g)
{
    g->busy = true;
    for (int i = 0; i < g->crew->config.workers; i++)
        if (g->members[i])
            g->left += member_prove(g->members[i]);
    g->busy = false;
}

static void on_joined(void *arg, struct member *m, int fd)
{
    struct group *g = member_group(m);
    const struct crew_config *config = &g->crew->config;

    (void)arg;
    members_prove(g);
    config->joined(config->arg, g->number, fd);
    if (g->ready || g->busy || !all_joined(g))
        return;
    g->ready = true;
    config->ready(config->arg, g->number);
}

static void on_note(void *arg, struct member *m, const char *text)
{
    const struct crew *crew = arg;

    (void)m;
    crew->config.note(crew->config.arg, text);
}

static void group_settle(struct group *g, const struct error *why)
{
    const struct crew_config *config = &g->crew->config;

    if (g->left > 0 || g->busy)
        return;
    config->gone(config->arg, g->number, g->retired ? NULL : why);
    group_remove(g);
}

static void on_ended(void *arg, struct member *m, const struct error *why)
{
    struct group *g = member_group(m);
    const struct crew_config *config = &g->crew->config;

    (void)arg;
    g->left--;
    if (why && g->left > 0)
        config->note(config->arg, why->text);
    group_settle(g, why);
}

/* ---- Life ---- */

int crew_create(const struct crew_config *config, struct crew **out, struct error *err)
{
    struct crew *crew = calloc(1, sizeof *crew);

    if (!crew)
        return error_no_memory(err);
    crew->config = *config;
    crew->env = (struct member_env){.loop = config->loop,
                                    .argv = config->argv,
                                    .sockets = config->sockets,
                                    .runs = config->runs,
                                    .config = config->config,
                                    .max_failures = config->max_failures,
                                    .silent_s = config->silent_s,
                                    .joined = on_joined,
                                    .note = on_note,
                                    .ended = on_ended,
                                    .arg = crew};
    *out = crew;
    return 0;
}

static int members_add(struct group *g, const char *checkpoint, struct error *err)
{
    struct crew *crew = g->crew;

    g->members = calloc((size_t)crew->config.workers, sizeof(struct member *));
    if (!g->members)
        return error_no_memory(err);
    for (int i = 0; i < crew->config.workers; i++) {
        if (member_create(&crew->env, crew->next_member++, crew->config.first + i,
                          checkpoint, g, &g->members[i], err) < 0)
            return -1;
        g->left++;
    }
    return 0;
}

int crew_start(struct crew *crew, const char *checkpoint, int *group, struct error *err)
{
    struct group *g = calloc(1, sizeof *g);

    if (!g)
        return error_no_memory(err);
    g->crew = crew;
    if (members_add(g, checkpoint, err) < 0) {
        group_free(g);
        return -1;
    }
    g->number = *group = crew->next_group++;
    g->next = crew->groups;
    crew->groups = g;
    return 0;
}

void crew_retire(struct crew *crew, int group)
{
    struct group *g = group_find(crew, group);

    if (!g || g->retired)
        return;
    g->retired = g->busy = true;
    for (int i = 0; i < crew->config.workers; i++)
        member_retire(g->members[i], crew->config.grace_s);
    g->busy = false;
    group_settle(g, NULL);
}

size_t crew_groups(const struct crew *crew)
{
    size_t n = 0;

    for (const struct group *g = crew->groups; g; g = g->next)
        n++;
    return n;
}

void crew_destroy(struct crew *crew)
{
    if (!crew)
        return;
    while (crew->groups)
        group_remove(crew->groups);
    free(crew);
}
