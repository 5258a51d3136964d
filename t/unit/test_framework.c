/* What the child of each framework's backend gets. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/accelerators.h"
#include "backend/framework.h"
#include "backend/gpu_lists.h"
#include "backend/http_store.h"
#include "config/backend_config.h"
#include "util/argv.h"

static struct error err;

/* Two nodes, with two processes and one. */
static struct seat seats[] = {
    {.address = "10.0.0.1", .port = 4001, .node = 0, .local_rank = 0},
    {.address = "10.0.0.1", .port = 4002, .node = 0, .local_rank = 1},
    {.address = "fd00::2", .port = 4003, .node = 1, .local_rank = 0},
};

static const struct world world = {
    .rank = 2, .size = 3, .local_size = 1, .node_rank = 1, .n_nodes = 2};

static void clean_environment(void)
{
    static const char *const names[] = {"USE_LIBUV",
                                        "OMP_NUM_THREADS",
                                        "GLOO_SOCKET_IFNAME",
                                        "HOROVOD_GLOO_IFACE",
                                        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                                        "ACCELERATE_USE_CPU",
                                        "ACCELERATE_TORCH_DEVICE",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_NODELIST",
                                        "JAX_LOCAL_DEVICE_IDS"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
}

static void expect_variables(char **variables, const char *const *expect)
{
    for (; *expect; expect++)
        if (!argv_has(variables, *expect))
            fail_msg("no %s", *expect);
}

static bool has_name(char **variables, const char *name)
{
    size_t n = strlen(name);

    for (; *variables; variables++)
        if (strncmp(*variables, name, n) == 0 && strchr("=", (*variables)[n]))
            return true;
    return false;
}

static void torch_gets_what_torchrun_sets(void **state)
{
    static const char *const expect[] = {"MASTER_ADDR=10.0.0.1",
                                         "MASTER_PORT=4001",
                                         "GROUP_WORLD_SIZE=2",
                                         "ROLE_RANK=2",
                                         "ROLE_WORLD_SIZE=3",
                                         "ROLE_NAME=default",
                                         "TORCHELASTIC_RUN_ID=fashion",
                                         "TORCHELASTIC_RESTART_COUNT=4",
                                         "TORCHELASTIC_MAX_RESTARTS=7",
                                         "TORCHELASTIC_USE_AGENT_STORE=False",
                                         "USE_LIBUV=0",
                                         "OMP_NUM_THREADS=2",
                                         "GLOO_SOCKET_IFNAME=eth0",
                                         "LOCAL_SIZE=1", /* DeepSpeed's launcher */
                                         "CROSS_RANK=1",
                                         "CROSS_SIZE=2",
                                         "RAYTRAIN_TORCH_TIMEOUT_S=60",
                                         NULL};
    struct backend_config config = {.timeout_s = 60};
    struct torch_place place = {.address = "10.0.0.1",
                                .port = 4001,
                                .interface = "eth0",
                                .run = "fashion",
                                .attempt = 4,
                                .max_failures = 7,
                                .world = &world,
                                .config = &config,
                                .cpus = 2};
    char **variables = NULL;

    (void)state;
    clean_environment();
    assert_int_equal(torch_variables(&place, &variables, &err), 0);
    expect_variables(variables, expect);
    assert_false(has_name(variables, "RAYTRAIN_TORCH_BACKEND"));
    assert_false(has_name(variables, "ACCELERATE_USE_CPU"));
    argv_free(variables);
    variables = NULL;
    place.no_gpus = true;
    assert_int_equal(torch_variables(&place, &variables, &err), 0);
    assert_true(argv_has(variables, "ACCELERATE_USE_CPU=true"));
    assert_true(argv_has(variables, "ACCELERATE_TORCH_DEVICE=cpu"));
    argv_free(variables);
}

static void settings_for_tuning_are_the_users(void **state)
{
    struct backend_config config = {.timeout_s = 0};
    struct torch_place place = {.address = "a",
                                .interface = "eth0",
                                .run = "r",
                                .world = &world,
                                .config = &config,
                                .cpus = 2,
                                .no_gpus = true};
    char **variables = NULL;

    (void)state;
    clean_environment();
    setenv("OMP_NUM_THREADS", "5", 1);
    setenv("GLOO_SOCKET_IFNAME", "ib0", 1);
    setenv("USE_LIBUV", "1", 1);
    setenv("ACCELERATE_USE_CPU", "false", 1);
    assert_int_equal(torch_variables(&place, &variables, &err), 0);
    assert_false(has_name(variables, "OMP_NUM_THREADS"));
    assert_false(has_name(variables, "GLOO_SOCKET_IFNAME"));
    assert_false(has_name(variables, "USE_LIBUV"));
    assert_false(has_name(variables, "ACCELERATE_USE_CPU"));
    assert_false(has_name(variables, "ACCELERATE_TORCH_DEVICE"));
    assert_true(has_name(variables, "MASTER_ADDR"));
    argv_free(variables);
    clean_environment();
}

static void tensorflow_gets_all_addresses_and_its_index(void **state)
{
    char **variables = NULL;

    (void)state;
    assert_int_equal(tensorflow_variables(seats, 3, 2, &variables, &err), 0);
    assert_int_equal(argv_count(variables), 1);
    assert_string_equal(
        variables[0],
        "TF_CONFIG={\"cluster\":{\"worker\":[\"10.0.0.1:4001\",\"10.0.0.1:4002\","
        "\"[fd00::2]:4003\"]},\"task\":{\"type\":\"worker\",\"index\":2}}");
    argv_free(variables);
}

static void jax_gets_the_coordinator_and_its_number(void **state)
{
    static const char *const expect[] = {
        "JAX_COORDINATOR_ADDRESS=10.0.0.1:4001",
        "JAX_COORDINATOR_BIND_ADDRESS=10.0.0.1:4001",
        "OMPI_MCA_orte_hnp_uri", /* removed: JAX would prefer Open MPI's variables */
        "SLURM_JOB_ID=0",
        "SLURM_STEP_NODELIST=10.0.0.1",
        "SLURM_NTASKS=3",
        "SLURM_PROCID=1",
        "SLURM_LOCALID=1",
        "JAX_NUM_PROCESSES=3",
        "JAX_PROCESS_ID=1",
        NULL};
    static const char *const in_job[] = {"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NTASKS=3",
                                         NULL};
    struct jax_place place = {.seats = seats, .size = 3, .rank = 1};
    char **variables = NULL;

    (void)state;
    clean_environment();
    assert_int_equal(jax_variables(&place, &variables, &err), 0);
    expect_variables(variables, expect);
    argv_free(variables);
    variables = NULL;
    setenv("SLURM_JOB_ID", "17", 1);
    setenv("SLURM_STEP_NODELIST", "n[1-2]", 1);
    assert_int_equal(jax_variables(&place, &variables, &err), 0);
    expect_variables(variables, in_job);
    assert_false(has_name(variables, "SLURM_JOB_ID"));
    argv_free(variables);
    clean_environment();
}

static void jax_always_has_the_numbers_of_its_devices(void **state)
{
    static const struct {
        int rank, gpus, devices;
        const char *expect;
    } rows[] = {
        {2, 3, 0, "JAX_LOCAL_DEVICE_IDS=0,1,2"},
        {1, 1, 1, "JAX_LOCAL_DEVICE_IDS=0"},
        {1, 0, 0, "JAX_LOCAL_DEVICE_IDS=1"}, /* what JAX would take by itself */
        {1, 0, 4, "JAX_LOCAL_DEVICE_IDS=1"},
        {1, 0, 1, "JAX_LOCAL_DEVICE_IDS=0"}, /* the only one */
    };
    struct jax_place place = {.seats = seats, .size = 3};
    char **variables = NULL;

    (void)state;
    clean_environment();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        place.rank = rows[i].rank;
        place.gpus = rows[i].gpus;
        place.devices = rows[i].devices;
        assert_int_equal(jax_variables(&place, &variables, &err), 0);
        expect_variables(variables, (const char *const[]){rows[i].expect, NULL});
        argv_free(variables);
        variables = NULL;
    }
    setenv("JAX_LOCAL_DEVICE_IDS", "1", 1);
    assert_int_equal(jax_variables(&place, &variables, &err), 0);
    assert_false(has_name(variables, "JAX_LOCAL_DEVICE_IDS"));
    argv_free(variables);
    clean_environment();
}

