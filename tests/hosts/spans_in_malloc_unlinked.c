/* labels: plain
 * link: none
 * As spans_in_malloc, in a process without libplumb. */
#define HOST_UNLINKED
#include "hosts/host.h"

#include "hosts/_spans_in_malloc.h"

int main(void)
{
    return allocate();
}
