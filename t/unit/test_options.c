/* The command line, what validation makes of it, and the environment of workers. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/options.h"
#include "config/train_func_file.h"
#include "protocol/worker_env.h"

#define N(a)     (sizeof(a) / sizeof((a)[0]))
#define ARGS_MAX 24

static struct options opt;
static struct train_config cfg;
static struct error err;
static char dir[] = "/tmp/test_options.XXXXXX";

typedef int parser(int argc, char *argv[], struct options *opt,
                   struct train_config *cfg, struct error *err);

/* Parse words up to NULL; opt and cfg are cleared by the next call. */
static int parse_as(parser *of_program, const char *const words[])
{
    static char *argv[ARGS_MAX + 2]; /* opt points into it */
    int argc = 1;

    memset(argv, 0, sizeof argv);
    argv[0] = (char *)"raytrain-run";
    options_clear(&opt);
    train_config_clear(&cfg);
    memset(&err, 0, sizeof err);
    for (; argc <= ARGS_MAX && words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    return of_program(argc, argv, &opt, &cfg, &err);
}

static int parse(const char *const words[])
{
    return parse_as(options_parse, words);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})
#define PARSE_PREDICT(...)                                                             \
    parse_as(options_parse_predict, (const char *const[]){__VA_ARGS__, NULL})
#define PARSE_SERVE(...)                                                               \
    parse_as(options_parse_serve, (const char *const[]){__VA_ARGS__, NULL})

static void expect_failure(int rc, raytrain_status code, const char *holds)
{
    if (rc != -1 || err.code != code || !strstr(err.text, holds))
        fail_msg("expected %d with %s, got %d: %d, %s", (int)code, holds, rc,
                 (int)err.code, err.text);
}

static void expect_success(int rc)
{
    if (rc)
        fail_msg("%s", err.text);
}

/* A file in the test's directory, which is the working directory. */
static void make_file(const char *name, const void *data, size_t n, mode_t mode)
{
    int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), (ssize_t)n);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int enter_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int leave_dir(void **state)
{
    static const char *const names[] = {"a.cfg", "f.so", "prog", "t.h5", "ck.h5", "d"};

    (void)state;
    options_clear(&opt);
    train_config_clear(&cfg);
    for (size_t i = 0; i < N(names); i++)
        remove(names[i]);
    return chdir("/") || rmdir(dir);
}

/* ---- flags ---- */

static void every_flag_is_parsed(void **state)
{
    (void)state;
    expect_success(PARSE("-n4", "--gpu", "--gpus-per-worker=2", "--cpus-per-worker",
                         "3", "--mem-per-worker", "4G", "--accelerator-type", "a100",
                         "--placement", "STRICT_PACK", "--launcher", "local", "--fresh",
                         "--max-failures", "-1", "--keep", "3", "--score", "loss:min",
                         "f.so", "x", "--gpu"));
    assert_int_equal(cfg.scaling_config.num_workers, 4);
    assert_true(cfg.scaling_config.use_gpu);
    assert_int_equal(cfg.scaling_config.gpus_per_worker, 2);
    assert_int_equal(cfg.scaling_config.cpus_per_worker, 3);
    assert_true(cfg.scaling_config.memory_per_worker == 4ull << 30);
    assert_string_equal(cfg.scaling_config.accelerator_type, "a100");
    assert_int_equal(cfg.scaling_config.placement_strategy, PLACEMENT_STRICT_PACK);
    assert_string_equal(opt.launcher, "local");
    assert_true(opt.fresh);
    assert_int_equal(cfg.run_config.failure_config.max_failures, -1);
    assert_int_equal(cfg.run_config.checkpoint_config.num_to_keep, 3);
    assert_string_equal(cfg.run_config.checkpoint_config.checkpoint_score_attribute,
                        "loss");
    assert_true(cfg.run_config.checkpoint_config.checkpoint_score_min);
    assert_string_equal(cfg.train_func, "f.so");
    assert_int_equal(cfg.n_args, 2);
    assert_string_equal(cfg.args[1], "--gpu");

    expect_success(PARSE("--dry-run", "--json", "-q", "--progress", "plain",
                         "--srun-args", "--mem 0", "--name", "7", "--storage", "s d",
                         "--dataset", "train=a=b.h5", "--resume=ck.h5", "--backend",
                         "none", "--trainer", "data_parallel", "--", "./p"));
    assert_true(opt.dry_run && opt.json && opt.quiet && !opt.resume);
    assert_int_equal(opt.progress, PROGRESS_PLAIN);
    assert_string_equal(opt.srun_args, "--mem 0");
    assert_string_equal(cfg.run_config.name, "7");
    assert_string_equal(cfg.run_config.storage_path, "s d");
    assert_string_equal(cfg.datasets[0].path, "a=b.h5");
    assert_string_equal(cfg.resume_from_checkpoint, "ck.h5");
    assert_int_equal(cfg.train_func_kind, TRAIN_FUNC_COMMAND);

    expect_success(PARSE("--resume", "f.so"));
    assert_true(opt.resume);
    assert_string_equal(opt.launcher, "auto");
    expect_success(
        PARSE("--name", "--", "f.so")); /* the name, not the end of options */
    assert_string_equal(cfg.run_config.name, "--");
    assert_int_equal(cfg.train_func_kind, TRAIN_FUNC_SHARED_OBJECT);
    expect_success(PARSE("--resume=ck.h5", "--fresh", "f.so"));
    expect_success(PARSE("--score", "val/acc", "f.so"));
    assert_false(cfg.run_config.checkpoint_config.checkpoint_score_min);
}

