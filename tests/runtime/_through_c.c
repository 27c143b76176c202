/* _through_c.c: a C frame with spans, built without -fexceptions, that an exception or a
 * cancellation goes through: nothing ends its spans. */
#include <plumb/plumb.h>

void through_c(void (*call)(void));

void through_c(void (*call)(void))
{
    PLUMB_SPAN("c.outer");
    {
        PLUMB_SPAN("c.done");
    }
    {
        PLUMB_SPAN("c.inner");
        call();
    }
}
