/* models_dir.c - read the directory of models: which entries are models, which are
 * their configurations, and which are left out. */
#include "config.h"

#include "life/models_dir.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/serve_config.h"
#include "run/checkpoint_manager.h"
#include "util/fs.h"
#include "util/quote.h"

#define OWN    "serve" /* directory in which the service has its address, as in a run */
#define CONFIG ".cfg"
#define H5     ".h5"

struct reading {
    struct models_dir *out;
    void (*skip)(void *arg, const char *sentence);
    void *arg;
    struct error *err;
};

/* ---- Entries ---- */

static bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);

    return n > k && strcmp(name + n - k, ending) == 0;
}

/* The file that a link leads to may end in it, too. */
static bool is_checkpoint(const char *path)
{
    char *real = ends_in(path, H5) ? NULL : realpath(path, NULL);
    bool is = ends_in(real ? real : path, H5);

    free(real);
    return is;
}

/* Is it the directory of this service, and of others of the same models? */
static bool is_service_dir(const char *name, const char *path)
{
    struct stat st;

    return strcmp(name, OWN) == 0 && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           checkpoint_manager_newest(path) < 0;
}

static void left_out(const struct reading *r, const char *name, const char *why)
{
    char sentence[QUOTE_TEXT_MAX + 200], quoted[QUOTE_TEXT_MAX];

    snprintf(sentence, sizeof sentence, "--models: %s is left out: %s",
             quote(name, quoted), why);
    r->skip(r->arg, sentence);
}

static struct models_entry *entry_find(const struct models_dir *models,
                                       const char *name)
{
    for (size_t i = 0; i < models->n; i++)
        if (strcmp(models->entries[i].name, name) == 0)
            return &models->entries[i];
    return NULL;
}

static int model_name_check(const struct reading *r, const char *name)
{
    if (serve_name_check(name, r->err) < 0)
        return error_prefix(r->err, "--models: rename an entry, whose name is that of "
                                    "its model");
    if (strcmp(name, OWN) == 0)
        return error_set(r->err, RAYTRAIN_EINVAL,
                         "--models: the service has files of its own under the name "
                         "\"" OWN "\"; rename that model");
    if (entry_find(r->out, name))
        return error_set(r->err, RAYTRAIN_EINVAL,
                         "--models: \"%s\" is there twice, with " H5 " and without; "
                         "rename one of them",
                         name);
    return 0;
}

/* `name` may be cut. */
static int entry_add(const struct reading *r, char *name, const char *path, bool is_dir)
{
    struct models_dir *out = r->out;
    struct models_entry *grown, entry;

    if (!is_dir && ends_in(name, H5))
        name[strlen(name) - strlen(H5)] = '\0';
    if (model_name_check(r, name) < 0)
        return -1;
    grown = reallocarray(out->entries, out->n + 1, sizeof *grown);
    if (!grown)
        return error_no_memory(r->err);
    out->entries = grown;
    entry = (struct models_entry){.name = strdup(name), .path = strdup(path)};
    grown[out->n++] = entry;
    return entry.name && entry.path ? 0 : error_no_memory(r->err);
}

static int entry_read(const struct reading *r, char *name, const char *path)
{
    struct stat st;

    if (name[0] == '.') {
        left_out(r, name, "its name begins with a dot");
        return 0;
    }
    if (is_service_dir(name, path))
        return 0;
    if (stat(path, &st) < 0)
        return fs_error(r->err, "open", path);
    if (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && is_checkpoint(path)))
        return entry_add(r, name, path, S_ISDIR(st.st_mode));
    if (!S_ISREG(st.st_mode) || !ends_in(name, CONFIG))
        left_out(r, name,
                 "it is neither the directory of a run nor a checkpoint, whose name "
                 "ends in " H5);
    return 0;
}

/* ---- Configurations ---- */

static int config_read(const struct reading *r, char *name, const char *path)
{
    char quoted[QUOTE_TEXT_MAX];
    struct models_entry *entry;
    struct stat st;

    if (name[0] == '.' || !ends_in(name, CONFIG) || stat(path, &st) < 0 ||
        !S_ISREG(st.st_mode))
        return 0;
    name[strlen(name) - strlen(CONFIG)] = '\0';
    entry = entry_find(r->out, name);
    if (!entry)
        return error_set(r->err, RAYTRAIN_EINVAL,
                         "--models: there is no model %s, which %s" CONFIG
                         " would configure; rename that file, or remove it",
                         quote(name, quoted), name);
    entry->config = strdup(path);
    return entry->config ? 0 : error_no_memory(r->err);
}

/* ---- The directory ---- */

/* Otherwise each of its checkpoints would be taken for a model. */
static int run_refuse(const char *dir, struct error *err)
{
    char *config, quoted[QUOTE_TEXT_MAX];
    bool is_run;

    if (asprintf(&config, "%s/run.cfg", dir) < 0)
        return error_no_memory(err);
    is_run = access(config, F_OK) == 0 && checkpoint_manager_newest(dir) >= 0;
    free(config);
    return is_run ? error_set(err, RAYTRAIN_EINVAL,
                              "--models: %s is the directory of a run; leave out "
                              "--models to serve its best checkpoint",
                              quote(dir, quoted))
                  : 0;
}

static int is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int each(const struct reading *r, const char *dir, struct dirent **names, int n,
                int (*read)(const struct reading *r, char *name, const char *path))
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        char *path;

        if (asprintf(&path, "%s/%s", dir, names[i]->d_name) < 0)
            return error_no_memory(r->err);
        rc = read(r, names[i]->d_name, path);
        free(path);
    }
    return rc;
}

int models_dir_read(const char *dir, struct models_dir *out,
                    void (*skip)(void *arg, const char *sentence), void *arg,
                    struct error *err)
{
    const struct reading r = {.out = out, .skip = skip, .arg = arg, .err = err};
    char quoted[QUOTE_TEXT_MAX];
    struct dirent **names;
    int n, rc;

    *out = (struct models_dir){.n = 0};
    if (run_refuse(dir, err) < 0)
        return -1;
    n = scandir(dir, &names, is_entry, alphasort);
    if (n < 0)
        return fs_error(err, "read", dir);
    rc = each(&r, dir, names, n, entry_read);
    if (rc == 0)
        rc = each(&r, dir, names, n, config_read);
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    if (rc == 0 && out->n == 0)
        rc = error_set(err, RAYTRAIN_ENOTFOUND,
                       "--models: there is no model in %s: put directories of runs, "
                       "checkpoints, or links to them there",
                       quote(dir, quoted));
    if (rc < 0)
        models_dir_clear(out);
    return rc;
}

void models_dir_clear(struct models_dir *models)
{
    for (size_t i = 0; i < models->n; i++) {
        free(models->entries[i].name);
        free(models->entries[i].path);
        free(models->entries[i].config);
    }
    free(models->entries);
    *models = (struct models_dir){.n = 0};
}