static void bad_flags_are_refused(void **state)
{
    static const struct {
        const char *words[4];
        raytrain_status code;
        const char *holds;
    } rows[] = {
        {{NULL}, RAYTRAIN_EUSAGE, "no training function"},
        {{"--"}, RAYTRAIN_EUSAGE, "no command after --"},
        {{"--bogus", "f.so"}, RAYTRAIN_EUSAGE, "unknown option \"--bogus\""},
        {{"--wrokers", "2", "f.so"}, RAYTRAIN_EUSAGE, "did you mean --workers?"},
        {{"--wrokers=2", "f.so"}, RAYTRAIN_EUSAGE, "did you mean --workers?"},
        {{"-x", "f.so"}, RAYTRAIN_EUSAGE, "unknown option \"-x\""},
        {{"-n"}, RAYTRAIN_EUSAGE, "-n needs an argument"},
        {{"--config"}, RAYTRAIN_EUSAGE, "--config needs an argument"},
        {{"--gpu=2", "f.so"}, RAYTRAIN_EUSAGE, "--gpu takes no argument"},
        {{"--name", "", "f.so"}, RAYTRAIN_EUSAGE, "--name: its argument is empty"},
        {{"--resume=", "f.so"}, RAYTRAIN_EUSAGE, "--resume: its argument is empty"},
        {{"--resume", "--fresh", "f.so"}, RAYTRAIN_EUSAGE, "exclude each other"},
        {{"--launcher", "slrum", "f.so"}, RAYTRAIN_EUSAGE, "did you mean slurm?"},
        {{"--progress", "x", "f.so"}, RAYTRAIN_EUSAGE, "auto, bar, plain, none"},
        {{"--dataset", "x.h5", "f.so"}, RAYTRAIN_EUSAGE, "NAME=PATH"},
        {{"--dataset", "a.b=x", "f.so"}, RAYTRAIN_EUSAGE, "NAME=PATH"},
        {{"--dataset", "x y=x", "f.so"}, RAYTRAIN_EUSAGE, "letters, digits"},
        {{"--dataset", "9=x", "f.so"}, RAYTRAIN_EINVAL, "--dataset: "},
        {{"--dataset", "a=", "f.so"}, RAYTRAIN_EINVAL, "datasets.a.path: "},
        {{"-n", "x", "f.so"},
         RAYTRAIN_EINVAL,
         "--workers: scaling_config.num_workers: "},
        {{"-n", "99999999999999999999", "f.so"}, RAYTRAIN_EINVAL, "found the string"},
        {{"--mem-per-worker", "4Q", "f.so"}, RAYTRAIN_EINVAL, "--mem-per-worker: "},
        {{"--score", "loss:low", "f.so"}, RAYTRAIN_EINVAL, "max, min"},
        {{"--set", "sede=1", "f.so"}, RAYTRAIN_EINVAL, "did you mean \"seed\"?"},
        {{"--config", "/nowhere.cfg", "f.so"}, RAYTRAIN_ENOTFOUND, "/nowhere.cfg"},
        {{"--pl", "PACK", "f.so"},
         RAYTRAIN_EUSAGE,
         "\"--pl\": options are not abbreviated; did you mean --placement?"},
        {{"--pl=PACK", "f.so"}, RAYTRAIN_EUSAGE, "did you mean --placement?"},
        {{"--work", "2", "f.so"}, RAYTRAIN_EUSAGE, "did you mean --workers?"},
        {{"--dry", "f.so"}, RAYTRAIN_EUSAGE, "did you mean --dry-run?"},
        {{"--dry=1", "f.so"}, RAYTRAIN_EUSAGE, "did you mean --dry-run?"},
        {{"--conf"}, RAYTRAIN_EUSAGE, "did you mean --config?"},
        {{"--p", "PACK", "f.so"}, RAYTRAIN_EUSAGE, "unknown option \"--p\""},
        {{"-qx", "f.so"}, RAYTRAIN_EUSAGE, "unknown option \"-x\""},
        {{"--keep=1", "-xq", "f.so"}, RAYTRAIN_EUSAGE, "unknown option \"-x\""},
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++)
        expect_failure(parse(rows[i].words), rows[i].code, rows[i].holds);
}

