/* The configuration: what is read, what is refused and how, what survives run.cfg. */
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

#define N(a) (sizeof(a) / sizeof((a)[0]))

static struct train_config cfg;
static struct error err;

static int setup(void **state)
{
    (void)state;
    train_config_init(&cfg);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    train_config_clear(&cfg);
    train_config_clear(&cfg); /* twice is fine */
    return 0;
}

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

/* ---- reading
 * ------------------------------------------------------------------------- */

static void defaults(void **state)
{
    (void)state;
    assert_string_equal(cfg.trainer, "data_parallel");
    assert_string_equal(cfg.backend, "mpi");
    assert_int_equal(cfg.scaling_config.num_workers, 1);
    assert_int_equal(cfg.scaling_config.max_workers, 1);
    assert_int_equal(cfg.scaling_config.cpus_per_worker, 1);
    assert_int_equal(cfg.scaling_config.gpus_per_worker, -1);
    assert_false(cfg.scaling_config.use_gpu);
    assert_string_equal(cfg.run_config.storage_path, "raytrain_results");
    assert_int_equal(cfg.run_config.n_callbacks, 1);
    assert_string_equal(cfg.run_config.callbacks[0], "json");
    assert_false(cfg.run_config.checkpoint_config.checkpoint_score_min);
    assert_true(cfg.seed == 0);
    assert_null(cfg.train_func);
    assert_int_equal(json_object_size(cfg.train_loop_config), 0);
}

static void the_whole_file(void **state)
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
          "  checkpoint_config = { num_to_keep = 3; checkpoint_score_order = \"min\";\n"
          "    checkpoint_score_attribute = \"loss\"; };\n"
          "  callbacks = ( \"json\", \"csv\" ); };\n"
          "backend = \"mpi\"; backend_config = { x = 1; };\n"
          "datasets = { train = { path = \"t.h5\"; shuffle = true; };\n"
          "  valid = { path = \"v.idx\"; label = \"y\"; format = \"idx\"; }; };\n"
          "data_config = { datasets_to_split = [ \"train\" ]; };\n"
          "seed = 9223372036854775807; resume_from_checkpoint = \"c.h5\";\n");
    assert_int_equal(cfg.scaling_config.num_workers, 4);
    assert_true(cfg.scaling_config.memory_per_worker == 4ull << 30);
    assert_int_equal(cfg.scaling_config.placement_strategy, PLACEMENT_SPREAD);
    assert_int_equal(cfg.run_config.n_stop, 2);
    assert_true(cfg.run_config.stop[1].value == 100);
    assert_int_equal(cfg.run_config.failure_config.max_failures, -1);
    assert_true(cfg.run_config.checkpoint_config.checkpoint_score_min);
    assert_int_equal(cfg.n_datasets, 2);
    assert_true(cfg.datasets[0].shuffle && cfg.datasets[0].split);
    assert_false(cfg.datasets[1].split);
    assert_true(cfg.seed == INT64_MAX);
    assert_true(json_is_real(json_object_get(cfg.train_loop_config, "lr")));
    assert_true(json_is_integer(json_object_get(cfg.train_loop_config, "epochs")));
    assert_int_equal(json_array_size(json_object_get(cfg.train_loop_config, "hidden")),
                     2);
}

static void later_merges_win(void **state)
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
    assert_int_equal(cfg.run_config.n_callbacks, 1);
    assert_int_equal(cfg.n_datasets, 1);
    assert_string_equal(cfg.datasets[0].path, "2");
    assert_string_equal(cfg.datasets[0].label, "l");
}

static void set_values(void **state)
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

static void set_keys(void **state)
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

/* ---- bad input
 * -------------------------------------------------------------------------- */

#define DEEP_8  "(((((((("
#define DEEP_64 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8

/* The message holds all of these; "t.cfg:N" is the place. */
struct bad_row {
    const char *text;
    raytrain_status code;
    const char *place, *holds, *holds_too;
};

