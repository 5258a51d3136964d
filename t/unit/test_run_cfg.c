/*
 * run.cfg: any configuration is rendered to text that reads back to the same struct.
 * This property is tested on random configurations, the same in every run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/train_config.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static struct error err;

/* ---- drawing ---- */

static uint64_t random_state;

static uint64_t draw(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return n ? random_state % n : random_state;
}

/* Arbitrary bytes, or arbitrary UTF-8; at least min. */
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
    if (s->gpus_per_worker == 1 && draw(2))
        s->gpu_parts = 1 + (int)draw(GPU_PARTS - 1);
    s->memory_per_worker = draw((uint64_t)INT64_MAX);
    s->placement_strategy = (enum placement_strategy)draw(4);
    s->accelerator_type = maybe_string();
    s->spare_nodes = (int)draw(3);
    s->elastic_resize_monitor_interval_s = (int)draw(100);
}

static const char *const events[] = {CALLBACK_EVENTS(REGISTRY_WORD)};

/* A path that is absolute already, as the configuration makes it. */
static char *draw_path(void)
{
    char *path;

    return asprintf(&path, "/%s", draw_string(1, false)) < 0 ? NULL : path;
}

static void draw_events(struct callback_config *c)
{
    if (draw(2)) {
        c->n_events = 1 + draw(N(events));
        c->events = calloc(c->n_events + 1, sizeof *c->events);
        for (size_t i = 0; i < c->n_events; i++)
            c->events[i] = strdup(events[(i + c->n_events) % N(events)]);
    }
    c->every = 1 + (int)draw(1000);
    c->grace_s = (int)draw(3601);
}

/* With the settings of its kind; those of other kinds stay as they are. */
static void draw_callback(struct callback_config *c)
{
    c->kind = (int)draw(CALLBACK_KINDS);
    if (c->kind == CALLBACK_prometheus) {
        c->path = draw(2) ? draw_path() : NULL;
        c->interval_s = 1 + (int)draw(86400);
    } else if (c->kind == CALLBACK_command) {
        draw_strings(&c->argv, &c->n_argv, 1);
        free(c->argv[0]);
        c->argv[0] = draw(2) ? draw_path() : strdup("program");
        draw_events(c);
    } else if (c->kind == CALLBACK_library) {
        c->path = draw_path();
        if (draw(2))
            draw_strings(&c->argv, &c->n_argv, 1);
        draw_events(c);
    }
}

/* The defaults of all kinds are those of the first callback, "json". */
static void draw_callbacks(struct callbacks_config *c)
{
    const struct callback_config first = c->list[0];

    c->n = draw(7);
    c->list = realloc(c->list, (c->n + 1) * sizeof *c->list);
    for (size_t i = 0; i < c->n; i++) {
        c->list[i] = first;
        draw_callback(&c->list[i]);
    }
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
    r->failure_config.reset_on_progress = draw(2);
    r->failure_config.max_preemptions = (int)draw(5) - 1;
    r->failure_config.fail_fast = draw(2);
    r->failure_config.hang_timeout_s = (int)draw(5);
    r->failure_config.start_timeout_s = (int)draw(50);
    r->failure_config.node_timeout_s = (int)draw(50);
    r->failure_config.same_step = draw(2);
    r->checkpoint_config.num_to_keep = (int)draw(5);
    r->checkpoint_config.checkpoint_score_attribute = maybe_string();
    r->checkpoint_config.checkpoint_score_min = draw(2);
    r->stop_before_end_s = (int)draw(100);
    r->grace_s = (int)draw(100);
    r->exit_grace_s = 1 + (int)draw(100);
    r->device_collectives = (int)draw(3);
    r->requeue_on_stop = draw(2);
    free(r->show);
    r->show = strdup(draw(2) ? "all" : "0,3-5");
    r->checkpoint_config.checkpoint_frequency = (int)draw(5);
    r->checkpoint_config.checkpoint_interval_s = (int)draw(5);
    r->checkpoint_config.replicas = (int)draw(2);
    r->checkpoint_config.stripe_count = (int)draw(5);
    r->checkpoint_config.checkpoint_at_end = draw(2);
    r->sync_config.staging_path = maybe_string();
    if (draw(2))
        draw_callbacks(&r->callbacks);
}

static void draw_config(struct train_config *c)
{
    train_config_init(c);
    draw_scaling(&c->scaling_config);
    draw_run(&c->run_config);
    draw_datasets(c);
    if (draw(3))
        c->backend = strdup(draw(2) ? "mpi" : "jax");
    if (draw(2))
        c->backend_config.init_method = strdup("tcp");
    c->backend_config.timeout_s = (int)draw(100);
    c->train_func = maybe_string();
    c->train_func_kind = (enum train_func_kind)draw(3);
    if (draw(2))
        draw_strings(&c->args, &c->n_args, 0);
    for (int i = 0; i < 4; i++)
        json_object_set_new(c->train_loop_config, draw_name(), draw_json(0));
    c->seed = draw((uint64_t)INT64_MAX);
    c->resume_from_checkpoint = maybe_string();
}

/* ---- comparing ---- */

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

