/* view_test.c: an offset that leads out of a mapping leads to nothing. */
#include "live/view.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { EXTRA = 4096, CHUNK = sizeof(struct plumb_live_header) / 64 * 64 + 64 };

/* A header, a chunk of nodes and a text. The end of the array is the end of the mapping: a read
 * beyond it is a report of the sanitizer. */
static _Alignas(64) unsigned char mapping[CHUNK + EXTRA];
static struct plumb_live_view view;
static struct plumb_live_table *nodes;

static uint64_t put_text(uint64_t off, const char *text, uint32_t bytes)
{
    struct plumb_live_text head = {.bytes = bytes};
    memcpy(mapping + off, &head, sizeof head);
    memcpy(mapping + off + sizeof head, text, strlen(text) + 1);
    return off;
}

static int setup(void **state)
{
    (void)state;
    memset(mapping, 0, sizeof mapping);
    view = plumb_live_view_of(mapping, sizeof mapping);
    nodes = &view.h->nodes;
    nodes->element_bytes = sizeof(struct plumb_live_node);
    nodes->chunk_off[0] = CHUNK;
    nodes->count = 2;
    return 0;
}

static void only_what_lies_inside_whole_and_aligned_is_there(void **state)
{
    (void)state;
    assert_ptr_equal(plumb_live_at(&view, 8, 8), mapping + 8);
    assert_ptr_equal(plumb_live_at(&view, 8, sizeof mapping - 8), mapping + 8);
    assert_null(plumb_live_at(&view, 0, 8));
    assert_null(plumb_live_at(&view, 12, 8));
    assert_null(plumb_live_at(&view, 8, sizeof mapping - 7));
    assert_null(plumb_live_at(&view, sizeof mapping, 1));
    assert_null(plumb_live_at(&view, sizeof mapping + 8, 0));
    assert_null(plumb_live_at(&view, UINT64_MAX - 7, 8));
    assert_null(plumb_live_at(&view, 8, SIZE_MAX));
}

static void an_element_beyond_its_table_is_not_there(void **state)
{
    size_t bytes = sizeof(struct plumb_live_node);
    (void)state;
    assert_ptr_equal(plumb_live_element(&view, nodes, 1, bytes), mapping + CHUNK + bytes);
    assert_null(plumb_live_element(&view, nodes, 2, bytes));
    nodes->count = UINT32_MAX;
    assert_null(plumb_live_element(&view, nodes, 64, bytes)); /* in a chunk that was not made */
    assert_null(plumb_live_element(&view, nodes, UINT32_MAX - 1, bytes));
    nodes->chunk_off[0] = sizeof mapping - 8;
    assert_null(plumb_live_element(&view, nodes, 0, bytes));
    nodes->chunk_off[0] = UINT64_MAX - 7; /* the sum wraps to the header */
    assert_true(!plumb_live_element(&view, nodes, 1, bytes) || bytes <= sizeof mapping);
    nodes->chunk_off[0] = CHUNK;
    nodes->element_bytes = 8;
    assert_null(plumb_live_element(&view, nodes, 1, bytes));
}

static void a_text_that_does_not_end_is_not_there(void **state)
{
    uint64_t off = put_text(CHUNK + 1024, "name", 4);
    uint64_t last = sizeof mapping - 16;
    (void)state;
    assert_string_equal(plumb_live_text(&view, off), "name");
    assert_string_equal(plumb_live_text(&view, 0), "");
    assert_string_equal(plumb_live_text(&view, off + 4), "?");
    assert_string_equal(plumb_live_text(&view, sizeof mapping), "?");
    put_text(off, "name", 3);
    assert_string_equal(plumb_live_text(&view, off), "?");
    put_text(off, "name", UINT32_MAX);
    assert_string_equal(plumb_live_text(&view, off), "?");
    put_text(last, "12345678901", 11);
    assert_string_equal(plumb_live_text(&view, last), "12345678901");
    put_text(last, "12345678901", 12);
    assert_string_equal(plumb_live_text(&view, last), "?");
    assert_string_equal(plumb_live_text(&view, off | UINT64_C(5) << PLUMB_TEXT_BITS), "(other)");
}

static void names_that_are_not_there_are_question_marks(void **state)
{
    struct plumb_live_node *node = plumb_live_element(&view, nodes, 1, sizeof *node);
    (void)state;
    assert_non_null(node);
    node->name_off = put_text(CHUNK + 1024, "denoise", 7);
    assert_string_equal(plumb_live_node_name(&view, 1), "denoise");
    assert_string_equal(plumb_live_node_name(&view, 2), "?");
    assert_string_equal(plumb_live_phase_name(&view, 0), "?");
    assert_string_equal(plumb_live_pipeline_name(&view, 255), "?");
    assert_null(plumb_live_key_at(&view, 0));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_what_lies_inside_whole_and_aligned_is_there, setup),
        cmocka_unit_test_setup(an_element_beyond_its_table_is_not_there, setup),
        cmocka_unit_test_setup(a_text_that_does_not_end_is_not_there, setup),
        cmocka_unit_test_setup(names_that_are_not_there_are_question_marks, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
