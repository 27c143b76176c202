/* labels: plain
 * link: none
 * As records_first_in_a_handler, in a process without libplumb: the header looks for a runtime
 * there.
 */
#define HOST_UNLINKED
#include "hosts/host.h"

#include "hosts/_mallocs_under_signals.h"

int main(void)
{
    return mallocs_under_signals();
}