static bool same_callbacks(const struct callbacks_config *a,
                           const struct callbacks_config *b)
{
    for (size_t i = 0; i < a->n && a->n == b->n; i++) {
        const struct callback_config *x = &a->list[i], *y = &b->list[i];

        if (x->kind != y->kind || !same_text(x->path, y->path) ||
            !same_texts(x->argv, x->n_argv, y->argv, y->n_argv) ||
            !same_texts(x->events, x->n_events, y->events, y->n_events) ||
            x->interval_s != y->interval_s || x->every != y->every ||
            x->grace_s != y->grace_s)
            return false;
    }
    return a->n == b->n;
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
           same_text(a->storage_path, b->storage_path) && same_text(a->show, b->show) &&
           a->stop_before_end_s == b->stop_before_end_s && a->grace_s == b->grace_s &&
           a->exit_grace_s == b->exit_grace_s &&
           a->device_collectives == b->device_collectives &&
           a->requeue_on_stop == b->requeue_on_stop &&
           !memcmp(&a->failure_config, &b->failure_config, sizeof a->failure_config) &&
           x->num_to_keep == y->num_to_keep &&
           same_text(x->checkpoint_score_attribute, y->checkpoint_score_attribute) &&
           x->checkpoint_score_min == y->checkpoint_score_min &&
           x->checkpoint_frequency == y->checkpoint_frequency &&
           x->checkpoint_interval_s == y->checkpoint_interval_s &&
           x->replicas == y->replicas && x->stripe_count == y->stripe_count &&
           x->checkpoint_at_end == y->checkpoint_at_end &&
           same_text(a->sync_config.staging_path, b->sync_config.staging_path) &&
           same_callbacks(&a->callbacks, &b->callbacks);
}

static bool same_config(const struct train_config *a, const struct train_config *b)
{
    const struct scaling_config *x = &a->scaling_config, *y = &b->scaling_config;

    return x->num_workers == y->num_workers && x->max_workers == y->max_workers &&
           x->use_gpu == y->use_gpu && x->cpus_per_worker == y->cpus_per_worker &&
           x->gpus_per_worker == y->gpus_per_worker && x->gpu_parts == y->gpu_parts &&
           x->memory_per_worker == y->memory_per_worker &&
           x->placement_strategy == y->placement_strategy &&
           same_text(x->accelerator_type, y->accelerator_type) &&
           x->spare_nodes == y->spare_nodes &&
           x->elastic_resize_monitor_interval_s ==
               y->elastic_resize_monitor_interval_s &&
           same_run(&a->run_config, &b->run_config) && same_datasets(a, b) &&
           same_text(a->trainer, b->trainer) && same_text(a->backend, b->backend) &&
           same_text(a->train_func, b->train_func) &&
           a->train_func_kind == b->train_func_kind &&
           same_texts(a->args, a->n_args, b->args, b->n_args) &&
           json_equal(a->train_loop_config, b->train_loop_config) &&
           same_text(a->backend_config.init_method, b->backend_config.init_method) &&
           a->backend_config.timeout_s == b->backend_config.timeout_s &&
           a->seed == b->seed &&
           same_text(a->resume_from_checkpoint, b->resume_from_checkpoint);
}

/* ---- tests ---- */

static void a_rendered_configuration_reads_back(void **state)
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

static void real_numbers_keep_their_bits(void **state)
{
    struct train_config cfg;
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

        train_config_init(&cfg);
        json_object_set_new(cfg.train_loop_config, "x", json_real(values[i]));
        assert_int_equal(train_config_render(&cfg, &text, &err), 0);
        json_object_clear(cfg.train_loop_config);
        assert_int_equal(train_config_merge_text(&cfg, text, "run.cfg", &err), 0);
        back = json_real_value(json_object_get(cfg.train_loop_config, "x"));
        assert_memory_equal(&back, &values[i], sizeof back);
        free(text);
        train_config_clear(&cfg);
    }
}

/* Workers read what was rendered. */
static void bounds_of_a_filter_read_back(void **state)
{
    static const char FILTER[] =
        "datasets = { d = { path = \"x\"; filter = { column = "
        "\"c\"; min = -9007199254740993L; max = 18.0; }; }; };";
    const struct filter_config *f;
    struct train_config cfg, back;
    char *text;

    (void)state;
    train_config_init(&cfg);
    train_config_init(&back);
    assert_int_equal(train_config_merge_text(&cfg, FILTER, "t.cfg", &err), 0);
    assert_int_equal(train_config_render(&cfg, &text, &err), 0);
    assert_int_equal(train_config_merge_text(&back, text, "run.cfg", &err), 0);
    f = &back.datasets[0].filter;
    assert_true(f->has_min && f->min_is_integer);
    assert_true(f->min_integer == -9007199254740993);
    assert_true(f->has_max && !f->max_is_integer && f->max == 18);
    free(text);
    train_config_clear(&cfg);
    train_config_clear(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rendered_configuration_reads_back),
        cmocka_unit_test(bounds_of_a_filter_read_back),
        cmocka_unit_test(real_numbers_keep_their_bits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
