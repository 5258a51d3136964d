/* Messages between a service and its workers: whole, in pieces, damaged, cut short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/service_wire.h"

static struct error err;

/* x: two float32 a row; t: text; n: one int64 a row. */
static const struct service_column columns[] = {
    {.name = "x", .row = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {2}}},
    {.name = "t", .kind = SERVICE_TEXT},
    {.name = "n", .row = {.dtype = RAYTRAIN_INT64}},
};

#define N 3

/* ---- The layout of rows ---- */

/* Three rows: texts "ab", "", "cde". malloc'ed. */
static unsigned char *rows_make(uint64_t places[N], uint64_t *bytes)
{
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const uint64_t offsets[] = {0, 2, 2, 5}, texts[] = {0, 5, 0};
    static const int64_t n[] = {-1, 0, 7};
    unsigned char *payload;

    assert_int_equal(service_layout(columns, N, 3, texts, places, bytes, &err), 0);
    payload = aligned_alloc(SERVICE_ALIGN, 4096);
    memset(payload, 0, 4096);
    memcpy(payload + places[0], x, sizeof x);
    memcpy(payload + places[1], offsets, sizeof offsets);
    memcpy(payload + places[1] + sizeof offsets, "abcde", 5);
    memcpy(payload + places[2], n, sizeof n);
    return payload;
}

static void columns_begin_at_multiples_of_64_bytes(void **state)
{
    uint64_t places[N], bytes;

    (void)state;
    free(rows_make(places, &bytes));
    assert_int_equal(places[0], 0);
    assert_int_equal(places[1], 64);  /* after 24 bytes */
    assert_int_equal(places[2], 128); /* after 4 offsets and 5 bytes */
    assert_int_equal(bytes, 128 + 3 * 8);
}

static void rows_are_found_where_they_were_laid(void **state)
{
    struct service_rows found[N];
    uint64_t places[N], bytes;
    unsigned char *payload = rows_make(places, &bytes);

    (void)state;
    assert_int_equal(service_find(columns, N, 3, payload, bytes, found, &err), 0);
    assert_float_equal(((const float *)(const void *)found[0].data)[5], 6, 0);
    assert_null(found[0].offsets);
    assert_int_equal(found[1].offsets[3], 5);
    assert_memory_equal(found[1].data, "abcde", 5);
    assert_int_equal(((const int64_t *)(const void *)found[2].data)[2], 7);
    free(payload);
}

