/* The configuration: what is read, what is refused, and with which message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/train_config.h"
#include "config_fixture.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void merge(const char *text)
{
    if (train_config_merge_text(&cfg, text, "t.cfg", &err))
        fail_msg("%s", err.text);
}

static void set(const char *assignment)
{
    if (train_config_set(&cfg, assignment, &err))
        fail_msg("%s", err.text);
}

/* ---- reading ---- */

static void missing_keys_have_defaults(void **state)
{
    (void)state;
    assert_string_equal(cfg.trainer, "data_parallel");
    assert_null(cfg.backend);
    assert_int_equal(cfg.scaling_config.num_workers, 1);
    assert_int_equal(cfg.scaling_config.max_workers, 1);
    assert_int_equal(cfg.scaling_config.cpus_per_worker, 1);
    assert_int_equal(cfg.scaling_config.gpus_per_worker, -1);
    assert_false(cfg.scaling_config.use_gpu);
    assert_string_equal(cfg.run_config.storage_path, "raytrain_results");
    assert_int_equal(cfg.run_config.callbacks.n, 1);
    assert_int_equal(cfg.run_config.callbacks.list[0].kind, CALLBACK_json);
    assert_false(cfg.run_config.checkpoint_config.sync);
    assert_false(cfg.run_config.checkpoint_config.checkpoint_score_min);
    assert_true(cfg.seed == 0);
    assert_null(cfg.train_func);
    assert_int_equal(json_object_size(cfg.train_loop_config), 0);
}

static void every_key_can_be_read(void **state)
{
    (void)state;
    merge("trainer = \"data_parallel\"; train_func = \"./f.so\";\n"
          "train_loop_config = { lr = 0.1; epochs = 5; hidden = [256, 128];\n"
          "  deep = { on = true; mix = (1, 2.5, \"x\", { a = 1; }); }; };\n"
          "scaling_config = { num_workers = 4; use_gpu = true;\n"
          "  resources_per_worker = { cpu = 2; gpu = 1; memory = \"4G\"; };\n"
          "  placement_strategy = \"spread\"; accelerator_type = \"a100\"; };\n"
          "run_config = { name = \"fashion\"; storage_path = \"/s\";\n"
          "  stop = { accuracy = 0.9; training_iteration = 100; };\n"
          "  failure_config = { max_failures = -1; fail_fast = true; };\n"
          "  checkpoint_config = { mode = \"sync\"; num_to_keep = 3;\n"
          "    checkpoint_score_order = \"min\";\n"
          "    checkpoint_score_attribute = \"loss\"; };\n"
          "  callbacks = ( \"json\", \"csv\" ); };\n"
          "backend = \"mpi\"; backend_config = { timeout_s = 1; };\n"
          "datasets = { train = { path = \"t.h5\"; shuffle = true;\n"
          "    shuffle_window = 4096; last_batch = \"drop\"; limit = 100;\n"
          "    filter = { column = \"age\"; max = 0.5;\n"
          "        min = -9007199254740993L; };\n"
          "    rows = ( { count = 90; seed = 7; }, { first = 5; },\n"
          "        { from = 0.25; } ); made = true; };\n"
          "  valid = { path = \"v.idx\"; label = \"y\"; format = \"idx\"; }; };\n"
          "data_config = { datasets_to_split = [ \"train\" ]; };\n"
          "seed = 9223372036854775807; resume_from_checkpoint = \"c.h5\";\n");
    assert_int_equal(cfg.scaling_config.num_workers, 4);
    assert_true(cfg.scaling_config.memory_per_worker == 4ull << 30);
    assert_int_equal(cfg.scaling_config.placement_strategy, PLACEMENT_SPREAD);
    assert_int_equal(cfg.run_config.n_stop, 2);
    assert_true(cfg.run_config.stop[1].value == 100);
    assert_int_equal(cfg.run_config.failure_config.max_failures, -1);
    assert_true(cfg.run_config.checkpoint_config.sync);
    assert_true(cfg.run_config.checkpoint_config.checkpoint_score_min);
    assert_int_equal(cfg.n_datasets, 2);
    assert_true(cfg.datasets[0].shuffle && cfg.datasets[0].split);
    assert_true(cfg.datasets[0].shuffle_window == 4096 && cfg.datasets[0].limit == 100);
    assert_int_equal(cfg.datasets[0].last_batch, LAST_BATCH_DROP);
    assert_string_equal(cfg.datasets[0].filter.column, "age");
    assert_true(cfg.datasets[0].filter.min_is_integer);
    assert_true(cfg.datasets[0].filter.min_integer == -9007199254740993);
    assert_true(cfg.datasets[0].filter.max == 0.5);
    assert_int_equal(cfg.datasets[0].rows.n, 3);
    assert_true(cfg.datasets[0].rows.steps[0].shuffled);
    assert_int_equal(cfg.datasets[0].rows.steps[0].count, 90);
    assert_int_equal(cfg.datasets[0].rows.steps[1].first, 5);
    assert_true(cfg.datasets[0].rows.steps[2].is_share);
    assert_true(cfg.datasets[0].rows.steps[2].from == 0.25);
    assert_true(cfg.datasets[0].rows.steps[2].to == 1);
    assert_true(!cfg.datasets[0].rows.steps[1].shuffled && cfg.datasets[0].made);
    assert_int_equal(cfg.datasets[1].last_batch, LAST_BATCH_KEEP);
    assert_false(cfg.datasets[1].split || cfg.datasets[1].filter.has_min);
    assert_true(cfg.seed == INT64_MAX);
    assert_true(json_is_real(json_object_get(cfg.train_loop_config, "lr")));
    assert_true(json_is_integer(json_object_get(cfg.train_loop_config, "epochs")));
    assert_int_equal(json_array_size(json_object_get(cfg.train_loop_config, "hidden")),
                     2);
}

