/* Loads a library that uses oneDNN as Python loads its modules: with RTLD_LOCAL. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(int, char **) = NULL;
    if (plugin)
        *(void **)&run = dlsym(plugin, "run_it");
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 95;
    }
    return run(argc - 1, argv + 1);
}
