#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/placement.h"

#define G         (1024ull * 1024 * 1024)
#define NODES_MAX 6

/*
 * nodes: NAME:CPUS[:GPUS[:TYPE[:MEMORY in G]]], separated by spaces.
 * plan: NAME*TASKS, separated by spaces; NULL: refused, with `says` in the message.
 */
static const struct row {
    int line;
    const char *nodes;
    int share;
    struct scaling_config want;
    const char *plan, *says;
} rows[] = {
#define WANT(n, cpus, gpus, mem, how)                                                  \
    {                                                                                  \
        .num_workers = (n), .max_workers = (n), .cpus_per_worker = (cpus),             \
        .gpus_per_worker = (gpus), .use_gpu = (gpus) > 0, .memory_per_worker = (mem),  \
        .placement_strategy = PLACEMENT_##how                                          \
    }
#define PART(n, parts, how)                                                            \
    {                                                                                  \
        .num_workers = (n), .max_workers = (n), .cpus_per_worker = 1,                  \
        .gpus_per_worker = 1, .gpu_parts = (parts), .use_gpu = true,                   \
        .placement_strategy = PLACEMENT_##how                                          \
    }
#define RANGE(least, most, how)                                                        \
    {                                                                                  \
        .num_workers = (least), .max_workers = (most), .cpus_per_worker = 1,           \
        .placement_strategy = PLACEMENT_##how                                          \
    }
#define WANT_TYPE(n, gpus, type)                                                       \
    {                                                                                  \
        .num_workers = (n), .cpus_per_worker = 1, .gpus_per_worker = (gpus),           \
        .use_gpu = true, .accelerator_type = (type)                                    \
    }
    /* PACK: as few nodes as possible, filled in order */
    {__LINE__, "a:4", 0, WANT(1, 1, 0, 0, PACK), "a*1", NULL},
    {__LINE__, "a:4", 0, WANT(4, 1, 0, 0, PACK), "a*4", NULL},
    {__LINE__, "a:4 b:4", 0, WANT(5, 1, 0, 0, PACK), "a*4 b*1", NULL},
    {__LINE__, "a:4 b:4 c:4", 0, WANT(8, 1, 0, 0, PACK), "a*4 b*4", NULL},
    {__LINE__, "a:4 b:4 c:4", 0, WANT(4, 2, 0, 0, PACK), "a*2 b*2", NULL},
    {__LINE__, "a:4 b:4", 0, WANT(2, 3, 0, 0, PACK), "a*1 b*1", NULL},
    {__LINE__, "a:2 b:8", 0, WANT(6, 1, 0, 0, PACK), "b*6", NULL},
    {__LINE__, "a:2 b:8", 0, WANT(2, 1, 0, 0, PACK), "a*2", NULL},
    {__LINE__, "a:2 b:8", 0, WANT(9, 1, 0, 0, PACK), "a*1 b*8", NULL},
    {__LINE__, "a:2 b:4 c:8", 0, WANT(12, 1, 0, 0, PACK), "b*4 c*8", NULL},
    {__LINE__, "a:1 b:0 c:1", 0, WANT(2, 1, 0, 0, PACK), "a*1 c*1", NULL},
    {__LINE__, "a:4:4 b:4:4", 0, WANT(8, 1, 1, 0, PACK), "a*4 b*4", NULL},
    {__LINE__, "a:8:2 b:8:2", 0, WANT(2, 1, 2, 0, PACK), "a*1 b*1", NULL},
    {__LINE__, "a:8 b:8:4", 0, WANT(3, 1, 1, 0, PACK), "b*3", NULL},
    {__LINE__, "a:8:0::8 b:8:0::8", 0, WANT(4, 1, 0, 4 * G, PACK), "a*2 b*2", NULL},
    {__LINE__, "a:8", 0, WANT(8, 1, 0, 4 * G, PACK), "a*8", NULL}, /* memory unknown */
    /* a range: as many as fit without sharing CPUs, except for the minimum */
    {__LINE__, "a:4 b:4", 0, RANGE(2, 8, PACK), "a*4 b*4", NULL},
    {__LINE__, "a:4 b:4", 0, RANGE(2, 6, PACK), "a*4 b*2", NULL},
    {__LINE__, "a:4 b:4", 0, RANGE(2, 100, SPREAD), "a*4 b*4", NULL},
    {__LINE__, "a:4 b:3", 0, RANGE(2, 100, STRICT_PACK), "a*4", NULL},
    {__LINE__, "a:4 b:3", 0, RANGE(1, 100, STRICT_SPREAD), "a*1 b*1", NULL},
    {__LINE__, "a:2", 16, RANGE(1, 4, PACK), "a*2", NULL},
    {__LINE__, "a:2", 16, RANGE(3, 4, PACK), "a*3", NULL},
    {__LINE__, "a:2", 0, RANGE(3, 4, PACK), NULL, "there is room for 2"},
    /* SPREAD: evenly, best effort */
    {__LINE__, "a:4 b:4", 0, WANT(1, 1, 0, 0, SPREAD), "a*1", NULL},
    {__LINE__, "a:4 b:4", 0, WANT(2, 1, 0, 0, SPREAD), "a*1 b*1", NULL},
    {__LINE__, "a:4 b:4", 0, WANT(5, 1, 0, 0, SPREAD), "a*3 b*2", NULL},
    {__LINE__, "a:4 b:4 c:4 d:4", 0, WANT(8, 1, 0, 0, SPREAD), "a*2 b*2 c*2 d*2", NULL},
    {__LINE__, "a:1 b:8 c:8", 0, WANT(9, 1, 0, 0, SPREAD), "a*1 b*4 c*4", NULL},
    {__LINE__, "a:4:1 b:4:4", 0, WANT(4, 1, 1, 0, SPREAD), "a*1 b*3", NULL},
    {__LINE__, "a:4 b:0 c:4", 0, WANT(2, 1, 0, 0, SPREAD), "a*1 c*1", NULL},
    /* STRICT_PACK: one node */
    {__LINE__, "a:4 b:4", 0, WANT(4, 1, 0, 0, STRICT_PACK), "a*4", NULL},
    {__LINE__, "a:2 b:4", 0, WANT(4, 1, 0, 0, STRICT_PACK), "b*4", NULL},
    {__LINE__, "a:4 b:4", 0, WANT(5, 1, 0, 0, STRICT_PACK), NULL,
     "5 workers do not fit on one node of the test (STRICT_PACK): there is room for "
     "4.\n"
     "  each worker asks for 1 CPU\n"
     "  a,b: 4 CPUs, 0 GPUs: room for 4 per node, limited by the CPUs\n"
     "Try --workers 4, --placement PACK (several nodes), or run it where more is "
     "available."},
    /* STRICT_SPREAD: one node per worker */
    {__LINE__, "a:4 b:4", 0, WANT(2, 1, 0, 0, STRICT_SPREAD), "a*1 b*1", NULL},
    {__LINE__, "a:1 b:4 c:4", 0, WANT(2, 2, 0, 0, STRICT_SPREAD), "b*1 c*1", NULL},
    {__LINE__, "n1:4 n2:4", 0, WANT(3, 1, 0, 0, STRICT_SPREAD), NULL,
     "3 workers need a node each in the test (STRICT_SPREAD): there is room for 2."},
    /* CPUs are shared only if each worker asks for one */
    {__LINE__, "a:2", 16, WANT(8, 1, 0, 0, PACK), "a*8", NULL},
    {__LINE__, "a:2", 16, WANT(32, 1, 0, 0, PACK), "a*32", NULL},
    {__LINE__, "a:2", 16, WANT(33, 1, 0, 0, PACK), NULL, "there is room for 32"},
    {__LINE__, "a:2", 16, WANT(2, 2, 0, 0, PACK), NULL, "there is room for 1"},
    {__LINE__, "a:2:1", 16, WANT(2, 1, 1, 0, PACK), NULL, "limited by the GPUs"},
    {__LINE__, "a:2147483647", 16, WANT(3, 1, 0, 0, PACK), "a*3", NULL},
    /* refusals, with numbers */
    {__LINE__, "n1:4 n2:4", 0, WANT(9, 1, 0, 0, PACK), NULL,
     "9 workers do not fit in the test: there is room for 8.\n"
     "  each worker asks for 1 CPU\n"
     "  n[1-2]: 4 CPUs, 0 GPUs: room for 4 per node, limited by the CPUs\n"
     "Try --workers 8, or run it where more is available."},
    {__LINE__, "n1:4 n2:4", 0, WANT(1, 8, 0, 0, PACK), NULL,
     "1 worker does not fit in the test: there is room for 0.\n"
     "  each worker asks for 8 CPUs\n"
     "  n[1-2]: 4 CPUs, 0 GPUs: room for 0 per node, limited by the CPUs\n"
     "Try a smaller --cpus-per-worker, or run it where more is available."},
    {__LINE__, "n1:4:2:fake:8 n2:4", 0, WANT(3, 1, 2, 4 * G, PACK), NULL,
     "  each worker asks for 1 CPU, 2 GPUs, 4G of memory\n"
     "  n1: 4 CPUs, 2 GPUs of type fake, 8G of memory: room for 1 per node, limited by "
     "the "
     "GPUs\n"
     "  n2: 4 CPUs, 0 GPUs: room for 0 per node, limited by the GPUs\n"
     "Try --workers 1, a smaller --gpus-per-worker, or run it where more is "
     "available."},
    {__LINE__, "a:64:0::16", 0, WANT(5, 1, 0, 4 * G, PACK), NULL,
     "limited by the memory\nTry --workers 4, a smaller --mem-per-worker, or"},
    {__LINE__, "", 0, WANT(1, 1, 0, 0, PACK), NULL, "there are no nodes"},
    {__LINE__, "a:4", 0, WANT(0, 1, 0, 0, PACK), NULL, "at least 1 is needed"},
    {__LINE__, "a:4", 0, WANT(2147483647, 1, 0, 0, SPREAD), NULL, "room for 4"},
    /* parts of GPUs: of each as many as fit, also if CPUs or nodes are what is short */
    {__LINE__, "a:8:4", 0, PART(2, 5000, PACK), "a*2", NULL},
    {__LINE__, "a:8:4 b:8:4", 0, PART(8, 5000, PACK), "a*8", NULL},
    {__LINE__, "a:8:2 b:8:2", 0, PART(8, 5000, PACK), "a*4 b*4", NULL},
    {__LINE__, "a:8:2 b:8:2", 0, PART(5, 5000, PACK), "a*4 b*1", NULL},
    {__LINE__, "a:8:2 b:8:2", 0, PART(7, 3333, PACK), "a*6 b*1", NULL},
    {__LINE__, "a:8:1 b:8:1", 0, PART(6, 3000, PACK), "a*3 b*3", NULL},
    {__LINE__, "a:8:4 b:8:4", 0, PART(6, 6000, PACK), "a*4 b*2", NULL},
    {__LINE__, "a:8:1 b:8:1 c:8:1", 0, PART(8, 2500, SPREAD), "a*3 b*3 c*2", NULL},
    {__LINE__, "a:8:4 b:8:4", 0, PART(2, 5000, STRICT_SPREAD), "a*1 b*1", NULL},
    {__LINE__, "a:8:4 b:8:4", 0, PART(5, 2500, STRICT_PACK), "a*5", NULL},
    {__LINE__, "a:8:1 b:8:4", 0, PART(7, 2500, STRICT_PACK), "b*7", NULL},
    {__LINE__, "a:2:1", 16, PART(16, 625, PACK), "a*16", NULL},
    {__LINE__, "a:8:1", 0, PART(3, 5000, PACK), NULL,
     "each worker asks for 1 CPU, 0.5 of a GPU\n"
     "  a: 8 CPUs, 1 GPU: room for 2 per node, limited by the GPUs\n"
     "Try --workers 2, a smaller --gpus-per-worker, or run it where more is "
     "available."},
    {__LINE__, "a:8", 0, PART(1, 1, PACK), NULL, "limited by the GPUs"},
    /* accelerator_type */
    {__LINE__, "a:4:4:v100 b:4:4:a100", 0, WANT_TYPE(2, 1, (char *)"A100"), "b*2",
     NULL},
    {__LINE__, "a:4:4:v100 b:4:4", 0, WANT_TYPE(2, 1, (char *)"a100"), NULL,
     "each worker asks for 1 CPU, 1 GPU of type a100\n"
     "  a: 4 CPUs, 4 GPUs of type v100: room for 0 per node, limited by the type of "
     "the "
     "GPUs"},
};

