/*
 * raytrain-serve.c - answer predictions by the model of a checkpoint, over HTTP.
 *
 * It is two processes. The first one talks to clients (serve/life). It starts itself for
 * each worker, with variables that say so (serve/crew/member.h): that one is a run of one
 * worker, as a prediction is, whose rows come from the first one.
 */
#include "config.h"

#include <ctype.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crew/member.h"
#include "event/outlet.h"
#include "hangup.h"
#include "life/life.h"
#include "place/haproxy.h"
#include "place/place.h"
#include "prediction.h"
#include "program.h"
#include "serve_workers.h"
#include "run/checkpoint_manager.h"
#include "util/argv.h"
#include "util/fs.h"
#include "util/process.h"
#include "util/quote.h"

#define NAME         "raytrain-serve"
#define HAPROXY_BIND "127.0.0.1:8080" /* unless --listen names another address */
#define LAST_WORDS_S 5.0 /* for which the end waits for a terminal that is held */

static int no_memory(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

static int text_set(char **text, const char *value, struct error *err)
{
    char *copy = strdup(value);

    if (!copy)
        return no_memory(err);
    free(*text);
    *text = copy;
    return 0;
}

/* ---- The launcher of a worker ---- */

/* Its directory, from its path. */
static int run_settle(struct run_config *run, char *path, struct error *err)
{
    char *slash = strrchr(path, '/');

    if (!slash)
        return error_set(err, RAYTRAIN_EINVAL, MEMBER_RUN " is no path");
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
        prediction_function(cfg, err) < 0)
        return -1;
    prediction_reduce(cfg);
    if (cfg->serve.max_batch > 0)
        cfg->predict.batch_size = cfg->serve.max_batch;
    /* The first process sees to ends and failures. */
    cfg->run_config.failure_config.max_failures = 0;
    cfg->run_config.stop_before_end_s = cfg->run_config.grace_s = 0;
    opt->fresh = opt->quiet = true;
    return serve_worker_settle(opt->launcher, &cfg->scaling_config, err);
}

/* Its launcher was chosen by the first process. */
static int worker_parse(int argc, char *argv[], struct options *opt,
                        struct train_config *cfg, struct error *err)
{
    const char *launcher = getenv(SERVE_LAUNCHER);

    if (options_parse_serve(argc, argv, opt, cfg, err) < 0)
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
        return no_memory(err);
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

static int fail(const struct error *err)
{
    outlet_print(outlet_messages(), NAME ": %s\n", err->text);
    return error_exit_status(err->code);
}

/* Which checkpoint is to be served. */
struct choice {
    const struct options *opt;
    int64_t newest; /* when it was last looked at all of them */
};

static void on_sentence(void *arg, const char *text)
{
    const struct choice *choice = arg;

    if (!choice->opt->quiet)
        outlet_print(outlet_messages(), NAME ": %s\n", text);
}

/* All of them are opened only if there is a newer one. */
static int on_choose(void *arg, char **checkpoint, struct error *err)
{
    struct choice *choice = arg;
    int64_t newest = checkpoint_manager_newest(choice->opt->checkpoint);

    if (newest == choice->newest)
        return error_set(err, RAYTRAIN_ENOTFOUND, "there is no newer checkpoint");
    if (prediction_checkpoint(choice->opt, checkpoint, err) < 0)
        return -1;
    choice->newest = newest;
    return 0;
}

/* The name of the run's directory, or of the checkpoint's file, as far as it can be in the
 * path of a request. */
static char *model_name(const char *path)
{
    size_t n = strlen(path);
    char *name;

    while (n > 1 && path[n - 1] == '/')
        n--;
    name = strndup(path, n);
    if (name && strrchr(name, '/'))
        memmove(name, strrchr(name, '/') + 1, strlen(strrchr(name, '/')));
    if (name && strlen(name) > 3 && strcmp(name + strlen(name) - 3, ".h5") == 0)
        name[strlen(name) - 3] = '\0';
    for (char *c = name; c && *c; c++)
        if (!isalnum((unsigned char)*c) && (c == name || !strchr("_.-@", *c)))
            *c = '_';
    if (name && isdigit((unsigned char)*name))
        *name = '_';
    return name;
}

static int service_settle(struct options *opt, struct train_config *cfg,
                          char **checkpoint, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    if (!opt->checkpoint)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "no model: type: " NAME " RUN|CHECKPOINT (more: " NAME
                         " --help)");
    if (cfg->serve.follow && (stat(opt->checkpoint, &st) < 0 || !S_ISDIR(st.st_mode)))
        return error_set(err, RAYTRAIN_EINVAL,
                         "--follow: %s is not the directory of a run: name that",
                         quote(opt->checkpoint, quoted));
    if (prediction_checkpoint(opt, checkpoint, err) < 0 ||
        text_set(&cfg->resume_from_checkpoint, *checkpoint, err) < 0 ||
        text_set(&cfg->predict.service, "/", err) < 0 ||
        prediction_function(cfg, err) < 0)
        return -1;
    prediction_reduce(cfg);
    if (train_config_validate(cfg, err) < 0 ||
        serve_workers_plan(opt->launcher, cfg, err) < 0)
        return -1;
    serve_config_complete(&cfg->serve);
    if (cfg->serve.name)
        return 0;
    cfg->serve.name = model_name(opt->checkpoint);
    return cfg->serve.name ? 0 : no_memory(err);
}

