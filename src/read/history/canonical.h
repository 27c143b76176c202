/* canonical.h: one text for every spelling of a JSON value, so that equal values have equal hashes:
 * names in the order of their code points, no blanks, characters beyond ASCII as \uHHHH. It is what
 * Python writes with json.dumps(value, sort_keys=True, separators=(",", ":")), with one difference:
 * a number that is whole is written as one, 3.0 as 3. Any thread. */
#ifndef PLUMB_READ_HISTORY_CANONICAL_H
#define PLUMB_READ_HISTORY_CANONICAL_H

#include "base/buf.h"
#include "read/json/tree.h"

void plumb_canonical_json(struct plumb_buf *out, const struct plumb_json_value *v);
/* A string with its quotes. `text` is UTF-8. */
void plumb_canonical_text(struct plumb_buf *out, const char *text);

#endif
