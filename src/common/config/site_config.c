/*
 * site_config.c - the keys of the site's file, where the file is, and who may have
 * written it.
 */
#include "config/site_config.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config_file.h"
#include "config/config_key.h"
#include "util/argv.h"
#include "util/quote.h"
#include "util/run_record.h"

#define FIELD(member) .offset = offsetof(struct site_config, member)

static const struct config_key site_keys[] = {
    {.name = "srun_args",
     .doc = "options for srun, in one string",
     .type = CONFIG_STRING,
     FIELD(srun_args)},
    {.name = "mpi",
     .doc = "Slurm's plugin for PMIx, as srun --mpi=list prints it",
     .type = CONFIG_STRING,
     FIELD(mpi)},
    {.name = "sbatch_args",
     .doc = "options for sbatch, in one string",
     .type = CONFIG_STRING,
     FIELD(sbatch_args)},
    {.name = "prologue",
     .doc = "a file of shell lines for batch jobs",
     .type = CONFIG_STRING,
     FIELD(prologue)},
    {.name = "storage_path",
     .doc = "the default directory of runs",
     .type = CONFIG_STRING,
     FIELD(storage_path)},
    {.name = "login_nodes",
     .doc = "patterns of the names of login nodes",
     .type = CONFIG_STRINGS,
     FIELD(login_nodes),
     .offset2 = offsetof(struct site_config, n_login_nodes),
     .min = 1},
    {.name = "local_workers_max",
     .doc = "how many local workers a run may have on a login node",
     .type = CONFIG_INT,
     FIELD(local_workers_max),
     .min = 0,
     .max = INT_MAX},
};
static const struct config_table site_table = CONFIG_TABLE(site_keys);

/* ---- Checks of values ---- */

static const struct config_node *node_find(const struct config_node *root,
                                           const char *name)
{
    for (size_t i = 0; i < root->n_items; i++)
        if (strcmp(root->items[i].name, name) == 0)
            return &root->items[i];
    return root;
}

/* Can it be split into words, as by a shell? */
static int words_check(const char *text, const char *key,
                       const struct config_node *root, const struct config_where *where)
{
    struct config_where at = config_where_below(where, key);
    char **words = NULL;
    struct error why;

    if (!text || argv_split(text, &words, &why) == 0) {
        argv_free(words);
        return 0;
    }
    return config_fail(&at, node_find(root, key), RAYTRAIN_EINVAL, "%s", why.text);
}

/* The value becomes an option of srun, so it must be one word. */
static int mpi_check(const struct site_config *site, const struct config_node *root,
                     const struct config_where *where)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    struct config_where at = config_where_below(where, "mpi");
    char quoted[QUOTE_TEXT_MAX];

    if (!site->mpi ||
        (strncmp(site->mpi, "pmix", 4) == 0 && !site->mpi[strspn(site->mpi, letters)]))
        return 0;
    return config_fail(
        &at, node_find(root, "mpi"), RAYTRAIN_EINVAL,
        "%s is not a plugin for PMIx, which workers need; write a name such "
        "as \"pmix_v4\", see srun --mpi=list",
        quote(site->mpi, quoted));
}

static int absolute_check(const char *path, const char *key,
                          const struct config_node *root,
                          const struct config_where *where)
{
    struct config_where at = config_where_below(where, key);
    char quoted[QUOTE_TEXT_MAX];

    if (!path || path[0] == '/')
        return 0;
    return config_fail(&at, node_find(root, key), RAYTRAIN_EINVAL,
                       "%s is not an absolute path; write it from / on",
                       quote(path, quoted));
}

static int login_check(const struct site_config *site, const struct config_node *root,
                       const struct config_where *where)
{
    struct config_where at = config_where_below(where, "local_workers_max");

    if (site->n_login_nodes > 0 || site->local_workers_max == 0)
        return 0;
    return config_fail(&at, node_find(root, "local_workers_max"), RAYTRAIN_EINVAL,
                       "it is for login nodes, and none are named; add login_nodes = "
                       "[\"login*\"]");
}

/* ---- Variables of the environment in a path ---- */

/* The end of the name at `at`, which follows a '$'. */
static size_t name_length(const char *at)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return strspn(at, letters);
}