static void keys_of_trees_can_be_read(void **state)
{
    (void)state;
    merge("trainer = \"lightgbm\"; label = \"y\"; weight = \"w\"; group = \"q\";\n"
          "params = { metric = [\"auc\", \"l2\"]; eta = 0.1; };\n"
          "categorical_features = [\"c\"]; num_boost_round = 7;\n"
          "early_stopping_rounds = 3; early_stopping_metric = \"v-auc\";");
    assert_string_equal(cfg.gbdt.label, "y");
    assert_string_equal(cfg.gbdt.weight, "w");
    assert_string_equal(cfg.gbdt.qid, "q");
    assert_int_equal(json_object_size(cfg.gbdt.params), 2);
    assert_int_equal(cfg.gbdt.n_categorical, 1);
    assert_int_equal(cfg.gbdt.num_boost_round, 7);
    assert_int_equal(cfg.gbdt.early_stopping_rounds, 3);
    assert_string_equal(cfg.gbdt.early_stopping_metric, "v-auc");
}

static void later_files_override_earlier_ones(void **state)
{
    (void)state;
    merge("seed = 1; train_loop_config = { a = 1; g = { x = 1; y = 2; }; };"
          "run_config = { stop = { m = 1; }; callbacks = (\"csv\", \"json\"); };"
          "datasets = { d = { path = \"1\"; label = \"l\"; }; };");
    merge("train_loop_config = { g = { y = 3; }; };"
          "run_config = { stop = { m = 2; n = 3; }; callbacks = (\"json\"); };"
          "datasets = { d = { path = \"2\"; }; };");
    assert_true(cfg.seed == 1);
    assert_int_equal(json_object_size(cfg.train_loop_config), 2);
    assert_int_equal(cfg.run_config.n_stop, 2);
    assert_true(cfg.run_config.stop[0].value == 2);
    assert_int_equal(cfg.run_config.callbacks.n, 1);
    assert_int_equal(cfg.n_datasets, 1);
    assert_string_equal(cfg.datasets[0].path, "2");
    assert_string_equal(cfg.datasets[0].label, "l");
}

