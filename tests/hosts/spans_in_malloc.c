/* labels: plain
 * A malloc() with a span in it: whatever looks for the runtime or opens a run below that span may
 * call malloc() again. */
#include "hosts/host.h"

#include "hosts/_spans_in_malloc.h"

int main(void)
{
    int status = allocate();
    uint64_t count = plumb_is_recording() ? host_count_of("malloc") : 1000;
    HOST_NEEDS(count >= 1000 && count <= mallocs);
    return status;
}
