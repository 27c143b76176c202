/* capture_file.c: writes the captured inputs, under a temporary name first, on a thread of plumb's,
 * which shares the helper's descriptors; where there is no helper, on the thread of the stage. The
 * thread is made for one file and ends with it. The helper itself does not write: a disk may take
 * nothing for long, and others wait for the helper. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/futex.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/whole_file.h"
#include "codec/json_fields.h"
#include "record/runtime/helper.h"
#include "record/runtime/node.h"
#include "record/runtime/runtime.h"
#include "record/stage/capture_parts.h"

enum { PIECE = 1 << 20 };
#define STALL_NS UINT64_C(5000000000)
#define NAP_NS UINT64_C(1000000)

/* ---- The file -------------------------------------------------------------------------------- */

/* A string of JSON that is in JSON itself, and has no escapes but JSON's. */
static void put_quoted(struct plumb_buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\')
            plumb_buf_char(out, '\\');
        plumb_buf_char(out, text[i]);
    }
}

static void put_outputs(struct plumb_json *j, const struct plumb_buf *outputs)
{
    plumb_put_text(j, "outputs", "");
    j->out->len--; /* the closing quote */
    put_quoted(j->out, outputs->data, outputs->len);
    plumb_buf_char(j->out, '"');
}

static void put_metadata(struct plumb_json *j, const struct plumb_buf *outputs)
{
    const struct plumb_capture *c = &plumb_capture;
    char step[24];
    plumb_put_object(j, "__metadata__");
    plumb_put_text(j, "format", "plumb-capture");
    plumb_put_text(j, "schema", "1");
    plumb_put_text(j, "stage", c->stage);
    if (c->step >= 0) {
        snprintf(step, sizeof step, "%" PRId64, c->step);
        plumb_put_text(j, c->whole ? "call_step" : "step", step);
    }
    if (outputs)
        put_outputs(j, outputs);
    plumb_put_text(j, "inputs", "");
    j->out->len--; /* the closing quote, which comes after the inputs */
    plumb_buf_char(j->out, '[');
    for (const struct plumb_capture_item *i = c->items; i; i = i->next) {
        if (i != c->items)
            plumb_buf_char(j->out, ',');
        put_quoted(j->out, i->text, i->text_len);
    }
    plumb_buf_str(j->out, "]\"");
    plumb_json_object_end(j);
}

static void put_header(struct plumb_buf *out, const struct plumb_buf *outputs)
{
    struct plumb_json j;
    uint64_t at = 0;
    plumb_json_init(&j, out, 0);
    plumb_json_object(&j);
    put_metadata(&j, outputs);
    for (const struct plumb_capture_item *i = plumb_capture.items; i; i = i->next) {
        for (const struct plumb_capture_blob *b = i->blobs; b; b = b->next) {
            plumb_put_object(&j, b->key);
            plumb_put_text(&j, "dtype", b->type);
            plumb_json_key(&j, "shape");
            plumb_json_i64s(&j, b->shape, (size_t)b->ndim);
            plumb_json_key(&j, "data_offsets");
            plumb_json_i64s(&j, (const int64_t[]){(int64_t)at, (int64_t)(at + b->bytes)}, 2);
            plumb_json_object_end(&j);
            at += b->bytes;
        }
    }
    plumb_json_object_end(&j);
    while (out->len % 8)
        plumb_buf_char(out, ' ');
}

/* More bytes than the header has; it is made in pages too. */
static size_t room_for_header(const struct plumb_buf *outputs)
{
    enum { BLOB = 6 * PLUMB_CAPTURE_PATH + 24 * PLUMB_VIEW_MAX_DIMS + 200 };
    size_t room = 6 * sizeof plumb_capture.stage + 1000 + (outputs ? 2 * outputs->len : 0);
    for (const struct plumb_capture_item *i = plumb_capture.items; i; i = i->next)
        room += 2 * i->text_len + 1;
    return room + plumb_capture.blobs * BLOB;
}