static int serve(struct options *opt, struct train_config *cfg, char *argv[],
                 const char *checkpoint, struct error *err)
{
    struct choice choice = {.opt = opt,
                            .newest = checkpoint_manager_iteration(checkpoint)};
    const struct life_options life = {
        .config = &cfg->serve,
        .model = cfg->serve.name,
        .run = opt->checkpoint,
        .checkpoint = checkpoint,
        .version = PACKAGE_VERSION,
        .argv = argv,
        .workers = cfg->scaling_config.num_workers,
        .max_failures = cfg->run_config.failure_config.max_failures,
        .choose = on_choose,
        .say = on_sentence,
        .arg = &choice,
    };

    return life_run(&life, err);
}

/* ---- Where ---- */

static void place_print(void *arg, const struct place_found *place)
{
    char *curl = place_curl(&place->address);

    (void)arg;
    if (curl)
        printf("%s%s%s\n", curl, place->here ? "" : "  # on ",
               place->here ? "" : place->host);
    free(curl);
}

static int where(const struct options *opt, const struct train_config *cfg,
                 struct error *err)
{
    const char *listen = cfg->serve.listen;
    size_t n;

    if (!opt->checkpoint)
        return error_set(err, RAYTRAIN_EUSAGE, "type: " NAME " --where RUN|CHECKPOINT");
    if (opt->haproxy)
        return haproxy_write(opt->checkpoint, listen ? listen : HAPROXY_BIND, stdout,
                             err);
    if (place_each(opt->checkpoint, place_print, NULL, &n, err) < 0)
        return -1;
    if (n == 0)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "%s is not served now; type: " NAME " %s", opt->checkpoint,
                         opt->checkpoint);
    return fflush(stdout) == 0 ? 0 : fs_error(err, "write to", "standard output");
}

static int run(int argc, char *argv[], struct options *opt, struct train_config *cfg)
{
    char *checkpoint = NULL;
    struct error err;
    int rc;

    if (options_parse_serve(argc, argv, opt, cfg, &err) < 0)
        return fail(&err);
    if (opt->help)
        return fputs(options_help_serve(opt->help_all), stdout) < 0 ||
               fflush(stdout) != 0;
    if (opt->version)
        return puts(PACKAGE_STRING) < 0 || fflush(stdout) != 0;
    if (opt->haproxy && !opt->where) {
        error_set(&err, RAYTRAIN_EUSAGE,
                  "--haproxy is for --where: type: " NAME " --where --haproxy RUN");
        return fail(&err);
    }
    if (opt->where)
        return where(opt, cfg, &err) < 0 ? fail(&err) : 0;
    rc = service_settle(opt, cfg, &checkpoint, &err);
    if (rc == 0)
        rc = serve(opt, cfg, argv, checkpoint, &err);
    free(checkpoint);
    return rc < 0 ? fail(&err) : 0;
}

int main(int argc, char *argv[])
{
    struct train_config cfg;
    struct options opt;
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
    status = run(argc, argv, &opt, &cfg);
    outlet_flush(outlet_messages(), LAST_WORDS_S);
    options_clear(&opt);
    train_config_clear(&cfg);
    return status;
}
