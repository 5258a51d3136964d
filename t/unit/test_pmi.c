/*
 * The PMI-1 protocol, and the bridge around it, without PMIx and without MPI: a small
 * store in memory plays the group.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "wireup/pmi_bridge.h"

enum { RANKS = 3, ROUNDS = 8 };

/* What the ranks have shared, by rank and round; and what became of the group. */
struct group {
    char *blob[RANKS][ROUNDS];
    size_t n[RANKS][ROUNDS];
    int n_fetched;
    bool share_fails;
    int aborted;
    char message[512];
};

struct member {
    struct group *group;
    int rank;
    struct pmi1 *pmi;
};

static int group_share(void *arg, unsigned round, const char *data, size_t n,
                       struct error *err)
{
    struct member *m = arg;
    char *copy = malloc(n + 1);

    if (m->group->share_fails) {
        free(copy);
        return error_set(err, RAYTRAIN_ECOMM, "fence failed");
    }
    assert_true(round < ROUNDS);
    if (n > 0)
        memcpy(copy, data, n);
    free(m->group->blob[m->rank][round]);
    m->group->blob[m->rank][round] = copy;
    m->group->n[m->rank][round] = n;
    return 0;
}

static int group_fetch(void *arg, int rank, unsigned round, char **data, size_t *n,
                       struct error *err)
{
    struct group *g = ((struct member *)arg)->group;

    g->n_fetched++;
    if (!g->blob[rank][round])
        return error_set(err, RAYTRAIN_ECOMM, "rank %d did not share", rank);
    *n = g->n[rank][round];
    *data = malloc(*n + 1);
    memcpy(*data, g->blob[rank][round], *n);
    return 0;
}

static void group_abort(void *arg, int exit_status, const char *message)
{
    struct group *g = ((struct member *)arg)->group;

    g->aborted = exit_status;
    snprintf(g->message, sizeof g->message, "%s", message);
}

static const struct pmi1_ops group_ops = {
    .share = group_share,
    .fetch = group_fetch,
    .abort = group_abort,
};

static struct pmi1_config member_config(struct member *m, const char *mapping)
{
    return (struct pmi1_config){
        .rank = m->rank,
        .size = RANKS,
        .kvsname = "job 1=x",
        .mapping = mapping,
        .ops = &group_ops,
        .arg = m,
    };
}

static void group_create(struct group *g, struct member m[RANKS], const char *mapping)
{
    memset(g, 0, sizeof *g);
    for (int r = 0; r < RANKS; r++) {
        struct pmi1_config config;

        m[r] = (struct member){.group = g, .rank = r};
        config = member_config(&m[r], mapping);
        m[r].pmi = pmi1_create(&config, NULL);
        assert_non_null(m[r].pmi);
    }
}

static void group_destroy(struct group *g, struct member m[RANKS])
{
    for (int r = 0; r < RANKS; r++) {
        pmi1_destroy(m[r].pmi);
        for (int k = 0; k < ROUNDS; k++)
            free(g->blob[r][k]);
    }
}

/* Say a line, and expect the answer. */
static void say(struct member *m, const char *text, const char *expect)
{
    char line[PMI1_LINE_MAX];
    const char *reply;

    snprintf(line, sizeof line, "%s", text);
    assert_int_equal(pmi1_line(m->pmi, line, &reply, NULL), PMI1_GO_ON);
    assert_string_equal(reply, expect);
}

