/* runtime.c: the runtime itself (the one large piece of mutable file-scope state), and storage for
 * data that lives as long as the process. It is set up in src/api/record_load.c. */
#include "record/runtime/runtime.h"

#include <string.h>

#include "base/pages.h"

struct plumb_runtime plumb_rt = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .life_lock = PTHREAD_MUTEX_INITIALIZER,
    .snapshot_lock = PTHREAD_MUTEX_INITIALIZER,
    .ledger_lock = PTHREAD_MUTEX_INITIALIZER,
};

enum { KEEP_BLOCK = 64 * 1024 };

void *plumb_keep_bytes(size_t n)
{
    void *p;
    n = (n + 15) & ~(size_t)15;
    if (n > KEEP_BLOCK)
        return plumb_pages_map(n);
    if (n > plumb_rt.text_left) {
        char *block = plumb_pages_map(KEEP_BLOCK);
        if (!block)
            return NULL;
        plumb_rt.text_at = block;
        plumb_rt.text_left = KEEP_BLOCK;
    }
    p = plumb_rt.text_at;
    plumb_rt.text_at += n;
    plumb_rt.text_left -= n;
    return p;
}

char *plumb_keep_text(const char *text)
{
    size_t n = strlen(text) + 1;
    char *p = plumb_keep_bytes(n);
    if (p)
        memcpy(p, text, n);
    return p;
}