/* The beginning of an option of this program may be an option of another program.
 */
static void options_of_predict_are_not_abbreviated(void **state)
{
    (void)state;
    expect_failure(PARSE_PREDICT("--output", "p.csv", "--keep", "id"), RAYTRAIN_EUSAGE,
                   "unknown option \"--keep\": options are not abbreviated; did you "
                   "mean --keep-run?");
    expect_success(PARSE_PREDICT("--output", "p.csv", "--outputs", "leaf"));
}

static void words_that_were_taken_for_the_program_are_named(void **state)
{
    (void)state;
    expect_success(PARSE_PREDICT("--data", "x.csv", "id", "-o", "p.csv"));
    error_set(&err, RAYTRAIN_EUSAGE, "--output is missing");
    options_note_operands(&opt, &err);
    assert_string_equal(err.text,
                        "--output is missing (\"id\" was taken for the predict "
                        "function, and what follows for its arguments: -o p.csv; "
                        "options of raytrain-predict come before it)");
    expect_failure(PARSE("--time", "1", "f.so", "--submit"), RAYTRAIN_EUSAGE,
                   "add --submit, or take an allocation with --launcher slurm "
                   "(\"f.so\" was taken for the training function");
    expect_failure(PARSE("--time", "1", "--", "f.so", "-n2"), RAYTRAIN_EUSAGE,
                   "(\"f.so\" was taken for the command, and what follows");
    expect_failure(PARSE("--progress", "x", "f.so", "loud"), RAYTRAIN_EUSAGE, "none");
    assert_null(strstr(err.text, "loud"));
}

/* Flags override --set, --set overrides the file, the file overrides the defaults: all
 * six orders. */
static void precedence_does_not_depend_on_order(void **state)
{
    static const char *const parts[3][2] = {
        {"--config", "a.cfg"}, {"--set", "seed=2"}, {"--keep", "3"}};
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char text[] =
        "seed = 1; backend = \"none\"; train_func = \"cfg.so\";\n"
        "run_config = { name = \"file\"; checkpoint_config = "
        "{ num_to_keep = 1; }; };\n";

    (void)state;
    make_file("a.cfg", text, sizeof text - 1, 0600);
    for (size_t i = 0; i < N(orders); i++) {
        const char *words[10];
        size_t n = 0;

        for (int k = 0; k < 3; k++) {
            words[n++] = parts[orders[i][k]][0];
            words[n++] = parts[orders[i][k]][1];
        }
        words[n++] = "--set";
        words[n++] = "run_config.checkpoint_config.num_to_keep=2";
        words[n] = NULL;
        expect_success(parse(words));
        assert_string_equal(cfg.backend, "none");
        assert_string_equal(cfg.train_func, "cfg.so");
        assert_true(cfg.seed == 2);
        assert_int_equal(cfg.run_config.checkpoint_config.num_to_keep, 3);
    }
    expect_success(PARSE("--set", "seed=4", "--set", "seed=5", "-ca.cfg", "x.so"));
    assert_true(cfg.seed == 5);
    assert_string_equal(cfg.train_func, "x.so");
}