static const struct bad_row bad_texts[] = {
    /* unknown keys, at any depth, and where they belong */
    {"a = 1;", RAYTRAIN_EINVAL, "t.cfg:1: a: ", "unknown key", "known here: trainer"},
    {"\n\nsede = 1;", RAYTRAIN_EINVAL, "t.cfg:3: sede: ", "did you mean \"seed\"?", ""},
    {"num_workers = 4;", RAYTRAIN_EINVAL,
     "t.cfg:1: num_workers: ", "did you mean \"scaling_config.num_workers\"?", ""},
    {"scaling_config = {\n num_worker = 4; };", RAYTRAIN_EINVAL,
     "t.cfg:2: scaling_config.num_worker: ", "did you mean \"num_workers\"?", ""},
    {"scaling_config = { resources_per_worker = {\n\n CPU = 1; }; };", RAYTRAIN_EINVAL,
     "t.cfg:3: scaling_config.resources_per_worker.CPU: ", "did you mean \"cpu\"?", ""},
    {"run_config = { checkpoint_config = { keep = 1; }; };", RAYTRAIN_EINVAL,
     "t.cfg:1: run_config.checkpoint_config.keep: ", "known here: num_to_keep", ""},
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
     "run_config.stop: ", "no name of a metric", ""},
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
    {"run_config = { failure_config = { max_failures = -2; }; };", RAYTRAIN_EINVAL,
     "max_failures: ", "from -1", "no limit"},
    {"scaling_config = { placement_strategy = \"STRICT_SPRED\"; };", RAYTRAIN_EINVAL,
     "placement_strategy: ", "did you mean \"STRICT_SPREAD\"?", "PACK, SPREAD"},
    {"seed = 9223372036854775808;", RAYTRAIN_EINVAL, "t.cfg:1: ", "out of range", ""},
    {"\nseed = 0xffffffffffffffffff;", RAYTRAIN_EINVAL, "t.cfg:2: ", "out of range",
     ""},
    {"train_loop_config = {\n x = 1e999; };", RAYTRAIN_EINVAL,
     "t.cfg:2: train_loop_config.x: ", "out of range", ""},
    /* not this version */
    {"params = { };", RAYTRAIN_ENOTSUP, "t.cfg:1: params: ", "not available", ""},
    {"preprocessor = ( );", RAYTRAIN_ENOTSUP, "preprocessor: ", "not available", ""},
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

static void bad_input_names_the_place(void **state)
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