static void xgboost_gets_the_address_of_the_tracker_and_its_number(void **state)
{
    static const char *const expect[] = {"DMLC_TRACKER_URI=10.0.0.1",
                                         "DMLC_NUM_WORKER=3", "DMLC_TASK_ID=00000002",
                                         NULL};
    char **variables = NULL;

    (void)state;
    assert_int_equal(xgboost_variables(seats, 3, 2, &variables, &err), 0);
    expect_variables(variables, expect);
    argv_free(variables);
}

static void lightgbm_gets_all_addresses_and_its_port(void **state)
{
    static const char *const expect[] = {
        "RAYTRAIN_LIGHTGBM_MACHINES=10.0.0.1:4001,10.0.0.1:4002",
        "RAYTRAIN_LIGHTGBM_PORT=4002", NULL};
    char **variables = NULL;

    (void)state;
    assert_int_equal(lightgbm_variables(seats, 2, 1, &variables, &err), 0);
    expect_variables(variables, expect);
    argv_free(variables);
    variables = NULL;
    assert_int_equal(lightgbm_variables(seats, 3, 1, &variables, &err), -1);
    assert_non_null(strstr(err.text, "the node of rank 2 has the address fd00::2"));
    argv_free(variables);
}

/* As runner/common/util/hosts.py of Horovod does. */
static void horovod_numbers_processes_within_and_across_nodes(void **state)
{
    static const char *const expect[][9] = {
        {"HOROVOD_RANK=0", "HOROVOD_SIZE=3", "HOROVOD_LOCAL_RANK=0",
         "HOROVOD_LOCAL_SIZE=1", "HOROVOD_CROSS_RANK=0", "HOROVOD_CROSS_SIZE=2",
         "HOROVOD_HOSTNAME=10.0.0.1", "HOROVOD_CONTROLLER=gloo"},
        {"HOROVOD_RANK=1", "HOROVOD_LOCAL_RANK=0", "HOROVOD_LOCAL_SIZE=2",
         "HOROVOD_CROSS_RANK=1", "HOROVOD_CROSS_SIZE=2", "HOROVOD_HOSTNAME=10.0.0.2",
         "HOROVOD_CPU_OPERATIONS=gloo"},
        {"HOROVOD_RANK=2", "HOROVOD_LOCAL_RANK=1", "HOROVOD_LOCAL_SIZE=2",
         "HOROVOD_CROSS_RANK=0", "HOROVOD_CROSS_SIZE=1", "HOROVOD_HOSTNAME=10.0.0.2",
         "HOROVOD_GLOO_RENDEZVOUS_ADDR=10.0.0.1", "HOROVOD_GLOO_RENDEZVOUS_PORT=4001"},
    };
    struct seat uneven[] = {
        {.address = "10.0.0.1", .port = 4001, .node = 0, .local_rank = 0},
        {.address = "10.0.0.2", .node = 1, .local_rank = 0},
        {.address = "10.0.0.2", .node = 1, .local_rank = 1},
    };
    struct rendezvous r = {.seats = uneven, .size = 3, .interface = "eth0"};

    (void)state;
    clean_environment();
    for (int rank = 0; rank < 3; rank++) {
        char **variables = NULL;

        assert_int_equal(horovod_variables(&r, rank, &variables, &err), 0);
        expect_variables(variables, expect[rank]);
        assert_true(argv_has(variables, "HOROVOD_GLOO_IFACE=eth0"));
        argv_free(variables);
    }
    r.seats = &seats[2];
    r.size = 1;
    assert_int_equal(horovod_variables(&r, 0, &(char **){NULL}, &err), -1);
    assert_non_null(strstr(err.text, "IPv4 addresses only"));
}

