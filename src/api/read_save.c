/* read_save.c: writing a text to a file, and making its folder, in the public interface. Any
 * thread; no state. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/new_file.h"
#include "base/whole_file.h"
#include <plumb/read/text.h>

int plumb_read_save(const char *path, const void *bytes, size_t n, plumb_error *err)
{
    int code = plumb_whole_file_write(path, PLUMB_WHOLE_AS_TYPED, 0666, bytes, n);
    return code ? plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", path, strerror(code))
                : PLUMB_OK;
}

int plumb_read_make_folder(const char *path, plumb_error *err)
{
    char copy[4096];
    struct stat st;
    int rc;
    if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", path);
    rc = plumb_make_above(copy, 0777, err);
    if (rc < 0)
        return rc;
    if (mkdir(path, 0777) < 0 && (errno != EEXIST || stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
        return plumb_fail(err, PLUMB_ERR_IO, "cannot make directory '%s': %s", path,
                          strerror(errno == EEXIST ? ENOTDIR : errno));
    return PLUMB_OK;
}
