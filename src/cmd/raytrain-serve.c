/*
 * raytrain-serve.c - answer requests for predictions over HTTP, with the model of a
 * checkpoint or with several models.
 *
 * There are two kinds of process. The first one talks to clients (serve/life), and
 * starts itself for each worker, which it marks by variables (serve/crew/member.h):
 * that process is a run of one worker, like a prediction, whose rows come from the
 * first process.
 */
#include "config.h"

#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew/member.h"
#include "event/outlet.h"
#include "hangup.h"
#include "http/listening.h"
#include "life/life.h"
#include "life/models_dir.h"
#include "place/haproxy.h"
#include "place/place.h"
#include "prediction.h"
#include "program.h"
#include "serve_choice.h"
#include "serve_workers.h"
#include "util/argv.h"
#include "util/fs.h"
#include "util/process.h"
#include "util/quote.h"

#define NAME         "raytrain-serve"
#define HAPROXY_BIND "127.0.0.1:8080" /* unless --listen names another address */
#define LAST_WORDS_S 5.0 /* how long the end waits for a terminal that is held */

/* ---- The launcher of a worker ---- */

/* The worker's directory, from its path. */
static int run_settle(struct run_config *run, char *path, struct error *err)
{
    char *slash = strrchr(path, '/');

    if (!slash)
        return error_set(err, RAYTRAIN_EINVAL, MEMBER_RUN " is not a path");
    if (text_set(&run->name, slash + 1, err) < 0)
        return -1;
    *slash = '\0';
    return text_set(&run->storage_path, path, err);
}

static int worker_settle(struct options *opt, struct train_config *cfg,
                         struct error *err)
{
    const char *checkpoint = getenv(MEMBER_CHECKPOINT), *socket = getenv(MEMBER_SOCKET);
    char *run = getenv(MEMBER_RUN) ? strdup(getenv(MEMBER_RUN)) : NULL;
    int rc;

    if (!checkpoint || !socket || !run)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "the variables of a worker are not complete");
    else
        rc = run_settle(&cfg->run_config, run, err);
    free(run);
    if (rc < 0 || text_set(&cfg->resume_from_checkpoint, checkpoint, err) < 0 ||
        text_set(&cfg->predict.service, socket, err) < 0 ||
        text_set(&cfg->run_config.show, "none", err) < 0 ||
        prediction_function(cfg, err) < 0 || prediction_reduce(cfg, err) < 0)
        return -1;
    if (cfg->serve.max_batch > 0)
        cfg->predict.batch_size = cfg->serve.max_batch;
    /* The first process handles ends and failures. */
    cfg->run_config.failure_config.max_failures = 0;
    cfg->run_config.stop_before_end_s = cfg->run_config.grace_s = 0;
    opt->fresh = opt->quiet = opt->attended = true;
    return serve_worker_settle(opt->launcher, &cfg->scaling_config, err);
}

/* The first process has chosen the launcher. */
static int worker_parse(int argc, char *argv[], struct options *opt,
                        struct train_config *cfg, struct error *err)
{
    const char *launcher = getenv(SERVE_LAUNCHER), *config = getenv(MEMBER_CONFIG);

    if (options_parse_serve(argc, argv, opt, cfg, err) < 0)
        return -1;
    if (config && *config && choice_configure(cfg, config, err) < 0)
        return -1;
    return text_set(&opt->launcher, launcher ? launcher : "local", err);
}

static int worker_finish(const struct options *opt, const struct train_config *cfg,
                         struct error *err)
{
    char *run;
    int rc;

    (void)opt;
    if (asprintf(&run, "%s/%s", cfg->run_config.storage_path, cfg->run_config.name) < 0)
        return error_no_memory(err);
    rc = fs_remove_tree(run, err);
    free(run);
    return rc;
}

static const struct program worker_program = {
    .name = NAME,
    .noun = "worker",
    .parse = worker_parse,
    .help = options_help_serve,
    .settle = worker_settle,
    .finish = worker_finish,
};