static char *field_copy(char *field)
{
    return field && *field ? strdup(field) : NULL;
}

static void nodes_parse(const char *text, struct resources *r)
{
    char copy[256], *word, *save;

    snprintf(copy, sizeof copy, "%s", text);
    r->nodes = calloc(NODES_MAX, sizeof *r->nodes);
    assert_non_null(r->nodes);
    for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        struct node_resources *n = &r->nodes[r->n_nodes++];
        char *name = strsep(&word, ":"), *cpus = strsep(&word, ":");
        char *gpus = strsep(&word, ":"), *type = strsep(&word, ":");

        n->name = field_copy(name);
        n->cpus = atoi(cpus);
        n->gpus = gpus ? atoi(gpus) : 0;
        n->gpu_type = field_copy(type);
        n->memory = word ? (uint64_t)atoi(word) * G : 0;
    }
}

static void plan_print(const struct placement *plan, char *text, size_t size)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < plan->n_nodes; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s*%d", i ? " " : "",
                                 plan->nodes[i].name, plan->nodes[i].tasks);
}

static void row_check(const struct row *row)
{
    struct resources have = {.what = "the test", .cpu_share = row->share};
    struct placement plan = {0};
    struct error err = {0};
    char text[256];
    int rc;

    nodes_parse(row->nodes, &have);
    rc = placement_plan(&row->want, &have, &plan, &err);
    if (row->plan) {
        if (rc < 0)
            fail_msg("line %d: refused: %s", row->line, err.text);
        plan_print(&plan, text, sizeof text);
        if (strcmp(text, row->plan) != 0)
            fail_msg("line %d: got %s, want %s", row->line, text, row->plan);
        if (!scaling_config_is_elastic(&row->want))
            assert_int_equal(plan.workers, row->want.num_workers);
        assert_int_equal(plan.cpus_per_worker, row->want.cpus_per_worker);
        assert_int_equal(plan.gpus_per_worker, row->want.gpus_per_worker);
        assert_int_equal(plan.workers_per_gpu,
                         row->want.gpu_parts ? GPU_PARTS / row->want.gpu_parts : 1);
        for (size_t i = 0; i < plan.n_nodes && row->want.gpu_parts; i++)
            assert_true(placement_gpus(&plan, plan.nodes[i].tasks) <=
                        plan.nodes[i].gpus);
    } else {
        if (rc == 0 || plan.nodes)
            fail_msg("line %d: not refused", row->line);
        if (!strstr(err.text, row->says))
            fail_msg("line %d: it says: %s", row->line, err.text);
        if (row->want.num_workers > 0)
            assert_int_equal(err.code, RAYTRAIN_EFIT);
    }
    placement_clear(&plan);
    resources_clear(&have);
}

