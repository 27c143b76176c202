/* region_names.h: the names of regions that every program has, and the one form in which names are
 * compared. Constant data, no allocation, any thread.
 *
 * A region has a long name, PLUMB_REGION_PREFIX and its short one. Both name it, in any case and
 * with blanks around; so does its twin, another spelling of the short name that is in use. */
#ifndef PLUMB_CONFIG_REGION_NAMES_H
#define PLUMB_CONFIG_REGION_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define PLUMB_REGION_PREFIX "profiler_region_"
/* The name of a region's node is this prefix and the long name. */
#define PLUMB_REGION_NODE "plumb.region::"
#define PLUMB_COLLECTION_ON "plumb.profiler.enable_collection"
#define PLUMB_COLLECTION_OFF "plumb.profiler.disable_collection"

enum { PLUMB_REGION_SHORT_MAX = 120 };

struct plumb_region_name {
    const char *name;        /* short */
    const char *twin;        /* NULL: none */
    const char *description; /* what runs in it */
};

/* Returns the regions that every program has, sorted by name. */
const struct plumb_region_name *plumb_region_names(size_t *n);

/* Writes the short name that `len` bytes at `text` stand for: without blanks around, in lower case,
 * without the prefix. Errors, each with its own message, all PLUMB_ERR_ARG: it is empty, has no
 * letter a to z, is longer than PLUMB_REGION_SHORT_MAX, or has a comma or a control character, so
 * that no list could name it. */
int plumb_region_normalise(char out[PLUMB_REGION_SHORT_MAX + 1], const char *text, size_t len,
                           plumb_error *err);

/* Returns the next non-blank entry of a comma list, without blanks around it, and its number of
 * bytes; NULL at the end. Advances `*at`. */
const char *plumb_region_token(const char **at, size_t *len);

/* Appends the text of `plumb help regions`. */
void plumb_regions_help(struct plumb_buf *out);

#endif
