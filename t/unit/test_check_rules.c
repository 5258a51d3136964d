/* What --check makes of facts about nodes, storage and GPUs: verdicts, and which
 * nodes. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/check.h"
#include "config/train_config.h"
#include "protocol/site_report.h"
#include "config_fixture.h"

extern const struct check_ops check_node, check_gpu, check_device, check_mpi,
    check_shared_storage;

static struct findings findings;
static size_t n_nodes; /* that had room for workers */

static int teardown(void **state)
{
    findings_clear(&findings);
    return config_teardown(state);
}

/* The findings of a check on the report of workers in this text. */
static void judge(const struct check_ops *check, const char *report)
{
    struct check_context context = {.cfg = &cfg, .n_nodes = n_nodes};
    const char *how;
    json_error_t where;

    context.report = json_loads(report, 0, &where);
    context.own = json_array();
    if (!context.report)
        fail_msg("%s: %s", report, where.text);
    findings_clear(&findings);
    findings = (struct findings){0};
    assert_true(!check->left_out || !check->left_out(&context, &how));
    check->run(&context, &findings);
    assert_false(findings.incomplete);
    json_decref(context.report);
    json_decref(context.own);
}

static void expect(const char *name, enum verdict verdict, const char *detail)
{
    for (size_t i = 0; i < findings.n; i++) {
        const struct finding *f = &findings.list[i];

        if (strcmp(f->name, name) != 0 || !strstr(f->detail, detail))
            continue;
        if (f->verdict != verdict)
            fail_msg("%s is %s: %s", name, verdict_name(f->verdict), f->detail);
        assert_true(verdict == VERDICT_OK || f->remedy);
        return;
    }
    fail_msg("there is no finding %s: %s", name, detail);
}

/* Of a report with one node that has these facts. */
static void expect_of(const char *facts, const char *name, enum verdict verdict,
                      const char *detail)
{
    char report[1024];

    snprintf(report, sizeof report, "{\"nodes\":[{\"node\":\"n1\",%s}]}", facts);
    judge(&check_node, report);
    expect(name, verdict, detail);
}

/* ---- Nodes ---- */

static void limits_of_a_node_are_judged(void **state)
{
    (void)state;
    expect_of("\"limits\":{\"nofile\":65536}", "nofile", VERDICT_OK, "65536");
    expect_of("\"limits\":{\"nofile\":-1}", "nofile", VERDICT_OK, "unlimited");
    expect_of("\"limits\":{\"nofile\":1023}", "nofile", VERDICT_WARNING, "1023");
    expect_of("\"limits\":{\"nofile\":127}", "nofile", VERDICT_WRONG, "127");
    expect_of("\"limits\":{\"nproc\":1023}", "nproc", VERDICT_WARNING, "1023");
    expect_of("\"limits\":{\"nproc\":63}", "nproc", VERDICT_WRONG, "63");
    expect_of("\"limits\":{\"core\":0}", "core", VERDICT_OK, "no core files");
    expect_of("\"limits\":{\"memlock\":65536}", "memlock", VERDICT_OK,
              "no RDMA device");
    expect_of("\"limits\":{\"memlock\":65536},\"rdma_devices\":1", "memlock",
              VERDICT_WARNING, "there are RDMA devices");
    expect_of("\"limits\":{\"memlock\":-1},\"rdma_devices\":1", "memlock", VERDICT_OK,
              "unlimited");
}

static void space_of_a_node_is_judged(void **state)
{
    (void)state;
    expect_of("\"memory_available\":536870911", "memory", VERDICT_WARNING, "allocated");
    expect_of("\"memory_available\":2147483648", "memory", VERDICT_OK, "more than 2G");
    expect_of("\"x\":0", "/dev/shm", VERDICT_WRONG, "it is missing");
    expect_of("\"shm\":{\"size\":67108864,\"free\":33554431}", "/dev/shm",
              VERDICT_WRONG, "64M");
    expect_of("\"shm\":{\"size\":67108864,\"free\":67108864}", "/dev/shm",
              VERDICT_WARNING, "64M");
    expect_of("\"shm\":{\"size\":1073741824,\"free\":1073741824},"
              "\"memory_available\":1073741823",
              "/dev/shm", VERDICT_OK, "so that is the limit");
    expect_of("\"x\":0", "temporary files", VERDICT_WRONG, "is missing");
    expect_of("\"tmp\":{\"path\":\"/t\",\"silent\":true}", "temporary files",
              VERDICT_WRONG, "/t does not answer");
    expect_of("\"tmp\":{\"path\":\"/t\",\"free\":1048575}", "temporary files",
              VERDICT_WRONG, "/t has only");
    expect_of("\"tmp\":{\"path\":\"/t\",\"free\":1048576}", "temporary files",
              VERDICT_WARNING, "/t has only 1M free");
    expect_of("\"tmp\":{\"path\":\"/t\",\"free\":67108864}", "temporary files",
              VERDICT_OK, "/t has space");
}