static void every_row_of_the_table_is_placed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        row_check(&rows[i]);
}

/* With very many kinds of node the message is cut, and says so. */
/* A job with shards has a part of a GPU on each node. */
static void slices_of_gpus_are_counted(void **state)
{
    static const struct {
        int slices, each, parts, room, needs;
    } table[] = {
        {2, 4, 5000, 1, 2},     {4, 4, 5000, 2, 2}, {3, 4, 5000, 1, 2},
        {8, 4, 5000, 2, 2},     {1, 4, 2500, 1, 1}, {1, 4, 1000, 2, 1},
        {0, 4, 5000, 0, 2},     {1, 4, 6000, 0, 3}, {3, 4, 6000, 1, 3},
        {50, 100, 3333, 1, 34},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct node_resources node = {
            .name = strdup("a"), .cpus = 99, .gpus = 1, .gpu_slices = table[i].slices};
        struct resources have = {.what = "the test",
                                 .nodes = &node,
                                 .n_nodes = 1,
                                 .slices = {"shard", table[i].each, true}};
        struct scaling_config want = PART(table[i].room, table[i].parts, PACK);
        struct placement plan = {0};

        if (table[i].room > 0) {
            assert_int_equal(placement_plan(&want, &have, &plan, NULL), 0);
            assert_int_equal(placement_slices(&plan, 1), table[i].needs);
            assert_true(placement_slices(&plan, table[i].room) <= table[i].slices);
        }
        placement_clear(&plan);
        want.num_workers = want.max_workers = table[i].room + 1;
        if (placement_plan(&want, &have, &plan, NULL) == 0)
            fail_msg("row %zu: there is room for more", i);
        /* no whole GPU is there for anyone */
        want.num_workers = want.max_workers = 1;
        want.gpu_parts = 0;
        assert_int_equal(placement_plan(&want, &have, &plan, NULL), -1);
        free(node.name);
    }
}

