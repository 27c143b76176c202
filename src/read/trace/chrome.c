/* chrome.c: a Chrome trace as a document: the list of events, and the members of the object around
 * it. */
#include "read/trace/chrome.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/chrome_words.h"
#include "read/file/unpack.h"
#include "read/trace/chrome_parts.h"

enum { WORD_BYTES = 6 }; /* so near the end a word may be cut: "false" */

/* ---- Fields of an event --------------------------------------------------------------------- */

static int64_t whole_of(const char *text, size_t size, bool *is_number)
{
    char copy[32], *end;
    long long v = 0;
    *is_number = false;
    if (size == 0 || size >= sizeof copy)
        return 0;
    memcpy(copy, text, size);
    copy[size] = '\0';
    v = strtoll(copy, &end, 0);
    *is_number = *end == '\0';
    return v;
}

/* A text that is a number is that number. */
static struct plumb_chrome_id read_id(struct plumb_chrome *r)
{
    const struct plumb_json_scan *s = &r->scan;
    struct plumb_chrome_id id = {.there = true};
    if (s->token == PLUMB_JSON_NUMBER && s->number.kind != PLUMB_JSON_NUMBER_REAL) {
        id.number = (int64_t)s->number.whole;
    } else if (s->token == PLUMB_JSON_NUMBER) { /* 7.0, as some write it; none of them is odder */
        bool fits = s->number.real > -9e18 && s->number.real < 9e18;
        id.number = fits ? (int64_t)s->number.real : 0;
    } else if (s->token == PLUMB_JSON_STRING) {
        bool is_number;
        id.number = whole_of(s->text, s->size, &is_number);
        if (is_number)
            return id;
        id.is_text = true;
        id.text = plumb_chrome_text(r, s->text, s->size);
        id.number = id.text;
    } else {
        id.there = false;
    }
    return id;
}

static bool read_ns(struct plumb_chrome *r, int64_t *out)
{
    if (r->scan.token == PLUMB_JSON_NUMBER)
        return plumb_chrome_number_ns(&r->scan, out);
    return r->scan.token == PLUMB_JSON_STRING && plumb_chrome_ns(r->scan.text, r->scan.size, out);
}

static uint32_t read_text(struct plumb_chrome *r)
{
    return r->scan.token == PLUMB_JSON_STRING ? plumb_chrome_text(r, r->scan.text, r->scan.size)
                                              : 0;
}

/* "id2": {"local": ..} or {"global": ..}. */
static bool read_id2(struct plumb_chrome *r)
{
    struct plumb_json_scan *s = &r->scan;
    if (s->token != PLUMB_JSON_OBJECT)
        return s->token != PLUMB_JSON_ARRAY || plumb_json_skip(s) > PLUMB_JSON_END;
    while (plumb_json_next(s) > PLUMB_JSON_END && s->token != PLUMB_JSON_OBJECT_END) {
        bool local = plumb_json_key_is(s, "local");
        if (s->token == PLUMB_JSON_OBJECT || s->token == PLUMB_JSON_ARRAY) {
            if (plumb_json_skip(s) <= PLUMB_JSON_END)
                return false;
            continue;
        }
        r->event.id = read_id(r);
        r->event.id_kind = local ? 'l' : 'g';
    }
    return s->token == PLUMB_JSON_OBJECT_END;
}

enum field { NONE, PH, NAME, CAT, TS, DUR, PID, TID, ID, ID2, BP, ARGS };

