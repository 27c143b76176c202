/* read_save.c: writing a text to a file, in the public interface. Any thread; no state. */
#include <string.h>

#include "base/error.h"
#include "base/whole_file.h"
#include <plumb/read/text.h>

int plumb_read_save(const char *path, const void *bytes, size_t n, plumb_error *err)
{
    int code = plumb_whole_file_write(path, PLUMB_WHOLE_AS_TYPED, 0666, bytes, n);
    return code ? plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", path, strerror(code))
                : PLUMB_OK;
}