static void many_shapes_are_placed_correctly(void **state)
{
    enum { n = 3000 };
    struct resources have = {.what = "the test", .n_nodes = n};
    struct scaling_config want = WANT(1, 1000000, 0, 0, PACK);
    struct placement plan = {0};
    struct error err;

    (void)state;
    have.nodes = calloc(n, sizeof *have.nodes);
    assert_non_null(have.nodes);
    for (int i = 0; i < n; i++) {
        have.nodes[i].cpus = i / 2;
        assert_true(asprintf(&have.nodes[i].name, "a-node-with-a-long-name-%d", i) > 0);
    }
    assert_int_equal(placement_plan(&want, &have, &plan, &err), -1);
    assert_non_null(strstr(err.text, "and 1492 more kinds of node\nTry a smaller"));
    resources_clear(&have);
}

/* Ten thousand nodes: node i has room for 1 + i % 8; but the first has room for
 * `first`. */
#define MANY 10000

static void many_place(struct scaling_config want, int first, struct placement *plan)
{
    struct resources have = {.what = "the test", .n_nodes = MANY};
    struct error err;
    int workers = 0;

    have.nodes = calloc(MANY, sizeof *have.nodes);
    assert_non_null(have.nodes);
    for (int i = 0; i < MANY; i++) {
        have.nodes[i].cpus = i == 0 ? first : 1 + i % 8;
        assert_true(asprintf(&have.nodes[i].name, "%d", i) > 0);
    }
    assert_int_equal(placement_plan(&want, &have, plan, &err), 0);
    assert_in_range(plan->workers, want.num_workers, want.max_workers);
    for (size_t i = 0; i < plan->n_nodes; i++) {
        assert_in_range(plan->nodes[i].tasks, 1,
                        have.nodes[atoi(plan->nodes[i].name)].cpus);
        workers += plan->nodes[i].tasks;
    }
    assert_int_equal(workers, plan->workers);
    resources_clear(&have);
}

