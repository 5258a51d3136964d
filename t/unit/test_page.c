/* Lines of limited width: what is cut, what is replaced, and how wide characters are. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "view/page.h"

static const struct page_style ascii = {.columns = 10},
                               utf8 = {.columns = 10, .utf8 = true},
                               colored = {.columns = 10, .color = true};

static void assert_line(struct page *page, const char *expected)
{
    page_newline(page);
    assert_string_equal(page->text, expected);
    page_clear(page);
}

static void a_line_is_cut_to_its_columns(void **state)
{
    struct page page;

    (void)state;
    page_init(&page, &ascii);
    page_text(&page, INK_PLAIN, "0123456");
    assert_int_equal(page_room(&page), 3);
    page_text(&page, INK_PLAIN, "789abc");
    page_text(&page, INK_PLAIN, "d");
    assert_int_equal(page_room(&page), 0);
    assert_line(&page, "0123456789\n");
}

static void a_part_that_does_not_fit_is_left_out(void **state)
{
    struct page page;

    (void)state;
    page_init(&page, &ascii);
    assert_true(page_part(&page, INK_PLAIN, "abc"));
    assert_false(page_part(&page, INK_PLAIN, "%d", 123456));
    assert_true(page_part(&page, INK_PLAIN, "%d", 12345));
    assert_false(page_whole(&page, INK_PLAIN, "x"));
    assert_line(&page, "abc  12345\n");
}

static void a_cell_leaves_out_the_middle(void **state)
{
    struct page page;

    (void)state;
    page_init(&page, &ascii);
    page_cell(&page, INK_PLAIN, "validation", 8);
    page_text(&page, INK_PLAIN, "|");
    assert_line(&page, "val..ion|\n");
    page_init(&page, &utf8);
    page_cell(&page, INK_PLAIN, "validation", 8);
    page_text(&page, INK_PLAIN, "|");
    assert_line(&page, "val…tion|\n");
    page_init(&page, &utf8);
    page_cell(&page, INK_PLAIN, "loss", 6);
    page_text(&page, INK_PLAIN, "|");
    assert_line(&page, "loss  |\n");
    page_init(&page, &utf8);
    page_cell(&page, INK_PLAIN, "loss", 2);
    assert_line(&page, "lo\n");
}

static void wide_characters_take_two_columns(void **state)
{
    struct page page;

    (void)state;
    assert_int_equal(page_width(&utf8, "学習"), 4);
    assert_int_equal(page_width(&utf8, "e\xcc\x81"), 1); /* with an accent of its own */
    page_init(&page, &utf8);
    page_text(&page, INK_PLAIN, "a学習学習学習");
    assert_int_equal(page_room(&page), 1); /* no half of a character */
    assert_line(&page, "a学習学習\n");
    page_init(&page, &utf8);
    page_cell(&page, INK_PLAIN, "学習学習学習", 8);
    page_text(&page, INK_PLAIN, "|");
    assert_line(&page, "学…学習 |\n");
}

static void what_is_not_printable_is_replaced(void **state)
{
    struct page page;

    (void)state;
    page_init(&page, &utf8);
    page_text(&page, INK_PLAIN, "a\033[2Jb\xff\xc2\x9b");
    assert_line(&page, "a?[2Jb??\n");
    page_init(&page, &ascii);
    page_text(&page, INK_PLAIN, "né学\n");
    assert_line(&page, "n???\n");
    assert_int_equal(page_width(&ascii, "né学\n"), 4);
}

static void attributes_are_reset_where_they_end(void **state)
{
    struct page page;

    (void)state;
    page_init(&page, &colored);
    page_text(&page, INK_BAD, "0123456789abc");
    page_text(&page, INK_BAD, "not a column is left");
    page_newline(&page);
    page_text(&page, INK_PLAIN, "plain");
    assert_line(&page, "\033[1;31m0123456789\033[m\nplain\n");
}

static void lines_have_widths_and_can_be_cut(void **state)
{
    struct page page;

    (void)state;
    page_init(&page, &utf8);
    page_cut(&page, 3);
    page_text(&page, INK_PLAIN, "学");
    page_newline(&page);
    page_cell(&page, INK_PLAIN, "abc", 8);
    page_newline(&page);
    page_newline(&page);
    assert_int_equal(page.lines, 3);
    assert_int_equal(page.widths[0], 2);
    assert_int_equal(page.widths[1], 3);
    assert_int_equal(page.widths[2], 0);
    page_cut(&page, 5);
    assert_string_equal(page.text, "学\nabc\n\n");
    page_cut(&page, 1);
    assert_int_equal(page.lines, 1);
    assert_string_equal(page.text, "学\n");
    page_cut(&page, 0);
    assert_string_equal(page.text, "");
    for (int i = 0; i < 2 * PAGE_LINES; i++)
        page_newline(&page);
    assert_int_equal(page.lines, PAGE_LINES);
    assert_int_equal(page.used, PAGE_LINES);
    page_clear(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_cut_to_its_columns),
        cmocka_unit_test(a_part_that_does_not_fit_is_left_out),
        cmocka_unit_test(a_cell_leaves_out_the_middle),
        cmocka_unit_test(wide_characters_take_two_columns),
        cmocka_unit_test(what_is_not_printable_is_replaced),
        cmocka_unit_test(attributes_are_reset_where_they_end),
        cmocka_unit_test(lines_have_widths_and_can_be_cut),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