/* ---- GPUs ---- */

static void gpus_of_a_node_are_in_the_order_of_local_ranks(void **state)
{
    static const struct {
        const char *lists[4];
        int each;
        const char *all; /* NULL: they cannot be merged */
    } rows[] = {
        {{"0", "1", "2"}, 1, "0,1,2"},
        {{"0,1", "2,3"}, 2, "0,2,1,3"},
        {{"3", "0"}, 1, "3,0"},
        {{"GPU-a,GPU-b", "GPU-c,GPU-d"}, 2, "GPU-a,GPU-c,GPU-b,GPU-d"},
        {{"0,1,2,3", "0,1,2,3"}, 2, "0,2,1,3"}, /* all see all */
        {{"0,1,2", "0,1,2"}, 1, "0,1"},
        {{"5,7"}, 2, "5,7"},
        {{"0", "0"}, 1, NULL}, /* each counts its own from 0 on */
        {{"0,1", "1,2"}, 2, NULL},
        {{"0", ""}, 1, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *all = NULL;
        int n = 0;

        while (n < 4 && rows[i].lists[n])
            n++;
        assert_int_equal(
            gpu_lists_merge((char *const *)rows[i].lists, n, rows[i].each, &all, &err),
            0);
        if (rows[i].all)
            assert_string_equal(all, rows[i].all);
        else
            assert_null(all);
        free(all);
    }
}

/* ---- What the child sees ---- */

static int collect(void *arg, const char *name, const char *value)
{
    return argv_appendf(arg, &err, "%s:%s", name, value ? value : "-");
}

static void touch(const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fclose(f);
}

static void gpus_are_counted_that_could_be_opened(void **state)
{
    char dev[] = "/tmp/raytrain-dev.XXXXXX", path[64];

    (void)state;
    assert_int_equal(accelerators_nvidia("0,1", "/none"), 2);
    assert_int_equal(accelerators_nvidia("GPU-a,MIG-b,-1,3", "/none"), 2);
    assert_int_equal(accelerators_nvidia("", "/none"), 0);
    assert_int_equal(accelerators_nvidia("NoDevFiles", "/none"), 0);
    assert_false(accelerators_any(NULL, "/none"));
    assert_non_null(mkdtemp(dev));
    snprintf(path, sizeof path, "%s/nvidiactl", dev);
    touch(path);
    assert_int_equal(accelerators_nvidia(NULL, dev), 0);
    assert_false(accelerators_any(NULL, dev));
    unlink(path);
    snprintf(path, sizeof path, "%s/nvidia3", dev);
    touch(path);
    assert_int_equal(accelerators_nvidia(NULL, dev), 1);
    assert_true(accelerators_any(NULL, dev));
    assert_false(accelerators_any("", dev)); /* hidden */
    unlink(path);
    snprintf(path, sizeof path, "%s/dri", dev);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/dri/renderD128", dev);
    touch(path);
    assert_true(accelerators_any("", dev));
    snprintf(path, sizeof path, "%s/nvidiactl", dev);
    touch(path); /* now it is NVIDIA's */
    assert_false(accelerators_any("", dev));
    unlink(path);
    snprintf(path, sizeof path, "%s/dri/renderD128", dev);
    unlink(path);
    snprintf(path, sizeof path, "%s/dri", dev);
    rmdir(path);
    snprintf(path, sizeof path, "%s/kfd", dev);
    touch(path);
    assert_true(accelerators_any(NULL, dev));
    unlink(path);
    rmdir(dev);
}

static void variables_are_set_and_removed_one_by_one(void **state)
{
    struct framework f = {.server = NULL};
    struct backend b = {.ops = &backend_torch, .impl = &f};
    char **seen = NULL;

    (void)state;
    assert_int_equal(argv_append(&f.variables, "A=1=2", &err), 0);
    assert_int_equal(argv_append(&f.variables, "GONE", &err), 0);
    assert_int_equal(argv_append(&f.variables, "EMPTY=", &err), 0);
    assert_int_equal(b.ops->environment(&b, collect, &seen, &err), 0);
    assert_int_equal(argv_count(seen), 3);
    assert_string_equal(seen[0], "A:1=2");
    assert_string_equal(seen[1], "GONE:-");
    assert_string_equal(seen[2], "EMPTY:");
    argv_free(seen);
    argv_free(f.variables);
}

/* ---- The store ---- */

static union address server;

/* Send text, and return all of the answer: a new connection each, as Horovod does. */
static const char *http(const char *text)
{
    static char answer[4096];
    size_t n = 0;
    ssize_t k;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, &server.any, address_length(&server)), 0);
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL); /* it may be closed already */
    while ((k = recv(fd, answer + n, sizeof answer - 1 - n, 0)) > 0)
        n += (size_t)k;
    answer[n] = '\0';
    close(fd);
    return answer;
}

