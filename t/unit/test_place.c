/* Where a run is served, as its clients find it. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "place/place.h"
#include "scratch.h"
#include "util/fs.h"
#include "util/private_dir.h"

static int setup(void **state)
{
    return scratch_enter(state) || mkdir("run", 0777) || mkdir("elsewhere", 0777);
}

struct seen {
    size_t calls;
    bool here;
    char text[4096];
};

static void on_found(void *arg, const struct place_found *place)
{
    struct seen *seen = arg;

    seen->calls++;
    seen->here = place->here;
    snprintf(seen->text, sizeof seen->text, "%s %s %s %s",
             place->address.model ? place->address.model : "-", place->address.url,
             place->address.socket ? place->address.socket : "-",
             place->address.token_file ? place->address.token_file : "-");
}

static size_t services(const char *run, struct seen *seen)
{
    struct error err;
    size_t n;

    memset(seen, 0, sizeof *seen);
    assert_int_equal(place_each(run, on_found, seen, &n, &err), 0);
    assert_int_equal(n, seen->calls);
    return n;
}

static int lock; /* of the last one that was made */

static char *made(const char *run)
{
    static const struct place_address address = {
        "m", "http://localhost", "/tmp/s", NULL, NULL, NULL};
    struct error err;
    char *dir;

    if (place_make(run, &dir, &lock, &err) < 0 || place_write(dir, &address, &err) < 0)
        fail_msg("%s", err.text);
    return dir;
}

static void a_service_is_found_as_long_as_it_is_there(void **state)
{
    struct seen seen;
    struct stat st;
    char *dir;

    (void)state;
    assert_int_equal(services("run", &seen), 0);
    dir = made("run");
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(services("run", &seen), 1);
    assert_true(seen.here);
    assert_string_equal(seen.text, "m http://localhost /tmp/s -");
    place_remove(dir);
    free(dir);
    assert_int_equal(services("run", &seen), 0);
}

static void a_checkpoint_is_served_beside_it(void **state)
{
    struct seen seen;
    char *dir;

    (void)state;
    assert_int_equal(fs_write_atomic("run/checkpoint_000001.h5", "", 0, 0600, NULL), 0);
    dir = made("run/checkpoint_000001.h5");
    assert_int_equal(services("run", &seen), 1);
    assert_int_equal(services("run/checkpoint_000001.h5", &seen), 1);
    place_remove(dir);
    free(dir);
}

/* Whatever the directory of its clients is. */
static void its_paths_are_absolute(void **state)
{
    static const struct place_address address = {"m",     "https://h:1", "socket",
                                                 "token", NULL,          "absent"};
    char *dir, *cwd = realpath(".", NULL), expected[2 * PATH_MAX];
    struct seen seen;
    struct error err;

    (void)state;
    assert_int_equal(fs_write_atomic("socket", "", 0, 0600, NULL), 0);
    assert_int_equal(fs_write_atomic("token", "", 0, 0600, NULL), 0);
    assert_int_equal(place_make("run", &dir, &lock, &err), 0);
    assert_int_equal(place_write(dir, &address, &err), 0);
    assert_int_equal(services("run", &seen), 1);
    snprintf(expected, sizeof expected, "m https://h:1 %s/socket %s/token", cwd, cwd);
    assert_string_equal(seen.text, expected);
    place_remove(dir);
    free(dir);
    free(cwd);
}

/* Killed: the next one removes what it has left, and no client finds it. */
static void what_a_dead_service_has_left_is_removed(void **state)
{
    struct seen seen;
    char *dir;
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        free(made("run"));
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(scratch_count("run/serve"), 1);
    assert_int_equal(services("run", &seen), 0);
    dir = made("run");
    assert_int_equal(scratch_count("run/serve"), 1);
    place_remove(dir);
    free(dir);
}

/* In a container a service has the same id each time it is started. */
static void what_one_with_the_id_of_this_process_has_left_is_removed(void **state)
{
    char *dir;

    (void)state;
    free(made("run"));
    close(lock);
    dir = made("run");
    assert_int_equal(scratch_count("run/serve"), 1);
    place_remove(dir);
    free(dir);
}

/* In another container with this host name, ids are different, or happen to be equal. */
static void one_that_runs_in_another_container_stays(void **state)
{
    char host[256] = "", path[300], *dir;
    struct error err;
    int other;

    (void)state;
    gethostname(host, sizeof host - 1);
    free(made("run"));
    snprintf(path, sizeof path, "run/serve/%s.2147483647", host);
    other = private_dir_make_at(path);
    assert_true(other >= 0);
    assert_int_equal(place_make("run", &dir, &lock, &err), -1);
    assert_non_null(strstr(err.text, "a service with the same host name"));
    assert_int_equal(scratch_count("run/serve"), 2);
    close(other);
}

