/* special_file.h: the check that a file has an end, made before it is read to the end. Any thread.
 */
#ifndef PLUMB_READ_FILE_SPECIAL_FILE_H
#define PLUMB_READ_FILE_SPECIAL_FILE_H

#include <sys/stat.h>

#include "base/error.h"

/* Refuses a device, which may never end, as /dev/zero; regular files and pipes pass. `path` is for
 * the message. Error: PLUMB_ERR_FORMAT. */
static inline int plumb_file_ends(int fd, const char *path, plumb_error *err)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
        return plumb_fail(err, PLUMB_ERR_FORMAT, "cannot read '%s': it is a device, not a file",
                          path);
    return PLUMB_OK;
}

#endif