static const char *ask(const char *method, const char *path, const char *body)
{
    char text[1024];

    snprintf(text, sizeof text,
             "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
             "%zu\r\n\r\n%s",
             method, path, strlen(body), body);
    return http(text);
}

static bool is_status(const char *answer, const char *status)
{
    return strncmp(answer, "HTTP/1.", 7) == 0 && strncmp(answer + 9, status, 3) == 0;
}

static bool ends_with(const char *answer, const char *body)
{
    const char *at = strstr(answer, "\r\n\r\n");

    return at && strcmp(at + 4, body) == 0;
}

static int two_members(const void *arg, const char *scope)
{
    (void)arg;
    return strcmp(scope, "global_") == 0 ? 2 : 0;
}

static bool strangers;

static bool admits(const void *arg, const struct sockaddr *peer)
{
    (void)arg;
    assert_int_equal(peer->sa_family, AF_INET);
    return !strangers;
}

static struct http_store *store_start(void)
{
    struct http_store *store;
    int listening;

    memset(&server, 0, sizeof server);
    server.v4.sin_family = AF_INET;
    server.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listening = address_listen(&server);
    assert_true(listening >= 0);
    assert_int_equal(
        http_store_start(listening, two_members, admits, NULL, &store, &err), 0);
    return store;
}

