/* The plug-in that dlcloses_a_plugin and random_host load and unload. */
#include <plumb/plumb.h>

void plugin_work(int spans);

void plugin_work(int spans)
{
    for (int i = 0; i < spans; i++) {
        PLUMB_SPAN("plugin");
        PLUMB_SPAN_DEBUG("plugin's debug span");
        {
            PLUMB_STAGE(stage, "plugin's stage");
        }
    }
}
