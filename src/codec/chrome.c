/* chrome.c: everything of a Chrome trace except plain spans, which are in chrome_spans.c.
 *
 * Text is written directly after `used`. `used` moves only when an event is complete, so a full
 * buffer needs no computation of sizes beforehand and never holds a part of an event. */
#include "codec/chrome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "codec/chrome_words.h"
#include "codec/decimal.h"
#include "codec/digits.h"
#include "codec/json_write.h"

struct writer {
    unsigned char *p, *end;
    bool full;
};

static struct writer writer_at(const struct plumb_out *out)
{
    return (struct writer){.p = out->base + out->used, .end = out->base + out->size};
}

static bool commit(struct plumb_out *out, const struct writer *w)
{
    if (w->full)
        return false;
    out->used = (size_t)(w->p - out->base);
    return true;
}

static bool has_room(struct writer *w, size_t n)
{
    w->full |= (size_t)(w->end - w->p) < n;
    return !w->full;
}

static void put(struct writer *w, const char *text, size_t n)
{
    if (has_room(w, n)) {
        memcpy(w->p, text, n);
        w->p += n;
    }
}

#define PUT(w, literal) put(w, literal, sizeof(literal) - 1)

/* ---- Texts ---------------------------------------------------------------------------------- */

/* Whether eight bytes are ASCII that JSON strings have as it is. */
static bool plain_word(uint64_t v)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t quote = v ^ ones * '"', slash = v ^ ones * '\\';
    return !(((v - ones * 0x20) | (quote - ones) | (slash - ones) | v) & tops);
}

static size_t plain_prefix(const char *text, size_t n)
{
    size_t i = 0;
    for (uint64_t v; i + 8 <= n; i += 8) {
        memcpy(&v, text + i, 8);
        if (!plain_word(v))
            return i;
    }
    for (; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
            break;
    }
    return i;
}

/* The next piece of a text as it is written; *read is how many bytes of the text it stands for. */
static size_t next_piece(char piece[8], const char *p, size_t *read)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char byte = (unsigned char)*p;
    size_t n = plumb_utf8_sequence(p);
    *read = n ? n : 1;
    if (n == 0 || plumb_utf8_looks_escaped(p)) {
        memcpy(piece, "\\\\x", 3);
        piece[3] = hex[byte >> 4];
        piece[4] = hex[byte & 15];
        return 5;
    }
    if (byte == '"' || byte == '\\') {
        piece[0] = '\\';
        piece[1] = (char)byte;
        return 2;
    }
    if (byte < 0x20) {
        memcpy(piece, "\\u00", 4);
        piece[4] = hex[byte >> 4];
        piece[5] = hex[byte & 15];
        return 6;
    }
    memcpy(piece, p, n);
    return n;
}

/* The slow way, from the first odd byte on; `start` is where the text began. */
static void put_odd_text(struct writer *w, const char *text, const unsigned char *start)
{
    unsigned char *cut = w->p; /* the last place where the dots would fit */
    char piece[8];
    size_t read;
    while (*text && !w->full) {
        size_t n = next_piece(piece, text, &read), used = (size_t)(w->p - start);
        if (used + 3 <= PLUMB_CHROME_TEXT_MAX)
            cut = w->p;
        if (used + n > PLUMB_CHROME_TEXT_MAX) {
            w->p = cut;
            PUT(w, "...");
            return;
        }
        put(w, piece, n);
        text += read;
    }
}

/* A string with its quotes. */
static void put_text(struct writer *w, const char *text)
{
    size_t n = text ? strlen(text) : 0, plain = plain_prefix(text, n);
    PUT(w, "\"");
    const unsigned char *start = w->p;
    if (n > PLUMB_CHROME_TEXT_MAX && plain > PLUMB_CHROME_TEXT_MAX - 3)
        plain = PLUMB_CHROME_TEXT_MAX - 3;
    if (plain > 0)
        put(w, text, plain);
    if (plain < n)
        put_odd_text(w, text + plain, start);
    PUT(w, "\"");
}

