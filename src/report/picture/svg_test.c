/* Tests of svg.c: nothing that a name can hold gets out of its place, and labels fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/picture/svg.h"

static char *text_of(const char *text)
{
    struct plumb_buf out = {0};
    plumb_buf_str(&out, "");
    plumb_svg_text(&out, text);
    return out.data;
}

static void names_cannot_leave_their_element(void **state)
{
    static const char *const pairs[][2] = {
        {"a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"},
        {"</text><script>", "&lt;/text&gt;&lt;script&gt;"},
        {"tab\there\n\x01\x7f", "tab\\x09here\\x0a\\x01\\x7f"},
        {"\xff\xc3", "\\xff\\xc3"},
        {"\xc2\x85", "\\xc2\\x85"},
        {"\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd", "\\xef\\xbf\\xbe\\xef\\xbf\\xbf\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\\xff", "\\x5cxff"},
        {"]]>", "]]&gt;"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *text = text_of(pairs[i][0]);
        assert_string_equal(text, pairs[i][1]);
        free(text);
    }
}

static void numbers_are_short_and_always_numbers(void **state)
{
    static const struct {
        double value;
        const char *text;
    } pairs[] = {{1, " x=\"1\""},
                 {10, " x=\"10\""},
                 {0.5, " x=\"0.5\""},
                 {1.0 / 3, " x=\"0.333\""},
                 {-0.0001, " x=\"0\""},
                 {100.25, " x=\"100.25\""},
                 {NAN, " x=\"0\""},
                 {-2.5, " x=\"-2.5\""},
                 {0, " x=\"0\""},
                 {1e300, " x=\"1000000000\""},
                 {-INFINITY, " x=\"-1000000000\""}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct plumb_buf out = {0};
        plumb_svg_attribute(&out, "x", pairs[i].value);
        assert_string_equal(out.data, pairs[i].text);
        plumb_buf_fini(&out);
    }
}

static void a_label_never_exceeds_its_room(void **state)
{
    static const char *const texts[] = {
        "self_attention", "a", "ab", "abc", "\xff\xff\xff", "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
        "<<<<<<<<",       ""};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (double px = 0; px < 200; px += 0.7) {
            struct plumb_buf out = {0};
            plumb_buf_str(&out, "");
            double used = plumb_svg_cut(&out, texts[i], px);
            assert_true(used <= px);
            char *whole = text_of(texts[i]);
            bool is_whole = strcmp(out.data, whole) == 0;
            if (plumb_svg_width(texts[i]) <= px)
                assert_true(is_whole);
            else
                assert_true(out.len == 0 || strstr(out.data, "\xe2\x80\xa6"));
            free(whole);
            plumb_buf_fini(&out);
        }
}

static void a_cut_keeps_what_stood_before(void **state)
{
    struct plumb_buf out = {0};
    (void)state;
    plumb_buf_str(&out, "before:");
    assert_true(plumb_svg_cut(&out, "abcdef", 10) == 0);
    assert_string_equal(out.data, "before:");
    plumb_svg_cut(&out, "abcdef", 32);
    assert_string_equal(out.data, "before:ab\xe2\x80\xa6");
    plumb_buf_fini(&out);
}

/* Relative luminance as WCAG 2 defines it. */
static double luminance(uint32_t rgb)
{
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double c = (double)(rgb >> (16 - 8 * i) & 255) / 255;
        sum += weights[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static void every_colour_carries_its_label(void **state)
{
    const double ink = luminance((uint32_t)strtoul(&PLUMB_SVG_INK[1], NULL, 16));
    char name[16];
    (void)state;
    for (int palette = PLUMB_SVG_WARM; palette <= PLUMB_SVG_FADED; palette++) {
        uint32_t first = plumb_svg_colour("0", palette);
        bool differs = false;
        for (int i = 0; i < 5000; i++) {
            snprintf(name, sizeof name, "%d", i);
            uint32_t rgb = plumb_svg_colour(name, palette);
            assert_true((luminance(rgb) + 0.05) / (ink + 0.05) >= 6);
            assert_int_equal(rgb, plumb_svg_colour(name, palette));
            assert_true(palette == PLUMB_SVG_WARM ? rgb >> 16 > (rgb & 255) : true);
            assert_true(palette == PLUMB_SVG_COOL ? rgb >> 16 < (rgb & 255) : true);
            differs = differs || rgb != first;
        }
        assert_true(differs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_cannot_leave_their_element),
        cmocka_unit_test(numbers_are_short_and_always_numbers),
        cmocka_unit_test(a_label_never_exceeds_its_room),
        cmocka_unit_test(a_cut_keeps_what_stood_before),
        cmocka_unit_test(every_colour_carries_its_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
