/* Rows of every kind of column, as a command's process gets them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command/frame_wire.h"

static const uint64_t bounds[] = {0, 2, 2, 5};
static const int32_t codes[] = {1, -1, 0, 1, 1};
static const float floats[] = {1, 2, 3, 4, 5, 6};
static const uint32_t indices[] = {0, 7, 1, 2, 3};

static struct frame_column *add(struct frame *f, const struct frame_column *like,
                                uint64_t elements, const void *data, size_t bytes)
{
    struct frame_column *c;
    struct error err;
    size_t index;

    assert_int_equal(frame_add(f, like, &index, &err), 0);
    c = &f->columns[index];
    assert_int_equal(frame_reserve(c, 3, elements, &err), 0);
    memcpy(c->data, data, bytes);
    if (c->offsets)
        memcpy(c->offsets, bounds, sizeof bounds);
    if (c->indices)
        memcpy(c->indices, indices, sizeof indices);
    return c;
}

/* Three rows. */
static struct dictionary *frame_make(struct frame *f)
{
    struct dictionary *words = dictionary_create();
    struct error err;
    int32_t code;

    assert_int_equal(dictionary_add(words, "red", 3, &code, &err), 0);
    assert_int_equal(dictionary_add(words, "", 0, &code, &err), 0);
    *f = (struct frame)FRAME_INIT;
    f->rows = 3;
    add(f,
        &(struct frame_column){
            .name = "x", .row = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {2}}},
        0, floats, sizeof floats);
    add(f, &(struct frame_column){.name = "w", .kind = FRAME_WORDS, .words = words}, 0,
        codes, 3 * sizeof *codes);
    add(f, &(struct frame_column){.name = "t", .kind = FRAME_TEXT}, 5, "hello", 5);
    add(f,
        &(struct frame_column){.name = "l", .kind = FRAME_WORD_LISTS, .words = words},
        5, codes, sizeof codes);
    add(f,
        &(struct frame_column){
            .name = "s",
            .kind = FRAME_SPARSE,
            .row = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {9}}},
        5, floats, 5 * sizeof *floats);
    return words;
}

static void columns_are_described_with_their_words(void **state)
{
    struct wire_bytes packed = {0};
    struct frame f;
    struct dictionary *words = frame_make(&f);
    struct error err;
    json_t *columns, *expected;

    (void)state;
    assert_int_equal(frame_columns_json(&f, &columns, &packed, &err), 0);
    expected =
        json_pack("[{s:s,s:s,s:s,s:[i]},{s:s,s:s,s:[i,i]},{s:s,s:s},"
                  "{s:s,s:s,s:[i,i]},{s:s,s:s,s:s,s:[i]}]",
                  "name", "x", "kind", "numbers", "dtype", "float32", "shape", 2,
                  "name", "w", "kind", "words", "words", 0, 11, "name", "t", "kind",
                  "text", "name", "l", "kind", "word_lists", "words", 11, 11, "name",
                  "s", "kind", "sparse", "dtype", "float32", "shape", 9);
    assert_true(json_equal(columns, expected));
    assert_int_equal(packed.n, 22);
    assert_memory_equal(packed.data + 4, "red", 3);
    json_decref(columns);
    json_decref(expected);
    free(packed.data);
    frame_clear(&f);
    dictionary_destroy(words);
}

static void rows_are_copied_to_their_places(void **state)
{
    struct frame_place p[5];
    struct frame f;
    struct dictionary *words = frame_make(&f);
    struct error err;
    unsigned char *block;
    size_t bytes, room;

    (void)state;
    assert_int_equal(frame_places(&f, 3, p, &bytes, &err), 0);
    assert_int_equal(frame_room(&f, 3, &room, &err), 0);
    assert_true(room <= bytes);
    block = calloc(1, bytes);
    frame_copy(&f, 3, p, block);
    assert_memory_equal(block + p[0].data, floats, sizeof floats);
    assert_memory_equal(block + p[1].data, codes, 3 * sizeof *codes);
    assert_memory_equal(block + p[2].data, "hello", 5);
    assert_memory_equal(block + p[3].offsets, bounds, sizeof bounds);
    assert_memory_equal(block + p[4].indices, indices, sizeof indices);
    for (int i = 0; i < 5; i++)
        assert_true(p[i].data % 64 == 0 && p[i].offsets % 64 == 0);
    free(block);
    frame_clear(&f);
    dictionary_destroy(words);
}

static void fewer_rows_than_the_batch_has_are_copied(void **state)
{
    struct frame_place p[5];
    struct frame f;
    struct dictionary *words = frame_make(&f);
    struct error err;
    unsigned char *block;
    size_t bytes;

    (void)state;
    assert_int_equal(frame_places(&f, 2, p, &bytes, &err), 0);
    assert_int_equal(p[0].elements, 4);
    assert_int_equal(p[2].elements, 2);
    block = calloc(1, bytes);
    frame_copy(&f, 2, p, block);
    assert_memory_equal(block + p[2].data, "he", 2);
    free(block);
    assert_int_equal(frame_places(&f, UINT64_MAX / 4, p, &bytes, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOMEM);
    frame_clear(&f);
    dictionary_destroy(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_described_with_their_words),
        cmocka_unit_test(rows_are_copied_to_their_places),
        cmocka_unit_test(fewer_rows_than_the_batch_has_are_copied),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