static void put_key(struct writer *w, const char *key)
{
    put_text(w, key);
    PUT(w, ":");
}

/* ---- Numbers -------------------------------------------------------------------------------- */

static void put_u64(struct writer *w, uint64_t v)
{
    if (has_room(w, PLUMB_DIGITS_TOUCHES))
        w->p = plumb_put_digits(w->p, v);
}

static void put_i64(struct writer *w, int64_t v)
{
    if (v < 0)
        PUT(w, "-");
    put_u64(w, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static void put_us(struct writer *w, uint64_t ns)
{
    if (has_room(w, PLUMB_DIGITS_TOUCHES))
        w->p = plumb_put_us(w->p, ns <= PLUMB_CHROME_NS_MAX ? ns : PLUMB_CHROME_NS_MAX);
}

/* The shortest that reads back as the same number. */
static void put_f64(struct writer *w, double v)
{
    char text[40];
    if (v == floor(v) && fabs(v) < 1e15) {
        if (signbit(v))
            PUT(w, "-");
        put_u64(w, (uint64_t)fabs(v));
        PUT(w, ".0");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    plumb_decimal_point(text);
    put(w, text, strlen(text));
}

/* Writes a number that many readers cannot represent as a string of digits. */
static void put_large(struct writer *w, uint64_t v)
{
    bool quoted = v > INT64_MAX;
    if (quoted)
        PUT(w, "\"");
    put_u64(w, v);
    if (quoted)
        PUT(w, "\"");
}

static void put_pointer(struct writer *w, uint64_t v)
{
    char text[20] = "\"0x";
    int n = 3;
    for (int shift = 60; shift >= 0; shift -= 4)
        if (v >> shift || shift == 0)
            text[n++] = "0123456789abcdef"[v >> shift & 15];
    text[n++] = '"';
    put(w, text, (size_t)n);
}

/* ---- The file ------------------------------------------------------------------------------- */

static void put_fact_text(struct writer *w, const char *key, const char *text)
{
    put_key(w, key);
    put_text(w, text);
    PUT(w, ",\n");
}

static void put_fact_u64(struct writer *w, const char *key, uint64_t value)
{
    put_key(w, key);
    put_u64(w, value);
    PUT(w, ",\n");
}

static void put_devices(struct writer *w, const struct plumb_chrome_head *head)
{
    enum { DEVICES_MAX = 64 };
    PUT(w, "\"deviceProperties\":[");
    for (size_t i = 0; i < head->device_count && i < DEVICES_MAX; i++) {
        const struct plumb_chrome_device *device = &head->devices[i];
        if (i > 0)
            PUT(w, ",");
        PUT(w, "{\"id\":");
        put_i64(w, device->id);
        PUT(w, ",\"name\":");
        put_text(w, device->name);
        if (device->total_bytes) {
            PUT(w, ",\"totalGlobalMem\":");
            put_u64(w, device->total_bytes);
        }
        PUT(w, "}");
    }
    PUT(w, "],\n");
}

static void put_distributed(struct writer *w, const struct plumb_chrome_head *head)
{
    if (head->rank < 0)
        return;
    PUT(w, "\"distributedInfo\":{");
    if (head->backend) {
        PUT(w, "\"backend\":");
        put_text(w, head->backend);
        PUT(w, ",");
    }
    PUT(w, "\"rank\":");
    put_i64(w, head->rank);
    if (head->world_size >= 0) {
        PUT(w, ",\"world_size\":");
        put_i64(w, head->world_size);
    }
    PUT(w, "},\n");
}

bool plumb_chrome_head(struct plumb_out *out, const struct plumb_chrome_head *head)
{
    struct writer w = writer_at(out);
    PUT(&w, "{\n");
    put_fact_u64(&w, "schemaVersion", 1);
    put_fact_u64(&w, PLUMB_CHROME_ESCAPED, 1);
    put_devices(&w, head);
    if (head->record_shapes)
        put_fact_u64(&w, "record_shapes", 1);
    if (head->with_stack)
        put_fact_u64(&w, "with_stack", 1);
    if (head->profile_memory)
        put_fact_u64(&w, "profile_memory", 1);
    if (head->with_flops)
        put_fact_u64(&w, "with_flops", 1);
    if (head->trace_id)
        put_fact_text(&w, "trace_id", head->trace_id);
    put_distributed(&w, head);
    put_fact_text(&w, "displayTimeUnit", "ms");
    put_fact_u64(&w, "baseTimeNanoseconds", head->base_unix_ns);
    if (head->trace_name)
        put_fact_text(&w, "traceName", head->trace_name);
    return commit(out, &w);
}

bool plumb_chrome_fact(struct plumb_out *out, const char *key, const char *text)
{
    struct writer w = writer_at(out);
    put_fact_text(&w, key, text);
    return commit(out, &w);
}

bool plumb_chrome_fact_i64(struct plumb_out *out, const char *key, int64_t value)
{
    struct writer w = writer_at(out);
    put_key(&w, key);
    put_i64(&w, value);
    PUT(&w, ",\n");
    return commit(out, &w);
}

bool plumb_chrome_events(struct plumb_out *out)
{
    struct writer w = writer_at(out);
    PUT(&w, "\"traceEvents\":[\n");
    return commit(out, &w);
}

bool plumb_chrome_end(struct plumb_out *out, int64_t pid, uint64_t ns)
{
    struct writer w = writer_at(out);
    PUT(&w, "{\"ph\":\"i\",\"name\":\"" PLUMB_CHROME_WINDOW_END "\",\"pid\":");
    put_i64(&w, pid);
    PUT(&w, ",\"tid\":0,\"ts\":");
    put_us(&w, ns);
    PUT(&w, ",\"s\":\"g\"}\n]}\n");
    return commit(out, &w);
}

/* ---- Events --------------------------------------------------------------------------------- */

static void put_ids(struct writer *w, int64_t pid, int64_t tid)
{
    PUT(w, "\"pid\":");
    put_i64(w, pid);
    PUT(w, ",\"tid\":");
    put_i64(w, tid);
}

bool plumb_chrome_meta(struct plumb_out *out, enum plumb_chrome_meta what, int64_t pid, int64_t tid,
                       const char *text, int64_t sort_index)
{
    static const struct {
        const char *name, *key;
    } metas[] = {
        [PLUMB_CHROME_PROCESS_NAME] = {"process_name", "name"},
        [PLUMB_CHROME_PROCESS_LABELS] = {"process_labels", "labels"},
        [PLUMB_CHROME_PROCESS_SORT_INDEX] = {"process_sort_index", "sort_index"},
        [PLUMB_CHROME_THREAD_NAME] = {"thread_name", "name"},
        [PLUMB_CHROME_THREAD_SORT_INDEX] = {"thread_sort_index", "sort_index"},
    };
    bool sorts = what == PLUMB_CHROME_PROCESS_SORT_INDEX || what == PLUMB_CHROME_THREAD_SORT_INDEX;
    struct writer w = writer_at(out);
    PUT(&w, "{\"ph\":\"M\",\"name\":");
    put_text(&w, metas[what].name);
    PUT(&w, ",\"ts\":0.000,");
    put_ids(&w, pid, tid);
    PUT(&w, ",\"args\":{");
    put_key(&w, metas[what].key);
    if (sorts)
        put_i64(&w, sort_index);
    else
        put_text(&w, text);
    PUT(&w, "}},\n");
    return commit(out, &w);
}

static void put_value(struct writer *w, const struct plumb_chrome_arg *arg)
{
    switch (arg->type) {
    case PLUMB_CHROME_I64:
        put_i64(w, arg->v.i64);
        return;
    case PLUMB_CHROME_U64:
        put_large(w, arg->v.u64);
        return;
    case PLUMB_CHROME_F64:
        if (isfinite(arg->v.f64))
            put_f64(w, arg->v.f64);
        else
            put_text(w, plumb_json_special(arg->v.f64));
        return;
    case PLUMB_CHROME_POINTER:
        put_pointer(w, arg->v.u64);
        return;
    case PLUMB_CHROME_TEXT:
        put_text(w, arg->v.text);
        return;
    case PLUMB_CHROME_BOOL:
        if (arg->v.boolean)
            PUT(w, "true");
        else
            PUT(w, "false");
        return;
    case PLUMB_CHROME_JSON:
        put(w, arg->v.text, strlen(arg->v.text));
        return;
    }
    PUT(w, "null");
}

static bool is_number(const struct plumb_chrome_arg *arg)
{
    return arg->type != PLUMB_CHROME_F64 || isfinite(arg->v.f64);
}

/* "args" and its value. */
static void put_args(struct writer *w, const struct plumb_chrome_arg *args, size_t n, bool counter)
{
    PUT(w, "\"args\":{");
    for (size_t i = 0; i < n && i < PLUMB_CHROME_ARGS_MAX; i++) {
        if (i > 0)
            PUT(w, ",");
        put_key(w, args[i].key);
        if (counter && !is_number(&args[i]))
            PUT(w, "null"); /* viewers draw numbers, not texts */
        else
            put_value(w, &args[i]);
    }
    PUT(w, "}");
}

/* The fields that only some phases have. */
static void put_particulars(struct writer *w, const struct plumb_chrome_event *e)
{
    switch (e->phase) {
    case PLUMB_CHROME_SPAN:
        PUT(w, ",\"dur\":");
        put_us(w, e->dur_ns);
        return;
    case PLUMB_CHROME_INSTANT:
        PUT(w, ",\"s\":\"t\"");
        return;
    case PLUMB_CHROME_COUNTER:
        return;
    case PLUMB_CHROME_FLOW_START:
    case PLUMB_CHROME_FLOW_STEP:
    case PLUMB_CHROME_FLOW_END:
    case PLUMB_CHROME_ASYNC_BEGIN:
    case PLUMB_CHROME_ASYNC_END:
        PUT(w, ",\"id\":");
        put_u64(w, e->id);
        if (e->phase == PLUMB_CHROME_FLOW_END)
            PUT(w, ",\"bp\":\"e\"");
        return;
    }
}

static void put_head(struct writer *w, const char *category, const char *name)
{
    if (category) {
        PUT(w, ",\"cat\":");
        put_text(w, category);
    }
    PUT(w, ",\"name\":");
    put_text(w, name);
    PUT(w, ",");
}

bool plumb_chrome_event(struct plumb_out *out, const struct plumb_chrome_event *e)
{
    struct writer w = writer_at(out);
    char phase[] = {(char)e->phase, '"'};
    PUT(&w, "{\"ph\":\"");
    put(&w, phase, sizeof phase);
    put_head(&w, e->category, e->name);
    put_ids(&w, e->pid, e->tid);
    PUT(&w, ",\"ts\":");
    put_us(&w, e->ns);
    put_particulars(&w, e);
    if (e->arg_count > 0) {
        PUT(&w, ",");
        put_args(&w, e->args, e->arg_count, e->phase == PLUMB_CHROME_COUNTER);
    }
    PUT(&w, "},\n");
    return commit(out, &w);
}

/* ---- Pieces of plain spans ------------------------------------------------------------------ */

bool plumb_chrome_name_piece(struct plumb_out *out, const char *category, const char *name,
                             const struct plumb_chrome_arg *args, size_t arg_count)
{
    struct writer w = writer_at(out);
    PUT(&w, "{\"ph\":\"X\"");
    put_head(&w, category, name);
    if (arg_count > 0) {
        put_args(&w, args, arg_count, false);
        PUT(&w, ",");
    }
    return commit(out, &w);
}

bool plumb_chrome_track_piece(struct plumb_out *out, int64_t pid, int64_t tid)
{
    struct writer w = writer_at(out);
    put_ids(&w, pid, tid);
    PUT(&w, ",\"ts\":");
    return commit(out, &w);
}
