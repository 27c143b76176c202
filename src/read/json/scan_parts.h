/* scan_parts.h: what scan_next.c leaves to scan.c, all of it off the quick path. */
#ifndef PLUMB_READ_JSON_SCAN_PARTS_H
#define PLUMB_READ_JSON_SCAN_PARTS_H

#include "read/json/scan.h"

enum {
    EXPECT_VALUE = 0,   /* of a document */
    EXPECT_NOTHING = 1, /* the document has ended */
    EXPECT_FIRST_MEMBER = 2,
    EXPECT_MEMBER = 3,
    EXPECT_FIRST_ITEM = 4,
    EXPECT_ITEM = 5,
    EXPECT_NO_MORE = 6
};

/* Ends the scan: the text breaks the rule `why` at `at`. NULL. */
const char *plumb_json_fault(struct plumb_json_scan *s, const char *at, const char *why);

/* Called where a name should be. NULL: `s->token` says why; after a comma an object may end here.
 */
const char *plumb_json_no_name(struct plumb_json_scan *s, const char *p, bool first);

/* Called before or after a document, with `p` at the next byte that is not blank. Returns where the
 * value begins. NULL: no value follows, `s->token` says why. */
const char *plumb_json_between(struct plumb_json_scan *s, const char *p);

/* A string that is not plain ASCII up to `end`, or does not end there: as take_string(). */
const char *plumb_json_string_slowly(struct plumb_json_scan *s, const char *p, const char *end,
                                     struct plumb_buf *decoded, const char **text, size_t *size);

/* The slot of the name just read, which is spelled at `p` up to `end`, colon and blanks included.
 */
uint32_t plumb_json_slot_of(struct plumb_json_scan *s, const char *p, const char *end);

/* true, false, null, NaN, Infinity; ERROR for other words. */
enum plumb_json_token plumb_json_word(struct plumb_json_scan *s, const char *p);

/* A text that begins like a number but is not one of JSON: -Infinity, or a fault. */
enum plumb_json_token plumb_json_odd_number(struct plumb_json_scan *s, const char *p,
                                            const char *end);

#endif
