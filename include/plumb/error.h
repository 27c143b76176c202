/* error.h: the status that a function returns, and the error that it fills.
 *
 * A function that returns `int` returns zero or more on success and one of enum plumb_status, which
 * are less than zero, on failure. Its last parameter is `plumb_error *err`; NULL is always
 * accepted. The function that knows the cause fills it; on success it is not touched. */
#ifndef PLUMB_ERROR_H
#define PLUMB_ERROR_H

#include <stdint.h>

enum plumb_status {
    PLUMB_OK = 0,
    PLUMB_ERR_ARG = -1,       /* an argument is out of its documented range */
    PLUMB_ERR_MEMORY = -2,    /* out of memory, or beyond a PLUMB_MAX_* bound */
    PLUMB_ERR_IO = -3,        /* a file or directory could not be read or written */
    PLUMB_ERR_ABSENT = -4,    /* no runtime in this process */
    PLUMB_ERR_STATE = -5,     /* not now: not recording, already recording, ... */
    PLUMB_ERR_FORMAT = -6,    /* a file is not what it should be */
    PLUMB_ERR_NOT_RUN = -7,   /* plumb_measure: the work did not happen */
    PLUMB_ERR_NOT_FOUND = -8, /* no such run, node, pipeline, ... */
    PLUMB_ERR_CHECK = -9      /* a check of a stage's inputs or outputs has failed */
};

typedef struct plumb_error { /* owned by the caller; any contents before the call */
    int32_t code;            /* one of enum plumb_status */
    char message[508];       /* one line, NUL-terminated, no newline: what, where, what to do */
} plumb_error;

#endif
