/* runtime.h: the runtime of the process, as a preloaded library finds it. */
#ifndef PLUMB_COLLECT_ONEDNN_RUNTIME_H
#define PLUMB_COLLECT_ONEDNN_RUNTIME_H

#include <stdbool.h>

struct plumb_api;

/* Returns the table of functions of the runtime, or NULL. `load`: where there is no runtime, the
 * libplumb next to this library is loaded. Any thread; may change errno. */
const struct plumb_api *plumb_onednn_runtime(bool load);

#endif
