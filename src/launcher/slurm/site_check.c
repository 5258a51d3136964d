/*
 * site_check.c - judges Slurm's configuration and nodes. Slurm is asked twice:
 * `scontrol show config`, whose lines are "KEY = VALUE", and sinfo; once more for
 * partitions if jobs may be preempted. A key that a release lacks is not judged.
 */
#include "slurm/site_check.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "slurm/configuration.h"
#include "slurm/mpi_plugins.h"
#include "slurm/slurm_tool.h"
#include "util/argv.h"
#include "util/hostlist.h"

#define TOPIC        "slurm"
#define CHECK_ANSWER_MAX_S                                                             \
    12.0 /* longer than Slurm's own MessageTimeout, 10 s by default */
#define VALUE_MAX    512

/* ---- The configuration ---- */

/* The value of a key, without surrounding blanks; false: not found. The key begins a
 * line, and blanks and '=' follow. */
static bool configured_find(const char *text, const char *key, char value[VALUE_MAX])
{
    size_t n = strlen(key);

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        const char *at;
        size_t length;

        line += *line == '\n';
        at = line + n + (strncmp(line, key, n) == 0 ? strspn(line + n, " \t") : 0);
        if (strncmp(line, key, n) != 0 || *at != '=')
            continue;
        at += 1 + strspn(at + 1, " \t");
        length = strcspn(at, "\n");
        while (length > 0 && strchr(" \t\r", at[length - 1]))
            length--;
        snprintf(value, VALUE_MAX, "%.*s", (int)length, at);
        return true;
    }
    return false;
}

struct setting {
    const char *key;
    /* The verdict on its value, and a text to print after the value; "": none. */
    enum verdict (*judge)(const char *value, const char **meaning);
    const char *remedy;
};

static enum verdict any(const char *value, const char **meaning)
{
    (void)value;
    (void)meaning;
    return VERDICT_OK;
}

static enum verdict mpi_default(const char *value, const char **meaning)
{
    if (strncmp(value, "pmix", 4) != 0)
        *meaning = "; raytrain asks for PMIx itself, other MPI programs have to";
    return VERDICT_OK;
}

static enum verdict task_plugin(const char *value, const char **meaning)
{
    if (strstr(value, "cgroup") || strstr(value, "affinity"))
        return VERDICT_OK;
    *meaning = ": workers are not bound to their CPUs";
    return VERDICT_WARNING;
}

static enum verdict proctrack(const char *value, const char **meaning)
{
    if (strstr(value, "cgroup"))
        return VERDICT_OK;
    *meaning = ": processes that workers start may outlive the step";
    return VERDICT_WARNING;
}

static enum verdict kill_wait(const char *value, const char **meaning)
{
    if (atoi(value) >= 10)
        return VERDICT_OK;
    *meaning =
        ": a job that is cancelled, preempted or at its time limit has little time "
        "to save a checkpoint";
    return VERDICT_WARNING;
}

static enum verdict slurmd_timeout(const char *value, const char **meaning)
{
    if (atoi(value) > 0)
        return VERDICT_OK;
    *meaning = ": nodes that do not respond are never set down";
    return VERDICT_WARNING;
}

static enum verdict job_requeue_judge(const char *value, const char **meaning)
{
    if (atoi(value) == 1)
        return VERDICT_OK;
    *meaning = ": a job is requeued only if it was submitted with --requeue";
    return VERDICT_WARNING;
}

/* Preemption itself is not a problem; see GraceTime. Slurm prints "GANG,SUSPEND" in the
 * order of slurm.conf. */
static enum verdict preempt_mode(const char *value, const char **meaning)
{
    if (strcasestr(value, "SUSPEND"))
        *meaning = ": a suspended run may consider its nodes lost";
    return *meaning && **meaning ? VERDICT_WARNING : VERDICT_OK;
}

static const struct setting settings[] = {
    {"SLURM_VERSION", any, NULL},
    {"SelectType", any, NULL},
    {"MpiDefault", mpi_default, NULL},
    {"TaskPlugin", task_plugin,
     "set TaskPlugin=task/affinity,task/cgroup in slurm.conf"},
    {"ProctrackType", proctrack, "set ProctrackType=proctrack/cgroup in slurm.conf"},
    {"PrologFlags", any, NULL},
    {"KillWait", kill_wait, "set KillWait=30 or more in slurm.conf"},
    {"SlurmdTimeout", slurmd_timeout, "set SlurmdTimeout=300 in slurm.conf"},
    {"JobRequeue", job_requeue_judge,
     "set JobRequeue=1 in slurm.conf; --submit adds --requeue by itself"},
    {"PreemptMode", preempt_mode,
     "set PreemptMode=REQUEUE or CANCEL, with a GraceTime, in slurm.conf"},
};