static void rows_of_another_number_are_refused(void **state)
{
    static const uint64_t wrong[] = {0, 1, 2, 4, 1000, UINT64_MAX / 8, UINT64_MAX};
    struct service_rows found[N];
    uint64_t places[N], bytes;
    unsigned char *payload = rows_make(places, &bytes);

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(
            service_find(columns, N, wrong[i], payload, bytes, found, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    }
    free(payload);
}

static void a_payload_that_is_too_short_or_too_long_is_refused(void **state)
{
    struct service_rows found[N];
    uint64_t places[N], bytes;
    unsigned char *payload = rows_make(places, &bytes);

    (void)state;
    for (uint64_t n = 0; n <= bytes + 64; n++) {
        assert_int_equal(service_find(columns, N, 3, payload, n, found, &err),
                         n == bytes ? 0 : -1);
        if (n < 64 + 4 * sizeof(uint64_t)) /* offsets are not looked at */
            assert_non_null(strstr(err.text, n < 24 ? "\"x\" is not" : "\"t\" is not"));
    }
    free(payload);
}

static void offsets_of_texts_are_checked(void **state)
{
    static const uint64_t wrong[][4] = {{1, 2, 2, 5},          {0, 3, 2, 5},
                                        {0, 2, 2, 1},          {0, 2, 2, 1000},
                                        {0, UINT64_MAX, 2, 5}, {0, 2, 2, UINT64_MAX}};
    struct service_rows found[N];
    uint64_t places[N], bytes;
    unsigned char *payload = rows_make(places, &bytes);

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memcpy(payload + places[1], wrong[i], sizeof wrong[i]);
        assert_int_equal(service_find(columns, N, 3, payload, bytes, found, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
        assert_non_null(strstr(err.text, "\"t\""));
    }
    free(payload);
}

static void a_layout_that_overflows_is_refused(void **state)
{
    static const uint64_t rows[] = {UINT64_MAX, UINT64_MAX / 8, UINT64_MAX / 8 - 64,
                                    SERVICE_MAX / 8};
    static const uint64_t texts[] = {0, UINT64_MAX - 40, 0};
    struct service_column large = {
        .name = "l",
        .row = {.dtype = RAYTRAIN_INT64,
                .ndim = 2,
                .shape = {UINT64_C(1) << 40, UINT64_C(1) << 40}}};
    uint64_t places[N], bytes;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(
            service_layout(columns, N, rows[i], NULL, places, &bytes, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_EFIT);
    }
    assert_int_equal(service_layout(columns, N, 3, texts, places, &bytes, &err), -1);
    assert_int_equal(service_row_bytes(&large), 0);
    assert_int_equal(service_layout(&large, 1, 1, NULL, places, &bytes, &err), -1);
}

/* ---- Messages ---- */

struct line {
    int front, worker;
    struct service_reader reader; /* of the worker */
};

static void line_open(struct line *l)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    l->front = ends[0];
    l->worker = ends[1];
    service_reader_init(&l->reader, SERVICE_MAX);
}

static void line_close(struct line *l)
{
    if (l->front >= 0)
        close(l->front);
    close(l->worker);
    service_reader_clear(&l->reader);
}

static void front_leaves(struct line *l)
{
    close(l->front);
    l->front = -1;
}

static void send_all(int socket, enum service_kind kind, uint64_t id, const void *bytes,
                     size_t n)
{
    struct service_writer w;

    service_writer_begin(&w, kind, id, 1, bytes, n);
    assert_int_equal(service_write(&w, socket, &err), SERVICE_DONE);
}

static void messages_arrive_in_order_and_whole(void **state)
{
    struct line l;

    (void)state;
    line_open(&l);
    send_all(l.front, SERVICE_BATCH, 7, "hello", 5);
    send_all(l.front, SERVICE_FAILED, 8, NULL, 0);
    send_all(l.front, SERVICE_RESULT, 9, "x", 1);
    front_leaves(&l);
    assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_DONE);
    assert_int_equal(l.reader.header.kind, SERVICE_BATCH);
    assert_int_equal(l.reader.header.id, 7);
    assert_int_equal(l.reader.header.bytes, 5);
    assert_memory_equal(l.reader.payload, "hello", 5);
    assert_int_equal((uintptr_t)l.reader.payload % SERVICE_ALIGN, 0);
    assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_DONE);
    assert_int_equal(l.reader.header.bytes, 0);
    assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_DONE);
    assert_int_equal(l.reader.header.id, 9);
    assert_memory_equal(l.reader.payload, "x", 1);
    assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_CLOSED);
    line_close(&l);
}

/* The message of send_all(.., SERVICE_BATCH, 7, "hello", 5). */
static size_t message_bytes(unsigned char bytes[64])
{
    const struct service_header head = {
        .magic = SERVICE_MAGIC, .kind = SERVICE_BATCH, .id = 7, .rows = 1, .bytes = 5};

    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, "hello", 5);
    return sizeof head + 5;
}

static void a_message_may_arrive_byte_by_byte(void **state)
{
    unsigned char bytes[64];
    size_t n = message_bytes(bytes);
    struct line l;

    (void)state;
    line_open(&l);
    assert_int_equal(fcntl(l.worker, F_SETFL, O_NONBLOCK), 0);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_LATER);
            assert_int_equal(write(l.front, bytes + i, 1), 1);
            if (i == n - 1)
                assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_DONE);
        }
    assert_memory_equal(l.reader.payload, "hello", 5);
    assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_LATER);
    line_close(&l);
}