static int put(struct plumb_whole_file *file, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    int code = 0;
    for (size_t piece; n > 0 && !code; at += piece, n -= piece) {
        piece = n < PIECE ? n : PIECE;
        code = plumb_whole_file_put(file, at, piece);
        PLUMB_ADD(plumb_capture.moved, 1);
    }
    return code;
}

static int write_file(void)
{
    struct plumb_capture *c = &plumb_capture;
    const struct plumb_buf *outputs = plumb_capture_outputs_make();
    size_t room = room_for_header(outputs);
    struct plumb_buf header = {.data = plumb_pages_map(room), .cap = room};
    struct plumb_whole_file file;
    uint64_t length;
    int code, ended;
    if (!header.data)
        return ENOMEM;
    put_header(&header, outputs);
    length = header.len;
    code = plumb_whole_file_begin(&file, c->path, 0, 0600);
    if (!code) {
        code = put(&file, &length, sizeof length);
        code = code ? code : put(&file, header.data, header.len);
        for (const struct plumb_capture_item *i = c->items; i; i = i->next)
            for (const struct plumb_capture_blob *b = i->blobs; b && !code; b = b->next)
                code = put(&file, b->data, b->bytes);
        ended = plumb_whole_file_end(&file, code == 0);
        code = code ? code : ended;
    }
    plumb_pages_unmap(header.data, room);
    return code;
}

/* The signature says it from here on, that of a killed process too. */
static void show(void)
{
    struct plumb_capture *c = &plumb_capture;
    pthread_mutex_lock(&c->lock);
    if (c->run) {
        struct plumb_live_capture *live = &c->run->h->ledger.capture;
        live->node = c->node;
        live->step = c->step;
        live->bytes = c->bytes;
        live->missing = c->missing;
        snprintf(live->file, sizeof live->file, "%s", c->file);
        PLUMB_RELEASE(live->shown, 1);
    }
    pthread_mutex_unlock(&c->lock);
}

static void write_all(void)
{
    plumb_capture.code = write_file();
    if (!plumb_capture.code)
        show();
    PLUMB_RELEASE(plumb_capture.state, PLUMB_CAPTURE_DONE);
    plumb_futex_wake(&plumb_capture.state);
}

/* ---- The thread ------------------------------------------------------------------------------ */

static bool take_over(void)
{
    uint32_t ready = PLUMB_CAPTURE_READY;
    return __atomic_compare_exchange_n(&plumb_capture.state, &ready, PLUMB_CAPTURE_WRITING, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void *writer(void *unused)
{
    (void)unused;
    write_all();
    plumb_own_thread_ends();
    return NULL;
}

void plumb_capture_do_write(void)
{
    struct plumb_capture *c = &plumb_capture;
    int code;
    if (!take_over())
        return;
    if (!plumb_helper_is_me()) {
        write_all();
        return;
    }
    code = plumb_own_thread(&c->thread, writer, NULL, 0);
    c->running = code == 0;
    if (c->running)
        pthread_setname_np(c->thread, "plumb-capture");
    else
        write_all();
}

void plumb_capture_write(void)
{
    if (plumb_helper_is_there())
        plumb_helper_ask(PLUMB_JOB_CAPTURE);
    else
        plumb_capture_do_write();
}

bool plumb_capture_await(void)
{
    struct plumb_capture *c = &plumb_capture;
    uint32_t moved = PLUMB_LOAD(c->moved);
    uint64_t since = plumb_clock_gettime_ns(CLOCK_MONOTONIC), now = since;
    plumb_capture_do_write(); /* the helper may not have come to it */
    while (PLUMB_ACQUIRE(c->state) == PLUMB_CAPTURE_WRITING && now - since < STALL_NS) {
        plumb_helper_pause(NAP_NS);
        now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
        if (PLUMB_LOAD(c->moved) != moved) {
            moved = PLUMB_LOAD(c->moved);
            since = now;
        }
    }
    if (PLUMB_ACQUIRE(c->state) == PLUMB_CAPTURE_WRITING)
        return false;
    if (c->running)
        pthread_join(c->thread, NULL);
    c->running = false;
    return true;
}
