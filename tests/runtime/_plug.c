/* A marked plug-in; how it meets libplumb is a matter of its link. */
#include <plumb/plumb.h>

#ifndef PLUG_NAME
#define PLUG_NAME "plug"
#endif

int plug_work(int n);
int plug_work(int n)
{
    int done = 0;
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN(PLUG_NAME);
        done++;
    }
    return done;
}