static void a_message_that_is_cut_short_is_an_error(void **state)
{
    unsigned char bytes[64];
    size_t n = message_bytes(bytes);

    (void)state;
    for (size_t i = 1; i < n; i++) {
        struct line l;

        line_open(&l);
        assert_int_equal(write(l.front, bytes, i), (ssize_t)i);
        front_leaves(&l);
        assert_int_equal(service_read(&l.reader, l.worker, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ECOMM);
        line_close(&l);
    }
}

static void bytes_that_are_no_message_are_refused(void **state)
{
    const struct service_header wrong[] = {
        {.magic = SERVICE_MAGIC + 1, .kind = SERVICE_BATCH},
        {.magic = SERVICE_MAGIC, .kind = 0},
        {.magic = SERVICE_MAGIC, .kind = SERVICE_FAILED + 1},
        {.magic = SERVICE_MAGIC, .kind = SERVICE_BATCH, .bytes = SERVICE_MAX + 1},
        {.magic = SERVICE_MAGIC, .kind = SERVICE_BATCH, .bytes = UINT64_MAX},
        {.magic = SERVICE_MAGIC, .kind = SERVICE_HELLO, .bytes = SERVICE_TEXT_MAX + 1},
        {.magic = SERVICE_MAGIC, .kind = SERVICE_FAILED, .bytes = SERVICE_TEXT_MAX + 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct line l;

        line_open(&l);
        assert_int_equal(write(l.front, &wrong[i], sizeof wrong[i]), sizeof wrong[i]);
        assert_int_equal(service_read(&l.reader, l.worker, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
        line_close(&l);
    }
}

static void memory_is_taken_as_bytes_arrive(void **state)
{
    const struct service_header head = {
        .magic = SERVICE_MAGIC, .kind = SERVICE_BATCH, .rows = 1, .bytes = SERVICE_MAX};
    struct line l;

    (void)state;
    line_open(&l);
    assert_int_equal(fcntl(l.worker, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(write(l.front, &head, sizeof head), sizeof head);
    assert_int_equal(write(l.front, "abc", 3), 3);
    assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_LATER);
    assert_true(l.reader.room <= 1 << 20);
    line_close(&l);
}

#define LARGE ((size_t)5 << 20)

static void *large_send(void *arg)
{
    const struct line *l = arg;
    unsigned char *bytes = malloc(LARGE);
    struct service_writer w;
    struct error why;

    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 4096);
    service_writer_begin(&w, SERVICE_BATCH, 1, 1, bytes, LARGE);
    assert_int_equal(service_write(&w, l->front, &why), SERVICE_DONE);
    free(bytes);
    return NULL;
}

static void a_message_larger_than_the_socket_arrives_whole(void **state)
{
    unsigned char *payload;
    pthread_t thread;
    struct line l;

    (void)state;
    line_open(&l);
    assert_int_equal(pthread_create(&thread, NULL, large_send, &l), 0);
    assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_DONE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    payload = service_reader_take(&l.reader);
    assert_null(l.reader.payload);
    for (size_t i = 0; i < LARGE; i++)
        if (payload[i] != (unsigned char)(i * 7 + i / 4096))
            fail_msg("byte %zu is wrong", i);
    free(payload);
    send_all(l.front, SERVICE_BATCH, 2, "more", 4);
    assert_int_equal(service_read(&l.reader, l.worker, &err), SERVICE_DONE);
    assert_memory_equal(l.reader.payload, "more", 4);
    line_close(&l);
}

static void a_writer_goes_on_where_the_socket_was_full(void **state)
{
    unsigned char *bytes = malloc(LARGE);
    struct service_writer w;
    int later = 0, sent, got;
    struct line l;

    (void)state;
    memset(bytes, 5, LARGE);
    line_open(&l);
    assert_int_equal(fcntl(l.worker, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(fcntl(l.front, F_SETFL, O_NONBLOCK), 0);
    service_writer_begin(&w, SERVICE_RESULT, 3, 1, bytes, LARGE);
    do {
        sent = service_write(&w, l.front, &err);
        later += sent == SERVICE_LATER;
        got = service_read(&l.reader, l.worker, &err);
    } while (sent == SERVICE_LATER || got == SERVICE_LATER);
    assert_int_equal(sent, SERVICE_DONE);
    assert_int_equal(got, SERVICE_DONE);
    assert_true(later > 0);
    assert_memory_equal(l.reader.payload, bytes, LARGE);
    free(bytes);
    line_close(&l);
}

static void writing_to_a_closed_socket_is_an_error(void **state)
{
    struct service_writer w;
    struct line l;

    (void)state;
    line_open(&l);
    front_leaves(&l);
    service_writer_begin(&w, SERVICE_RESULT, 1, 1, "x", 1);
    assert_int_equal(service_write(&w, l.worker, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ECOMM);
    line_close(&l);
}

/* ---- HELLO ---- */

static void hello_is_read_as_it_was_written(void **state)
{
    static char *missing[] = {(char *)"-9", (char *)""};
    struct service_hello hello = {.version = 12,
                                  .checkpoint = (char *)"/runs/a/checkpoint_000012.h5",
                                  .pid = 4711,
                                  .batch = 64,
                                  .inputs = (struct service_column *)columns,
                                  .outputs = (struct service_column *)columns,
                                  .n_inputs = N,
                                  .n_outputs = 1,
                                  .missing = missing,
                                  .n_missing = 2},
                         back;
    char *text;
    size_t n;

    (void)state;
    assert_int_equal(service_hello_write(&hello, &text, &n, &err), 0);
    assert_int_equal(service_hello_read(text, n, &back, &err), 0);
    assert_int_equal(back.version, 12);
    assert_string_equal(back.checkpoint, hello.checkpoint);
    assert_int_equal(back.pid, 4711);
    assert_int_equal(back.batch, 64);
    assert_int_equal(back.n_inputs, N);
    assert_int_equal(back.n_outputs, 1);
    assert_memory_equal(back.inputs, columns, sizeof columns);
    assert_memory_equal(back.outputs, columns, sizeof columns[0]);
    assert_int_equal(back.n_missing, 2);
    assert_string_equal(back.missing[0], "-9");
    assert_string_equal(back.missing[1], "");
    service_hello_clear(&back);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(service_hello_read(text, i, &back, &err), -1);
    free(text);
}

#define COLUMN                                                                         \
    "{\"name\":\"x\",\"kind\":\"numbers\",\"dtype\":\"float32\",\"shape\":[2]}"
#define HELLO(protocol, version, inputs)                                               \
    "{\"protocol\":" protocol ",\"version\":" version ",\"pid\":1,\"batch\":0,"        \
    "\"inputs\":" inputs ",\"outputs\":[" COLUMN "]}"

static void a_hello_that_is_damaged_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "{}",
        "\xff",
        HELLO("\"1\"", "1", "[" COLUMN "]"),
        HELLO("1", "\"1\"", "[" COLUMN "]"),
        HELLO("1", "1", "[]"),
        HELLO("1", "1", "{}"),
        HELLO("1", "1", "[" COLUMN "," COLUMN "]"),
        HELLO("1", "1", "[{\"name\":\"\",\"kind\":\"text\"}]"),
        HELLO("1", "1", "[{\"name\":\"x\",\"kind\":\"sparse\"}]"),
        HELLO("1", "1",
              "[{\"name\":\"x\",\"kind\":\"numbers\",\"dtype\":\"float\","
              "\"shape\":[]}]"),
        HELLO("1", "1", "[{\"name\":\"x\",\"kind\":\"numbers\",\"dtype\":\"int8\"}]"),
        HELLO("1", "1",
              "[{\"name\":\"x\",\"kind\":\"numbers\",\"dtype\":\"int8\","
              "\"shape\":[0]}]"),
        HELLO("1", "1",
              "[{\"name\":\"x\",\"kind\":\"numbers\",\"dtype\":\"int8\","
              "\"shape\":[-1]}]"),
        HELLO("1", "1",
              "[{\"name\":\"x\",\"kind\":\"numbers\",\"dtype\":\"int8\","
              "\"shape\":[1,1,1,1,1,1,1,1]}]"),
        HELLO("1", "1",
              "[{\"name\":\"x\",\"kind\":\"numbers\",\"dtype\":\"int64\","
              "\"shape\":[4294967296,4294967296]}]"),
    };
    struct service_hello back;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (service_hello_read(wrong[i], strlen(wrong[i]), &back, &err) == 0)
            fail_msg("%s was taken", wrong[i]);
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    }
}

static void a_hello_of_another_protocol_is_refused(void **state)
{
    static const char other[] = HELLO("2", "1", "[" COLUMN "]");
    struct service_hello back;

    (void)state;
    assert_int_equal(service_hello_read(other, strlen(other), &back, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_begin_at_multiples_of_64_bytes),
        cmocka_unit_test(rows_are_found_where_they_were_laid),
        cmocka_unit_test(rows_of_another_number_are_refused),
        cmocka_unit_test(a_payload_that_is_too_short_or_too_long_is_refused),
        cmocka_unit_test(offsets_of_texts_are_checked),
        cmocka_unit_test(a_layout_that_overflows_is_refused),
        cmocka_unit_test(messages_arrive_in_order_and_whole),
        cmocka_unit_test(a_message_may_arrive_byte_by_byte),
        cmocka_unit_test(a_message_that_is_cut_short_is_an_error),
        cmocka_unit_test(bytes_that_are_no_message_are_refused),
        cmocka_unit_test(memory_is_taken_as_bytes_arrive),
        cmocka_unit_test(a_message_larger_than_the_socket_arrives_whole),
        cmocka_unit_test(a_writer_goes_on_where_the_socket_was_full),
        cmocka_unit_test(writing_to_a_closed_socket_is_an_error),
        cmocka_unit_test(hello_is_read_as_it_was_written),
        cmocka_unit_test(a_hello_that_is_damaged_is_refused),
        cmocka_unit_test(a_hello_of_another_protocol_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