static void set_parses_values(void **state)
{
    static const struct {
        const char *assignment, *json;
    } rows[] = {
        {"train_loop_config.v=5", "5"},
        {"train_loop_config.v=-5000000000", "-5000000000"},
        {"train_loop_config.v=0x10", "16"},
        {"train_loop_config.v=0.1", "0.1"},
        {"train_loop_config.v=1e-3", "0.001"},
        {"train_loop_config.v=true", "true"},
        {"train_loop_config.v=False", "false"},
        {"train_loop_config.v=adam", "\"adam\""},
        {"train_loop_config.v=", "\"\""},
        {"train_loop_config.v=a b", "\"a b\""},
        {"train_loop_config.v=4G", "\"4G\""},
        {"train_loop_config.v=a=b", "\"a=b\""},
        {"train_loop_config.v=1; x = 2", "\"1; x = 2\""},
        {"train_loop_config.v=\"5\"", "\"5\""},
        {"train_loop_config.v=[1, 5000000000]", "[1,5000000000]"},
        {"train_loop_config.v=(1, \"x\", [ ])", "[1,\"x\",[]]"},
        {"train_loop_config.v={ a = 1; }", "{\"a\":1}"},
        {"train_loop_config.v=./dir/file.h5", "\"./dir/file.h5\""},
        {"train_loop_config.v=0.5.1", "\"0.5.1\""},
        {"train_loop_config.v=#x", "\"#x\""},
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        char *json;

        json_object_clear(cfg.train_loop_config);
        set(rows[i].assignment);
        json = json_dumps(json_object_get(cfg.train_loop_config, "v"),
                          JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        assert_string_equal(json, rows[i].json);
        free(json);
    }
}

static void set_parses_keys(void **state)
{
    (void)state;
    set("train_loop_config.a.b.c=1");
    set("train_loop_config.a.d=2");
    assert_int_equal(json_object_size(json_object_get(cfg.train_loop_config, "a")), 2);
    set("run_config.stop.val/acc.top-1=0.5");
    assert_string_equal(cfg.run_config.stop[0].metric, "val/acc.top-1");
    set("run_config.name=007");
    assert_string_equal(cfg.run_config.name, "007");
    set("run_config.name=true");
    assert_string_equal(cfg.run_config.name, "true");
    set("run_config.name=\"a\\x41\"");
    assert_string_equal(cfg.run_config.name, "aA");
    set("scaling_config.num_workers=2:8");
    assert_int_equal(cfg.scaling_config.num_workers, 2);
    assert_int_equal(cfg.scaling_config.max_workers, 8);
    set("scaling_config.resources_per_worker.memory=1.5M");
    assert_true(cfg.scaling_config.memory_per_worker == 3 << 19);
    set("scaling_config.resources_per_worker.memory=4096");
    assert_true(cfg.scaling_config.memory_per_worker == 4096);
    set("datasets.d.path=12");
    assert_string_equal(cfg.datasets[0].path, "12");
    assert_true(cfg.datasets[0].split);
    set("data_config.datasets_to_split=[ ]");
    assert_false(cfg.datasets[0].split);
    set("data_config.datasets_to_split=all");
    assert_true(cfg.datasets[0].split);
    set("seed = 3"); /* as people type it */
    assert_true(cfg.seed == 3);
}

/* ---- bad input ---- */

#define DEEP_8  "(((((((("
#define DEEP_64 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8

/* The message must contain all of these; "t.cfg:N" is the position. */
struct bad_row {
    const char *text;
    raytrain_status code;
    const char *place, *holds, *holds_too;
};

static const struct bad_row bad_texts[] = {
    /* unknown keys at any depth, with a suggestion */
    {"a = 1;", RAYTRAIN_EINVAL, "t.cfg:1: a: ", "unknown key",
     "\"train_loop_config.a\""},
    {"\n\nsede = 1;", RAYTRAIN_EINVAL, "t.cfg:3: sede: ", "did you mean \"seed\"?", ""},
    {"num_workers = 4;", RAYTRAIN_EINVAL,
     "t.cfg:1: num_workers: ", "did you mean \"scaling_config.num_workers\"?", ""},
    {"scaling_config = {\n num_worker = 4; };", RAYTRAIN_EINVAL,
     "t.cfg:2: scaling_config.num_worker: ", "did you mean \"num_workers\"?", ""},
    {"scaling_config = { resources_per_worker = {\n\n CPU = 1; }; };", RAYTRAIN_EINVAL,
     "t.cfg:3: scaling_config.resources_per_worker.CPU: ", "did you mean \"cpu\"?", ""},
    {"run_config = { checkpoint_config = { keep = 1; }; };", RAYTRAIN_EINVAL,
     "t.cfg:1: run_config.checkpoint_config.keep: ", "known here: mode, num_to_keep",
     ""},
    {"run_config = { max_failures = 1; };", RAYTRAIN_EINVAL,
     "run_config.max_failures: ",
     "did you mean \"run_config.failure_config.max_failures\"?", ""},
    {"datasets = { t = { file = \"x\"; }; };", RAYTRAIN_EINVAL,
     "t.cfg:1: datasets.t.file: ", "unknown key", "path"},
    /* wrong types */
    {"seed = \"x\";", RAYTRAIN_EINVAL, "t.cfg:1: seed: ", "expected an integer",
     "found the string \"x\""},
    {"seed = 1.5;", RAYTRAIN_EINVAL, "seed: ", "found the number 1.5", ""},
    {"seed = -1;", RAYTRAIN_EINVAL, "seed: ", "from 0 to", "found the integer -1"},
    {"backend = 5;", RAYTRAIN_EINVAL, "backend: ", "expected one of mpi, none, torch",
     ""},
    {"backend_config = { timeout = 1; };", RAYTRAIN_EINVAL,
     "t.cfg:1: backend_config.timeout: ", "unknown key", "timeout_s"},
    {"train_func = { };", RAYTRAIN_EINVAL, "train_func: ", "expected a string",
     "found a group"},
    {"train_func = \"\";", RAYTRAIN_EINVAL, "train_func: ", "not empty", ""},
    {"args = \"x\";", RAYTRAIN_EINVAL, "args: ", "a list of strings", ""},
    {"args = (\"x\",\n 5);", RAYTRAIN_EINVAL, "t.cfg:2: args: ", "the integer 5", ""},
    {"scaling_config = 1;", RAYTRAIN_EINVAL, "scaling_config: ", "expected a group",
     ""},
    {"train_loop_config = [1];", RAYTRAIN_EINVAL,
     "train_loop_config: ", "expected a group", "found a list"},
    {"scaling_config = { use_gpu = 1; };", RAYTRAIN_EINVAL,
     "scaling_config.use_gpu: ", "expected true or false", ""},
    {"run_config = { stop = 5; };", RAYTRAIN_EINVAL, "run_config.stop: ", "a group",
     ""},
    {"run_config = { stop = { a = \"x\"; }; };", RAYTRAIN_EINVAL,
     "run_config.stop.a: ", "expected a number", ""},
    {"run_config = { stop = ( { metric = \"a b\"; value = 1; } ); };", RAYTRAIN_EINVAL,
     "run_config.stop: ", "not the name of a metric", ""},
    {"run_config = { stop = ( { metric = 1; value = 1; } ); };", RAYTRAIN_EINVAL,
     "run_config.stop: ", "metric = ", ""},
    {"datasets = { t = \"x\"; };", RAYTRAIN_EINVAL, "datasets.t: ", "path = ", ""},
    {"datasets = { t* = { }; };", RAYTRAIN_EINVAL, "datasets.t*: ", "name", ""},
    {"data_config = { datasets_to_split = \"train\"; };", RAYTRAIN_EINVAL,
     "data_config.datasets_to_split: ", "\"all\" or a list", ""},
    /* out of range */
    {"scaling_config = { num_workers = 0; };", RAYTRAIN_EINVAL,
     "scaling_config.num_workers: ", "from 1 to 1000000", "the integer 0"},
    {"scaling_config = { num_workers = 4294967297; };", RAYTRAIN_EINVAL,
     "scaling_config.num_workers: ", "the integer 4294967297", ""},
    {"scaling_config = { num_workers = \"8:2\"; };", RAYTRAIN_EINVAL,
     "num_workers: ", "MIN:MAX", "\"8:2\""},
    {"scaling_config = { num_workers = \"2:\"; };", RAYTRAIN_EINVAL,
     "num_workers: ", "MIN:MAX", ""},
    {"scaling_config = { resources_per_worker = { memory = \"4X\"; }; };",
     RAYTRAIN_EINVAL, "resources_per_worker.memory: ", "\"4G\"", "\"4X\""},
    {"scaling_config = { resources_per_worker = { cpu = 0; }; };", RAYTRAIN_EINVAL,
     "resources_per_worker.cpu: ", "from 1", ""},
/* GPUs: a fraction below 1, or a whole number */
#define GPU(value) "scaling_config = { resources_per_worker = { gpu = " value "; }; };"
    {GPU("1.5"), RAYTRAIN_EINVAL, "t.cfg:1: scaling_config.resources_per_worker.gpu: ",
     "a fraction of a GPU from 0.0001 on, such as 0.5, found the number 1.5", ""},
    {GPU("0.00001"), RAYTRAIN_EINVAL, "resources_per_worker.gpu: ", "1e-05", ""},
    {GPU("-0.5"), RAYTRAIN_EINVAL, "resources_per_worker.gpu: ", "-0.5", ""},
    {GPU("-1"), RAYTRAIN_EINVAL, "resources_per_worker.gpu: ", "the integer -1", ""},
    {GPU("\"0.5\""), RAYTRAIN_EINVAL, "resources_per_worker.gpu: ", "the string", ""},
    {GPU("1e300"), RAYTRAIN_EINVAL, "resources_per_worker.gpu: ", "1e+300", ""},
    {"run_config = { failure_config = { max_failures = -2; }; };", RAYTRAIN_EINVAL,
     "max_failures: ", "from -1", "no limit"},
    {"scaling_config = { placement_strategy = \"STRICT_SPRED\"; };", RAYTRAIN_EINVAL,
     "placement_strategy: ", "did you mean \"STRICT_SPREAD\"?", "PACK, SPREAD"},
    {"seed = 9223372036854775808;", RAYTRAIN_EINVAL, "t.cfg:1: ", "out of range", ""},
    {"\nseed = 0xffffffffffffffffff;", RAYTRAIN_EINVAL, "t.cfg:2: ", "out of range",
     ""},
    {"train_loop_config = {\n x = 1e999; };", RAYTRAIN_EINVAL,
     "t.cfg:2: train_loop_config.x: ", "out of range", ""},
    {"params = 3;", RAYTRAIN_EINVAL, "t.cfg:1: params: ", "expected", ""},
    {"group = 3;", RAYTRAIN_EINVAL, "t.cfg:1: group: ", "expected a string", ""},
    {"num_boost_round = 0;", RAYTRAIN_EINVAL, "t.cfg:1: num_boost_round: ", "", ""},

    /* syntax */
    {"seed = 1;\nseed = 2;", RAYTRAIN_EINVAL, "t.cfg:2: ", "set before", "seed = 2;"},
    {"scaling_config = { use_gpu = true;\n use_gpu = true; };", RAYTRAIN_EINVAL,
     "t.cfg:2: ", "set before", "use_gpu"},
    {"\nseed = ;", RAYTRAIN_EINVAL, "t.cfg:2: ", "syntax error", "seed = ;"},
    {"seed == 1;", RAYTRAIN_EINVAL, "t.cfg:1: ", "syntax error", ""},
    {"{", RAYTRAIN_EINVAL, "t.cfg:1: ", "syntax error", ""},
    {"[run_config]\nname = x\n", RAYTRAIN_EINVAL, "t.cfg:1: ", "[run_config]", ""},
    {"a = \"x\n\n", RAYTRAIN_EINVAL, "t.cfg:1: ", "no closing quote", ""},
    {"\"x", RAYTRAIN_EINVAL, "t.cfg:1: ", "no closing quote", ""},
    {"a = \"x\\", RAYTRAIN_EINVAL, "t.cfg:1: ", "no closing quote", ""},
    {"seed = 1;\n/* x", RAYTRAIN_EINVAL, "t.cfg:2: ", "no closing */", ""},
    {"train_func = \"a\\x00b\";", RAYTRAIN_EINVAL, "t.cfg:1: ", "\\x00", ""},
    {"\n@include \"/etc/passwd\"\n", RAYTRAIN_EINVAL, "t.cfg:2: ", "@include", ""},
    {"seed = " DEEP_64 "(", RAYTRAIN_EINVAL, "t.cfg:1: ", "too deep", ""},
    {"\x1b[31m = 1;", RAYTRAIN_EINVAL, "t.cfg:1: ", "\\x1b[31m", ""},
    {"train_loop_config = { x = \"\xff\"; };", RAYTRAIN_EINVAL,
     "train_loop_config.x: ", "UTF-8", "\\xff"},
};

static void bad_input_is_reported_with_file_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(bad_texts); i++) {
        const struct bad_row *row = &bad_texts[i];
        int rc;

        train_config_clear(&cfg);
        train_config_init(&cfg);
        memset(&err, 0, sizeof err);
        rc = train_config_merge_text(&cfg, row->text, "t.cfg", &err);
        if (rc != -1 || err.code != row->code || !strstr(err.text, row->place) ||
            !strstr(err.text, row->holds) || !strstr(err.text, row->holds_too))
            fail_msg("row %zu: %s -> %d, %s", i, row->text, rc, err.text);
        assert_null(strchr(err.text, '\x1b'));
    }
}