/* It may exist; that cannot be known here. */
static void one_of_another_host_is_found_and_left_alone(void **state)
{
    static const char text[] = "{\"host\":\"far\",\"pid\":1,\"born\":2,\"model\":\"m\","
                               "\"url\":\"http://far:80\",\"socket\":null,"
                               "\"token_file\":\"/t\"}";
    struct seen seen;
    char *dir;

    (void)state;
    assert_int_equal(fs_mkdirs("run/serve/far.1", 0700, NULL), 0);
    assert_int_equal(
        fs_write_atomic("run/serve/far.1/address.json", text, strlen(text), 0600, NULL),
        0);
    dir = made("run");
    place_remove(dir);
    free(dir);
    assert_int_equal(services("run", &seen), 1);
    assert_false(seen.here);
    assert_string_equal(seen.text, "m http://far:80 - /t");
}

static void rubbish_is_no_service(void **state)
{
    struct seen seen;

    (void)state;
    assert_int_equal(fs_mkdirs("run/serve/x.1", 0700, NULL), 0);
    assert_int_equal(fs_mkdirs("run/serve/y.1", 0700, NULL), 0);
    assert_int_equal(
        fs_write_atomic("run/serve/x.1/address.json", "{\"host\":1}", 10, 0600, NULL),
        0);
    assert_int_equal(fs_write_atomic("run/serve/y.1/address.json", "{", 1, 0600, NULL),
                     0);
    assert_int_equal(services("run", &seen), 0);
    assert_int_equal(services("absent", &seen), 0);
}

static void the_line_to_type_has_no_secret(void **state)
{
    const struct place_address plain = {"m", "http://127.0.0.1:80", NULL, NULL, NULL,
                                        NULL};
    const struct place_address local = {"m", "http://localhost", "/a b/s", NULL, NULL,
                                        NULL};
    const struct place_address secret = {"m",          "https://h:80", NULL,
                                         "/a b/token", NULL,           "cert"};
    const struct place_address unknown = {
        "m", "https://n1.invalid:80", NULL, NULL, "10.0.0.1", NULL};
    char *line;

    (void)state;
    line = place_curl(&plain);
    assert_string_equal(line, "curl http://127.0.0.1:80/v2/models/m");
    free(line);
    line = place_curl(&local);
    assert_string_equal(line,
                        "curl --unix-socket '/a b/s' http://localhost/v2/models/m");
    free(line);
    line = place_curl(&secret);
    assert_string_equal(line,
                        "curl --cacert cert https://h:80/v2/models/m -H @<(printf "
                        "'Authorization: Bearer '; cat '/a b/token')");
    free(line);
    line = place_curl(&unknown);
    assert_string_equal(line, "curl --resolve n1.invalid:80:10.0.0.1 "
                              "https://n1.invalid:80/v2/models/m");
    free(line);
}

static void a_name_is_that_of_the_host(void **state)
{
    struct error err;
    char host[256] = "", expected[300], *name, *address;

    (void)state;
    gethostname(host, sizeof host - 1);
    snprintf(expected, sizeof expected, "%s:80", host);
    assert_int_equal(place_name("0.0.0.0:80", &name, &address, &err), 0);
    assert_string_equal(name, expected);
    free(name);
    free(address);
    assert_int_equal(place_name("10.0.0.1:80", &name, &address, &err), 0);
    assert_string_equal(name, "10.0.0.1:80");
    assert_null(address);
    free(name);
}

static void a_service_of_several_models_is_asked_for_their_names(void **state)
{
    const struct place_address several = {.url = "http://localhost", .socket = "/s"};
    struct seen seen;
    struct error err;
    char *dir, *line = place_curl(&several);

    (void)state;
    assert_string_equal(
        line, "curl --unix-socket /s -X POST http://localhost/v2/repository/index");
    free(line);
    assert_int_equal(place_make("run", &dir, &lock, &err), 0);
    assert_int_equal(place_write(dir, &several, &err), 0);
    assert_int_equal(services("run", &seen), 1);
    place_remove(dir);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, scratch_leave)
        TEST(a_service_is_found_as_long_as_it_is_there),
        TEST(a_checkpoint_is_served_beside_it),
        TEST(its_paths_are_absolute),
        TEST(what_a_dead_service_has_left_is_removed),
        TEST(what_one_with_the_id_of_this_process_has_left_is_removed),
        TEST(one_that_runs_in_another_container_stays),
        TEST(one_of_another_host_is_found_and_left_alone),
        TEST(rubbish_is_no_service),
        TEST(the_line_to_type_has_no_secret),
        TEST(a_service_of_several_models_is_asked_for_their_names),
        TEST(a_name_is_that_of_the_host),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