static void clients_are_greeted(void **state)
{
    struct group g;
    struct member m[RANKS];

    (void)state;
    group_create(&g, m, "(vector,(0,1,3))");
    say(&m[1], "cmd=init pmi_version=1 pmi_subversion=1",
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    say(&m[1], "cmd=init pmi_version=2 pmi_subversion=0",
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
    say(&m[1], "cmd=get_maxes",
        "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    say(&m[1], "cmd=get_appnum ", "cmd=appnum appnum=0\n");
    say(&m[1], "  cmd=get_universe_size", "cmd=universe_size size=3\n");
    /* the group's name is made one word */
    say(&m[1], "cmd=get_my_kvsname", "cmd=my_kvsname kvsname=job_1_x\n");
    say(&m[1], "cmd=get kvsname=job_1_x key=PMI_process_mapping",
        "cmd=get_result rc=0 msg=success value=(vector,(0,1,3))\n");
    /* no rank is dead as long as the group lives */
    say(&m[1], "cmd=get kvsname=job_1_x key=PMI_dead_processes",
        "cmd=get_result rc=0 msg=success value=\n");
    group_destroy(&g, m);
}

#define PUT_OK  "cmd=put_result rc=0 msg=success\n"
#define BARRIER "cmd=barrier_out rc=0\n"
#define MISSING "cmd=get_result rc=-1 msg=key_not_found value=unknown\n"

static void keys_and_values_are_exchanged(void **state)
{
    struct group g;
    struct member m[RANKS];

    (void)state;
    group_create(&g, m, NULL);
    say(&m[0], "cmd=put kvsname=job_1_x key=card value=a b  c=d key=not cmd=me ",
        PUT_OK);
    say(&m[0], "cmd=put kvsname=job_1_x key=empty value=", PUT_OK);
    say(&m[2], "cmd=put kvsname=job_1_x key=other value=2", PUT_OK);
    /* a rank sees its own at once, those of others after the barrier */
    say(&m[0], "cmd=get kvsname=job_1_x key=card",
        "cmd=get_result rc=0 msg=success value=a b  c=d key=not cmd=me \n");
    say(&m[1], "cmd=get kvsname=job_1_x key=card", MISSING);
    for (int r = 0; r < RANKS; r++)
        say(&m[r], "cmd=barrier_in", BARRIER);
    say(&m[1], "cmd=get kvsname=job_1_x key=card",
        "cmd=get_result rc=0 msg=success value=a b  c=d key=not cmd=me \n");
    say(&m[1], "cmd=get kvsname=job_1_x key=empty",
        "cmd=get_result rc=0 msg=success value=\n");
    assert_int_equal(g.n_fetched, RANKS - 1);
    say(&m[1], "cmd=get kvsname=job_1_x key=nothing", MISSING);
    assert_int_equal(g.n_fetched, RANKS - 1);

    /* a second round, with nothing from one of them, and a key that changes */
    say(&m[2], "cmd=put kvsname=job_1_x key=other value=3", PUT_OK);
    for (int r = 0; r < RANKS; r++)
        say(&m[r], "cmd=barrier_in", BARRIER);
    assert_int_equal(g.n[1][1], 0);
    say(&m[0], "cmd=get kvsname=job_1_x key=other",
        "cmd=get_result rc=0 msg=success value=3\n");
    group_destroy(&g, m);
}

static void invalid_requests_are_refused(void **state)
{
    struct group g;
    struct member m[RANKS];
    char line[PMI1_LINE_MAX], longest[PMI1_VALUE_MAX], expect[PMI1_LINE_MAX];

    (void)state;
    group_create(&g, m, NULL);
    say(&m[0], "cmd=put kvsname=else key=a value=b",
        "cmd=put_result rc=-1 msg=kvs_unknown\n");
    say(&m[0], "cmd=put kvsname=job_1_x value=b",
        "cmd=put_result rc=-1 msg=key_missing\n");
    say(&m[0], "cmd=put kvsname=job_1_x key= value=b",
        "cmd=put_result rc=-1 msg=key_missing\n");
    say(&m[0], "cmd=put kvsname=job_1_x key=a",
        "cmd=put_result rc=-1 msg=value_missing\n");
    snprintf(line, sizeof line, "cmd=put key=%064d value=b", 0);
    say(&m[0], line, "cmd=put_result rc=-1 msg=key_too_long\n");
    snprintf(line, sizeof line, "cmd=put key=%063d value=b", 0);
    say(&m[0], line, PUT_OK);
    memset(longest, 'v', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    snprintf(line, sizeof line, "cmd=put key=a value=%sv", longest);
    say(&m[0], line, "cmd=put_result rc=-1 msg=value_too_long\n");
    snprintf(line, sizeof line, "cmd=put key=a value=%s", longest);
    say(&m[0], line, PUT_OK);
    snprintf(expect, sizeof expect, "cmd=get_result rc=0 msg=success value=%s\n",
             longest);
    say(&m[0], "cmd=get key=a", expect);
    say(&m[0], "cmd=get kvsname=else key=a",
        "cmd=get_result rc=-1 msg=kvs_unknown value=unknown\n");
    say(&m[0], "cmd=get", "cmd=get_result rc=-1 msg=key_missing value=unknown\n");
    /* no mapping: the client looks at host names instead */
    say(&m[0], "cmd=get key=PMI_process_mapping", MISSING);
    say(&m[0], "cmd=publish_name service=a port=b",
        "cmd=publish_result rc=1 msg=not_supported\n");
    say(&m[0], "cmd=unpublish_name service=a",
        "cmd=unpublish_result rc=1 msg=not_supported\n");
    say(&m[0], "cmd=lookup_name service=a",
        "cmd=lookup_result rc=1 msg=not_supported\n");
    group_destroy(&g, m);
}

static void a_mapping_may_be_too_long(void **state)
{
    static char mapping[PMI1_VALUE_MAX + 1];
    struct group g;
    struct member m[RANKS];

    (void)state;
    memset(mapping, 'm', sizeof mapping - 1);
    group_create(&g, m, mapping);
    say(&m[0], "cmd=get key=PMI_process_mapping", MISSING);
    group_destroy(&g, m);
}

static void spawn_is_refused_as_a_whole(void **state)
{
    struct group g;
    struct member m[RANKS];

    (void)state;
    group_create(&g, m, NULL);
    say(&m[0], "mcmd=spawn", "");
    say(&m[0], "nprocs=2", "");
    say(&m[0], "execname=/bin/x", "");
    say(&m[0], "cmd=get_maxes", "");
    say(&m[0], "", "");
    say(&m[0], "endcmd", "cmd=spawn_result rc=1 msg=not_supported\n");
    say(&m[0], "cmd=get_appnum", "cmd=appnum appnum=0\n");
    group_destroy(&g, m);
}

static void clients_can_finalise_or_abort(void **state)
{
    static const struct {
        const char *line;
        int status;
    } table[] = {
        {"cmd=abort exitcode=3", 3},
        {"cmd=abort exitcode=256 message=low bits only", 1},
        {"cmd=abort exitcode=-1", 255},
        {"cmd=abort", 1},
    };
    struct group g;
    struct member m[RANKS];
    char line[128];
    const char *reply;

    (void)state;
    group_create(&g, m, NULL);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        strcpy(line, table[i].line);
        assert_int_equal(pmi1_line(m[0].pmi, line, &reply, NULL), PMI1_FINISHED);
        assert_int_equal(g.aborted, table[i].status);
    }
    strcpy(line, "cmd=finalize");
    assert_int_equal(pmi1_line(m[0].pmi, line, &reply, NULL), PMI1_FINISHED);
    assert_string_equal(reply, "cmd=finalize_ack rc=0\n");
    group_destroy(&g, m);
}

static void invalid_messages_are_refused(void **state)
{
    static const char *const lines[] = {
        "hello",
        "cmd=fly",
        "cmd",
        "=",
        "key=a value=b",
        "cmd=init junk",
        "\x01\x02\xff",
        "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1 r=1 s=1 "
        "t=1 "
        "u=1 v=1 w=1 x=1 y=1 z=1 A=1 B=1 C=1 D=1 E=1 F=1 G=1 H=1",
    };
    struct group g;
    struct member m[RANKS];
    struct error err;
    const char *reply;

    (void)state;
    group_create(&g, m, NULL);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[PMI1_LINE_MAX];

        strcpy(line, lines[i]);
        err.text[0] = '\0';
        assert_int_equal(pmi1_line(m[0].pmi, line, &reply, &err), PMI1_ERROR);
        assert_int_equal(err.code, RAYTRAIN_ECOMM);
        assert_true(err.text[0] != '\0');
    }
    group_destroy(&g, m);
}

static void damaged_blobs_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } table[] = {{"key\0val", 7}, {"key", 3}, {"key", 4}, {"k\0v\0x", 5}};
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct group g;
        struct member m[RANKS];
        char line[64] = "cmd=get key=absent";
        const char *reply;

        group_create(&g, m, NULL);
        for (int r = 0; r < RANKS; r++)
            say(&m[r], "cmd=barrier_in", BARRIER);
        group_share(&m[1], 0, table[i].bytes, table[i].n, NULL);
        assert_int_equal(pmi1_line(m[0].pmi, line, &reply, &err), PMI1_ERROR);
        assert_int_equal(err.code, RAYTRAIN_ECOMM);
        group_destroy(&g, m);
    }
}