static void help_and_version_are_recognised(void **state)
{
    const char *help = options_help(true);

    (void)state;
    for (const char *line = help; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    assert_non_null(strstr(help, "-n, --workers N|MIN:MAX "));
    assert_non_null(strstr(help, "--resume[=CHECKPOINT]"));
    expect_success(PARSE("--help", "--set", "nonsense", "--launcher", "x"));
    assert_true(opt.help && !opt.help_all && !opt.version);
    expect_success(PARSE("--help=all"));
    assert_true(opt.help && opt.help_all);
    expect_success(PARSE("-q", "--version"));
    assert_true(opt.version);
}

/* ---- validation ---- */

struct elf_row {
    int type, machine, class;
    int phnum;
    uint32_t segment;
    mode_t mode;
    int kind; /* -1: refused */
    const char *holds;
};

static void elf_write(const struct elf_row *row)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        Elf64_Dyn dynamic[2];
    } file = {0};

    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = (unsigned char)row->class;
    file.header.e_type = (Elf64_Half)row->type;
    file.header.e_machine = (Elf64_Half)row->machine;
    file.header.e_phoff = sizeof file.header;
    file.header.e_phentsize = sizeof file.segment;
    file.header.e_phnum = (Elf64_Half)row->phnum;
    file.segment.p_type = row->segment;
    file.segment.p_offset = offsetof(typeof(file), dynamic);
    file.segment.p_filesz = sizeof file.dynamic;
    file.dynamic[0].d_tag = DT_FLAGS_1;
    file.dynamic[0].d_un.d_val = 0x08000000;
    make_file("f.so", &file, sizeof file, row->mode);
}

static int own_machine(void)
{
    Elf64_Ehdr header = {0};
    int fd = open("/proc/self/exe", O_RDONLY);

    assert_int_equal(read(fd, &header, sizeof header), sizeof header);
    close(fd);
    return header.e_machine;
}

static void the_kind_of_a_training_function_is_detected(void **state)
{
    int own = own_machine();
    const struct elf_row rows[] = {
        {ET_DYN, own, ELFCLASS64, 1, PT_LOAD, 0600, TRAIN_FUNC_SHARED_OBJECT, ""},
        {ET_DYN, own, ELFCLASS64, 1, PT_INTERP, 0700, TRAIN_FUNC_PROGRAM, ""},
        {ET_DYN, own, ELFCLASS64, 1, PT_DYNAMIC, 0700, TRAIN_FUNC_PROGRAM, ""},
        {ET_EXEC, own, ELFCLASS64, 0, 0, 0700, TRAIN_FUNC_PROGRAM, ""},
        {ET_REL, own, ELFCLASS64, 0, 0, 0600, -1, "not linked"},
        {ET_DYN, own, ELFCLASS32, 1, PT_LOAD, 0600, -1, "another kind of machine"},
        {ET_DYN, own + 1, ELFCLASS64, 1, PT_LOAD, 0600, -1, "another kind of machine"},
        {ET_DYN, own, ELFCLASS64, 65535, PT_LOAD, 0600, TRAIN_FUNC_SHARED_OBJECT, ""},
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        elf_write(&rows[i]);
        expect_success(PARSE("f.so"));
        if (rows[i].kind < 0) {
            expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                           rows[i].holds);
            continue;
        }
        expect_success(train_config_validate(&cfg, &err));
        assert_int_equal(cfg.train_func_kind, rows[i].kind);
        assert_int_equal(cfg.train_func[0], '/');
        assert_string_equal(cfg.run_config.name, "f");
    }
}

