/* fields.h: the numbers of the fields of share/control.proto, and what request and response share.
 * For the files of this folder alone. */
#ifndef PLUMB_CONTROL_FIELDS_H
#define PLUMB_CONTROL_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>

struct plumb_arena;
struct plumb_pb;
struct plumb_wire;

enum plumb_request_field {
    PLUMB_REQUEST_COMMAND = 1,
    PLUMB_REQUEST_PIPELINE = 2,
    PLUMB_REQUEST_PHASE = 3,
    PLUMB_REQUEST_TEXT = 4,
    PLUMB_REQUEST_SETTING = 5,
    PLUMB_REQUEST_CONFIG = 6,
    PLUMB_REQUEST_TRACE = 7,
    PLUMB_REQUEST_VALUE = 8,
    PLUMB_REQUEST_WHILE_CONNECTED = 9
};
enum plumb_config_field {
    PLUMB_CONFIG_ENABLED = 1,
    PLUMB_CONFIG_SYNC = 2,
    PLUMB_CONFIG_RESET = 3,
    PLUMB_CONFIG_SKIP_FIRST_N = 4
};
enum plumb_window_field {
    PLUMB_WINDOW_FOR_NS = 1,
    PLUMB_WINDOW_STEPS = 2,
    PLUMB_WINDOW_MAX_BYTES = 3,
    PLUMB_WINDOW_PATH = 4,
    PLUMB_WINDOW_REGIONS = 5,
    PLUMB_WINDOW_NODES = 6
};
enum plumb_response_field {
    PLUMB_RESPONSE_STATUS = 1,
    PLUMB_RESPONSE_MESSAGE = 2,
    PLUMB_RESPONSE_PATH = 3,
    PLUMB_RESPONSE_PROCESS = 4,
    PLUMB_RESPONSE_PIPELINE = 5,
    PLUMB_RESPONSE_ROW = 6,
    PLUMB_RESPONSE_NOTES = 7
};

/* Writes a text as bytes; nothing for NULL. */
void plumb_control_put_text(struct plumb_pb *w, uint32_t field, const char *text);
/* Copies the bytes of a field, with a NUL after them. NULL: out of memory. */
const char *plumb_control_get_text(const struct plumb_wire *w, struct plumb_arena *a);
/* Returns the result of reading `what`. */
int plumb_control_end(const struct plumb_wire *w, const struct plumb_arena *a, const char *what,
                      plumb_error *err);

#endif