void slurm_site_judge_config(const char *text, struct findings *findings)
{
    char value[VALUE_MAX];

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *meaning = "";
        enum verdict verdict;

        if (!configured_find(text, settings[i].key, value)) {
            finding_add(findings, TOPIC, settings[i].key, VERDICT_SKIPPED,
                        "look for it with: scontrol show config",
                        "this release of Slurm does not name it");
            continue;
        }
        verdict = settings[i].judge(value, &meaning);
        finding_add(findings, TOPIC, settings[i].key, verdict, settings[i].remedy,
                    "%s%s", strcmp(value, "(null)") == 0 ? "none" : value, meaning);
    }
}

/* ---- Nodes ---- */

/* A state with a suffix, such as "down*" (it does not respond). */
static bool is_unusable(const char *state)
{
    static const char *const bad[] = {"down", "drain", "fail", "error", "unk", "inval"};

    if (strpbrk(state, "*"))
        return true;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (strncasecmp(state, bad[i], strlen(bad[i])) == 0)
            return true;
    return false;
}

/* Lines "NODE|STATE" of unusable nodes, each once; n counts all nodes. */
static char **unusable_find(const char *text, size_t *n)
{
    char *copy = strdup(text), *rest = copy, *line, **lines = NULL;

    *n = 0;
    while (copy && (line = strsep(&rest, "\n"))) {
        const char *state = strchr(line, '|');

        *n += state != NULL;
        if (state && is_unusable(state + 1) && !argv_has(lines, line))
            argv_append(&lines, line, NULL);
    }
    free(copy);
    return lines;
}

/* The nodes with the state of the first line, as "n[2-3]". Their lines are removed. */
static char *state_take(char **lines, char state[64])
{
    char **names = NULL, *list = NULL;
    size_t left = 0;

    snprintf(state, 64, "%s", strchr(lines[0], '|') + 1);
    for (size_t i = 0; lines[i]; i++) {
        char *bar = strchr(lines[i], '|');

        if (strncmp(bar + 1, state, 63) != 0) {
            lines[left++] = lines[i];
            continue;
        }
        *bar = '\0';
        argv_append(&names, lines[i], NULL);
        free(lines[i]);
    }
    lines[left] = NULL;
    if (hostlist_compress(names, argv_count(names), &list, NULL) < 0)
        list = NULL;
    argv_free(names);
    return list;
}

void slurm_site_judge_nodes(const char *text, struct findings *findings)
{
    static const char remedy[] =
        "see the reason with sinfo --list-reasons, and bring them back with scontrol "
        "update NodeName=NODE State=RESUME";
    size_t n;
    char **lines = unusable_find(text, &n), state[64];

    if (n == 0)
        finding_add(findings, TOPIC, "nodes", VERDICT_WRONG,
                    "add nodes to a partition that you may use, in slurm.conf",
                    "there are none");
    else if (!lines)
        finding_add(findings, TOPIC, "nodes", VERDICT_OK, NULL,
                    "none is down or drained");
    while (lines && lines[0]) {
        char *list = state_take(lines, state);

        finding_add(findings, TOPIC, "nodes", VERDICT_WARNING, remedy, "%s: %s",
                    list ? list : "some", state);
        free(list);
    }
    free(lines);
}

/* ---- Partitions ---- */

/* "KEY=VALUE" in a line of such words. */
static bool word_find(const char *line, const char *key, char value[64])
{
    size_t n = strlen(key);

    for (const char *at = line; (at = strstr(at, key)); at += n)
        if ((at == line || at[-1] == ' ') && at[n] == '=') {
            snprintf(value, 64, "%.*s", (int)strcspn(at + n + 1, " \n"), at + n + 1);
            return true;
        }
    return false;
}

void slurm_site_judge_partitions(const char *text, struct findings *findings)
{
    char *copy = strdup(text), *rest = copy, *line, hasty[256] = "";
    char name[64], mode[64], grace[64];

    while (copy && (line = strsep(&rest, "\n"))) {
        size_t used = strlen(hasty);

        if (word_find(line, "PartitionName", name) &&
            word_find(line, "PreemptMode", mode) &&
            word_find(line, "GraceTime", grace) && strcasecmp(mode, "OFF") != 0 &&
            atoi(grace) == 0)
            snprintf(hasty + used, sizeof hasty - used, "%s%s", used ? ", " : "", name);
    }
    if (*hasty)
        finding_add(findings, TOPIC, "GraceTime", VERDICT_WARNING,
                    "set GraceTime=120 for these partitions in slurm.conf, so that a "
                    "run that is preempted can save a checkpoint",
                    "0 in %s, whose jobs may be preempted", hasty);
    else
        finding_add(findings, TOPIC, "GraceTime", VERDICT_OK, NULL,
                    "jobs that are preempted have time to save a checkpoint");
    free(copy);
}