static void values_are_put_and_got(void **state)
{
    struct http_store *store = store_start();

    (void)state;
    assert_true(is_status(ask("GET", "/global_/0", ""), "404"));
    assert_true(is_status(ask("PUT", "/global_/0", "abc"), "200"));
    assert_true(is_status(ask("GET", "/global_/0", ""), "200"));
    assert_true(ends_with(ask("GET", "/global_/0", ""), "abc"));
    assert_true(is_status(ask("GET", "/local_0/0", ""), "404"));
    assert_true(is_status(ask("PUT", "/global_/0", ""), "200"));
    assert_true(ends_with(ask("GET", "/global_/0", ""), ""));
    assert_true(is_status(ask("PUT", "/global_/a/b", "deep"), "200"));
    assert_true(ends_with(ask("GET", "/global_/a/b", ""), "deep"));
    http_store_stop(store);
}

static void a_client_that_is_not_admitted_gets_no_answer(void **state)
{
    struct http_store *store = store_start();

    (void)state;
    strangers = true;
    assert_string_equal(ask("PUT", "/global_/0", "abc"), "");
    strangers = false;
    assert_true(is_status(ask("GET", "/global_/0", ""), "404"));
    http_store_stop(store);
}

static void a_scope_is_emptied_once_all_members_are_done(void **state)
{
    struct http_store *store = store_start();

    (void)state;
    ask("PUT", "/global_/0", "abc");
    ask("PUT", "/other/0", "xyz");
    assert_true(is_status(ask("DELETE", "/global_/0", ""), "200"));
    assert_true(is_status(ask("DELETE", "/global_/0", ""), "200")); /* again */
    assert_true(ends_with(ask("GET", "/global_/0", ""), "abc"));
    assert_true(is_status(ask("DELETE", "/global_/1", ""), "200"));
    assert_true(is_status(ask("GET", "/global_/0", ""), "404"));
    assert_true(ends_with(ask("GET", "/other/0", ""), "xyz"));
    ask("PUT", "/other/1", "uvw"); /* nothing is known of these */
    assert_true(is_status(ask("DELETE", "/other/0", ""), "200"));
    assert_true(is_status(ask("GET", "/other/0", ""), "404"));
    assert_true(ends_with(ask("GET", "/other/1", ""), "uvw"));
    assert_true(is_status(ask("DELETE", "/other/1", ""), "200"));
    assert_true(is_status(ask("DELETE", "/other/1", ""), "200"));
    http_store_stop(store);
}