static void versions_of_raytrain_are_compared(void **state)
{
    (void)state;
    expect_of("\"version\":\"" PACKAGE_VERSION "\"", "raytrain", VERDICT_OK,
              PACKAGE_VERSION);
    expect_of("\"version\":\"0.0.1\"", "raytrain", VERDICT_WRONG, "0.0.1");
    expect_of("\"kernel\":\"6.1\",\"pidfd\":false", "kernel", VERDICT_OK,
              "6.1, without pidfds");
}

/* Of two nodes; the clock of the second is ahead by this number of seconds. */
static void clocks(const char *ahead_s, enum verdict verdict, const char *detail)
{
    char report[512];

    snprintf(report, sizeof report,
             "{\"nodes\":[{\"node\":\"n1\",\"clock_s\":0},"
             "{\"node\":\"n2\",\"clock_s\":%s,\"clock_error_s\":0.5}]}",
             ahead_s);
    judge(&check_node, report);
    expect("clocks", verdict, detail);
}

static void clocks_of_nodes_are_compared(void **state)
{
    (void)state;
    clocks("1.4", VERDICT_OK, "the same, within a second");
    clocks("-1.6", VERDICT_WARNING, "n2: 1.6 s behind the clock of the first node");
    clocks("60.4", VERDICT_WARNING, "n2: 60.4 s ahead of");
    clocks("60.6", VERDICT_WRONG, "n2: 60.6 s ahead of");
}

static void a_finding_names_the_nodes_that_differ(void **state)
{
    (void)state;
    judge(&check_node, "{\"nodes\":[{\"node\":\"n1\",\"limits\":{\"nofile\":100}},"
                       "{\"node\":\"n2\",\"limits\":{\"nofile\":2000}},"
                       "{\"node\":\"n3\",\"limits\":{\"nofile\":100}}]}");
    expect("nofile", VERDICT_WRONG, "n[1,3]: 100");
    expect("nofile", VERDICT_OK, "n2: 2000");
    judge(&check_node, "{\"nodes\":[{\"node\":\"n1\",\"unresolved\":[\"n9\",\"n8\"]},"
                       "{\"node\":\"n2\",\"unresolved\":[]}]}");
    expect("host names", VERDICT_WRONG, "n1: cannot resolve n9 and others");
    expect("host names", VERDICT_OK, "n2: the names of all nodes resolve");
}

static void what_no_worker_could_try_is_named(void **state)
{
    (void)state;
    expect_of("\"limits\":{\"nofile\":65536}", "clocks", VERDICT_SKIPPED, "one node");
    expect("host names", VERDICT_SKIPPED, "one node");
    expect("raytrain", VERDICT_SKIPPED, "no worker has reported it");
    n_nodes = 3;
    expect_of("\"limits\":{\"nofile\":65536}", "other nodes", VERDICT_SKIPPED,
              "2 of 3 nodes");
    n_nodes = 0;
    judge(&check_mpi, "{\"nodes\":[{\"node\":\"n1\"}],\"ranks\":[{\"node\":\"n1\"}]}");
    expect("between workers", VERDICT_SKIPPED, "one worker");
    expect("between nodes", VERDICT_SKIPPED, "one worker");
    judge(&check_gpu, "{\"nodes\":[{\"node\":\"n1\"}],\"ranks\":[{\"node\":\"n1\"}]}");
    expect("binding", VERDICT_SKIPPED, "without GPUs");
    expect("memory", VERDICT_SKIPPED, "without GPUs");
}

static void only_the_first_names_are_looked_up(void **state)
{
    json_t *report = json_pack("{s:[]}", "nodes"), *nodes;
    char *text;

    (void)state;
    nodes = json_object_get(report, "nodes");
    for (int i = 0; i <= SITE_NAMES_MAX; i++)
        json_array_append_new(
            nodes, json_pack("{s:s+, s:[]}", "node", "n", "1", "unresolved"));
    text = json_dumps(report, 0);
    judge(&check_node, text);
    expect("other host names", VERDICT_SKIPPED, "first 64");
    free(text);
    json_decref(report);
}