/* ---- The service ---- */

static int serve_fail(const struct error *err)
{
    outlet_print(outlet_messages(), NAME ": %s\n", err->text);
    return error_exit_status(err->code);
}

static void on_sentence(void *arg, const char *text)
{
    const struct options *opt = arg;

    if (!opt->quiet)
        outlet_print(outlet_messages(), NAME ": %s\n", text);
}

static int on_choose(void *arg, char **checkpoint, struct error *err)
{
    return choice_newer(arg, checkpoint, err);
}

/* What all models have in common is already in the first configuration. */
static int serve(struct choice choices[], const struct models_dir *entries, size_t n,
                 const char *place, char *argv[], struct error *err)
{
    struct life_model *models = calloc(n, sizeof *models);
    const struct life_options life = {
        .config = &choices[0].cfg.serve,
        .place = place,
        .version = PACKAGE_VERSION,
        .argv = argv,
        .workers = choices[0].cfg.scaling_config.num_workers,
        .in_job = serve_is_in_job(),
        .models = models,
        .n_models = n,
        .choose = on_choose,
        .say = on_sentence,
        .arg = &choices[0].opt,
    };
    int rc;

    if (!models)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++)
        models[i] = (struct life_model){
            .name = choices[i].name,
            .checkpoint = choices[i].checkpoint,
            .config = entries ? entries->entries[i].config : NULL,
            .limits = &choices[i].cfg.serve,
            .max_failures = choices[i].cfg.run_config.failure_config.max_failures,
            .arg = &choices[i],
        };
    rc = life_run(&life, err);
    free(models);
    return rc;
}

/* ---- One model ---- */

static int one_serve(struct choice *c, char *argv[], struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (!c->opt.checkpoint)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "no model: type: " NAME " RUN|CHECKPOINT (more: " NAME
                         " --help)");
    if (c->cfg.serve.follow && !choice_is_run(c))
        return error_set(err, RAYTRAIN_EINVAL,
                         "--follow: %s is not the directory of a run: name that",
                         quote(c->opt.checkpoint, quoted));
    if (choice_settle(c, err) < 0 ||
        serve_workers_plan(c->opt.launcher, &c->cfg, 1, c->cfg.serve.follow, err) < 0)
        return -1;
    return serve(c, NULL, 1, c->opt.checkpoint, argv, err);
}

/* ---- Several models ---- */

/* The typed options, for one of the models. Only runs can be followed. */
static int entry_settle(const struct models_entry *entry, const struct choice *typed,
                        int argc, char *argv[], struct choice *c, struct error *err)
{
    if (options_parse_serve(argc, argv, &c->opt, &c->cfg, err) < 0 ||
        text_set(&c->opt.checkpoint, entry->path, err) < 0 ||
        text_set(&c->name, entry->name, err) < 0)
        return -1;
    if (entry->config && (choice_configure(&c->cfg, entry->config, err) < 0 ||
                          choice_compare(c, &typed->cfg, err) < 0))
        return -1;
    c->cfg.serve.follow = c->cfg.serve.follow && choice_is_run(c);
    return choice_settle(c, err);
}

static int choices_serve(struct choice choices[], const struct models_dir *entries,
                         const struct choice *typed, int argc, char *argv[],
                         struct error *err)
{
    size_t follows = 0;

    for (size_t i = 0; i < entries->n; i++) {
        if (entry_settle(&entries->entries[i], typed, argc, argv, &choices[i], err) < 0)
            return error_prefix(err, "%s", entries->entries[i].name);
        follows += choices[i].cfg.serve.follow;
    }
    if (serve_workers_plan(typed->opt.launcher, &choices[0].cfg, entries->n, follows,
                           err) < 0)
        return -1;
    return serve(choices, entries, entries->n, typed->opt.models, argv, err);
}

static int several_serve(struct choice *typed, int argc, char *argv[],
                         struct error *err)
{
    struct models_dir entries;
    struct choice *choices;
    int rc;

