/* Addresses to listen on, which are safe or refused, and tokens in files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/listening.h"
#include "http/token.h"
#include "scratch.h"

static struct error err;

static void loopback_needs_no_token(void **state)
{
    static const char *const texts[] = {"127.0.0.1:0", "localhost:0", "127.8.9.1:0",
                                        "0", ":0"};
    struct listening a;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(listening_open(texts[i], false, &a, &err), 0);
        assert_true(a.is_local);
        assert_null(strstr(a.text, ":0")); /* the port that it has got */
        listening_close(&a);
    }
}

static void other_addresses_are_refused_without_a_token(void **state)
{
    struct listening a;

    (void)state;
    assert_int_equal(listening_open("0.0.0.0:0", false, &a, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "--no-token"));
    assert_int_equal(listening_open("0.0.0.0:0", true, &a, &err), 0);
    assert_false(a.is_local);
    listening_close(&a);
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const texts[] = {"",
                                        ":",
                                        ":http",
                                        "65536",
                                        "host",
                                        "host:",
                                        "host:http",
                                        "1.2.3.4:-1",
                                        "::1:80",
                                        "[::1]",
                                        "[]:80",
                                        "1.2.3.4:5:6",
                                        "unix:",
                                        "127.0.0.1:65536",
                                        "127.0.0.1:99999",
                                        "127.0.0.1:99999999999999999999999"};
    struct listening a;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(listening_open(texts[i], true, &a, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
    }
}

static void a_socket_is_private_and_replaces_one_that_is_dead(void **state)
{
    struct listening a, b;
    struct stat st;

    (void)state;
    assert_int_equal(listening_open("./s", false, &a, &err), 0);
    assert_int_equal(stat("s", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_string_equal(a.text, "unix:./s");
    assert_int_equal(listening_open("./s", false, &b, &err), -1);
    assert_non_null(strstr(err.text, "another service"));
    close(a.fd); /* as if the service had been killed */
    assert_int_equal(listening_open("unix:s", false, &b, &err), 0);
    listening_close(&b);
    assert_int_equal(stat("s", &st), -1);
}

static void a_socket_needs_a_directory_that_others_cannot_change(void **state)
{
    struct listening a;
    int fd;

    (void)state;
    assert_int_equal(mkdir("open", 0777), 0);
    assert_int_equal(chmod("open", 0777), 0);
    assert_int_equal(listening_open("open/s", false, &a, &err), -1);
    assert_non_null(strstr(err.text, "chmod"));
    assert_int_equal(listening_open("none/s", false, &a, &err), -1);
    fd = open("file", O_CREAT | O_WRONLY, 0600);
    close(fd);
    assert_int_equal(listening_open("./file", false, &a, &err), -1);
    assert_int_equal(access("file", F_OK), 0);
}

static void header_of(char out[512], const char *scheme, const char *token)
{
    snprintf(out, 512, "%s%s", scheme, token);
}

static void a_name_stays_one(void **state)
{
    char text[PATH_MAX + 8];
    struct listening a;

    (void)state;
    assert_int_equal(listening_open("localhost:0", false, &a, &err), 0);
    listening_name(&a, text);
    assert_memory_equal(text, "localhost:", 10);
    assert_string_equal(strrchr(text, ':'), strrchr(a.text, ':'));
    listening_close(&a);
    assert_int_equal(listening_open("127.0.0.1:0", false, &a, &err), 0);
    listening_name(&a, text);
    assert_string_equal(text, a.text);
    listening_close(&a);
}

static void a_token_is_made_once_in_a_private_file(void **state)
{
    char *token, *again, header[512];
    struct stat st;

    (void)state;
    assert_int_equal(token_open("token", &token, &err), 0);
    assert_int_equal(strlen(token), 64);
    assert_int_equal(stat("token", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(token_open("token", &again, &err), 0);
    assert_string_equal(token, again);
    header_of(header, "Bearer ", token);
    assert_true(token_is_in(header, token));
    header_of(header, "bearer  ", token);
    assert_true(token_is_in(header, token));
    free(token);
    free(again);
}

static void a_token_that_others_may_read_is_refused(void **state)
{
    char *token;

    (void)state;
    assert_int_equal(token_open("token", &token, &err), 0);
    free(token);
    assert_int_equal(chmod("token", 0640), 0);
    assert_int_equal(token_open("token", &token, &err), -1);
    assert_non_null(strstr(err.text, "chmod 600"));
    assert_int_equal(chmod("token", 0600), 0);
    assert_int_equal(truncate("token", 5), 0);
    assert_int_equal(token_open("token", &token, &err), -1);
    assert_int_equal(token_open(".", &token, &err), -1);
}

static void only_the_whole_token_is_right(void **state)
{
    static const char *const wrong[] = {NULL,
                                        "",
                                        "Bearer ",
                                        "Bearer 0123456789abcde",
                                        "Bearer 0123456789abcdeX",
                                        "Bearer 0123456789abcdef0",
                                        "Bearer 0123456789abcdef0123456789abcdef",
                                        "Basic 0123456789abcdef",
                                        "0123456789abcdef"};

    (void)state;
    assert_true(token_is_in("Bearer 0123456789abcdef", "0123456789abcdef"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(token_is_in(wrong[i], "0123456789abcdef"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_needs_no_token),
        cmocka_unit_test(other_addresses_are_refused_without_a_token),
        cmocka_unit_test(a_name_stays_one),
        cmocka_unit_test(what_is_no_address_is_refused),
        SCRATCH(a_socket_is_private_and_replaces_one_that_is_dead),
        SCRATCH(a_socket_needs_a_directory_that_others_cannot_change),
        SCRATCH(a_token_is_made_once_in_a_private_file),
        SCRATCH(a_token_that_others_may_read_is_refused),
        cmocka_unit_test(only_the_whole_token_is_right),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
