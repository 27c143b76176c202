/* program.c: the parts of a generated program that depend on the stage: its defines, and its inputs
 * as tables. All programs share the files *_body.h and random_fill.h, as they are. */
#include "isolate/program.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "isolate/program_text.h"
#include "isolate/random.h"

struct writer {
    struct plumb_buf *out;
    const struct plumb_program *program;
    uint32_t lists; /* arrays of values and fields so far */
    uint32_t tensors;
};

/* ---- C --------------------------------------------------------------------------------------- */

/* A string literal; a NULL becomes "". Octal escapes have three digits: none continues. */
static void put_literal(struct plumb_buf *out, const char *text)
{
    plumb_buf_char(out, '"');
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\' || c == '?')
            plumb_buf_printf(out, "\\%c", c);
        else if (c < ' ' || c > '~')
            plumb_buf_printf(out, "\\%03o", c);
        else
            plumb_buf_char(out, (char)c);
    }
    plumb_buf_char(out, '"');
}

/* INT64_MIN has no literal. */
static void put_i64(struct plumb_buf *out, int64_t v)
{
    if (v == INT64_MIN)
        plumb_buf_str(out, "INT64_MIN");
    else
        plumb_buf_printf(out, "INT64_C(%" PRId64 ")", v);
}

static void put_f64(struct plumb_buf *out, double v)
{
    if (isnan(v))
        plumb_buf_str(out, "NAN");
    else if (isinf(v))
        plumb_buf_str(out, v < 0 ? "-INFINITY" : "INFINITY");
    else
        plumb_buf_printf(out, "%.17g%s", v, v == floor(v) && fabs(v) < 1e15 ? ".0" : "");
}

/* Text of a comment cannot end it, or begin a line. */
static void put_comment(struct plumb_buf *out, const char *text)
{
    for (; *text; text++)
        plumb_buf_char(out, (unsigned char)*text < ' ' || *text == '*' ? '_' : *text);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static void put_sizes(struct writer *w, const char *name, size_t i, const int64_t *sizes, int n)
{
    plumb_buf_printf(w->out, "static int64_t %s_%zu[] = {", name, i);
    for (int d = 0; d < n; d++)
        plumb_buf_printf(w->out, "%s%" PRId64, d ? ", " : "", sizes[d]);
    plumb_buf_str(w->out, n ? "};\n" : "0};\n");
}

static const struct plumb_inputs_tensor *random_like(const struct writer *w, const char *path)
{
    const struct plumb_inputs_tensor *t = w->program->random->tensors;
    for (; t; t = t->next)
        if (strcmp(t->path, path) == 0)
            return t;
    return NULL;
}

static void put_random(struct writer *w, const struct plumb_inputs_tensor *t)
{
    const struct plumb_inputs_tensor *like = random_like(w, t->path);
    struct plumb_random r = {0};
    if (like)
        r = like->random;
    else
        plumb_random_of(&r, t->tensor.dtype, NULL, NULL);
    plumb_buf_printf(w->out, "{0, %u, %u, UINT32_C(%u), UINT32_C(%u), %d, ", r.element, r.shape,
                     r.extreme, r.high_of, r.exponent);
    const int64_t numbers[] = {r.center, r.spread, r.low, r.high, r.least, r.most};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        put_i64(w->out, numbers[i]);
        plumb_buf_str(w->out, ", ");
    }
    plumb_buf_printf(w->out, "UINT64_C(%" PRIu64 "), UINT64_C(%" PRIu64 ")}", r.unsigned_least,
                     r.unsigned_most);
}

