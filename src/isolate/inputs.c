/* inputs.c: inputs of a stage from its signature. captured.c has those of a file. */
#include "isolate/inputs.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "isolate/inputs_parts.h"
#include "isolate/random.h"
#include "tensor/row_major.h"

int plumb_inputs_fault(const struct plumb_inputs_maker *m, const char *path, int code,
                       const char *why)
{
    return plumb_fail(m->err, code, "input '%.150s' of stage '%.100s': %s", path, m->stage->name,
                      why);
}

static int out_of_memory(const struct plumb_inputs_maker *m, const char *path)
{
    return plumb_inputs_fault(m, path, PLUMB_ERR_MEMORY, "out of memory");
}

const char *plumb_inputs_path(struct plumb_inputs_maker *m, const char *path, size_t i,
                              const char *name)
{
    return name ? plumb_arena_printf(&m->out->arena, "%s.%s", path, name)
                : plumb_arena_printf(&m->out->arena, "%s[%zu]", path, i);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static int64_t *copy_numbers(struct plumb_inputs_maker *m, const int64_t *numbers, size_t n)
{
    int64_t *copy = plumb_arena_alloc(&m->out->arena, (n ? n : 1) * sizeof *copy);
    if (copy && n > 0)
        memcpy(copy, numbers, n * sizeof *copy);
    return copy;
}

/* Type, device and shape; no memory yet. */
static int describe(struct plumb_inputs_maker *m, struct plumb_inputs_tensor *t,
                    const struct plumb_signature_tensor *form)
{
    struct plumb_dl_device device;
    plumb_error why = {0, ""};
    char text[200];
    if (plumb_dtype_parse(&t->tensor.dtype, form->dtype, &why) < 0 ||
        plumb_dl_device_parse(&device, form->device, &why) < 0)
        return plumb_inputs_fault(m, t->path, PLUMB_ERR_ARG, why.message);
    if (!plumb_dl_device_is_host(device) && !m->options->devices_on_host) {
        snprintf(text, sizeof text,
                 "it lies in memory of %.60s, and plumb makes inputs for the "
                 "host alone",
                 form->device);
        return plumb_inputs_fault(m, t->path, PLUMB_ERR_ARG, text);
    }
    /* Whether values can be made of the type at all is asked here, so that an element type is
     * refused for captured tensors as it is for random ones. */
    if (plumb_random_of(&t->random, t->tensor.dtype, NULL, &why) < 0)
        return plumb_inputs_fault(m, t->path, why.code, why.message);
    t->tensor.device = (struct plumb_dl_device){PLUMB_DL_CPU, 0};
    if (form->ndim > PLUMB_VIEW_MAX_DIMS)
        return plumb_inputs_fault(m, t->path, PLUMB_ERR_ARG, "it has more than 64 dimensions");
    t->tensor.ndim = (int32_t)form->ndim;
    t->tensor.shape = copy_numbers(m, form->shape, form->ndim);
    t->tensor.strides = form->strides ? copy_numbers(m, form->strides, form->ndim) : NULL;
    if (!t->tensor.shape || (form->strides && !t->tensor.strides))
        return out_of_memory(m, t->path);
    if (plumb_view_init(&t->view, &t->tensor, &why) < 0)
        return plumb_inputs_fault(m, t->path, why.code, why.message);
    return PLUMB_OK;
}

static int allocate(struct plumb_inputs_maker *m, struct plumb_inputs_tensor *t)
{
    uint64_t below = 0, bytes = 0;
    char text[100];
    if (!plumb_view_span(&t->view, &below, &bytes))
        bytes = 1; /* without elements: an address all the same */
    t->memory = bytes <= SIZE_MAX ? plumb_pages_map((size_t)bytes) : NULL;
    if (!t->memory) {
        snprintf(text, sizeof text, "no memory for its %llu bytes", (unsigned long long)bytes);
        return plumb_inputs_fault(m, t->path, PLUMB_ERR_MEMORY, text);
    }
    t->memory_bytes = (size_t)bytes;
    t->tensor.data = (unsigned char *)t->memory + below;
    t->view.data = t->tensor.data;
    return PLUMB_OK;
}

int plumb_inputs_tensor(struct plumb_inputs_maker *m, const char *path,
                        const struct plumb_signature_tensor *form, const uint64_t *bytes,
                        struct plumb_inputs_tensor **out)
{
    struct plumb_inputs_tensor *t = path ? plumb_arena_alloc(&m->out->arena, sizeof *t) : NULL;
    int rc;
    if (!t)
        return out_of_memory(m, path ? path : "");
    t->path = path;
    if ((rc = describe(m, t, form)) < 0)
        return rc;
    if (bytes && *bytes != t->view.bytes)
        return plumb_inputs_fault(m, path, PLUMB_ERR_FORMAT,
                                  "its capture has fewer or more values than its shape");
    if ((rc = allocate(m, t)) < 0)
        return rc;
    *m->end = t;
    m->end = &t->next;
    m->out->tensor_count++;
    m->out->bytes += t->view.bytes;
    *out = t;
    return PLUMB_OK;
}

void plumb_inputs_fill(const struct plumb_view *view, const struct plumb_random *random)
{
    enum { PIECE = 4096 };
    unsigned char piece[PIECE * 16];
    uint64_t halves = view->dtype.code == PLUMB_DTYPE_COMPLEX ? 2 : 1;
    struct plumb_row_major rows;
    if (plumb_view_is_compact(view)) {
        plumb_random_fill((void *)(uintptr_t)view->data, 0, view->count * halves, random);
        return;
    }
    plumb_row_major_init(&rows, view);
    for (uint64_t done = 0; done < view->count;) {
        uint64_t n = view->count - done < PIECE ? view->count - done : PIECE;
        plumb_random_fill(piece, done * halves, n * halves, random);
        plumb_row_major_write(&rows, piece, n * rows.element_bytes);
        done += n;
    }
}

static int make_random(struct plumb_inputs_maker *m, const char *path,
                       const struct plumb_signature_tensor *form, plumb_value *out)
{
    struct plumb_inputs_tensor *t;
    plumb_error why = {0, ""};
    int rc = plumb_inputs_tensor(m, path, form, NULL, &t);
    if (rc < 0)
        return rc;
    if (plumb_random_of(&t->random, t->tensor.dtype, form->stats, &why) < 0)
        return plumb_inputs_fault(m, path, why.code, why.message);
    t->random.seed = plumb_random_seed(m->options->seed, m->stage->name, path);
    plumb_inputs_fill(&t->view, &t->random);
    *out = plumb_value_tensor((const plumb_tensor *)&t->tensor);
    return PLUMB_OK;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int make_list(struct plumb_inputs_maker *m, const char *path,
                     const struct plumb_signature_value *from, plumb_value *out)
{
    size_t n = from->is.list.count;
    plumb_value *values = plumb_arena_alloc(&m->out->arena, (n ? n : 1) * sizeof *values);
    int rc = values ? PLUMB_OK : out_of_memory(m, path);
    for (size_t i = 0; i < n && rc == PLUMB_OK; i++)
        rc = plumb_inputs_recorded(m, plumb_inputs_path(m, path, i, NULL), &from->is.list.at[i],
                                   &values[i]);
    if (rc == PLUMB_OK)
        *out = plumb_value_list(values, n);
    return rc;
}

static int make_fields(struct plumb_inputs_maker *m, const char *path,
                       const struct plumb_signature_value *from, plumb_value *out)
{
    size_t n = from->is.fields.count;
    plumb_field *fields = plumb_arena_alloc(&m->out->arena, (n ? n : 1) * sizeof *fields);
    int rc = fields ? PLUMB_OK : out_of_memory(m, path);
    for (size_t i = 0; i < n && rc == PLUMB_OK; i++) {
        const struct plumb_signature_item *item = &from->is.fields.at[i];
        if (!(fields[i].name = plumb_arena_strdup(&m->out->arena, item->name)))
            return out_of_memory(m, path);
        rc = plumb_inputs_recorded(m, plumb_inputs_path(m, path, 0, item->name), &item->value,
                                   &fields[i].value);
    }
    if (rc == PLUMB_OK)
        *out = plumb_value_fields(fields, n);
    return rc;
}

/* A text, unless it stands for what could not be recorded (docs/signature-json.md). */
static int make_text(struct plumb_inputs_maker *m, const char *path, const char *text,
                     plumb_value *out)
{
    char *copy;
    if (strncmp(text, "<error: ", 8) == 0)
        return plumb_inputs_fault(m, path, PLUMB_ERR_ARG, text);
    if (!(copy = plumb_arena_strdup(&m->out->arena, text)))
        return out_of_memory(m, path);
    *out = plumb_value_str(copy);
    return PLUMB_OK;
}

int plumb_inputs_recorded(struct plumb_inputs_maker *m, const char *path,
                          const struct plumb_signature_value *from, plumb_value *out)
{
    if (!path)
        return out_of_memory(m, "");
    *out = plumb_value_null();
    switch (from->kind) {
    case PLUMB_SIGNATURE_NULL:
        break;
    case PLUMB_SIGNATURE_BOOL:
        *out = plumb_value_bool(from->is.boolean);
        break;
    case PLUMB_SIGNATURE_INT:
        *out = plumb_value_i64(from->is.integer);
        break;
    case PLUMB_SIGNATURE_REAL:
        *out = plumb_value_f64(from->is.real);
        break;
    case PLUMB_SIGNATURE_TEXT:
        return make_text(m, path, from->is.text, out);
    case PLUMB_SIGNATURE_TENSOR:
        return make_random(m, path, from->is.tensor, out);
    case PLUMB_SIGNATURE_LIST:
        return make_list(m, path, from, out);
    case PLUMB_SIGNATURE_FIELDS:
        return make_fields(m, path, from, out);
    }
    return PLUMB_OK;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int make_all_recorded(struct plumb_inputs_maker *m)
{
    const struct plumb_signature_items *items = &m->stage->last.inputs;
    struct plumb_arena *arena = &m->out->arena;
    int rc = PLUMB_OK;
    m->out->at = plumb_arena_alloc(arena, (items->count ? items->count : 1) * sizeof *m->out->at);
    if (!m->out->at)
        return out_of_memory(m, "");
    for (size_t i = 0; i < items->count && rc == PLUMB_OK; i++) {
        const char *name = plumb_arena_strdup(arena, items->at[i].name);
        m->out->at[i].name = name;
        m->out->count++;
        rc = plumb_inputs_recorded(m, name, &items->at[i].value, &m->out->at[i].value);
    }
    return rc;
}

int plumb_inputs_make(struct plumb_inputs *out, const struct plumb_signature_stage *stage,
                      const struct plumb_inputs_options *options, plumb_error *err)
{
    struct plumb_inputs made = {.step = -1, .call_step = -1};
    struct plumb_inputs_maker m = {&made, stage, options, err, &made.tensors};
    int rc = 1;
    if (options->mode != PLUMB_INPUTS_RANDOM)
        rc = plumb_inputs_captured(&m);
    if (rc > 0 && options->mode == PLUMB_INPUTS_CAPTURED)
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                        "no inputs of stage '%s' were captured: record it with PLUMB_CAPTURE=%s, "
                        "or use random inputs",
                        stage->name, stage->name);
    else if (rc > 0)
        rc = make_all_recorded(&m);
    if (rc < 0)
        plumb_inputs_fini(&made);
    else
        *out = made;
    return rc < 0 ? rc : PLUMB_OK;
}

void plumb_inputs_fini(struct plumb_inputs *inputs)
{
    for (struct plumb_inputs_tensor *t = inputs->tensors; t; t = t->next)
        plumb_pages_unmap(t->memory, t->memory_bytes);
    plumb_arena_fini(&inputs->arena);
    *inputs = (struct plumb_inputs){.step = -1, .call_step = -1};
}