static void other_files_are_refused_as_training_functions(void **state)
{
    (void)state;
    expect_success(PARSE("no_such.so"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_ENOTFOUND, "no_such.so");
    expect_success(PARSE("./no\nsuch.so"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_ENOTFOUND,
                   "no\\nsuch.so");
    expect_success(PARSE("/"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL, "directory");
    expect_success(PARSE("/dev/null"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL, "regular");
    make_file("f.so", "", 0, 0700);
    expect_success(PARSE("f.so"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                   "not an ELF file");
    make_file("prog", "#!/bin/sh\n", 10, 0600);
    expect_success(PARSE("./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL, "chmod +x");
    make_file("prog", "#!/bin/sh\n", 10, 0700);
    expect_success(PARSE("./prog"));
    expect_success(train_config_validate(&cfg, &err));
    assert_int_equal(cfg.train_func_kind, TRAIN_FUNC_PROGRAM);
    expect_success(PARSE("sh"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_ENOTFOUND,
                   "it is a command, which comes after --: -- sh");
    expect_success(PARSE("prog"));
    expect_success(train_config_validate(&cfg, &err));
    remove("f.so");
}

/* A file here does not take the place of a program. */
static void a_command_is_looked_for_in_path_first(void **state)
{
    char *cwd = realpath(".", NULL), here[600];

    (void)state;
    make_file("sh", "#!/bin/sh\n", 10, 0700);
    make_file("prog", "#!/bin/sh\n", 10, 0700);
    expect_success(PARSE("--", "sh"));
    expect_success(train_config_validate(&cfg, &err));
    snprintf(here, sizeof here, "%s/sh", cwd);
    assert_int_equal(cfg.train_func[0], '/');
    assert_string_not_equal(cfg.train_func, here);
    expect_success(PARSE("--", "prog"));
    expect_success(train_config_validate(&cfg, &err));
    snprintf(here, sizeof here, "%s/prog", cwd);
    assert_string_equal(cfg.train_func, here);
    expect_success(PARSE("--", "no-such-program"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_ENOTFOUND,
                   "and no such program in PATH");
    free(cwd);
    remove("sh");
}

static void a_command_stays_one_whatever_its_file(void **state)
{
    enum train_func_kind kind = TRAIN_FUNC_COMMAND;
    char *path = strdup("sh");

    (void)state;
    expect_success(train_func_resolve(&path, &kind, &err));
    assert_int_equal(kind, TRAIN_FUNC_COMMAND);
    assert_int_equal(path[0], '/');
    free(path);
}

static void gpu_settings_must_agree(void **state)
{
    (void)state;
    make_file("prog", "#!/bin/sh\n", 10, 0700);
    expect_success(PARSE("./prog"));
    expect_success(train_config_validate(&cfg, &err));
    assert_int_equal(cfg.scaling_config.gpus_per_worker, 0);
    expect_success(PARSE("--gpu", "./prog"));
    expect_success(train_config_validate(&cfg, &err));
    assert_int_equal(cfg.scaling_config.gpus_per_worker, 1);
    expect_success(PARSE("--gpu", "--gpus-per-worker", "2", "./prog"));
    expect_success(train_config_validate(&cfg, &err));
    assert_int_equal(cfg.scaling_config.gpus_per_worker, 2);
    expect_success(PARSE("--gpu", "--gpus-per-worker", "0.25", "./prog"));
    expect_success(train_config_validate(&cfg, &err));
    assert_int_equal(cfg.scaling_config.gpus_per_worker, 1);
    assert_int_equal(cfg.scaling_config.gpu_parts, 2500);
    expect_success(PARSE("--gpus-per-worker", "0.5", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                   "each worker is to get 0.5 of a GPU, but use_gpu is false");
    expect_success(PARSE("--gpus-per-worker", "2", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL, "--gpu");
    expect_success(PARSE("--gpu", "--gpus-per-worker", "0", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL, "0 GPUs");
}

static void trainers_with_a_loop_take_no_function(void **state)
{
    (void)state;
    make_file("prog", "#!/bin/sh\n", 10, 0700);
    make_file("rows.csv", "x,label\n1,0\n", 12, 0600);
    expect_success(PARSE("--trainer", "xgboost"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                   "there is no dataset \"train\" to train on");
    expect_success(PARSE("--trainer", "lightgbm", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EUSAGE,
                   "leave out one of them");
    expect_success(PARSE("--set", "params.eta=0.1", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                   "params are for the trainers xgboost and lightgbm");
    expect_success(PARSE("--trainer", "xgboost", "--dataset", "train=rows.csv"));
    expect_success(train_config_validate(&cfg, &err));
    assert_string_equal(cfg.run_config.name, "xgboost");
    assert_int_equal(cfg.run_config.checkpoint_config.checkpoint_interval_s, 60);
    expect_success(PARSE("--trainer", "xgboost", "--dataset", "train=rows.csv", "--set",
                         "weight=\"label\""));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                   "label and weight are the same column");
    expect_success(PARSE("--trainer", "xgboost", "--dataset", "train=rows.csv", "--set",
                         "early_stopping_metric=\"valid-auc\""));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                   "early_stopping_rounds is not");
    assert_int_equal(unlink("rows.csv"), 0);
    assert_int_equal(unlink("prog"), 0);
}

static void missing_features_are_refused(void **state)
{
    static const struct {
        const char *words[6];
        const char *holds;
    } rows[] = {
        {{"--set", "run_config.checkpoint_config.checkpoint_at_end=true", "./prog"},
         "checkpoint_at_end: "},
    };

    (void)state;
    make_file("prog", "#!/bin/sh\n", 10, 0700);
    for (size_t i = 0; i < N(rows); i++) {
        expect_success(parse(rows[i].words));
        expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_ENOTSUP,
                       rows[i].holds);
    }
    expect_success(PARSE("--set",
                         "run_config.checkpoint_config.checkpoint_at_end=false",
                         "--set", "run_config.failure_config.hang_timeout_s=0", "-n1:1",
                         "--backend", "none", "./prog"));
    expect_success(train_config_validate(&cfg, &err));
    expect_success(PARSE("--backend", "none", "-n2", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                   "there can be only 1");
}

static void backends_of_frameworks_are_for_commands(void **state)
{
    static const char *const names[] = {"torch", "tensorflow", "jax", "horovod",
                                        "command"};
    static const char *const trees[] = {"xgboost", "lightgbm"};

    (void)state;
    make_file("prog", "#!/bin/sh\n", 10, 0700);
    for (size_t i = 0; i < N(names); i++) {
        expect_success(PARSE("--backend", names[i], "./prog"));
        expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                       "is for a command: raytrain-run [OPTIONS] -- COMMAND");
    }
    for (size_t i = 0; i < N(trees); i++) {
        expect_success(PARSE("--backend", trees[i], "--", "python3", "train.py"));
        expect_success(train_config_validate(&cfg, &err));
        expect_success(PARSE("--backend", trees[i], "./prog"));
        expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                       "--trainer xgboost or lightgbm trains trees without");
    }
    expect_success(PARSE("./prog"));
    expect_success(train_config_validate(&cfg, &err));
    assert_string_equal(cfg.backend, "mpi");
    expect_success(PARSE("--set", "backend_config.timeout_s=5", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                   "backend_config.timeout_s: the backend \"mpi\" has no such setting");
}

static void names_of_runs_are_checked(void **state)
{
    static char longest[201], longer[202];
    static const char *const good[] = {"a",  "a b", "\"quoted\"", "gr\xc3\xbc\xc3\x9f",
                                       "-x", "...", longest};
    static const struct {
        const char *name, *shown;
    } bad[] = {
        {".", "\".\""},        {"..", "\"..\""},        {"../x", "'/'"},
        {"a/b", "\"a/b\""},    {"a\nb", "\"a\\nb\""},   {"\x1b[0m", "\"\\x1b[0m\""},
        {longer, "200 bytes"}, {"a\x7f", "\"a\\x7f\""},
    };

    (void)state;
    memset(longest, 'x', 200);
    memset(longer, 'x', 201);
    make_file("prog", "#!/bin/sh\n", 10, 0700);
    for (size_t i = 0; i < N(good); i++) {
        expect_success(PARSE("--name", good[i], "./prog"));
        expect_success(train_config_validate(&cfg, &err));
    }
    for (size_t i = 0; i < N(bad); i++) {
        expect_success(PARSE("--name", bad[i].name, "./prog"));
        expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                       bad[i].shown);
        assert_non_null(strstr(err.text, "--name"));
    }
}

static void paths_become_absolute(void **state)
{
    char expected[200];

    (void)state;
    make_file("prog", "#!/bin/sh\n", 10, 0700);
    make_file("t.h5", "x", 1, 0600);
    make_file("ck.h5", "x", 1, 0600);
    expect_success(PARSE("--storage", ".//runs", "--dataset", "t=./t.h5",
                         "--resume=ck.h5", "./prog"));
    expect_success(train_config_validate(&cfg, &err));
    snprintf(expected, sizeof expected, "%s/runs", dir);
    assert_string_equal(cfg.run_config.storage_path, expected);
    snprintf(expected, sizeof expected, "%s/t.h5", dir);
    assert_string_equal(cfg.datasets[0].path, expected);
    snprintf(expected, sizeof expected, "%s/ck.h5", dir);
    assert_string_equal(cfg.resume_from_checkpoint, expected);
    snprintf(expected, sizeof expected, "%s/prog", dir);
    assert_string_equal(cfg.train_func, expected);
    assert_string_equal(cfg.run_config.name, "prog");

    expect_success(PARSE("--resume=no.h5", "./prog"));
    expect_success(train_config_validate(&cfg, &err));
    expect_failure(train_config_check_start(&cfg, &err), RAYTRAIN_ENOTFOUND, "no.h5");
    expect_success(PARSE("--resume=/", "./prog"));
    expect_failure(train_config_check_start(&cfg, &err), RAYTRAIN_EINVAL, "directory");
    expect_success(PARSE("--dataset", "t=no.h5", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_ENOTFOUND,
                   "datasets.t: ");
    expect_success(PARSE("--set", "datasets.t.shuffle=true", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL, "no path");
    expect_success(
        PARSE("--dataset", "t=t.h5", "--set", "datasets.t.label=no/file", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_ENOTFOUND, "t.label: ");
    expect_success(PARSE("--set", "data_config.datasets_to_split=(\"x\")", "./prog"));
    expect_failure(train_config_validate(&cfg, &err), RAYTRAIN_EINVAL,
                   "no dataset \"x\"");
}

/* ---- the workers' environment ---- */

static void worker_env_round_trip(void **state)
{
    char run[] = "/run dir", backend[] = "mpi", marker[] = "token";
    struct worker_env env = {run, 3, 8, backend, marker, 2, 4, 1}, back;

    (void)state;
    unsetenv("RAYTRAIN_RUN_DIR");
    assert_int_equal(worker_env_decode(&back, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EUSAGE);
    assert_non_null(strstr(err.text, "raytrain-run"));
    expect_success(worker_env_export(&env, &err));
    expect_success(worker_env_decode(&back, &err));
    assert_string_equal(back.run_dir, "/run dir");
    assert_int_equal(back.attempt, 3);
    assert_int_equal(back.workers, 8);
    assert_string_equal(back.backend, "mpi");
    assert_string_equal(back.marker, "token");
    assert_int_equal(back.gpus, 2);
    assert_int_equal(back.sharing, 4);
    assert_int_equal(back.predicts, 1);
    worker_env_clear(&back);
}

static void invalid_worker_variables_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"RAYTRAIN_ATTEMPT", "-1"},
        {"RAYTRAIN_ATTEMPT", ""},
        {"RAYTRAIN_WORKERS", "0"},
        {"RAYTRAIN_WORKERS", "2x"},
        {"RAYTRAIN_WORKERS", "99999999999"},
        {"RAYTRAIN_RUN_DIR", "relative"},
        {"RAYTRAIN_RUN_DIR", ""},
        {"RAYTRAIN_MARKER", ""},
        {"RAYTRAIN_GPUS_PER_WORKER", "-1"},
        {"RAYTRAIN_WORKERS_PER_GPU", "0"},
        {"RAYTRAIN_PREDICTS", "yes"},
    };
    char run[] = "/r", backend[] = "mpi", marker[] = "t";
    struct worker_env env = {run, 0, 1, backend, marker, 0, 1, 0}, back;

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        expect_success(worker_env_export(&env, &err));
        setenv(rows[i][0], rows[i][1], 1);
        expect_failure(worker_env_decode(&back, &err), RAYTRAIN_EINVAL, rows[i][0]);
    }
    env.marker = NULL;
    expect_failure(worker_env_export(&env, &err), RAYTRAIN_EINVAL, "RAYTRAIN_MARKER");
}

/* ---- raytrain-serve ---- */

static void a_service_has_a_run_before_its_function(void **state)
{
    (void)state;
    expect_success(PARSE_SERVE("-q", "run", "--last", "f.so", "--last"));
    assert_string_equal(opt.checkpoint, "run");
    assert_null(opt.models);
    assert_string_equal(cfg.train_func, "f.so");
    assert_int_equal(cfg.n_args, 1);
}

static void models_take_the_place_of_the_run(void **state)
{
    (void)state;
    expect_success(PARSE_SERVE("--models", "dir", "-q", "f.so", "a", "--last"));
    assert_null(opt.checkpoint);
    assert_string_equal(opt.models, "dir");
    assert_string_equal(cfg.train_func, "f.so");
    assert_int_equal(cfg.n_args, 2);
    expect_success(PARSE_SERVE("--models", "dir", "--", "python3", "p.py"));
    assert_int_equal(cfg.train_func_kind, TRAIN_FUNC_COMMAND);
    expect_success(PARSE_SERVE("--models", "dir"));
    assert_null(cfg.train_func);
    expect_failure(PARSE_SERVE("run", "--models", "dir", "f.so"), RAYTRAIN_EUSAGE,
                   "leave out \"run\"");
}

static const char *conflict(const char *assignment)
{
    static struct train_config other;

    train_config_clear(&other);
    train_config_init(&other);
    expect_success(PARSE_SERVE("--models", "dir"));
    expect_success(train_config_set(&other, assignment, &err));
    return serve_config_conflict(&cfg.serve, &other.serve);
}

static void what_holds_for_all_models_cannot_differ(void **state)
{
    static const char *const shared[][2] = {
        {"serve.name=m", "name"},
        {"serve.listen=./s", "listen"},
        {"serve.token_file=t", "token_file"},
        {"serve.tls_cert=c", "tls_cert"},
        {"serve.tls_key=k", "tls_key"},
        {"serve.access_log=-", "access_log"},
        {"serve.max_body=1M", "max_body"},
        {"serve.max_connections=7", "max_connections"},
        {"serve.timeout_s=7", "timeout_s"}};

    (void)state;
    for (size_t i = 0; i < N(shared); i++)
        assert_string_equal(conflict(shared[i][0]), shared[i][1]);
    assert_null(conflict("serve.queue=7"));
    assert_null(conflict("serve.max_batch=7"));
    assert_null(conflict("serve.max_wait_us=7"));
    assert_null(conflict("serve.follow=true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flag_is_parsed),
        cmocka_unit_test(bad_flags_are_refused),
        cmocka_unit_test(options_of_predict_are_not_abbreviated),
        cmocka_unit_test(words_that_were_taken_for_the_program_are_named),
        cmocka_unit_test(precedence_does_not_depend_on_order),
        cmocka_unit_test(help_and_version_are_recognised),
        cmocka_unit_test(the_kind_of_a_training_function_is_detected),
        cmocka_unit_test(other_files_are_refused_as_training_functions),
        cmocka_unit_test(a_command_is_looked_for_in_path_first),
        cmocka_unit_test(a_command_stays_one_whatever_its_file),
        cmocka_unit_test(gpu_settings_must_agree),
        cmocka_unit_test(trainers_with_a_loop_take_no_function),
        cmocka_unit_test(missing_features_are_refused),
        cmocka_unit_test(backends_of_frameworks_are_for_commands),
        cmocka_unit_test(names_of_runs_are_checked),
        cmocka_unit_test(paths_become_absolute),
        cmocka_unit_test(worker_env_round_trip),
        cmocka_unit_test(invalid_worker_variables_are_refused),
        cmocka_unit_test(a_service_has_a_run_before_its_function),
        cmocka_unit_test(models_take_the_place_of_the_run),
        cmocka_unit_test(what_holds_for_all_models_cannot_differ),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