static void bad_assignments_are_refused(void **state)
{
    static const struct {
        const char *assignment, *holds;
    } rows[] = {
        {"seed", "has no '='"},
        {"=5", "not a key"},
        {".seed=5", "not a key"},
        {"seed.=5", "not a key"},
        {"run_config..name=x", "not a key"},
        {"run_config.stop.=1", "not the name of a metric"},
        {"run_config.stop.a b=1", "not the name of a metric"},
        {"train_loop_config._x=1", "not a key"},
        {"train_loop_config.a;b=1", "not a key"},
        {"train_loop_config=1", "expected a group"},
        {"run_config.nam=x", "did you mean \"name\"?"},
        {"num_workers=2", "did you mean \"scaling_config.num_workers\"?"},
        {"seed=x", "--set: seed: expected an integer"},
        {"seed=99999999999999999999", "out of range"},
        {"train_loop_config.x=1e999", "out of range"},
        {"train_loop_config.x=[1,", "is not a value"},
        {"train_loop_config.x=\"", "is not a value"},
        {"seed=1; backend = \"none\"", "expected an integer"},
        {"scaling_config.use_gpu=yes", "expected true or false"},
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++)
        if (train_config_set(&cfg, rows[i].assignment, &err) != -1 ||
            !strstr(err.text, rows[i].holds))
            fail_msg("%s -> %s", rows[i].assignment, err.text);
    assert_null(cfg.backend);
}

