/* shape.c: inputs and outputs of stages as arguments in the trace (PLUMB_TRACE_SHAPES). */
#include <inttypes.h>
#include <stdio.h>

#include "base/text/print.h"
#include "record/trace/trace.h"
#include "tensor/view.h"
#include <plumb/stage.h>

enum { TEXT_MAX = 200, ELEMENTS_MAX = 8 /* of a list; its length is always written */ };

static void tensor_text(char *out, size_t size, const void *tensor)
{
    struct plumb_view v;
    char type[PLUMB_DTYPE_NAME_MAX];
    size_t n;
    if (plumb_view_init(&v, tensor, NULL) < 0) {
        snprintf(out, size, "(no tensor)");
        return;
    }
    n = (size_t)snprintf(out, size, "%s[", plumb_dtype_name(type, v.dtype));
    for (int32_t i = 0; i < v.ndim && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%" PRId64, i ? "," : "", v.shape[i]);
    if (n < size)
        snprintf(out + n, size - n, "]");
}

static void value_text(char *out, size_t size, const plumb_value *v)
{
    switch (v->kind) {
    case PLUMB_VALUE_TENSOR:
        tensor_text(out, size, v->as.tensor);
        break;
    case PLUMB_VALUE_BOOL:
        snprintf(out, size, "%s", v->as.i64 ? "true" : "false");
        break;
    case PLUMB_VALUE_I64:
        snprintf(out, size, "%" PRId64, v->as.i64);
        break;
    case PLUMB_VALUE_F64:
        plumb_print(out, size, "%.17g", v->as.f64);
        break;
    case PLUMB_VALUE_STR:
        snprintf(out, size, "%s", v->as.str ? v->as.str : "");
        break;
    case PLUMB_VALUE_LIST:
        snprintf(out, size, "list[%u]", v->count);
        break;
    default:
        snprintf(out, size, "null");
    }
}

void plumb_trace_shape(plumb_span stage, uint32_t part, const char *name, const plumb_value *value)
{
    static const char *const parts[] = {"input", "output", "metadata"};
    const char *of = parts[part <= PLUMB_STAGE_METADATA ? part : 0];
    char key[160], text[TEXT_MAX + 1];
    snprintf(key, sizeof key, "%s.%.120s", of, name ? name : "");
    value_text(text, sizeof text, value);
    plumb_rt.api->span_arg(stage, key, 3, text);
    for (uint32_t i = 0; value->kind == PLUMB_VALUE_LIST && i < value->count && i < ELEMENTS_MAX;
         i++) {
        snprintf(key, sizeof key, "%s.%.120s.%u", of, name ? name : "", i);
        value_text(text, sizeof text, &value->as.list[i]);
        plumb_rt.api->span_arg(stage, key, 3, text);
    }
}