/* Replace $NAME and ${NAME}. The error for a name that is not set has its position. */
static int path_expand(char **path, const struct config_node *root,
                       const struct config_where *where)
{
    struct config_where at = config_where_below(where, "storage_path");
    char name[128], *out = NULL;
    size_t size = 0;
    FILE *text;
    int rc = 0;

    if (!*path || !strchr(*path, '$'))
        return 0;
    if (!(text = open_memstream(&out, &size)))
        return config_fail_memory(where);
    for (const char *s = *path; *s && rc == 0;) {
        bool braced = s[0] == '$' && s[1] == '{';
        size_t n = *s == '$' ? name_length(s + 1 + braced) : 0;
        const char *value;

        if (n == 0 || n >= sizeof name) {
            fputc(*s++, text);
            continue;
        }
        snprintf(name, sizeof name, "%.*s", (int)n, s + 1 + braced);
        s += 1 + n + braced + (braced && s[2 + n] == '}');
        value = getenv(name);
        if (value && *value)
            fputs(value, text);
        else
            rc = config_fail(&at, node_find(root, "storage_path"), RAYTRAIN_EINVAL,
                             "%s is not set in the environment; set it, or name the "
                             "directory with --storage",
                             name);
    }
    if (fclose(text) != 0 || rc < 0) {
        free(out);
        return rc < 0 ? -1 : config_fail_memory(where);
    }
    free(*path);
    *path = out;
    return 0;
}

/* ---- The file ---- */

static int site_text_take(struct site_config *site, const char *text, struct error *err)
{
    struct config_where where = {
        .source = site->path, .err = err, .all_keys = &site_table};
    struct config_node root;
    char *mpi = NULL;
    int rc;

    if (config_file_parse(text, site->path, &root, err) < 0)
        return -1;
    rc = config_apply(&site_table, site, &root, &where);
    if (rc == 0)
        rc = words_check(site->srun_args, "srun_args", &root, &where) < 0 ||
                     words_check(site->sbatch_args, "sbatch_args", &root, &where) < 0 ||
                     mpi_check(site, &root, &where) < 0 ||
                     absolute_check(site->prologue, "prologue", &root, &where) < 0 ||
                     login_check(site, &root, &where) < 0 ||
                     path_expand(&site->storage_path, &root, &where) < 0
                 ? -1
                 : 0;
    config_node_clear(&root);
    if (rc == 0 && site->mpi && asprintf(&mpi, "--mpi=%s", site->mpi) < 0)
        return error_no_memory(err);
    if (rc == 0)
        rc = site_args_prepend(mpi, &site->srun_args, err);
    free(mpi);
    return rc;
}

static int file_read(struct site_config *site, struct error *err)
{
    char *text, quoted[QUOTE_TEXT_MAX];
    struct error why;
    size_t n;
    int rc;

    if (record_read_owned(site->path, &text, &n, &why) < 0)
        return error_set(err, why.code,
                         "%s\n  to continue without the site's file: "
                         "RAYTRAIN_SITE_CONFIG=",
                         why.text);
    if (strlen(text) != n)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "%s is not a configuration file: it contains bytes of value 0",
                       quote(site->path, quoted));
    else
        rc = site_text_take(site, text, err);
    free(text);
    return rc;
}

int site_config_read(struct site_config *site, struct error *err)
{
    static const char *const places[] = {RAYTRAIN_SYSCONFDIR "/raytrain/site.cfg",
                                         "/etc/raytrain/site.cfg"};
    const char *path = getenv("RAYTRAIN_SITE_CONFIG");

    memset(site, 0, sizeof *site);
    for (size_t i = 0; !path && i < sizeof places / sizeof *places; i++)
        if (access(places[i], F_OK) == 0)
            path = places[i];
    if (!path || !*path)
        return 0;
    if (!(site->path = strdup(path)))
        return error_no_memory(err);
    return file_read(site, err);
}

void site_config_clear(struct site_config *site)
{
    config_clear(&site_table, site);
    free(site->path);
    memset(site, 0, sizeof *site);
}

/* ---- What a site allows ---- */

int site_config_admit(const struct site_config *site, const char *host,
                      struct scaling_config *scaling, struct error *err)
{
    bool login = false;

    for (size_t i = 0; i < site->n_login_nodes; i++)
        login = login || fnmatch(site->login_nodes[i], host, 0) == 0;
    if (!login)
        return 0;
    if (scaling->num_workers > site->local_workers_max)
        return error_set(
            err, RAYTRAIN_EFIT,
            "%s is a login node, where a run may have %d local workers, not %d (%s); "
            "use an allocation: --launcher slurm, --submit, or salloc -n %d",
            host, site->local_workers_max, scaling->num_workers, site->path,
            scaling->num_workers);
    if (scaling->max_workers > site->local_workers_max)
        scaling->max_workers = site->local_workers_max;
    return 0;
}

int site_args_prepend(const char *of_site, char **args, struct error *err)
{
    char *both;

    if (!of_site)
        return 0;
    if (asprintf(&both, "%s%s%s", of_site, *args ? " " : "", *args ? *args : "") < 0)
        return error_no_memory(err);
    free(*args);
    *args = both;
    return 0;
}
