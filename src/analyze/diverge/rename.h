/* rename.h: the user's rules for B's names of A's layers: expressions as sed(1) has them, and files
 * of names.
 *
 *     s/^transformer_blocks\./blocks./        regular expression (POSIX extended, with \d \w \s)
 *     s|attn1|self_attn|g                     any separator; g: every place, not the first alone
 *     patch_embed.proj patch_embed            a line of a file: the name in A, the name in B
 *     s/\.qkv out\.q$/.wq out/                with a space: of a module and its label
 *     s/\.wq$/.qkv out.q/                     a label in the new name is that of outputs
 *     0.qkv out.q 0.wq out                    module and label of each as a line of a file
 *
 * A name goes through all rules in order; a pair of names ends it. One thread at a time. */
#ifndef PLUMB_ANALYZE_DIVERGE_RENAME_H
#define PLUMB_ANALYZE_DIVERGE_RENAME_H

#include <regex.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include <plumb/error.h>

struct plumb_rename_rule {
    regex_t regex;
    const char *with;
    bool everywhere;
    bool labelled; /* the expression has a space: it is about module and label */
};

struct plumb_rename_pair {
    const char *from, *to;
};

struct plumb_rename {
    struct plumb_arena arena;
    struct plumb_rename_rule *rules;
    size_t rule_count, rule_cap;
    struct plumb_rename_pair *pairs;
    size_t pair_count, pair_cap;
    struct plumb_map by_name; /* hash of `from`: place plus 1 */
};

/* Ended with plumb_rename_fini(), whatever was added. */
void plumb_rename_init(struct plumb_rename *r);
void plumb_rename_fini(struct plumb_rename *r);

/* Adds an expression, which begins with 's' and a separator, or the file at that path with a rule a
 * line. Empty lines and lines that begin with '#' are skipped. PLUMB_ERR_ARG: what is wrong, and
 * where; PLUMB_ERR_NOT_FOUND, PLUMB_ERR_IO, PLUMB_ERR_MEMORY. */
int plumb_rename_add(struct plumb_rename *r, const char *rule, plumb_error *err);

/* Writes B's name of module `name`; false: no rule matches, and it is the name itself. */
bool plumb_rename_apply(const struct plumb_rename *r, struct plumb_buf *out, const char *name);
/* The same of a module and a label of it, by all rules, as two texts with a NUL between them. A
 * label that comes with the new name of a module ("0.wq" is "0.qkv out.q") is that of outputs. */
bool plumb_rename_record(const struct plumb_rename *r, struct plumb_buf *out, const char *module,
                         const char *label);

#endif