static enum field field_of(const struct plumb_json_scan *s)
{
    static const struct {
        const char *name;
        enum field field;
    } fields[] = {{"ph", PH},   {"name", NAME}, {"cat", CAT}, {"ts", TS},
                  {"dur", DUR}, {"pid", PID},   {"tid", TID}, {"args", ARGS},
                  {"id", ID},   {"id2", ID2},   {"bp", BP}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (plumb_json_key_is(s, fields[i].name))
            return fields[i].field;
    return NONE;
}

/* False: the scan has failed. */
static bool read_field(struct plumb_chrome *r)
{
    struct plumb_json_scan *s = &r->scan;
    struct plumb_chrome_raw_event *e = &r->event;
    bool nested = s->token == PLUMB_JSON_OBJECT || s->token == PLUMB_JSON_ARRAY;
    enum field field = field_of(s);
    if (field == ARGS) {
        r->key.len = 0;
        return plumb_chrome_args(r, 0);
    }
    if (field == ID2)
        return read_id2(r);
    if (nested)
        return plumb_json_skip(s) > PLUMB_JSON_END;
    switch (field) {
    case PH:
        e->phase = s->token == PLUMB_JSON_STRING && s->size > 0 ? *s->text : 0;
        break;
    case NAME:
        e->name = read_text(r);
        break;
    case CAT:
        e->category = read_text(r);
        break;
    case TS:
        e->has_ts = true;
        e->bad_ts = !read_ns(r, &e->ts_ns);
        break;
    case DUR:
        e->bad_ts |= !read_ns(r, &e->dur_ns);
        break;
    case PID:
        e->pid = read_id(r);
        break;
    case TID:
        e->tid = read_id(r);
        break;
    case ID:
        e->id = read_id(r);
        break;
    case BP:
        e->binds_around = plumb_json_text_is(s, "e");
        break;
    default:
        break;
    }
    return true;
}

static bool read_event(struct plumb_chrome *r)
{
    struct plumb_json_scan *s = &r->scan;
    r->event = (struct plumb_chrome_raw_event){.phase = 0};
    r->arg_count = 0;
    while (plumb_json_next(s) > PLUMB_JSON_END) {
        if (s->token == PLUMB_JSON_OBJECT_END) {
            bool empty = !r->event.phase && !r->event.name && !r->event.has_ts;
            if (!empty) /* some writers end with {} */
                plumb_chrome_put(r);
            r->events += !empty;
            r->empty += empty;
            r->whole = plumb_json_here(s);
            return true;
        }
        if (!read_field(r))
            return false;
    }
    return false;
}

static bool read_events(struct plumb_chrome *r)
{
    struct plumb_json_scan *s = &r->scan;
    while (plumb_json_next(s) > PLUMB_JSON_END) {
        if (s->token == PLUMB_JSON_ARRAY_END)
            return true;
        r->strange += s->token != PLUMB_JSON_OBJECT;
        if (s->token == PLUMB_JSON_ARRAY ? plumb_json_skip(s) <= PLUMB_JSON_END
                                         : s->token == PLUMB_JSON_OBJECT && !read_event(r))
            return false;
    }
    return false;
}

/* ---- The document --------------------------------------------------------------------------- */

/* `within`: the name of the object that it stands in, or NULL. */
static void read_fact(struct plumb_chrome *r, const char *within)
{
    struct plumb_json_scan *s = &r->scan;
    bool whole = s->token == PLUMB_JSON_NUMBER && s->number.kind == PLUMB_JSON_NUMBER_INT;
    union plumb_table_number v = {.u64 = s->number.whole};
    if (!whole && s->token != PLUMB_JSON_STRING)
        return;
    if (whole && !within && plumb_json_key_is(s, "baseTimeNanoseconds"))
        r->base_ns = (int64_t)s->number.whole;
    if (whole && !within && plumb_json_key_is(s, PLUMB_CHROME_ESCAPED))
        r->escaped = s->number.whole == 1;
    r->key.len = 0;
    if (within)
        plumb_buf_printf(&r->key, "%s.", within);
    plumb_buf_append(&r->key, s->key, s->key_size);
    uint32_t key = plumb_chrome_text(r, r->key.data, r->key.len);
    if (!whole)
        v.u64 = plumb_chrome_text(r, s->text, s->size);
    plumb_table_add_fact(r->t, key, whole ? PLUMB_ARG_I64 : PLUMB_ARG_TEXT, v);
}

/* Reads the rank of the recording process and the number of ranks; lists of process groups are
 * skipped. */
static bool read_distributed(struct plumb_chrome *r)
{
    struct plumb_json_scan *s = &r->scan;
    while (plumb_json_next(s) > PLUMB_JSON_END && s->token != PLUMB_JSON_OBJECT_END)
        if (s->token != PLUMB_JSON_OBJECT && s->token != PLUMB_JSON_ARRAY)
            read_fact(r, "distributedInfo");
        else if (plumb_json_skip(s) <= PLUMB_JSON_END)
            return false;
    return s->token == PLUMB_JSON_OBJECT_END;
}

/* Samples of a profiler stand next to the events. They are counted, not read. */
static bool count_samples(struct plumb_chrome *r)
{
    struct plumb_json_scan *s = &r->scan;
    while (plumb_json_next(s) > PLUMB_JSON_END) {
        if (s->token == PLUMB_JSON_ARRAY_END)
            return true;
        r->t->faults.other++;
        if ((s->token == PLUMB_JSON_OBJECT || s->token == PLUMB_JSON_ARRAY) &&
            plumb_json_skip(s) <= PLUMB_JSON_END)
            return false;
    }
    return false;
}

static bool read_document(struct plumb_chrome *r, bool *has_events)
{
    struct plumb_json_scan *s = &r->scan;
    if (plumb_json_next(s) == PLUMB_JSON_ARRAY) {
        *has_events = r->bare = true;
        return read_events(r);
    }
    if (s->token != PLUMB_JSON_OBJECT)
        return s->token > PLUMB_JSON_END;
    while (plumb_json_next(s) > PLUMB_JSON_END) {
        if (s->token == PLUMB_JSON_OBJECT_END)
            return true;
        if (s->token == PLUMB_JSON_ARRAY && plumb_json_key_is(s, "traceEvents")) {
            *has_events = true;
            if (!read_events(r))
                return false;
        } else if (s->token == PLUMB_JSON_ARRAY && plumb_json_key_is(s, "samples")) {
            if (!count_samples(r))
                return false;
        } else if (s->token == PLUMB_JSON_OBJECT && plumb_json_key_is(s, "distributedInfo")) {
            if (!read_distributed(r))
                return false;
        } else if (s->token == PLUMB_JSON_OBJECT || s->token == PLUMB_JSON_ARRAY) {
            if (plumb_json_skip(s) <= PLUMB_JSON_END)
                return false;
        } else {
            read_fact(r, NULL);
        }
    }
    return false;
}

static const char *pass(const char *p, const char *end, const char *what)
{
    while (p < end && *p && strchr(what, *p))
        p++;
    return p;
}

/* Whether the only faults of the text are that it ends too early, or has a comma too many after its
 * last event. *left: bytes after that event other than blanks, commas and closing brackets. */
static bool is_cut(const struct plumb_chrome *r, const char *end, uint64_t *left)
{
    if (r->events == 0 || !r->whole)
        return false;
    const char *p = pass(r->whole, end, " \t\r\n,");
    if (pass(p, end, " \t\r\n]}") == end)
        p = end;
    *left = (uint64_t)(end - p);
    return p == end || *p == ']' || end - plumb_json_here(&r->scan) < WORD_BYTES;
}

static int finish(struct plumb_chrome *r, bool sound, bool has_events, const char *text,
                  size_t size, const char *name, plumb_error *err)
{
    uint64_t left = 0;
    if (r->failed || r->key.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
    if (!sound && !is_cut(r, text + size, &left))
        return plumb_json_scan_fail(&r->scan, name, err);
    if (!has_events)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is not a trace: it has no \"traceEvents\"",
                          name);
    if (r->events == 0 && r->strange + (r->bare ? r->empty : 0) > 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a trace: it is a list of %" PRIu64
                          " values, and none of them is an event",
                          name, r->strange + r->empty);
    struct plumb_table_faults *faults = &r->t->faults;
    faults->cut_bytes = left;
    faults->odds = r->scan.odds;
    faults->odd = plumb_json_scan_odd(&r->scan, &faults->odd_line, &faults->odd_column);
    int rc = plumb_table_finish(r->t, err);
    if (rc == PLUMB_OK && r->base_ns)
        r->t->unix_ns = (uint64_t)r->base_ns + r->t->zero_ns;
    return rc;
}

int plumb_chrome_parse(struct plumb_table *out, const char *text, size_t size, const char *name,
                       plumb_error *err)
{
    struct plumb_table t;
    struct plumb_chrome r = {.t = &t};
    bool has_events = false;
    int rc = plumb_table_init(&t, err);
    plumb_buf_str(&r.key, "");
    plumb_json_scan_init(&r.scan, PLUMB_JSON_NAN | PLUMB_JSON_LENIENT);
    if (rc == PLUMB_OK) {
        plumb_json_scan_text(&r.scan, text, size);
        bool sound = read_document(&r, &has_events);
        rc = finish(&r, sound, has_events, text, size, name, err);
    }
    plumb_json_scan_fini(&r.scan);
    plumb_buf_fini(&r.key);
    free(r.args);
    if (rc == PLUMB_OK)
        *out = t;
    else
        plumb_table_fini(&t);
    return rc;
}

/* Reads the whole text and appends zeros. */
static int read_text_of(struct plumb_buf *text, const char *path, plumb_error *err)
{
    enum { PIECE = 256 * 1024 };
    static const char padding[PLUMB_JSON_PADDING];
    struct plumb_unpack_sum sum = {0, 0};
    struct plumb_unpack *u = NULL;
    char *piece = malloc(PIECE);
    size_t got = piece ? 1 : 0;
    int rc = plumb_unpack_open(&u, path, &sum, err);
    while (rc == PLUMB_OK && got > 0 && !text->failed) {
        rc = plumb_unpack_read(u, piece, PIECE, &got, err);
        plumb_buf_append(text, piece, got);
    }
    plumb_buf_append(text, padding, sizeof padding);
    if (rc == PLUMB_OK && (!piece || text->failed))
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", path);
    plumb_unpack_close(u);
    free(piece);
    return rc;
}

int plumb_chrome_read(struct plumb_table *out, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = read_text_of(&text, path, err);
    if (rc == PLUMB_OK)
        rc = plumb_chrome_parse(out, text.data, text.len - PLUMB_JSON_PADDING, path, err);
    plumb_buf_fini(&text);
    return rc;
}

static bool has(const char *text, size_t size, const char *what)
{
    return memmem(text, size, what, strlen(what)) != NULL;
}

bool plumb_chrome_looks(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size && strchr(" \t\r\n", text[i]) && text[i])
        i++;
    if (i == size)
        return false;
    return text[i] == '{' ? has(text, size, "\"traceEvents\"")
                          : text[i] == '[' && has(text, size, "\"ph\"");
}