/* ---- The questions ---- */

static void plugin_judge(const char *srun_args, struct findings *findings)
{
    char *argv[] = {(char *)"srun", (char *)"--mpi=list", NULL}, *list;
    struct error err;

    if (slurm_tool_read(argv, CHECK_ANSWER_MAX_S, &list, &err) < 0) {
        finding_add(findings, TOPIC, "PMIx plugin", VERDICT_WRONG,
                    "see why srun --mpi=list fails", "%s", err.text);
        return;
    }
    if (slurm_mpi_judge(list, srun_args, &err) < 0)
        finding_add(findings, TOPIC, "PMIx plugin", VERDICT_WRONG,
                    "install Slurm's plugin for PMIx, or name another with "
                    "--srun-args=--mpi=NAME",
                    "%s", err.text);
    else
        finding_add(findings, TOPIC, "PMIx plugin", VERDICT_OK, NULL,
                    "srun --mpi=list has it");
    free(list);
}

/* Ask and judge. Without an answer, a finding says so. */
static void answer_judge(char *const *argv,
                         void (*judge)(const char *text, struct findings *findings),
                         struct findings *findings)
{
    struct error err;
    char *text;

    if (slurm_tool_read(argv, CHECK_ANSWER_MAX_S, &text, &err) < 0) {
        finding_add(findings, TOPIC, argv[0], VERDICT_WARNING,
                    "see why this question is not answered, while others are", "%s",
                    err.text);
        return;
    }
    judge(text, findings);
    free(text);
}

/* The findings that are skipped if the controller does not answer. */
static void answers_skip(struct findings *findings)
{
    static const char *const names[] = {"GraceTime", "nodes", NULL};
    static const char why[] = "the controller does not answer";
    static const char how[] = "check again when: scontrol ping finds it";

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        finding_add(findings, TOPIC, settings[i].key, VERDICT_SKIPPED, how, why);
    findings_skip(findings, TOPIC, names, how, why);
}

void slurm_site_check(const char *srun_args, struct findings *findings)
{
    char *config[] = {(char *)"scontrol", (char *)"show", (char *)"config", NULL};
    char *partitions[] = {(char *)"scontrol", (char *)"--oneliner", (char *)"show",
                          (char *)"partition", NULL};
    char *nodes[] = {(char *)"sinfo", (char *)"--noheader", (char *)"--Node",
                     (char *)"--format=" SLURM_SITE_NODES, NULL};
    char *text = NULL, mode[VALUE_MAX];
    struct error err;

    if (!slurm_tool_exists("scontrol") || !slurm_tool_exists("srun")) {
        finding_add(findings, TOPIC, "commands", VERDICT_SKIPPED,
                    "if runs are to use Slurm, check where its commands are in PATH",
                    "scontrol and srun are not in PATH: there is only --launcher "
                    "local");
        return;
    }
    if (slurm_tool_read(config, CHECK_ANSWER_MAX_S, &text, &err) < 0 &&
        !slurm_has_configuration()) {
        finding_add(findings, TOPIC, "controller", VERDICT_WARNING,
                    "if runs are to use Slurm here, set SLURM_CONF to the path of "
                    "slurm.conf",
                    "none is reached, and the usual places have no slurm.conf");
        finding_add(findings, TOPIC, "PMIx plugin", VERDICT_SKIPPED,
                    "set SLURM_CONF, and check again", "there is no slurm.conf");
        answers_skip(findings);
        return;
    }
    plugin_judge(srun_args, findings);
    if (!text) {
        finding_add(
            findings, TOPIC, "controller", VERDICT_WRONG,
            "see whether slurmctld runs and is reached from here: scontrol ping; "
            "and whether munged runs",
            "%s", err.text);
        answers_skip(findings);
        return;
    }
    finding_add(findings, TOPIC, "controller", VERDICT_OK, NULL, "slurmctld answers");
    slurm_site_judge_config(text, findings);
    if (configured_find(text, "PreemptMode", mode) && strcasecmp(mode, "OFF") != 0)
        answer_judge(partitions, slurm_site_judge_partitions, findings);
    free(text);
    answer_judge(nodes, slurm_site_judge_nodes, findings);
}