/* ---- Storage ---- */

static void shared(const char *facts, const char *name, enum verdict verdict,
                   const char *detail)
{
    char report[512];

    snprintf(report, sizeof report,
             "{\"nodes\":[{\"node\":\"n1\"},{\"node\":\"n2\",\"shared\":{%s}}]}",
             facts);
    judge(&check_shared_storage, report);
    expect(name, verdict, detail);
}

static void what_a_node_sees_late_is_named(void **state)
{
    (void)state;
    shared("\"appears\":true", "coherence", VERDICT_OK,
           "n2: sees changes of other nodes at once");
    expect("coherence", VERDICT_SKIPPED, "n1: no worker has reported it");
    expect("page of two nodes", VERDICT_SKIPPED, "no worker has reported it");
    expect("fcntl of nodes", VERDICT_SKIPPED, "no worker has reported it");
    shared("\"appears\":false", "coherence", VERDICT_WARNING,
           "n2: sees changes of other nodes late");
    shared("\"absent\":false", "coherence", VERDICT_WARNING, "absent before");
    shared("\"grows\":false", "coherence", VERDICT_WARNING, "new sizes");
    shared("\"changes\":false", "coherence", VERDICT_WARNING, "new contents");
    shared("\"renamed\":false", "coherence", VERDICT_WARNING, "renamed files");
    shared("\"same_page\":false", "page of two nodes", VERDICT_WARNING, "lose data");
    shared("\"fcntl\":false", "fcntl of nodes", VERDICT_WARNING, "is not seen");
    shared("\"fcntl\":true", "fcntl of nodes", VERDICT_OK, "is respected");
    shared("\"flock\":\"no locks\"", "flock of nodes", VERDICT_WARNING, "no locks");
}

/* ---- GPUs ---- */

/* Two ranks of a node that see these devices. */
static void binding(const char *first, const char *second, enum verdict verdict,
                    const char *detail)
{
    char report[512];

    snprintf(report, sizeof report,
             "{\"nodes\":[{\"node\":\"n1\",\"gpu_devices\":4}],\"ranks\":["
             "{\"node\":\"n1\",\"cuda_visible\":\"%s\"},"
             "{\"node\":\"n1\",\"cuda_visible\":\"%s\"}]}",
             first, second);
    judge(&check_gpu, report);
    expect("binding", verdict, detail);
}

static void each_worker_has_its_own_gpus(void **state)
{
    (void)state;
    cfg.scaling_config.gpus_per_worker = 2;
    binding("0,1", "2,3", VERDICT_OK, "each worker sees 2 of its own");
    binding("0,1", "0,1", VERDICT_WRONG, "ranks 0 and 1 on n1 share GPU 0,1");
    binding("0,1", "2", VERDICT_WRONG, "rank 1 on n1 sees 1 GPUs, not 2");
    binding("0,1,2,3", "2,3", VERDICT_WRONG, "rank 0 on n1 sees 4 GPUs, not 2");
    binding("", "0,1", VERDICT_WRONG, "rank 0 on n1 sees 0 GPUs, not 2");
    expect("devices", VERDICT_OK, "4 NVIDIA");
}

/* Two ranks of a node that have half of GPU 0 each. */
static void sharing(const char *gpus, const char *name, enum verdict verdict,
                    const char *detail)
{
    char report[1024];

    snprintf(report, sizeof report,
             "{\"nodes\":[{\"node\":\"n1\",\"gpu_devices\":4}],\"ranks\":["
             "{\"node\":\"n1\",\"cuda_visible\":\"0\",\"gpus\":%s},"
             "{\"node\":\"n1\",\"cuda_visible\":\"0\",\"gpus\":%s}]}",
             gpus, gpus);
    judge(&check_gpu, report);
    expect(name, verdict, detail);
}

