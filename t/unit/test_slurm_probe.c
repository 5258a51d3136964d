/* test_slurm_probe.c - nodes that answer, refuse and cannot be reached. scontrol is a
 * script here; the connections are real. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "slurm/slurmd_probe.h"
#include "t/unit/scratch.h"

/* A port of this machine, with a listener or (closed again) without. */
static int port_take(int *fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;

    *fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(*fd >= 0);
    assert_int_equal(bind(*fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&at, &size), 0);
    return ntohs(at.sin_port);
}

/* For a node NAME it prints the file NAME; the questions are logged in `asked`. */
static void scontrol_write(const char *of_config)
{
    FILE *f = fopen("scontrol", "w");

    assert_non_null(f);
    fprintf(f,
            "#!/bin/sh\n"
            "echo \"$*\" >>asked\n"
            "case \"$3 $4\" in\n"
            "'job 7')\n"
            "echo JobId=70 NodeList=other\n"
            "echo JobId=7 NodeList=up,closed,away,late ;;\n"
            "config*) %s ;;\n"
            "node*) for f in up closed away other; do ! test -e $f || cat $f; done ;;\n"
            "esac\n",
            of_config);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod("scontrol", 0755), 0);
}

static void node_write(const char *name, const char *address, int port)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    fprintf(f, "NodeName=%s Arch=x86_64 NodeAddr=%s State=ALLOCATED", name, address);
    if (port > 0)
        fprintf(f, " Port=%d", port);
    fprintf(f, " OS=Linux 5.10.0\n");
    assert_int_equal(fclose(f), 0);
}

/* How many questions Slurm was asked; resets the count. */
static int questions(void)
{
    FILE *f = fopen("asked", "r");
    int n = 0, c;

    while (f && (c = getc(f)) != EOF)
        n += c == '\n';
    if (f)
        fclose(f);
    remove("asked");
    return n;
}

static int enter(void **state)
{
    char here[4096], path[8192];

    if (scratch_enter(state) < 0 || !getcwd(here, sizeof here))
        return -1;
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", here);
    setenv("SLURM_JOB_ID", "7", 1);
    return setenv("PATH", path, 1);
}

/* A broadcast address is refused before anything is sent, as is a network without a
 * route. */
static void each_node_gets_its_answer(void **state)
{
    char *const nodes[] = {(char *)"up", (char *)"closed", (char *)"away",
                           (char *)"other", (char *)"nameless"};
    enum node_answer answers[5] = {NODE_UNKNOWN};
    struct node_memo memo = {""};
    int listening, closed, port, free_port;

    (void)state;
    port = port_take(&listening);
    assert_int_equal(listen(listening, 5), 0);
    free_port = port_take(&closed);
    scontrol_write("");
    node_write("up", "127.0.0.1", port);
    node_write("closed", "127.0.0.1", free_port);
    node_write("away", "255.255.255.255", 1);
    node_write("other", "127.0.0.1", port);

    slurm_probe_ask(NODE_IS_ALIVE, nodes, 5, answers, &memo);
    assert_int_equal(answers[0], NODE_ANSWERS);
    assert_int_equal(answers[1], NODE_REFUSES);
    assert_int_equal(answers[2], NODE_SILENT);
    assert_int_equal(answers[3], NODE_ANSWERS);
    assert_int_equal(answers[4], NODE_UNKNOWN); /* its name has no address */
    assert_int_equal(questions(), 1);           /* for all of them */

    memset(answers, 0, sizeof answers);
    slurm_probe_ask(NODE_IS_OURS, nodes, 5, answers, &memo);
    assert_int_equal(answers[0], NODE_ANSWERS);
    assert_int_equal(answers[1], NODE_REFUSES);
    assert_int_equal(answers[3], NODE_SILENT); /* not in this job, but in job 70 */
    close(listening);
    close(closed);
}