static void a_failed_fence_is_reported(void **state)
{
    struct group g;
    struct member m[RANKS];
    struct error err;
    char line[] = "cmd=barrier_in";
    const char *reply;

    (void)state;
    group_create(&g, m, NULL);
    g.share_fails = true;
    assert_int_equal(pmi1_line(m[0].pmi, line, &reply, &err), PMI1_ERROR);
    assert_string_equal(err.text, "fence failed");
    group_destroy(&g, m);
}

/* ---- The bridge: a socket, a thread ---- */

static struct pmi_bridge *bridge_make(struct member *m, int *fd)
{
    struct pmi1_config config = member_config(m, NULL);
    struct pmi_bridge *b;

    setenv("PMI_PORT", "somebody:1", 1);
    assert_int_equal(pmi_bridge_start(&config, &b, NULL), 0);
    assert_null(getenv("PMI_PORT"));
    assert_string_equal(getenv("PMI_RANK"), "1");
    assert_string_equal(getenv("PMI_SIZE"), "3");
    *fd = atoi(getenv("PMI_FD"));
    return b;
}

static void bytes_send(int fd, const char *bytes, size_t n)
{
    assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static void line_expect(int fd, const char *expect)
{
    char got[PMI1_LINE_MAX] = "";

    for (size_t n = 0; n < strlen(expect);) {
        ssize_t k = read(fd, got + n, strlen(expect) - n);

        assert_true(k > 0);
        n += (size_t)k;
    }
    assert_string_equal(got, expect);
}

static void the_bridge_answers_a_client(void **state)
{
    static const char two[] = "cmd=get_appnum\ncmd=get_universe_size\n";
    struct group g = {.aborted = 0};
    struct member m = {.group = &g, .rank = 1};
    int fd;
    struct pmi_bridge *b = bridge_make(&m, &fd);

    (void)state;
    bytes_send(fd, two, strlen(two));
    line_expect(fd, "cmd=appnum appnum=0\ncmd=universe_size size=3\n");
    for (size_t i = 0; i < strlen(two); i++)
        bytes_send(fd, two + i, 1);
    line_expect(fd, "cmd=appnum appnum=0\ncmd=universe_size size=3\n");
    pmi_bridge_hide();
    assert_null(getenv("PMI_FD"));
    pmi_bridge_stop(b);
    assert_int_equal(g.aborted, 0);
    /* the client has spoken: its end is its own */
    assert_int_equal(close(fd), 0);
}

static void an_unused_bridge_ends(void **state)
{
    struct group g = {.aborted = 0};
    struct member m = {.group = &g, .rank = 1};
    int fd;
    struct pmi_bridge *b = bridge_make(&m, &fd);

    (void)state;
    pmi_bridge_stop(b);
    assert_int_equal(close(fd), -1);
    assert_null(getenv("PMI_FD"));
    pmi_bridge_stop(NULL);
}

static void the_bridge_of_a_child_leaves_the_environment_alone(void **state)
{
    static const char ask[] = "cmd=get_appnum\n";
    struct group g = {.aborted = 0};
    struct member m = {.group = &g, .rank = 1};
    struct pmi1_config config = member_config(&m, NULL);
    struct pmi_bridge *b;
    int fd, copy;

    (void)state;
    setenv("PMI_FD", "parent", 1);
    assert_int_equal(pmi_bridge_start_child(&config, &b, &fd, NULL), 0);
    assert_false(pmi_bridge_used(b));
    copy = dup(fd); /* as a child has one */
    bytes_send(copy, ask, strlen(ask));
    line_expect(copy, "cmd=appnum appnum=0\n");
    assert_true(pmi_bridge_used(b));
    close(copy);
    pmi_bridge_stop(b);
    assert_string_equal(getenv("PMI_FD"), "parent");
    unsetenv("PMI_FD");
    assert_int_equal(close(fd), -1);
}

static void the_bridge_survives_a_client_that_leaves(void **state)
{
    static const char bye[] = "cmd=finalize\n";
    struct group g = {.aborted = 0};
    struct member m = {.group = &g, .rank = 1};
    int fd;
    struct pmi_bridge *b = bridge_make(&m, &fd);

    (void)state;
    bytes_send(fd, bye, strlen(bye));
    line_expect(fd, "cmd=finalize_ack rc=0\n");
    close(fd);
    pmi_bridge_stop(b);
    assert_int_equal(g.aborted, 0);
}

/* Whatever is not PMI ends the group, with a sentence, and nothing else happens. */
static void the_bridge_survives_invalid_messages(void **state)
{
    static char endless[3 * PMI1_LINE_MAX];
    static const char zero[] = "cmd=init\0pmi_version=1\nrubbish\n",
                      line[] = "rubbish\n";
    const struct {
        const char *bytes;
        size_t n;
    } table[] = {
        {endless, sizeof endless},
        {zero, sizeof zero - 1},
        {line, sizeof line - 1},
    };

    (void)state;
    memset(endless, 'x', sizeof endless);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct group g = {.aborted = 0};
        struct member m = {.group = &g, .rank = 1};
        int fd;
        struct pmi_bridge *b = bridge_make(&m, &fd);
        char byte;

        bytes_send(fd, table[i].bytes, table[i].n);
        while (read(fd, &byte, 1) == 1)
            ;
        pmi_bridge_stop(b);
        assert_int_equal(g.aborted, 1);
        assert_true(strlen(g.message) > 20);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_are_greeted),
        cmocka_unit_test(keys_and_values_are_exchanged),
        cmocka_unit_test(invalid_requests_are_refused),
        cmocka_unit_test(a_mapping_may_be_too_long),
        cmocka_unit_test(spawn_is_refused_as_a_whole),
        cmocka_unit_test(clients_can_finalise_or_abort),
        cmocka_unit_test(invalid_messages_are_refused),
        cmocka_unit_test(damaged_blobs_are_refused),
        cmocka_unit_test(a_failed_fence_is_reported),
        cmocka_unit_test(the_bridge_answers_a_client),
        cmocka_unit_test(an_unused_bridge_ends),
        cmocka_unit_test(the_bridge_of_a_child_leaves_the_environment_alone),
        cmocka_unit_test(the_bridge_survives_a_client_that_leaves),
        cmocka_unit_test(the_bridge_survives_invalid_messages),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
