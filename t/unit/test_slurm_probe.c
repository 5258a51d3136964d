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

#include "launch/slurm_probe.h"
#include "t/unit/scratch.h"

/* A port of this machine: listened to, or (closed again) by nobody. */
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

/* Of node NAME it says what the file NAME does. */
static void scontrol_write(void)
{
    FILE *f = fopen("scontrol", "w");

    assert_non_null(f);
    fputs("#!/bin/sh\n"
          "case \"$3 $4\" in\n"
          "'job 7') echo JobId=7 NodeList=up,closed,away,down ;;\n"
          "config*) echo 'SlurmdPort              = 1' ;;\n"
          "node*) cat \"$4\" ;;\n"
          "esac\n",
          f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod("scontrol", 0755), 0);
}

static void node_write(const char *name, const char *address, int port,
                       const char *node_state)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    fprintf(f, "NodeName=%s NodeAddr=%s State=%s Port=%d\n", name, address, node_state,
            port);
    assert_int_equal(fclose(f), 0);
}

/* A broadcast address is refused before anything is sent, as is a network without a
 * route. */
static void each_node_has_its_answer(void **state)
{
    char *const nodes[] = {(char *)"up", (char *)"closed", (char *)"away",
                           (char *)"down", (char *)"other"};
    enum node_answer answers[5] = {NODE_UNKNOWN};
    int listening, closed, port, free_port;
    char here[4096], path[8192];

    (void)state;
    port = port_take(&listening);
    assert_int_equal(listen(listening, 5), 0);
    free_port = port_take(&closed);
    scontrol_write();
    node_write("up", "127.0.0.1", port, "ALLOCATED");
    node_write("closed", "127.0.0.1", free_port, "ALLOCATED*");
    node_write("away", "255.255.255.255", 1, "ALLOCATED");
    node_write("down", "127.0.0.1", port, "DOWN*");
    assert_non_null(getcwd(here, sizeof here));
    snprintf(path, sizeof path, "%s:%s", here, getenv("PATH"));
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(setenv("SLURM_JOB_ID", "7", 1), 0);

    slurm_probe_ask(nodes, 5, answers);
    assert_int_equal(answers[0], NODE_ANSWERS);
    assert_int_equal(answers[1], NODE_REFUSES);
    assert_int_equal(answers[2], NODE_SILENT);
    assert_int_equal(answers[3], NODE_SILENT);
    assert_int_equal(answers[4], NODE_SILENT); /* no longer of this job */
    close(listening);
    close(closed);
}

/* Without Slurm nobody knows. */
static void without_slurm_nothing_is_known(void **state)
{
    char *const nodes[] = {(char *)"up"};
    enum node_answer answer = NODE_UNKNOWN;

    (void)state;
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    slurm_probe_ask(nodes, 1, &answer);
    assert_int_equal(answer, NODE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(each_node_has_its_answer),
        cmocka_unit_test(without_slurm_nothing_is_known),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