    if (typed->cfg.serve.name)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--model: each of --models has the name of its entry; leave "
                         "out --model");
    if (models_dir_read(typed->opt.models, &entries, on_sentence, &typed->opt, err) < 0)
        return -1;
    choices = calloc(entries.n, sizeof *choices);
    rc = choices ? choices_serve(choices, &entries, typed, argc, argv, err)
                 : error_no_memory(err);
    for (size_t i = 0; choices && i < entries.n; i++)
        choice_clear(&choices[i]);
    free(choices);
    models_dir_clear(&entries);
    return rc;
}

/* ---- Where ---- */

/* The printed command must not send a token to the URL of another user, unless the user
 * named that service's file. */
static void foreign_print(const struct place_found *place, const char *token_file)
{
    const struct place_address shown = {.model = place->address.model,
                                        .url = place->address.url,
                                        .token_file = token_file};
    char *curl = place_curl(&shown);

    printf("# %s\n", place->foreign);
    if (curl)
        printf("%s%s\n", token_file ? "" : "# ", curl);
    free(curl);
}

static void place_print(void *arg, const struct place_found *place)
{
    char *curl;

    if (place->foreign) {
        foreign_print(place, arg);
        return;
    }
    curl = place_curl(&place->address);
    if (curl)
        printf("%s%s%s\n", curl, place->here ? "" : "  # on ",
               place->here ? "" : place->host);
    free(curl);
}

static int where(const struct options *opt, const struct train_config *cfg,
                 struct error *err)
{
    char listen[PATH_MAX + 8];
    const char *of = opt->models ? opt->models : opt->checkpoint;
    size_t n;

    listening_in_full(cfg->serve.listen ? cfg->serve.listen : HAPROXY_BIND, listen);
    if (!of)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "type: " NAME " --where RUN|CHECKPOINT|DIR");
    if (opt->haproxy)
        return haproxy_write(of, listen, stdout, err);
    if (place_each(of, place_print, cfg->serve.token_file, &n, err) < 0)
        return -1;
    if (n == 0)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "%s is not served now; type: " NAME " %s%s", of,
                         opt->models ? "--models " : "", of);
    return fflush(stdout) == 0 ? 0 : fs_error(err, "write to", "standard output");
}

static int serve_run(int argc, char *argv[], struct choice *typed)
{
    const struct options *opt = &typed->opt;
    struct error err;
    int rc;

    if (options_parse_serve(argc, argv, &typed->opt, &typed->cfg, &err) < 0)
        return serve_fail(&err);
    if (opt->help)
        return fputs(options_help_serve(opt->help_all), stdout) < 0 ||
               fflush(stdout) != 0;
    if (opt->version)
        return puts(PACKAGE_STRING) < 0 || fflush(stdout) != 0;
    if (opt->haproxy && !opt->where) {
        error_set(&err, RAYTRAIN_EUSAGE,
                  "--haproxy is for --where: type: " NAME " --where --haproxy RUN");
        return serve_fail(&err);
    }
    if (opt->where)
        rc = where(opt, &typed->cfg, &err);
    else if (opt->models)
        rc = several_serve(typed, argc, argv, &err);
    else
        rc = one_serve(typed, argv, &err);
    if (rc < 0 && err.code == RAYTRAIN_EUSAGE)
        options_note_operands(opt, &err);
    return rc < 0 ? serve_fail(&err) : 0;
}

int main(int argc, char *argv[])
{
    struct choice typed = {.name = NULL};
    int status;

    if (getenv(MEMBER_SOCKET))
        return program_main(&worker_program, argc, argv);
    setlocale(LC_CTYPE, "");
    if (fs_hold_stdio() < 0)
        return 1;
    signals_restore();
    hangup_restore();
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    status = serve_run(argc, argv, &typed);
    outlet_flush(outlet_messages(), LAST_WORDS_S);
    choice_clear(&typed);
    return status;
}