static void put_tensors(struct writer *w)
{
    const struct plumb_inputs_tensor *t;
    size_t i = 0;
    for (t = w->program->inputs->tensors; t; t = t->next, i++) {
        put_sizes(w, "shape", i, t->tensor.shape, t->tensor.ndim);
        if (!plumb_view_is_compact(&t->view))
            put_sizes(w, "strides", i, t->tensor.strides, t->tensor.ndim);
    }
    plumb_buf_str(w->out, "static struct plumb_dl_tensor tensors[] = {\n");
    for (t = w->program->inputs->tensors, i = 0; t; t = t->next, i++) {
        plumb_buf_printf(w->out, "    {NULL, {1, 0}, %d, {%u, %u, %u}, shape_%zu, ", t->tensor.ndim,
                         t->tensor.dtype.code, t->tensor.dtype.bits, t->tensor.dtype.lanes, i);
        if (plumb_view_is_compact(&t->view))
            plumb_buf_str(w->out, "NULL, 0},\n");
        else
            plumb_buf_printf(w->out, "strides_%zu, 0},\n", i);
    }
    plumb_buf_str(w->out, i ? "};\n" : "    {NULL, {1, 0}, 0, {2, 32, 1}, NULL, NULL, 0}};\n");
    plumb_buf_printf(w->out, "static const size_t tensor_count = %zu;\n", i);
    plumb_buf_str(w->out, "static const struct input_source {\n"
                          "    const char *path;\n"
                          "    uint64_t offset; /* in the captured file; 0: not captured */\n"
                          "    struct plumb_random random;\n"
                          "} sources[] = {\n");
    for (t = w->program->inputs->tensors; t; t = t->next) {
        plumb_buf_str(w->out, "    {");
        put_literal(w->out, t->path);
        plumb_buf_printf(w->out, ", %" PRIu64 ", ", t->captured ? t->offset : 0);
        put_random(w, t);
        plumb_buf_str(w->out, "},\n");
    }
    plumb_buf_str(w->out, i ? "};\n\n" : "    {\"\", 0, {0}}};\n\n");
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* A value refers to arrays that stand before it: `array` is the number of its own. */
struct placed {
    uint32_t array;
};

static void put_value(struct writer *w, const plumb_value *v, struct placed at);

static struct placed put_arrays(struct writer *w, const plumb_value *v);

/* The elements of a list or the fields of a mapping: first what they refer to, then the array. */
static struct placed put_array(struct writer *w, const plumb_value *v)
{
    bool fields = v->kind == PLUMB_VALUE_FIELDS;
    struct placed *inside = calloc(v->count + 1u, sizeof *inside), at = {0};
    if (!inside) {
        w->out->failed = true;
        return at;
    }
    for (uint32_t i = 0; i < v->count; i++)
        inside[i] = put_arrays(w, fields ? &v->as.fields[i].value : &v->as.list[i]);
    at.array = w->lists++;
    plumb_buf_printf(w->out, "static const struct %s list_%u[] = {",
                     fields ? "plumb_field" : "plumb_value", at.array);
    for (uint32_t i = 0; i < v->count; i++) {
        plumb_buf_str(w->out, i ? ", " : "");
        if (fields) {
            plumb_buf_char(w->out, '{');
            put_literal(w->out, v->as.fields[i].name);
            plumb_buf_str(w->out, ", ");
        }
        put_value(w, fields ? &v->as.fields[i].value : &v->as.list[i], inside[i]);
        plumb_buf_str(w->out, fields ? "}" : "");
    }
    plumb_buf_str(w->out, v->count ? "};\n"
                          : fields ? "{NULL, {0, 0, {0}}}};\n"
                                   : "{0, 0, {0}}};\n");
    free(inside);
    return at;
}

static struct placed put_arrays(struct writer *w, const plumb_value *v)
{
    struct placed none = {0};
    if (v->kind == PLUMB_VALUE_LIST || v->kind == PLUMB_VALUE_FIELDS)
        return put_array(w, v);
    if (v->kind == PLUMB_VALUE_TENSOR)
        none.array = w->tensors++;
    return none;
}

static void put_value(struct writer *w, const plumb_value *v, struct placed at)
{
    static const char *const kinds[] = {"NULL", "BOOL",   "I64",  "F64",
                                        "STR",  "TENSOR", "LIST", "FIELDS"};
    plumb_buf_printf(w->out, "{PLUMB_VALUE_%s, %u, {", kinds[v->kind & 7], v->count);
    switch (v->kind) {
    case PLUMB_VALUE_BOOL:
    case PLUMB_VALUE_I64:
        put_i64(w->out, v->as.i64);
        break;
    case PLUMB_VALUE_F64:
        plumb_buf_str(w->out, ".f64 = ");
        put_f64(w->out, v->as.f64);
        break;
    case PLUMB_VALUE_STR:
        plumb_buf_str(w->out, ".str = ");
        put_literal(w->out, v->as.str);
        break;
    case PLUMB_VALUE_TENSOR:
        plumb_buf_printf(w->out, ".tensor = &tensors[%u]", at.array);
        break;
    case PLUMB_VALUE_LIST:
    case PLUMB_VALUE_FIELDS:
        plumb_buf_printf(w->out, ".%s = list_%u", v->kind == PLUMB_VALUE_LIST ? "list" : "fields",
                         at.array);
        break;
    default:
        plumb_buf_char(w->out, '0');
        break;
    }
    plumb_buf_str(w->out, "}}");
}

static int put_inputs(struct writer *w, plumb_error *err)
{
    const struct plumb_inputs *in = w->program->inputs;
    const plumb_value all = plumb_value_fields(in->at, in->count);
    put_tensors(w);
    put_array(w, &all);
    if (w->out->failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for a program");
    if (w->tensors != in->tensor_count)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "inputs with %zu tensors, of which %u are used",
                          in->tensor_count, w->tensors);
    plumb_buf_printf(w->out,
                     "static const struct plumb_field *const inputs = list_%u;\n"
                     "static const size_t input_count = %zu;\n"
                     "#define STAGE_INPUTS %zu\n\n",
                     w->lists - 1, in->count, in->count);
    return PLUMB_OK;
}

/* ---- The program ----------------------------------------------------------------------------- */

static void put_define(struct plumb_buf *out, const char *name, const char *value)
{
    plumb_buf_printf(out, "#define %s ", name);
    put_literal(out, value);
    plumb_buf_char(out, '\n');
}

static void put_head(struct plumb_buf *out, const struct plumb_program *p, long long captured)
{
    plumb_buf_printf(out,
                     "/* cc -std=c11 -O2 -Wall -Wextra -Werror profile_%s.c -ldl -o profile_%s\n"
                     " *\n"
                     " * Runs the stage '",
                     p->file, p->file);
    put_comment(out, p->stage->name);
    plumb_buf_str(out, "' alone, times it, and prints a hash of its outputs. Made by\n"
                       " * plumb bench; it needs the stage library and nothing of plumb. Under\n"
                       " * `PLUMB_TRACE=1 plumb record --` it is recorded like any program. */\n"
                       "#define _POSIX_C_SOURCE 200809L\n"
                       "#include <dlfcn.h>\n#include <math.h>\n#include <stddef.h>\n"
                       "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
                       "#include <string.h>\n#include <time.h>\n\n");
    put_define(out, "STAGE_NAME", p->stage->name);
    put_define(out, "STAGE_FILE", p->file);
    put_define(out, "STAGE_LIBRARY", p->library);
    put_define(out, "STAGE_CONFIG", p->config);
    put_define(out, "STAGE_CAPTURE", p->inputs->file);
    plumb_buf_printf(out,
                     "#define STAGE_CAPTURE_BYTES %lldL\n"
                     "#define STAGE_SEED UINT64_C(%" PRIu64 ")\n"
                     "#define STAGE_FIRST_STEP %" PRId64 "\n"
                     "#define STAGE_STEPS %" PRId64 "\n\n",
                     captured, p->seed, p->first_step, p->steps);
}

int plumb_program_write(struct plumb_buf *out, const struct plumb_program *p, plumb_error *err)
{
    struct writer w = {.out = out, .program = p};
    struct stat st = {0};
    int rc;
    if (p->inputs->file && stat(p->inputs->file, &st) < 0)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", p->inputs->file,
                          strerror(errno));
    put_head(out, p, (long long)st.st_size);
    plumb_buf_str(out, plumb_program_types_body_text);
    plumb_buf_char(out, '\n');
    plumb_buf_str(out, plumb_random_fill_text);
    plumb_buf_char(out, '\n');
    plumb_buf_str(out, plumb_value_hash_body_text);
    plumb_buf_char(out, '\n');
    rc = put_inputs(&w, err);
    if (rc < 0)
        return rc;
    plumb_buf_str(out, plumb_program_options_body_text);
    plumb_buf_char(out, '\n');
    plumb_buf_str(out, plumb_program_inputs_body_text);
    plumb_buf_char(out, '\n');
    plumb_buf_str(out, plumb_program_main_body_text);
    return out->failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for a program") : PLUMB_OK;
}
