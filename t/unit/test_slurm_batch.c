/* Batch jobs: does a request fit, the options and the script of a job, its id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "slurm/batch_script.h"
#include "slurm/cluster_fit.h"
#include "slurm/sbatch.h"
#include "util/argv.h"
#include "util/time_limit.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- Fit ---- */

static const char nodes[] = "main*|n1|4|2000|(null)\nmain*|n2|4|2000|(null)\n"
                            "small|n1|4|2000|(null)\nbig|n3|64|9000|gpu:a:2\n";

static const struct {
    int workers, gpus, spare;
    const char *partitions;
    int nodes;        /* of the plan; -1: it does not fit */
    const char *says; /* the error has this */
} fit_rows[] = {
    {8, 0, 0, NULL, 2, NULL},
    {9, 0, 0, NULL, -1, "add --partition big"},
    {8, 0, 0, "small", -1, "add --partition main"},
    {8, 0, 0, "small,main", 2, NULL},
    {8, 0, 0, "small,big", 1, NULL},
    {2, 1, 0, NULL, -1, "add --partition big"},
    {4, 0, 1, NULL, 1, NULL},
    {8, 0, 1, NULL, -1, "spare"},
    {8, 0, 0, "unknown", 0, NULL}, /* sbatch will say so */
};

static void a_request_fits_one_of_the_partitions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(fit_rows); i++) {
        const struct scaling_config scaling = {.num_workers = fit_rows[i].workers,
                                               .max_workers = fit_rows[i].workers,
                                               .cpus_per_worker = 1,
                                               .use_gpu = fit_rows[i].gpus > 0,
                                               .gpus_per_worker = fit_rows[i].gpus,
                                               .spare_nodes = fit_rows[i].spare};
        struct placement plan = {0};
        struct error err = {.code = RAYTRAIN_OK};
        int rc = slurm_cluster_fit_text(nodes, &scaling, fit_rows[i].partitions, &plan,
                                        &err);

        if (rc != (fit_rows[i].nodes < 0 ? -1 : 0) ||
            (rc == 0 && plan.n_nodes != (size_t)fit_rows[i].nodes) ||
            (rc < 0 && err.code != RAYTRAIN_EFIT) ||
            (fit_rows[i].says && !strstr(err.text, fit_rows[i].says)))
            fail_msg("row %zu: %d, %zu nodes, %s", i, rc, plan.n_nodes,
                     rc < 0 ? err.text : "");
        placement_clear(&plan);
    }
}

static void advice_is_given_only_if_a_partition_has_room(void **state)
{
    const struct scaling_config scaling = {
        .num_workers = 99, .max_workers = 99, .cpus_per_worker = 1};
    struct placement plan = {0};
    struct error err;

    (void)state;
    assert_int_equal(slurm_cluster_fit_text(nodes, &scaling, NULL, &plan, &err), -1);
    assert_null(strstr(err.text, "--partition"));
    placement_clear(&plan);
}

/* ---- The job ---- */

static const struct {
    const char *name, *array, *dir, *expected; /* the first two options */
} label_rows[] = {
    {"lr", NULL, "/d", "--job-name=lr --output=/d/lr-%j.log"},
    {"lr-%a", "0-2", "/d", "--job-name=lr --output=/d/lr-%A_%a.log"},
    {"a b/\\x\n", NULL, "/d", "--job-name=a_b__x --output=/d/a_b__x-%j.log"},
    {"%j", NULL, "/d", "--job-name=raytrain --output=/d/raytrain-%j.log"},
    {"lr", NULL, "/%j%%", "--job-name=lr --output=/%%j%%%%/lr-%j.log"},
};

static void the_name_of_a_job_has_no_meaning_to_slurm(void **state)
{
    const struct scaling_config scaling = {
        .num_workers = 1, .max_workers = 1, .cpus_per_worker = 1};

    (void)state;
    for (size_t i = 0; i < COUNT(label_rows); i++) {
        const struct submit_options options = {.array = (char *)label_rows[i].array};
        const struct batch_request request = {.scaling = &scaling,
                                              .options = &options,
                                              .name = label_rows[i].name,
                                              .dir = (char *)label_rows[i].dir};
        char **argv, *text;

        assert_int_equal(slurm_batch_options(&request, NULL, &argv, NULL), 0);
        assert_int_equal(argv_join(argv, &text, NULL), 0);
        if (strncmp(text, label_rows[i].expected, strlen(label_rows[i].expected)) != 0)
            fail_msg("row %zu: %s", i, text);
        free(text);
        argv_free(argv);
    }
}