static void ten_thousand_nodes_are_placed(void **state)
{
    struct placement plan = {0};

    (void)state;
    /* as few nodes as possible: those of 8 */
    many_place((struct scaling_config)WANT(MANY, 1, 0, 0, PACK), 1, &plan);
    assert_int_equal(plan.n_nodes, MANY / 8);
    assert_string_equal(plan.nodes[0].name, "7");
    assert_string_equal(plan.nodes[1].name, "15");
    placement_clear(&plan);
    /* all that there is room for */
    many_place((struct scaling_config)RANGE(1, 1000000, PACK), 1, &plan);
    assert_int_equal(plan.n_nodes, MANY);
    assert_int_equal(plan.workers, MANY / 8 * 36);
    placement_clear(&plan);
    /* evenly: two on each, but one on those that have no room for more */
    many_place((struct scaling_config)WANT(MANY / 8 * 15, 1, 0, 0, SPREAD), 1, &plan);
    assert_int_equal(plan.n_nodes, MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(plan.nodes[i].tasks, i % 8 ? 2 : 1);
    placement_clear(&plan);
    /* the others are full, and what is left goes to one */
    many_place((struct scaling_config)WANT(MANY / 8 * 36 + MANY, 1, 0, 0, SPREAD),
               2 * MANY, &plan);
    assert_int_equal(plan.nodes[0].tasks, MANY + 1);
    placement_clear(&plan);
    many_place((struct scaling_config)WANT(MANY, 1, 0, 0, STRICT_SPREAD), 1, &plan);
    assert_int_equal(plan.n_nodes, MANY);
    placement_clear(&plan);
}

/* ---- The same rows on a test cluster ---- */

static const char *const strategy_names[] = {
    [PLACEMENT_PACK] = "PACK",
    [PLACEMENT_SPREAD] = "SPREAD",
    [PLACEMENT_STRICT_PACK] = "STRICT_PACK",
    [PLACEMENT_STRICT_SPREAD] = "STRICT_SPREAD",
};

/* Nodes a, b, c, d are n1 .. n4 of the test cluster. */
static void names_print(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p >= 'a' && *p <= 'd' && (p == text || p[-1] == ' '))
            printf("n%d", *p - 'a' + 1);
        else
            putchar(*p);
}

/* "NODES|launch_run's options|PLAN" for each row that a cluster can check. */
static int rows_print(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct scaling_config *w = &rows[i].want;

        if (!rows[i].plan || rows[i].share > 0 || w->accelerator_type ||
            scaling_config_is_elastic(w))
            continue;
        names_print(rows[i].nodes);
        printf("|--workers %d --cpus %d --gpus ", w->num_workers, w->cpus_per_worker);
        if (w->gpu_parts > 0)
            printf("0.%04d", w->gpu_parts);
        else
            printf("%d", w->gpus_per_worker);
        printf(" --memory %llu --placement %s|",
               (unsigned long long)w->memory_per_worker,
               strategy_names[w->placement_strategy]);
        names_print(rows[i].plan);
        putchar('\n');
    }
    return 0;
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_table_is_placed),
        cmocka_unit_test(slices_of_gpus_are_counted),
        cmocka_unit_test(many_shapes_are_placed_correctly),
        cmocka_unit_test(ten_thousand_nodes_are_placed),
    };

    if (argc == 2 && strcmp(argv[1], "--rows") == 0)
        return rows_print();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
