/* data.c: the files that are installed for the command, below share/plumb. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Writes the path of the file `name`. It is found from where this program lies: an installed tree
 * may be moved as a whole. */
static void data_path(char *out, size_t size, const char *name)
{
    char self[PATH_MAX];
    char folder[2 * PATH_MAX];
    char real[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    snprintf(folder, sizeof folder, "%s/" PLUMB_BIN_TO_DATA, self);
    snprintf(out, size, "%s/%s", realpath(folder, real) ? real : folder, name);
}

plumb_predecessors *plumb_cli_predecessors(const struct plumb_cli_command *command)
{
    plumb_predecessors *names = NULL;
    plumb_error err = {0, ""};
    char path[3 * PATH_MAX];
    data_path(path, sizeof path, "predecessors.tsv");
    if (plumb_predecessors_open(&names, path, &err) < 0)
        plumb_cli_say(command, "%s", err.message);
    return names;
}