static const struct {
    const char *args, *expected;
} partition_rows[] = {
    {NULL, "given"},
    {"--exclusive -p a", "a"},
    {"-pb", "b"},
    {"--partition=c,d", "c,d"},
    {"--partition e --partition f", "f"},
    {"--comment=-p", "given"},
};

static void the_partition_is_the_one_that_sbatch_will_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(partition_rows); i++) {
        const struct submit_options options = {.partition = (char *)"given",
                                               .sbatch_args =
                                                   (char *)partition_rows[i].args};
        const struct batch_request request = {.options = &options};
        char *found;

        assert_int_equal(slurm_batch_partitions(&request, &found, NULL), 0);
        assert_string_equal(found, partition_rows[i].expected);
        free(found);
    }
}

static const struct {
    const char *given, *args, *expected;
} time_rows[] = {
    {"90", NULL, "90"},     {"90", "-t 2", "2"},  {NULL, "--time=1:00", "1:00"},
    {NULL, "-p a", "5-00"}, {"90", "-p a", "90"}, {NULL, "--time-min=3", "5-00"},
};

static void the_time_limit_is_the_one_that_sbatch_will_take(void **state)
{
    (void)state;
    assert_int_equal(setenv("SBATCH_TIMELIMIT", "5-00", 1), 0);
    for (size_t i = 0; i < COUNT(time_rows); i++) {
        const struct submit_options options = {.time = (char *)time_rows[i].given,
                                               .sbatch_args =
                                                   (char *)time_rows[i].args};
        const struct batch_request request = {.options = &options};
        char *found;

        assert_int_equal(slurm_batch_time(&request, &found, NULL), 0);
        assert_string_equal(found, time_rows[i].expected);
        free(found);
    }
    assert_int_equal(unsetenv("SBATCH_TIMELIMIT"), 0);
}

static const struct {
    const char *text;
    int64_t seconds; /* -1: it is not a time */
} limit_rows[] = {
    {"1", 60},        {"1:01", 120},      {"0:59", 60},      {"1:30:00", 5400},
    {"0:0:1", 60},    {"1-12", 129600},   {"1-0:01", 86460}, {"1-0:0:61", 86520},
    {"UNLIMITED", 0}, {"infinite", 0},    {"0", 0},          {"1h", -1},
    {"1-2-3", -1},    {"1:2:3:4", -1},    {"", -1},          {"1:", -1},
    {"1-", -1},       {"9999999999", -1},
};

static void time_limits_are_those_of_slurm(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(limit_rows); i++) {
        int64_t seconds;
        bool ok = time_limit_parse(limit_rows[i].text, &seconds);

        if (ok != (limit_rows[i].seconds >= 0) ||
            (ok && seconds != limit_rows[i].seconds))
            fail_msg("%s: %d, %lld", limit_rows[i].text, ok, (long long)seconds);
    }
}

static const struct {
    const char *text, *id; /* NULL: there is none */
} id_rows[] = {
    {"4711\n", "4711"},
    {"4711;cluster\n", "4711"},
    {"sbatch: warning: 12 nodes are down\n4711\n", "4711"},
    {"12 nodes are down\n4711\n", "4711"},
    {"4711", NULL}, /* cut off */
    {"sbatch: error\n", NULL},
    {"", NULL},
};

static void the_id_of_a_job_is_found_among_warnings(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(id_rows); i++) {
        char id[BATCH_ID_MAX] = "";

        assert_int_equal(slurm_batch_id(id_rows[i].text, id), id_rows[i].id != NULL);
        assert_string_equal(id, id_rows[i].id ? id_rows[i].id : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_fits_one_of_the_partitions),
        cmocka_unit_test(advice_is_given_only_if_a_partition_has_room),
        cmocka_unit_test(the_name_of_a_job_has_no_meaning_to_slurm),
        cmocka_unit_test(the_partition_is_the_one_that_sbatch_will_take),
        cmocka_unit_test(the_time_limit_is_the_one_that_sbatch_will_take),
        cmocka_unit_test(time_limits_are_those_of_slurm),
        cmocka_unit_test(the_id_of_a_job_is_found_among_warnings),
    };

    unsetenv("SBATCH_PARTITION");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
