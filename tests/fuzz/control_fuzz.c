/* Fuzz target: any bytes as a message of the control channel, as a request (first bit of the first
 * byte) or a response. An accepted message is written and read again, and is then the same. */
#include <stdlib.h>
#include <string.h>

#include "codec/protobuf.h"
#include "control/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 1 << 20 };

static unsigned char first[ROOM], second[ROOM];

/* Returns the bytes of the message that is written, 0: it does not fit. */
static size_t put(unsigned char *out, const struct plumb_control_request *request,
                  const struct plumb_control_response *response)
{
    struct plumb_pb w = {out, out + ROOM, false};
    if (request)
        plumb_control_put_request(&w, request);
    else
        plumb_control_put_response(&w, response);
    return w.full ? 0 : (size_t)(w.p - out);
}

static void check_error(int rc, const plumb_error *err)
{
    if ((rc != PLUMB_ERR_FORMAT && rc != PLUMB_ERR_MEMORY) || strchr(err->message, '\n'))
        abort();
}

static void as_request(const uint8_t *data, size_t size)
{
    struct plumb_arena a = {NULL, false}, b = {NULL, false};
    struct plumb_control_request r, again;
    plumb_error err = {0, ""};
    int rc = plumb_control_get_request(&r, &a, data, size, &err);
    size_t n = rc == PLUMB_OK ? put(first, &r, NULL) : 0;
    if (rc < 0)
        check_error(rc, &err);
    if (n && (plumb_control_get_request(&again, &b, first, n, &err) < 0 ||
              put(second, &again, NULL) != n || memcmp(first, second, n) != 0))
        abort();
    plumb_arena_fini(&a);
    plumb_arena_fini(&b);
}

static void as_response(const uint8_t *data, size_t size)
{
    struct plumb_arena a = {NULL, false}, b = {NULL, false};
    struct plumb_control_response r, again;
    plumb_error err = {0, ""};
    int rc = plumb_control_get_response(&r, &a, data, size, &err);
    size_t n = rc == PLUMB_OK ? put(first, NULL, &r) : 0;
    if (rc < 0)
        check_error(rc, &err);
    if (n && (plumb_control_get_response(&again, &b, first, n, &err) < 0 ||
              put(second, NULL, &again) != n || memcmp(first, second, n) != 0))
        abort();
    plumb_arena_fini(&a);
    plumb_arena_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        as_request(data + 1, size - 1);
    else
        as_response(data + 1, size - 1);
    return 0;
}
