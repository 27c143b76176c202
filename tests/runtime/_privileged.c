/* privileged.sh: a marked program. `privileged` prints whether the kernel says that it has rights
 * its caller has not; `privileged nothing` starts a run without options, `privileged DIR` one below
 * DIR; `privileged` alone leaves it to the variables. */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include <plumb/plumb.h>

int main(int argc, char **argv)
{
    plumb_options options = plumb_options_default();
    plumb_error err = {0, ""};
    int rc = PLUMB_OK;
    printf("%lu", getauxval(AT_SECURE));
    if (argc > 1) {
        options.dir = argv[1];
        rc = plumb_start(strcmp(argv[1], "nothing") ? &options : NULL, &err);
    }
    for (int i = 0; i < 10; i++) {
        PLUMB_SPAN("privileged");
    }
    plumb_stop(NULL);
    printf(" %d\n", rc);
    return 0;
}
