#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame/dictionary.h"

static struct error err;

static int32_t add(struct dictionary *d, const char *word)
{
    int32_t code = -2;

    assert_int_equal(dictionary_add(d, word, strlen(word), &code, &err), 0);
    return code;
}

static void assert_word(const struct dictionary *d, size_t code, const char *word)
{
    size_t n;

    assert_string_equal(dictionary_word(d, code, &n), word);
    assert_int_equal(n, strlen(word));
}

static void words_get_codes_in_the_order_of_their_arrival(void **state)
{
    struct dictionary *d = dictionary_create();

    (void)state;
    assert_int_equal(dictionary_find(d, "a", 1), -1);
    assert_int_equal(add(d, "b"), 0);
    assert_int_equal(add(d, ""), 1);
    assert_int_equal(add(d, "a"), 2);
    assert_int_equal(add(d, "b"), 0);
    assert_int_equal(dictionary_count(d), 3);
    assert_int_equal(dictionary_find(d, "", 0), 1);
    assert_word(d, 1, "");
    assert_word(d, 2, "a");
    dictionary_destroy(d);
}

/* Bytes that are not text, and words that begin alike. */
static void words_are_bytes(void **state)
{
    static const char bytes[] = "x\0y\0long enough for two pieces";
    struct dictionary *d = dictionary_create();
    int32_t code;

    (void)state;
    for (size_t n = 0; n < sizeof bytes; n++) {
        assert_int_equal(dictionary_add(d, bytes, n, &code, &err), 0);
        assert_int_equal(code, n);
    }
    for (size_t n = 0; n < sizeof bytes; n++)
        assert_int_equal(dictionary_find(d, bytes, n), n);
    dictionary_destroy(d);
}

static void many_words_are_found(void **state)
{
    struct dictionary *d = dictionary_create();
    char word[32];

    (void)state;
    for (int i = 0; i < 100000; i++) {
        snprintf(word, sizeof word, "%d", i);
        assert_int_equal(add(d, word), i);
    }
    for (int i = 0; i < 100000; i++) {
        snprintf(word, sizeof word, "%d", i);
        assert_int_equal(dictionary_find(d, word, strlen(word)), i);
    }
    assert_int_equal(dictionary_find(d, "100000", 6), -1);
    dictionary_destroy(d);
}

static void sorted_words_have_codes_in_the_order_of_their_bytes(void **state)
{
    struct dictionary *d = dictionary_create();
    int32_t codes[5];

    (void)state;
    add(d, "b");
    add(d, "\xff");
    add(d, "a");
    add(d, "ab");
    add(d, "");
    assert_int_equal(dictionary_sort(d, codes, &err), 0);
    assert_word(d, 0, "");
    assert_word(d, 1, "a");
    assert_word(d, 2, "ab");
    assert_word(d, 3, "b");
    assert_word(d, 4, "\xff");
    assert_memory_equal(codes, ((const int32_t[]){3, 4, 1, 2, 0}), sizeof codes);
    assert_int_equal(dictionary_find(d, "ab", 2), 2);
    assert_int_equal(add(d, "c"), 5);
    dictionary_destroy(d);
}

/* Also if a word comes twice, and if the table grows meanwhile. */
static void a_few_words_at_once_get_the_codes_of_one_by_one(void **state)
{
    struct dictionary *one = dictionary_create(), *some = dictionary_create();
    struct dictionary_text texts[DICTIONARY_AHEAD];
    int32_t codes[DICTIONARY_AHEAD];
    char words[DICTIONARY_AHEAD][64];

    (void)state;
    for (int i = 0; i < 500; i++) {
        size_t n = 1 + (size_t)i % DICTIONARY_AHEAD;

        for (size_t k = 0; k < n; k++) {
            int length = snprintf(words[k], sizeof words[k], "a%*d", 1 + i % 40,
                                  i * 7 + (int)k % 11);

            texts[k] = (struct dictionary_text){words[k], (size_t)length};
        }
        assert_int_equal(dictionary_add_some(some, texts, n, codes, &err), 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(codes[k], add(one, words[k]));
    }
    assert_int_equal(dictionary_count(some), dictionary_count(one));
    dictionary_destroy(one);
    dictionary_destroy(some);
}

/* Words that begin alike, some of which end with zeros. */
static void many_words_are_sorted(void **state)
{
    struct dictionary *d = dictionary_create();
    unsigned random = 1;
    const char *word, *last = "";
    size_t n, n_last = 0;
    int32_t code;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        char text[32] = "begin";
        size_t length = 5;

        for (random = random * 1664525 + 1013904223; length < 5 + random % 16; length++)
            text[length] = (char)(random >> (4 + length) & 0x81);
        assert_int_equal(dictionary_add(d, text, length, &code, &err), 0);
    }
    assert_int_equal(dictionary_sort(d, NULL, &err), 0);
    for (size_t i = 0; i < dictionary_count(d); i++) {
        word = dictionary_word(d, i, &n);
        if (i > 0) {
            int order = memcmp(last, word, n < n_last ? n : n_last);

            assert_true(order < 0 || (order == 0 && n_last < n));
        }
        last = word;
        n_last = n;
    }
    assert_true(dictionary_count(d) > 1000);
    dictionary_destroy(d);
}

static void packed_words_are_added_to_others(void **state)
{
    struct dictionary *d = dictionary_create(), *other = dictionary_create();
    unsigned char *bytes;
    int32_t codes[3];
    size_t n;

    (void)state;
    add(d, "x");
    add(d, "");
    add(d, "common");
    add(other, "y");
    add(other, "common");
    assert_int_equal(dictionary_pack(d, &bytes, &n, &err), 0);
    assert_int_equal(dictionary_unpack(other, bytes, n, codes, &err), 0);
    assert_memory_equal(codes, ((const int32_t[]){2, 3, 1}), sizeof codes);
    assert_int_equal(dictionary_count(other), 4);
    for (size_t cut = 1; cut < n; cut++) {
        unsigned char *copy = malloc(cut); /* so that a sanitizer sees a read beyond */

        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        if (cut == 5 || cut == 9) /* after a whole word */
            assert_int_equal(dictionary_unpack(other, copy, cut, NULL, &err), 0);
        else
            assert_int_equal(dictionary_unpack(other, copy, cut, NULL, &err), -1);
        free(copy);
    }
    free(bytes);
    dictionary_destroy(d);
    dictionary_destroy(other);
}

static void nothing_can_be_packed_and_sorted(void **state)
{
    struct dictionary *d = dictionary_create();
    unsigned char *bytes;
    size_t n;

    (void)state;
    assert_int_equal(dictionary_sort(d, NULL, &err), 0);
    assert_int_equal(dictionary_pack(d, &bytes, &n, &err), 0);
    assert_int_equal(n, 0);
    free(bytes);
    dictionary_destroy(d);
    dictionary_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_get_codes_in_the_order_of_their_arrival),
        cmocka_unit_test(words_are_bytes),
        cmocka_unit_test(many_words_are_found),
        cmocka_unit_test(sorted_words_have_codes_in_the_order_of_their_bytes),
        cmocka_unit_test(a_few_words_at_once_get_the_codes_of_one_by_one),
        cmocka_unit_test(many_words_are_sorted),
        cmocka_unit_test(packed_words_are_added_to_others),
        cmocka_unit_test(nothing_can_be_packed_and_sorted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