static void requests_of_other_programs_are_refused(void **state)
{
    struct http_store *store = store_start();

    (void)state;
    assert_true(is_status(ask("GET", "/", ""), "400"));
    assert_true(is_status(ask("GET", "/scope", ""), "400"));
    assert_true(is_status(ask("GET", "//x", ""), "400"));
    assert_true(is_status(ask("PUT", "/scope/", "x"), "400"));
    assert_true(is_status(ask("POST", "/global_/0", "x"), "405"));
    http("\x16\x03\x01 garbage\r\n\r\n");
    assert_true(is_status(ask("PUT", "/global_/0", "abc"), "200"));
    http_store_stop(store);
}

/* Linux allows no variable of more than 128 KiB, which TF_CONFIG is for 10,000
 * workers. */
static void too_many_workers_for_tensorflow_are_refused(void **state)
{
    enum { MANY = 10000 };
    struct seat *many = calloc(MANY, sizeof *seats);
    char **variables = NULL;

    (void)state;
    assert_non_null(many);
    for (int r = 0; r < MANY; r++)
        many[r] = (struct seat){.address = "10.0.0.1", .port = 40000};
    assert_int_equal(tensorflow_variables(many, MANY, 0, &variables, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    assert_non_null(strstr(err.text, "start fewer workers"));
    assert_null(variables);
    assert_int_equal(tensorflow_variables(many, MANY / 2, 0, &variables, &err), 0);
    assert_in_range(strlen(variables[0]), MANY / 2 * 17, 128 * 1024 - 1);
    argv_free(variables);
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_workers_for_tensorflow_are_refused),
        cmocka_unit_test(torch_gets_what_torchrun_sets),
        cmocka_unit_test(settings_for_tuning_are_the_users),
        cmocka_unit_test(tensorflow_gets_all_addresses_and_its_index),
        cmocka_unit_test(jax_gets_the_coordinator_and_its_number),
        cmocka_unit_test(jax_always_has_the_numbers_of_its_devices),
        cmocka_unit_test(xgboost_gets_the_address_of_the_tracker_and_its_number),
        cmocka_unit_test(lightgbm_gets_all_addresses_and_its_port),
        cmocka_unit_test(horovod_numbers_processes_within_and_across_nodes),
        cmocka_unit_test(gpus_of_a_node_are_in_the_order_of_local_ranks),
        cmocka_unit_test(gpus_are_counted_that_could_be_opened),
        cmocka_unit_test(variables_are_set_and_removed_one_by_one),
        cmocka_unit_test(values_are_put_and_got),
        cmocka_unit_test(a_client_that_is_not_admitted_gets_no_answer),
        cmocka_unit_test(a_scope_is_emptied_once_all_members_are_done),
        cmocka_unit_test(requests_of_other_programs_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
