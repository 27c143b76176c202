/* dump.c: tensors kept whole, a file of safetensors each, in a folder for each step:
 *
 *     <run>/activations/step_7/block.3.attn.out.safetensors     (".call1" and so on before the end)
 *
 * Its `__metadata__` names the record that it belongs to, with the keys of the record's line. This
 * file prepares everything that is known before the file is opened; dump_file.c writes it. */
#include "record/activation/dump.h"

#include <stdio.h>

#include "base/error.h"
#include "codec/json_write.h"
#include "record/activation/activation.h"
#include "record/runtime/carve.h"
#include "record/runtime/runtime.h"
#include "tensor/safetensors.h"

static void put_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, text);
}

/* The format allows only strings here. */
static void put_number(struct plumb_json *j, const char *key, int64_t n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)n);
    put_text(j, key, digits);
}

static void put_place(struct plumb_json *j, const struct plumb_act_record *r)
{
    plumb_json_key(j, "__metadata__");
    plumb_json_object(j);
    put_text(j, "module", r->module);
    put_text(j, "tensor", r->label);
    if (r->head.step >= 0)
        put_number(j, "step", r->head.step);
    put_number(j, "call", (int64_t)r->head.call);
    put_number(j, "rank", plumb_rank_or_0());
    put_number(j, "seq", (int64_t)r->head.seq);
    put_text(j, "phase", r->phase);
    put_text(j, "io", plumb_record_io_name(r->head.io));
    plumb_json_object_end(j);
}

static void make_header(struct plumb_act_dump *d, const struct plumb_act_record *r,
                        const struct plumb_view *view, const char *type)
{
    struct plumb_buf *out = &d->header;
    struct plumb_json j;
    out->len = 0;
    plumb_json_init(&j, out, 0);
    plumb_json_object(&j);
    put_place(&j, r);
    plumb_json_key(&j, d->name);
    plumb_json_object(&j);
    put_text(&j, "dtype", type);
    plumb_json_key(&j, "shape");
    plumb_json_array(&j);
    for (int32_t i = 0; i < view->ndim; i++)
        plumb_json_i64(&j, view->shape[i]);
    plumb_json_array_end(&j);
    plumb_json_key(&j, "data_offsets");
    plumb_json_array(&j);
    plumb_json_u64(&j, 0);
    plumb_json_u64(&j, view->bytes);
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
    plumb_json_object_end(&j);
    while (out->len % 8)
        plumb_buf_char(out, ' ');
}

/* Takes the bytes from the budget. Returns false if they do not fit. */
static bool take_bytes(uint64_t bytes)
{
    bool room;
    pthread_mutex_lock(&plumb_act.lock);
    room = bytes <= plumb_rt.settings.activations_dump_bytes - plumb_act.dumped_bytes;
    if (room)
        plumb_act.dumped_bytes += bytes;
    pthread_mutex_unlock(&plumb_act.lock);
    return room;
}

/* Copies the fields that the writer needs from the record, which is gone when the call returns. */
static bool describe(struct plumb_act_dump *d, const struct plumb_act_record *r,
                     const struct plumb_view *view, const char *type)
{
    snprintf(d->name, sizeof d->name, "%s.%s", r->module, r->label);
    plumb_sanitize(d->safe, d->name);
    make_header(d, r, view, type);
    if (r->head.step < 0)
        snprintf(d->folder, sizeof d->folder, "%s/activations/no_step", plumb_act.dir);
    else
        snprintf(d->folder, sizeof d->folder, "%s/activations/step_%lld", plumb_act.dir,
                 (long long)r->head.step);
    d->call = r->head.call;
    d->view = *view;
    return !d->header.failed;
}

/* Returns PLUMB_ACT_DUMP_WHYS if the tensor is kept. */
static enum plumb_act_dump_why keep(const struct plumb_act_record *r, const struct plumb_view *view)
{
    const char *type = plumb_safetensors_name(view->dtype);
    struct plumb_act_dump *d;
    enum plumb_act_dump_why why = PLUMB_ACT_DUMP_UNWRITTEN;
    if (!type || plumb_view_readable(view, NULL) != PLUMB_OK)
        return PLUMB_ACT_DUMP_UNREADABLE;
    if (!plumb_act.dir[0] || plumb_file_limit(view->bytes + 4096) != 0)
        return PLUMB_ACT_DUMP_UNWRITTEN;
    if (!take_bytes(view->bytes))
        return PLUMB_ACT_DUMP_BOUND;
    d = plumb_act_dump_begin(&why);
    if (!d)
        return why;
    return plumb_act_dump_end(d, describe(d, r, view, type));
}

void plumb_act_dump(const struct plumb_act_record *r, const struct plumb_view *view)
{
    enum plumb_act_dump_why why;
    int state;
    /* A wait is a cancellation point, and the lock is held. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    why = keep(r, view);
    if (why != PLUMB_ACT_DUMP_WHYS) {
        pthread_mutex_lock(&plumb_act.lock);
        plumb_act.dumps_left_out[why]++;
        pthread_mutex_unlock(&plumb_act.lock);
    }
    pthread_setcancelstate(state, NULL);
}
