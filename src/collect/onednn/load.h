/* load.h: the copies of oneDNN in the process, and their functions: one table for each.
 *
 * A process may have several: two programs parts, each with a version of its own, loaded with
 * RTLD_LOCAL. Without the interposer a call is bound by the loader: to a copy in the global scope,
 * otherwise to that of the calling object and what it is linked with. The same is done here, once
 * for each place in the code that calls. */
#ifndef PLUMB_COLLECT_ONEDNN_LOAD_H
#define PLUMB_COLLECT_ONEDNN_LOAD_H

#include "collect/onednn/abi.h"

struct plumb_dnnl {
    int major; /* 2 or 3; 0: of an interface that is not known here, or without its queries */
    int async; /* calls return before the work is done, also on a CPU */
    int (*execute)(const void *primitive, void *stream, int nargs,
                   const struct plumb_dnnl_exec_arg *args);
    int (*destroy)(void *primitive);
    const struct plumb_dnnl_version *(*version)(void);
    int (*primitive_desc)(const void *primitive, const void **pd);
    int (*query)(const void *pd, int what, int index, void *result);
    const void *(*query_md)(const void *pd, int what, int index);
    int (*attributes)(const void *pd, const void **attr);
    int (*post_ops)(const void *attr, const void **post_ops);
    int (*post_ops_len)(const void *post_ops);
    int (*post_op_kind)(const void *post_ops, int index);
    int (*memory_md)(const void *memory, const void **md);
    size_t (*md_bytes)(const void *md);
    int (*engine_kind)(void *engine, int *kind);
    const char *(*kind_text)(int kind);
    const char *(*prop_text)(int prop);
    const char *(*alg_text)(int alg);
    const char *(*type_text)(int type);
    int (*query_of_md)(const void *md, int what, void *result); /* 3.x alone */
};

/* The copy that a call from the code at `site` means; NULL: none, which the loader would have
 * refused. Kept for the process, found without a lock from the second call on. Any thread; errno
 * stays. Later calls of a copy that was found are not looked up by name again, and the copy is
 * never unloaded. */
const struct plumb_dnnl *plumb_dnnl_of(const void *site);

#endif