static void bad_assignments(void **state)
{
    static const struct {
        const char *assignment, *holds;
    } rows[] = {
        {"seed", "has no '='"},
        {"=5", "not a key"},
        {".seed=5", "not a key"},
        {"seed.=5", "not a key"},
        {"run_config..name=x", "not a key"},
        {"run_config.stop.=1", "no name of a metric"},
        {"run_config.stop.a b=1", "no name of a metric"},
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
    assert_string_equal(cfg.backend, "mpi");
}

static void bad_files(void **state)
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

/* ---- run.cfg: a property test
 * ------------------------------------------------------------- */

static uint64_t random_state;

static uint64_t draw(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return n ? random_state % n : random_state;
}

/* Bytes of all kinds, or UTF-8 of all kinds; from min on. */
static char *draw_string(size_t min, bool utf8)
{
    static const char *const pieces[] = {"a",    "Z",    "9",        " ",
                                         "\n",   "\t",   "\"",       "\\",
                                         "\x01", "\x7f", "\xc3\xbc", "\xf0\x9f\x9a\x80",
                                         "#",    "//",   "\\n",      ";",
                                         "'",    "\r",   "\x1b[0m"};
    static char text[200];
    size_t n = min + draw(12);

    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        if (!utf8 && draw(4) == 0)
            sprintf(text + strlen(text), "%c", (int)(1 + draw(255)));
        else
            strcat(text, pieces[draw(N(pieces))]);
    return text;
}

static char *draw_name(void)
{
    static char name[20];
    static const char letters[] = "abcXYZ_-019*";
    size_t n = 1 + draw(10);

    name[0] = "abcXYZ"[draw(6)];
    for (size_t i = 1; i < n; i++)
        name[i] = letters[draw(sizeof letters - 1)];
    name[n] = '\0';
    return name;
}

static double draw_double(void)
{
    double value;
    uint64_t bits;

    switch (draw(4)) {
    case 0:
        return (double)draw(10) / 10;
    case 1:
        return (double)(int64_t)draw(0);
    default:
        do {
            bits = draw(0);
            memcpy(&value, &bits, sizeof value);
        } while (value != value || value - value != 0);
        return value;
    }
}

static json_t *draw_json(int depth)
{
    json_t *value;
    uint64_t kind = draw(depth > 4 ? 5 : 7);

    switch (kind) {
    case 0:
        return json_integer((int64_t)draw(0));
    case 1:
        return json_integer((int64_t)draw(10) - 5);
    case 2:
        return json_real(draw_double());
    case 3:
        return json_boolean(draw(2));
    case 4:
        return json_string(draw_string(0, true));
    case 5:
        value = json_array();
        for (uint64_t n = draw(4); n > 0; n--)
            json_array_append_new(value, draw_json(depth + 1));
        return value;
    default:
        value = json_object();
        for (uint64_t n = draw(4); n > 0; n--)
            json_object_set_new(value, draw_name(), draw_json(depth + 1));
        return value;
    }
}

static void draw_strings(char ***strings, size_t *n, size_t min)
{
    *n = min + draw(3);
    *strings = calloc(*n + 1, sizeof **strings);
    for (size_t i = 0; i < *n; i++)
        (*strings)[i] = strdup(draw_string(min, false));
}

static char *maybe_string(void)
{
    return draw(2) ? strdup(draw_string(1, false)) : NULL;
}

static void draw_datasets(struct train_config *c)
{
    char name[40];

    c->n_datasets = draw(4);
    c->datasets = calloc(c->n_datasets + 1, sizeof *c->datasets);
    for (size_t i = 0; i < c->n_datasets; i++) {
        struct dataset_config *d = &c->datasets[i];

        sprintf(name, "d%zu-_", i);
        d->name = strdup(name);
        d->path = maybe_string();
        d->label = maybe_string();
        d->format = draw(2) ? strdup("idx") : NULL;
        d->shuffle = draw(2);
        if (draw(2))
            draw_strings(&d->columns, &d->n_columns, 1);
        d->split = true;
    }
    if (draw(2))
        draw_strings(&c->data_config.datasets_to_split,
                     &c->data_config.n_datasets_to_split, 1);
    else if (draw(2))
        c->data_config.datasets_to_split = calloc(1, sizeof(char *));
    if (c->data_config.datasets_to_split)
        for (size_t i = 0; i < c->n_datasets; i++)
            c->datasets[i].split = false;
}

static void draw_scaling(struct scaling_config *s)
{
    s->num_workers = 1 + (int)draw(1000);
    s->max_workers = s->num_workers + (int)(draw(2) ? draw(100) : 0);
    s->use_gpu = draw(2);
    s->cpus_per_worker = 1 + (int)draw(64);
    s->gpus_per_worker = (int)draw(9) - 1;
    s->memory_per_worker = draw((uint64_t)INT64_MAX);
    s->placement_strategy = (enum placement_strategy)draw(4);
    s->accelerator_type = maybe_string();
}

static void draw_run(struct run_config *r)
{
    static const char *const metrics[] = {"acc", "val/acc", "_x", "a.b-c"};

    r->name = maybe_string();
    free(r->storage_path);
    r->storage_path = strdup(draw_string(1, false));
    r->n_stop = draw(N(metrics) + 1);
    r->stop = calloc(r->n_stop + 1, sizeof *r->stop);
    for (size_t i = 0; i < r->n_stop; i++)
        r->stop[i] = (struct stop_criterion){strdup(metrics[i]), draw_double()};
    r->failure_config.max_failures = (int)draw(5) - 1;
    r->failure_config.fail_fast = draw(2);
    r->failure_config.hang_timeout_s = (int)draw(5);
    r->checkpoint_config.num_to_keep = (int)draw(5);
    r->checkpoint_config.checkpoint_score_attribute = maybe_string();
    r->checkpoint_config.checkpoint_score_min = draw(2);
    r->checkpoint_config.checkpoint_frequency = (int)draw(5);
    r->checkpoint_config.checkpoint_at_end = draw(2);
    r->sync_config.staging_path = maybe_string();
    if (draw(2))
        strcpy(r->callbacks[0], "csv");
}

static void draw_config(struct train_config *c)
{
    train_config_init(c);
    draw_scaling(&c->scaling_config);
    draw_run(&c->run_config);
    draw_datasets(c);
    strcpy(c->backend, draw(2) ? "mpi" : "jax");
    c->train_func = maybe_string();
    c->train_func_kind = (enum train_func_kind)draw(3);
    if (draw(2))
        draw_strings(&c->args, &c->n_args, 0);
    for (int i = 0; i < 4; i++) {
        json_object_set_new(c->train_loop_config, draw_name(), draw_json(0));
        json_object_set_new(c->backend_config, draw_name(), draw_json(0));
    }
    c->seed = draw((uint64_t)INT64_MAX);
    c->resume_from_checkpoint = maybe_string();
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_texts(char **a, size_t na, char **b, size_t nb)
{
    for (size_t i = 0; i < na && na == nb; i++)
        if (!same_text(a[i], b[i]))
            return false;
    return na == nb && !a == !b;
}

static bool same_datasets(const struct train_config *a, const struct train_config *b)
{
    for (size_t i = 0; i < a->n_datasets && a->n_datasets == b->n_datasets; i++) {
        const struct dataset_config *x = &a->datasets[i], *y = &b->datasets[i];

        if (!same_text(x->name, y->name) || !same_text(x->path, y->path) ||
            !same_text(x->label, y->label) || !same_text(x->format, y->format) ||
            x->shuffle != y->shuffle || x->split != y->split ||
            !same_texts(x->columns, x->n_columns, y->columns, y->n_columns))
            return false;
    }
    return a->n_datasets == b->n_datasets &&
           same_texts(
               a->data_config.datasets_to_split, a->data_config.n_datasets_to_split,
               b->data_config.datasets_to_split, b->data_config.n_datasets_to_split);
}

static bool same_run(const struct run_config *a, const struct run_config *b)
{
    const struct checkpoint_config *x = &a->checkpoint_config,
                                   *y = &b->checkpoint_config;

    for (size_t i = 0; i < a->n_stop && a->n_stop == b->n_stop; i++)
        if (!same_text(a->stop[i].metric, b->stop[i].metric) ||
            memcmp(&a->stop[i].value, &b->stop[i].value, sizeof(double)) != 0)
            return false;
    return a->n_stop == b->n_stop && same_text(a->name, b->name) &&
           same_text(a->storage_path, b->storage_path) &&
           !memcmp(&a->failure_config, &b->failure_config, sizeof a->failure_config) &&
           x->num_to_keep == y->num_to_keep &&
           same_text(x->checkpoint_score_attribute, y->checkpoint_score_attribute) &&
           x->checkpoint_score_min == y->checkpoint_score_min &&
           x->checkpoint_frequency == y->checkpoint_frequency &&
           x->checkpoint_at_end == y->checkpoint_at_end &&
           same_text(a->sync_config.staging_path, b->sync_config.staging_path) &&
           same_texts(a->callbacks, a->n_callbacks, b->callbacks, b->n_callbacks);
}

static bool same_config(const struct train_config *a, const struct train_config *b)
{
    const struct scaling_config *x = &a->scaling_config, *y = &b->scaling_config;

    return x->num_workers == y->num_workers && x->max_workers == y->max_workers &&
           x->use_gpu == y->use_gpu && x->cpus_per_worker == y->cpus_per_worker &&
           x->gpus_per_worker == y->gpus_per_worker &&
           x->memory_per_worker == y->memory_per_worker &&
           x->placement_strategy == y->placement_strategy &&
           same_text(x->accelerator_type, y->accelerator_type) &&
           same_run(&a->run_config, &b->run_config) && same_datasets(a, b) &&
           same_text(a->trainer, b->trainer) && same_text(a->backend, b->backend) &&
           same_text(a->train_func, b->train_func) &&
           a->train_func_kind == b->train_func_kind &&
           same_texts(a->args, a->n_args, b->args, b->n_args) &&
           json_equal(a->train_loop_config, b->train_loop_config) &&
           json_equal(a->backend_config, b->backend_config) && a->seed == b->seed &&
           same_text(a->resume_from_checkpoint, b->resume_from_checkpoint);
}

static void rendered_reads_back_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct train_config drawn, back;
        char *text, *again;

        random_state = seed * 0x9e3779b97f4a7c15u;
        draw_config(&drawn);
        assert_int_equal(train_config_render(&drawn, &text, &err), 0);
        train_config_init(&back);
        if (train_config_merge_text(&back, text, "run.cfg", &err))
            fail_msg("seed %d: %s\n%s", (int)seed, err.text, text);
        if (!same_config(&drawn, &back))
            fail_msg("seed %d differs:\n%s", (int)seed, text);
        assert_int_equal(train_config_render(&back, &again, &err), 0);
        assert_string_equal(text, again); /* signs of zeros, order of keys */
        free(text);
        free(again);
        train_config_clear(&drawn);
        train_config_clear(&back);
    }
}

static void reals_keep_their_bits(void **state)
{
    static const double values[] = {0.0,
                                    -0.0,
                                    0.1,
                                    1e22,
                                    1e23,
                                    5e-324,
                                    1.0 / 3,
                                    1.7976931348623157e308,
                                    -2.2250738585072014e-308};

    (void)state;
    for (size_t i = 0; i < N(values); i++) {
        char *text;
        double back;

        json_object_set_new(cfg.train_loop_config, "x", json_real(values[i]));
        assert_int_equal(train_config_render(&cfg, &text, &err), 0);
        json_object_clear(cfg.train_loop_config);
        merge(text);
        back = json_real_value(json_object_get(cfg.train_loop_config, "x"));
        assert_memory_equal(&back, &values[i], sizeof back);
        free(text);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults),
        TEST(the_whole_file),
        TEST(later_merges_win),
        TEST(set_values),
        TEST(set_keys),
        TEST(bad_input_names_the_place),
        TEST(bad_assignments),
        TEST(bad_files),
        TEST(rendered_reads_back_the_same),
        TEST(reals_keep_their_bits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