/* The cluster's port is asked for once, and remembered. */
static void slurm_is_not_asked_for_nodes_that_respond(void **state)
{
    char *const nodes[] = {(char *)"127.0.0.1"};
    enum node_answer answer = NODE_UNKNOWN;
    struct node_memo memo = {""};
    char config[64];
    int listening, port;

    (void)state;
    port = port_take(&listening);
    assert_int_equal(listen(listening, 5), 0);
    snprintf(config, sizeof config, "echo 'SlurmdPort              = %d'", port);
    scontrol_write(config);
    node_write("up", "127.0.0.1", 0);
    assert_int_equal(rename("up", "other"), 0);
    assert_int_equal(system("sed -i s/NodeName=up/NodeName=127.0.0.1/ other"), 0);

    slurm_probe_ask(NODE_IS_ALIVE, nodes, 1, &answer, &memo);
    assert_int_equal(answer, NODE_ANSWERS);
    assert_int_equal(questions(), 2);
    slurm_probe_ask(NODE_IS_ALIVE, nodes, 1, &answer, &memo);
    assert_int_equal(answer, NODE_ANSWERS);
    assert_int_equal(questions(), 0);
    close(listening);
}

/* A slurmd that does not listen on the usual port may listen elsewhere, which only
 * Slurm knows; unless another node is found on that port. */
static void without_slurm_nothing_is_known(void **state)
{
    char *const nodes[] = {(char *)"127.0.0.2", (char *)"127.0.0.1"};
    enum node_answer answers[2] = {NODE_UNKNOWN};
    struct node_memo memo = {""};
    int listening;

    (void)state;
    snprintf(memo.text, sizeof memo.text, "%d", port_take(&listening));
    scontrol_write("");
    assert_int_equal(chmod("scontrol", 0), 0);
    slurm_probe_ask(NODE_IS_ALIVE, nodes, 2, answers, &memo);
    assert_int_equal(answers[0], NODE_UNKNOWN);
    assert_int_equal(answers[1], NODE_UNKNOWN);
    assert_int_equal(listen(listening, 5), 0);
    slurm_probe_ask(NODE_IS_ALIVE, nodes, 2, answers, &memo);
    assert_int_equal(answers[0], NODE_REFUSES);
    assert_int_equal(answers[1], NODE_ANSWERS);
    slurm_probe_ask(NODE_IS_OURS, nodes, 2, answers, &memo);
    assert_int_equal(answers[1], NODE_UNKNOWN);
    close(listening);
}

/* A node whose connections never complete: its queue is full. */
static void an_open_connection_is_undecided(void **state)
{
    char *const nodes[] = {(char *)"full"};
    struct node_probe *probe;
    int listening, fill[8], port = port_take(&listening);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    (void)state;
    assert_int_equal(listen(listening, 0), 0);
    for (int i = 0; i < 8; i++) {
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fill[i], (struct sockaddr *)&at, sizeof at);
    }
    scontrol_write("");
    node_write("up", "127.0.0.1", port);
    assert_int_equal(system("sed -i s/NodeName=up/NodeName=full/ up"), 0);
    assert_int_equal(
        node_probe_start(slurm_probe_ask, NODE_IS_ALIVE, nodes, 1, &probe, NULL), 0);
    while (access("asked", F_OK) < 0)
        usleep(1000);
    assert_int_equal(node_probe_answer(probe, 0), NODE_UNKNOWN);
    while (!node_probe_done(probe))
        usleep(1000);
    assert_int_equal(node_probe_answer(probe, 0), NODE_SILENT);
    node_probe_destroy(probe);
    for (int i = 0; i < 8; i++)
        close(fill[i]);
    close(listening);
}

/* A probe is killed after 15 s: the first connections, those to other ports, and two
 * questions to Slurm have to end before that, even if no node answers. */
static void ten_thousand_silent_nodes_have_an_end(void **state)
{
    (void)state;
    for (size_t batch = 64; batch <= 10000; batch++)
        assert_true(slurm_probe_batch_s(10000, batch) *
                        (double)((10000 + batch - 1) / batch) <
                    4.001);
    assert_true(slurm_probe_batch_s(10000, 5000) == 2.0);
    assert_true(slurm_probe_batch_s(1, 1) == 2.0);
    assert_true(slurm_probe_batch_s(0, 0) == 2.0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, scratch_leave)
    const struct CMUnitTest tests[] = {
        TEST(each_node_gets_its_answer),
        TEST(slurm_is_not_asked_for_nodes_that_respond),
        TEST(without_slurm_nothing_is_known),
        TEST(an_open_connection_is_undecided),
        cmocka_unit_test(ten_thousand_silent_nodes_have_an_end),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
