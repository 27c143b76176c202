/* _loaded.c: loads a library of count_loaded.sh in one of its ways, and calls the functions of
 * libcounted.so.1 through it. Prints a checksum; ends with 7. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int function(int);

static void *need(void *p)
{
    if (p)
        return p;
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
}

static function *function_of(void *library, const char *name)
{
    function *f = NULL;
    *(void **)(void *)&f = need(dlsym(library, name));
    return f;
}

/* 100 calls through the PLT or the GOT, 11 through a stored pointer. */
static int use(void *library)
{
    return function_of(library, "run")(100) + function_of(library, "run_stored")(11);
}

static int in_namespaces(const char *file, int flags)
{
    int sum = 0;
    for (int i = 0; i < 5; i++) {
        void *library = need(dlmopen(LM_ID_NEWLM, file, flags));
        sum += use(library);
        if (i % 2)
            dlclose(library);
    }
    return sum;
}

static int again(const char *file, int flags)
{
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        void *library = need(dlopen(file, flags));
        sum += use(library);
        dlclose(library);
    }
    return sum;
}

/* Both versions, by name and by default. */
static int versions(const char *file, int flags)
{
    void *library = need(dlopen(file, flags));
    function *old = NULL, *new = NULL;
    *(void **)(void *)&old = need(dlvsym(library, "versioned", "V1"));
    *(void **)(void *)&new = need(dlvsym(library, "versioned", "V2"));
    if (new != function_of(library, "versioned") || old == new)
        exit(1);
    return old(1) * 1000 + new (1) + function_of(library, "versioned")(1);
}

int main(int argc, char **argv)
{
    const char *way = argc > 3 ? argv[1] : "";
    int flags = argc > 3 && strcmp(argv[3], "now") == 0 ? RTLD_NOW : RTLD_LAZY, sum = 0;
    if (strcmp(way, "deepbind") == 0)
        sum = use(need(dlopen(argv[2], flags | RTLD_DEEPBIND)));
    else if (strcmp(way, "namespaces") == 0)
        sum = in_namespaces(argv[2], flags);
    else if (strcmp(way, "again") == 0)
        sum = again(argv[2], flags);
    else if (strcmp(way, "versions") == 0)
        sum = versions(argv[2], flags);
    printf("%d\n", sum);
    return sum ? 7 : 1;
}
