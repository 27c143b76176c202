/* A marked host: host PLUGIN... opens each, works in it, closes it again when its name is followed
 * by "close", and works itself, before the first plug-in and after each. A host without libplumb
 * (header alone) works only after the first: what it passes while the process holds no runtime is
 * off. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <plumb/plumb.h>

static void host_work(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN("host");
    }
}

static int use(const char *path, int close_it)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*work)(int);
    if (!object) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&work = dlsym(object, "plug_work");
    if (!work || work(100) != 100)
        return 1;
    if (close_it)
        dlclose(object);
    host_work(100);
    return 0;
}

/* Everything that walks the list of trace points. */
static void switch_everything(void)
{
    plumb_config config = plumb_config_default();
    plumb_set_debug(1);
    plumb_set_debug(0);
    plumb_configure(NULL, &config, NULL);
    host_work(1000);
    config.enabled = 1;
    plumb_configure(NULL, &config, NULL);
}

int main(int argc, char **argv)
{
#ifndef HOST_LATE
    host_work(100);
#endif
    for (int i = 1; i < argc; i++) {
        int closing = i + 1 < argc && strcmp(argv[i + 1], "close") == 0;
        if (use(argv[i], closing))
            return 1;
        if (closing) {
            switch_everything();
            i++;
        }
    }
    puts("done");
    return 0;
}