static void parts_of_a_gpu_are_read(void **state)
{
    static const struct {
        const char *text;
        int gpus, parts, sharing;
    } rows[] = {
        {"0.5", 1, 5000, 2},     {"0.25", 1, 2500, 4},   {"0.3", 1, 3000, 3},
        {"0.33333", 1, 3333, 3}, {"0.6", 1, 6000, 1},    {"0.0001", 1, 1, 10000},
        {"0.0003", 1, 3, 3333},  {"0.9999", 1, 9999, 1}, {"1", 1, 0, 1},
        {"1.0", 1, 0, 1},        {"2.0", 2, 0, 1},       {"0", 0, 0, 1},
        {"0.0", 0, 0, 1},        {"8", 8, 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        const struct scaling_config *s = &cfg.scaling_config;
        char text[96];

        snprintf(text, sizeof text, "scaling_config.resources_per_worker.gpu=%s",
                 rows[i].text);
        assert_int_equal(train_config_set(&cfg, text, &err), 0);
        assert_int_equal(s->gpus_per_worker, rows[i].gpus);
        assert_int_equal(s->gpu_parts, rows[i].parts);
        assert_int_equal(scaling_config_workers_per_gpu(s), rows[i].sharing);
    }
}

static void unreadable_files_are_refused(void **state)
{
    char path[] = "/tmp/test_config.XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "seed = 1;\0\n", 11), 11);
    assert_int_equal(train_config_merge_file(&cfg, path, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "value 0"));
    assert_int_equal(ftruncate(fd, 9), 0);
    assert_int_equal(train_config_merge_file(&cfg, path, &err), 0);
    assert_true(cfg.seed == 1);
    assert_int_equal(ftruncate(fd, 0), 0); /* an empty one is fine */
    assert_int_equal(train_config_merge_file(&cfg, path, &err), 0);
    close(fd);
    unlink(path);
    assert_int_equal(train_config_merge_file(&cfg, path, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, config_setup, config_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(missing_keys_have_defaults),
        TEST(every_key_can_be_read),
        TEST(keys_of_trees_can_be_read),
        TEST(later_files_override_earlier_ones),
        TEST(set_parses_values),
        TEST(set_parses_keys),
        TEST(bad_input_is_reported_with_file_and_line),
        TEST(bad_assignments_are_refused),
        TEST(parts_of_a_gpu_are_read),
        TEST(unreadable_files_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