static void shared_gpus_are_judged(void **state)
{
#define DEVICE(mode, free)                                                             \
    "\"devices\":[{\"number\":0,\"pci\":\"41\",\"mode\":" mode                         \
    ",\"total\":8589934592,\"free\":" free "}]}"
#define PLAIN "{\"driver\":\"550\",\"mps\":false,"
#define MPS   "{\"driver\":\"550\",\"mps\":true,"
    (void)state;
    cfg.scaling_config.gpus_per_worker = 1;
    cfg.scaling_config.gpu_parts = 5000;
    sharing("null", "binding", VERDICT_OK, "at most 2 workers see the same GPU");
    expect("compute mode", VERDICT_SKIPPED, "library is not found");
    sharing(PLAIN DEVICE("0", "8589934592"), "driver of workers", VERDICT_OK, "550");
    sharing(PLAIN DEVICE("0", "8589934592"), "sharing", VERDICT_OK, "in turns");
    sharing(MPS DEVICE("3", "8589934592"), "sharing", VERDICT_OK, "MPS");
    sharing(PLAIN DEVICE("3", "8589934592"), "compute mode", VERDICT_WRONG,
            "GPU 0 (PCI 41) of n1 admits one process at a time");
    sharing(MPS DEVICE("2", "8589934592"), "compute mode", VERDICT_WRONG,
            "does not admit");
    sharing(PLAIN DEVICE("0", "1073741824"), "memory", VERDICT_WARNING,
            "GPU 0 (PCI 41) of n1 has 1.0 of 8.0 GiB free");
    sharing("\"silent\"", "driver", VERDICT_WRONG,
            "the one of n1 does not answer rank 0");
    cfg.scaling_config.gpu_parts = 4000;
    sharing("null", "binding", VERDICT_OK, "at most 2");
    cfg.scaling_config.gpu_parts = 6000;
    sharing("null", "binding", VERDICT_WRONG, "ranks 0 and 1 on n1 share GPU 0");
    cfg.scaling_config.gpu_parts = 0;
}

static void what_workers_tried_with_devices_is_judged(void **state)
{
#define TRIED(devices, sum)                                                            \
    "{\"nodes\":[{\"node\":\"n1\"}],\"ranks\":[{\"node\":\"n1\",\"devices\":" devices  \
    "}]" sum "}"
#define WORKS "[{\"id\":0,\"device\":1,\"failed\":null,\"bytes_s\":9e9}]"
    (void)state;
    cfg.scaling_config.gpus_per_worker = 1;
    judge(&check_device, TRIED("\"silent\"", ""));
    expect("copy", VERDICT_WRONG, "the driver of n1 does not answer rank 0");
    expect("NCCL", VERDICT_SKIPPED, "copies to and from");
    judge(&check_device, TRIED("[{\"id\":1,\"failed\":\"E\",\"missing\":false}]", ""));
    expect("copy", VERDICT_WRONG, "rank 0 on n1, GPU 1: E");
    judge(&check_device, TRIED("[{\"id\":1,\"failed\":\"E\",\"missing\":true}]", ""));
    expect("copy", VERDICT_SKIPPED, "rank 0 on n1: E");
    judge(&check_device, TRIED(WORKS, ""));
    expect("copy", VERDICT_OK, "1 GPU, there and back: the same bytes, 9.0 GB/s");
    expect("sum over GPUs", VERDICT_SKIPPED, "ended before");
    judge(&check_device, TRIED(WORKS, ",\"device_sum\":{}"));
    expect("sum over GPUs", VERDICT_WRONG, "did not return");
    expect("NCCL", VERDICT_SKIPPED, "has failed");
    judge(&check_device, TRIED(WORKS, ",\"device_sum\":{\"failed\":\"F\"}"));
    expect("sum over GPUs", VERDICT_WRONG, "F");
    judge(&check_device,
          TRIED(WORKS, ",\"device_sum\":{\"right\":true,\"host\":\"H\"}"));
    expect("sum over GPUs", VERDICT_OK, "right result");
    expect("NCCL", VERDICT_SKIPPED, "H");
    judge(&check_device,
          TRIED(WORKS, ",\"device_sum\":{\"right\":true,\"library\":\"L\","
                       "\"version\":22809}"));
    expect("NCCL", VERDICT_OK, "L, version 2.28.9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, config_setup, teardown)
        TEST(limits_of_a_node_are_judged),
        TEST(space_of_a_node_is_judged),
        TEST(versions_of_raytrain_are_compared),
        TEST(clocks_of_nodes_are_compared),
        TEST(a_finding_names_the_nodes_that_differ),
        TEST(what_no_worker_could_try_is_named),
        TEST(only_the_first_names_are_looked_up),
        TEST(what_a_node_sees_late_is_named),
        TEST(each_worker_has_its_own_gpus),
        TEST(shared_gpus_are_judged),
        TEST(what_workers_tried_with_devices_is_judged),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
