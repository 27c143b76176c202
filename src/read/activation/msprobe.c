/* msprobe.c: reads dump.json of msprobe. Its entries are named by kind, place, class, direction and
 * call ("Module.layer1.0.conv1.Conv2d.forward.0", "Functional.conv2d.3.backward"), hold tensors in
 * nested lists and objects, and stand in order of execution.
 *
 * Of a module the dotted path is kept ("layer1.0.conv1"), as PyTorch and every other recorder call
 * it; of a function, kind and name ("Functional.conv2d"). The direction becomes the phase. The
 * inputs and outputs of a backward call become "grad_in" and "grad_out". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/activation/parts.h"
#include "read/json/scan.h"

enum { LABEL_BYTES = 256, DEEPEST = 32, MAX_DIMS = 64 };

/* The facts of construct.json and stack.json about an entry, indexed by the number of its name in
 * `names`. */
struct about {
    uint32_t parent; /* text of the table */
    uint32_t file, line;
};

/* A name of an open object, and which object it was seen in before. */
struct mark {
    uint32_t name, before;
};

/* An object that is being read. */
struct object {
    uint32_t number;
    size_t mark_count; /* when it began */
};

struct dump {
    struct plumb_activations *t;
    const struct plumb_activation_source *from;
    struct plumb_json_scan *scan;
    const char *name; /* of the file that is read */
    plumb_error *err;
    int rc;
    struct plumb_activations names; /* for its texts alone */
    struct about *about;            /* [about_count] */
    size_t about_count;
    uint32_t *seen_in; /* [seen_count]: by name, the number of the innermost open object with it */
    size_t seen_count;
    struct mark *marks; /* [mark_count]: of all open objects */
    size_t mark_count, mark_cap;
    uint32_t objects;
    struct plumb_activation entry; /* what all records of an entry have in common */
    char label[LABEL_BYTES];
};

static int fault(struct dump *in, const char *what)
{
    uint64_t line;
    uint64_t column;
    if (in->rc < 0)
        return in->rc;
    if (in->scan->token == PLUMB_JSON_ERROR)
        return in->rc = plumb_json_scan_fail(in->scan, in->name, in->err);
    plumb_json_scan_place(in->scan, &line, &column);
    return in->rc = plumb_fail(in->err, PLUMB_ERR_FORMAT, "'%s' line %llu: %s", in->name,
                               (unsigned long long)line, what);
}

/* ---- Members --------------------------------------------------------------------------------- */

static void *room(struct dump *in, void *at, size_t *cap, size_t want, size_t size)
{
    if (want <= *cap)
        return at;
    size_t count = want * 2 + 64;
    char *moved = realloc(at, count * size);
    if (!moved) {
        in->t->failed = true;
        return NULL;
    }
    memset(moved + *cap * size, 0, (count - *cap) * size);
    *cap = count;
    return moved;
}

static struct object object_begin(struct dump *in)
{
    return (struct object){++in->objects, in->mark_count};
}

static void object_end(struct dump *in, struct object object)
{
    while (in->mark_count > object.mark_count) {
        const struct mark *mark = &in->marks[--in->mark_count];
        in->seen_in[mark->name] = mark->before;
    }
}

/* Refuses two members of one name: records could not tell them apart, and readers differ in which
 * of the two they take. */
static void check_name(struct dump *in, struct object object)
{
    const struct plumb_json_scan *s = in->scan;
    char why[96];
    uint32_t name = plumb_activations_text_id(&in->names, s->key, s->key_size);
    uint32_t *seen_in = room(in, in->seen_in, &in->seen_count, (size_t)name + 1, sizeof *seen_in);
    struct mark *marks = room(in, in->marks, &in->mark_cap, in->mark_count + 1, sizeof *marks);
    in->seen_in = seen_in ? seen_in : in->seen_in;
    in->marks = marks ? marks : in->marks;
    if (in->t->failed || in->names.failed)
        return;
    if (in->names.texts[name].size != s->key_size) {
        fault(in, "a name holds a NUL character");
    } else if (seen_in[name] == object.number) {
        snprintf(why, sizeof why, "'%.64s' comes twice in one object", in->names.texts[name].text);
        fault(in, why);
    } else {
        marks[in->mark_count++] = (struct mark){name, seen_in[name]};
        seen_in[name] = object.number;
    }
}

/* Goes on to the next member of the object; false: there is none, or it is a fault. */
static bool next_member(struct dump *in, struct object object)
{
    if (in->rc < 0 || plumb_json_next(in->scan) <= PLUMB_JSON_END || !in->scan->key)
        return false;
    check_name(in, object);
    return in->rc == PLUMB_OK;
}

/* ---- Names ----------------------------------------------------------------------------------- */

struct entry_name {
    const char *module;
    size_t module_size;
    const char *direction;
    size_t direction_size;
    uint32_t call;
};

static size_t last_part(const char *name, size_t size)
{
    const char *dot = memrchr(name, '.', size);
    return dot ? (size_t)(dot + 1 - name) : 0;
}

static bool is_number(const char *text, size_t size, uint32_t *value)
{
    uint64_t v = 0;
    if (size == 0 || size > 9)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        v = v * 10 + (unsigned)(text[i] - '0');
    }
    *value = (uint32_t)v;
    return true;
}

static bool starts_with(const char *text, size_t size, const char *start)
{
    size_t n = strlen(start);
    return size >= n && memcmp(text, start, n) == 0;
}

/* "Module.PATH.CLASS.DIRECTION.CALL" and "KIND.NAME.CALL.DIRECTION"; anything else is a module by
 * that name. */
static struct entry_name take_apart(const char *name, size_t size)
{
    struct entry_name out = {name, size, "", 0, 0};
    size_t last = last_part(name, size);
    size_t before = last ? last_part(name, last - 1) : 0;
    if (before == 0)
        return out;
    if (is_number(name + last, size - last, &out.call)) {
        out.direction = name + before;
        out.direction_size = last - 1 - before;
        out.module_size = before - 1;
        size_t prefix = starts_with(name, size, "Module.") ? 7
                        : starts_with(name, size, "Cell.") ? 5
                                                           : 0;
        size_t class = last_part(name, out.module_size);
        if (prefix && class > prefix) {
            out.module = name + prefix;
            out.module_size = class - 1 - prefix;
        }
    } else if (is_number(name + before, last - 1 - before, &out.call)) {
        out.direction = name + last;
        out.direction_size = size - last;
        out.module_size = before - 1;
    }
    return out;
}

static uint32_t module_id(struct dump *in, const char *name, size_t size)
{
    struct entry_name parts = take_apart(name, size);
    return plumb_activations_text_id(in->t, parts.module, parts.module_size);
}

static struct about *about_name(struct dump *in, const char *name, size_t size)
{
    uint32_t id = plumb_activations_text_id(&in->names, name, size);
    struct about *about = room(in, in->about, &in->about_count, (size_t)id + 1, sizeof *in->about);
    if (!about)
        return NULL;
    in->about = about;
    return &about[id];
}

/* ---- construct.json and stack.json ----------------------------------------------------------- */

static void begin(struct dump *in, const struct plumb_activation_text_of *text)
{
    in->name = text->name;
    plumb_json_scan_init(in->scan, PLUMB_JSON_NAN);
    plumb_json_scan_text(in->scan, text->text, text->size);
    if (plumb_json_next(in->scan) != PLUMB_JSON_OBJECT)
        fault(in, "the file is not an object");
}

static void end(struct dump *in)
{
    if (in->rc == PLUMB_OK && in->scan->token == PLUMB_JSON_OBJECT_END)
        plumb_json_next(in->scan);
    if (in->rc == PLUMB_OK && in->scan->token == PLUMB_JSON_ERROR)
        fault(in, "");
    plumb_json_scan_fini(in->scan);
}

/* Name to name of the caller, or to a list that begins with it. */
static void read_construct(struct dump *in, const struct plumb_activation_text_of *text)
{
    struct plumb_json_scan *s = in->scan;
    struct object all = object_begin(in);
    begin(in, text);
    while (next_member(in, all)) {
        struct about *about = about_name(in, s->key, s->key_size);
        bool list = s->token == PLUMB_JSON_ARRAY;
        if (list)
            plumb_json_next(s);
        if (about && s->token == PLUMB_JSON_STRING)
            about->parent = module_id(in, s->text, s->size);
        while (list && s->token > PLUMB_JSON_END && s->depth > 1) {
            plumb_json_skip(s);
            plumb_json_next(s);
        }
        plumb_json_skip(s);
    }
    object_end(in, all);
    end(in);
}

static bool is_in(const char *text, size_t size, const char *part)
{
    return memmem(text, size, part, strlen(part)) != NULL;
}

/* "File /x/y.py, line 95, in f, ...": the innermost frame of the user's model counts, not those of
 * the recorder and of PyTorch, which are the same for all. */
static bool read_frame(struct dump *in, struct about *frame)
{
    const struct plumb_json_scan *s = in->scan;
    const char *comma = memmem(s->text, s->size, ", line ", 7);
    if (!comma || !starts_with(s->text, s->size, "File "))
        return false;
    const char *file = s->text + 5;
    size_t file_size = (size_t)(comma - file);
    const char *line = comma + 7;
    size_t digits = 0;
    while (line + digits < s->text + s->size && line[digits] >= '0' && line[digits] <= '9')
        digits++;
    if (is_in(file, file_size, "/msprobe/") || is_in(file, file_size, "/torch/") ||
        !is_number(line, digits, &frame->line))
        return false;
    frame->file = plumb_activations_text_id(in->t, file, file_size);
    return true;
}

/* Number to two lists: names, and the frames that they share. */
static void read_stack_entry(struct dump *in, uint32_t *ids, size_t most)
{
    struct plumb_json_scan *s = in->scan;
    struct about frame = {0, 0, 0};
    size_t count = 0;
    bool names = true;
    while (plumb_json_next(s) > PLUMB_JSON_END && s->depth > 1) {
        if (s->token == PLUMB_JSON_ARRAY_END)
            names = false;
        if (s->token != PLUMB_JSON_STRING)
            continue;
        if (names && count < most)
            ids[count++] = plumb_activations_text_id(&in->names, s->text, s->size);
        else if (!names && !frame.file)
            read_frame(in, &frame);
    }
    for (size_t i = 0; i < count; i++) {
        const struct plumb_activation_text *name = &in->names.texts[ids[i]];
        struct about *about = frame.file ? about_name(in, name->text, name->size) : NULL;
        if (about) {
            about->file = frame.file;
            about->line = frame.line;
        }
    }
}

static void read_stack(struct dump *in, const struct plumb_activation_text_of *text)
{
    enum { SHARING = 1024 };
    uint32_t ids[SHARING];
    struct object all = object_begin(in);
    begin(in, text);
    while (next_member(in, all)) {
        if (in->scan->token == PLUMB_JSON_ARRAY)
            read_stack_entry(in, ids, SHARING);
        else
            plumb_json_skip(in->scan);
    }
    object_end(in, all);
    end(in);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static size_t label_add(struct dump *in, const char *text, size_t size)
{
    size_t before = strlen(in->label);
    if (before + size >= sizeof in->label)
        fault(in, "the place of a tensor in its arguments takes more than 255 bytes");
    else
        memcpy(in->label + before, text, size + 1);
    return before;
}

static size_t label_key(struct dump *in)
{
    char text[LABEL_BYTES] = ".";
    size_t size = in->scan->key_size;
    if (size >= sizeof text - 1)
        size = sizeof text - 2;
    memcpy(text + 1, in->scan->key, size);
    text[size + 1] = '\0';
    return label_add(in, text, size + 1);
}

static size_t label_index(struct dump *in, size_t index)
{
    char text[32];
    int n = 0;
    size_t rest = index;
    do
        n++;
    while (rest /= 10);
    text[0] = '[';
    for (int i = n; i > 0; i--, index /= 10)
        text[i] = (char)('0' + index % 10);
    text[n + 1] = ']';
    text[n + 2] = '\0';
    return label_add(in, text, (size_t)n + 2);
}

static void read_shape(struct dump *in, struct plumb_activation *r)
{
    struct plumb_json_scan *s = in->scan;
    int64_t sizes[MAX_DIMS];
    size_t n = 0;
    while (plumb_json_next(s) == PLUMB_JSON_NUMBER && n < MAX_DIMS &&
           s->number.kind == PLUMB_JSON_NUMBER_INT && (int64_t)s->number.whole >= 0)
        sizes[n++] = (int64_t)s->number.whole;
    if (s->token != PLUMB_JSON_ARRAY_END) {
        fault(in, "'shape' is not a list of at most 64 sizes");
        return;
    }
    r->shape = plumb_activations_shape_id(in->t, sizes, n);
    r->has |= 1u << PLUMB_ACT_SHAPE;
}

static void read_md5(const struct plumb_json_scan *s, struct plumb_activation *r)
{
    uint64_t value = 0;
    if (s->size == 0 || s->size > 16)
        return;
    for (size_t i = 0; i < s->size; i++) {
        char c = (char)(s->text[i] | 0x20);
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return;
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    plumb_activation_set_whole(r, PLUMB_ACT_HASH, value);
}

static void read_value(struct dump *in, int deep);

/* A member of an object that may turn out to be a tensor. */
static void read_member(struct dump *in, struct plumb_activation *r, int deep)
{
    struct plumb_json_scan *s = in->scan;
    int field = plumb_activation_field_of(s->key, s->key_size);
    if (field == PLUMB_ACT_SHAPE && s->token == PLUMB_JSON_ARRAY) {
        read_shape(in, r);
    } else if (s->token == PLUMB_JSON_NUMBER && field >= 0 && field < PLUMB_ACT_REALS) {
        plumb_activation_set(r, (enum plumb_activation_field)field, s->number.real);
    } else if (plumb_json_key_is(s, "dtype") && s->token == PLUMB_JSON_STRING) {
        r->dtype = plumb_activation_dtype(in->t, s->text, s->size);
    } else if (plumb_json_key_is(s, "md5") && s->token == PLUMB_JSON_STRING) {
        read_md5(s, r);
    } else if (s->token == PLUMB_JSON_OBJECT || s->token == PLUMB_JSON_ARRAY) {
        size_t before = label_key(in);
        read_value(in, deep + 1);
        in->label[before] = '\0';
    }
}

/* Reads the list or object that begins here; a tensor is an object with a type and a shape. */
static void read_value(struct dump *in, int deep)
{
    struct plumb_json_scan *s = in->scan;
    struct plumb_activation r = in->entry;
    bool list = s->token == PLUMB_JSON_ARRAY;
    size_t outside = strlen(in->label);
    size_t first = in->t->count;
    size_t index = 0;
    struct object object = object_begin(in);
    if (deep == DEEPEST)
        fault(in, "arguments are nested too deeply");
    while (!list && next_member(in, object))
        read_member(in, &r, deep);
    object_end(in, object);
    while (list && in->rc == PLUMB_OK && plumb_json_next(s) > PLUMB_JSON_END &&
           s->token != PLUMB_JSON_ARRAY_END) {
        if (s->token == PLUMB_JSON_OBJECT || s->token == PLUMB_JSON_ARRAY) {
            label_index(in, index++);
            read_value(in, deep + 1);
            in->label[outside] = '\0';
        } else {
            index++;
        }
    }
    if (s->token == PLUMB_JSON_ERROR)
        fault(in, "");
    if (in->rc < 0)
        return;
    if (!list && r.dtype && r.has >> PLUMB_ACT_SHAPE & 1) {
        r.tensor = plumb_activations_str_id(in->t, in->label);
        plumb_activations_add(in->t, &r);
    }
    /* The only one of its list goes by the list's own label, as other recorders have it. */
    for (size_t i = first; list && deep == 0 && index == 1 && i < in->t->count; i++) {
        const struct plumb_activation_text *old = &in->t->texts[in->t->tensor[i]];
        char label[LABEL_BYTES];
        memcpy(label, old->text, outside);
        memcpy(label + outside, old->text + outside + 3, old->size - outside - 2);
        in->t->tensor[i] = plumb_activations_str_id(in->t, label);
    }
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void read_section(struct dump *in, bool backward, bool gradients)
{
    static const struct {
        const char *key, *label, *back;
        enum plumb_activation_io io;
    } sections[] = {
        {"input_args", "in", "grad_in", PLUMB_ACT_IN},
        {"input_kwargs", "in", "grad_in", PLUMB_ACT_IN},
        {"input", "in", "grad_in", PLUMB_ACT_IN},
        {"output", "out", "grad_out", PLUMB_ACT_OUT},
        {"parameters", "param", "param", PLUMB_ACT_PARAM},
    };
    struct plumb_json_scan *s = in->scan;
    in->label[0] = '\0';
    for (size_t i = 0; !gradients && i < sizeof sections / sizeof *sections; i++) {
        if (!plumb_json_key_is(s, sections[i].key))
            continue;
        const char *label = backward ? sections[i].back : sections[i].label;
        label_add(in, label, strlen(label));
        in->entry.io = (uint8_t)sections[i].io;
        read_value(in, 0);
        return;
    }
    in->entry.io = gradients ? PLUMB_ACT_GRAD : PLUMB_ACT_PARAM;
    label_add(in, gradients ? "grad" : "param", gradients ? 4 : 5);
    label_key(in);
    read_value(in, 0);
}

static void read_entry(struct dump *in)
{
    struct plumb_json_scan *s = in->scan;
    struct entry_name parts = take_apart(s->key, s->key_size);
    struct about *about = about_name(in, s->key, s->key_size);
    bool gradients = starts_with(parts.direction, parts.direction_size, "parameters_grad");
    bool backward = gradients || starts_with(parts.direction, parts.direction_size, "backward");
    memset(&in->entry, 0, sizeof in->entry);
    in->entry.module = plumb_activations_text_id(in->t, parts.module, parts.module_size);
    in->entry.phase = plumb_activations_str_id(in->t, backward ? "backward" : "forward");
    in->entry.call = parts.call;
    in->entry.has = 1u << PLUMB_ACT_CALL | 1u << PLUMB_ACT_IO;
    plumb_activation_place(&in->entry, in->from);
    if (about) {
        in->entry.parent = about->parent;
        in->entry.file = about->file;
        in->entry.line = about->line;
    }
    if (s->token != PLUMB_JSON_OBJECT)
        return;
    struct object object = object_begin(in);
    while (next_member(in, object))
        if (s->token == PLUMB_JSON_OBJECT || s->token == PLUMB_JSON_ARRAY)
            read_section(in, backward, gradients);
    object_end(in, object);
}

static void read_data(struct dump *in)
{
    struct object all = object_begin(in);
    while (next_member(in, all))
        read_entry(in);
    object_end(in, all);
}

static void read_dump(struct dump *in, const struct plumb_activation_text_of *text)
{
    struct plumb_json_scan *s = in->scan;
    struct object all = object_begin(in);
    bool data = false;
    begin(in, text);
    while (next_member(in, all)) {
        if (plumb_json_key_is(s, "data") && s->token == PLUMB_JSON_OBJECT) {
            data = true;
            read_data(in);
        } else {
            plumb_json_skip(s);
        }
    }
    object_end(in, all);
    if (in->rc == PLUMB_OK && s->token == PLUMB_JSON_OBJECT_END && !data)
        fault(in, "'data' is missing: no dump of msprobe");
    end(in);
}

int plumb_activations_msprobe(const struct plumb_activation_source *from,
                              const struct plumb_activation_text_of *dump,
                              const struct plumb_activation_text_of *construct,
                              const struct plumb_activation_text_of *stack, plumb_error *err)
{
    struct dump in = {.t = from->table, .from = from, .err = err, .rc = PLUMB_OK};
    in.scan = malloc(sizeof *in.scan);
    plumb_activations_init(&in.names);
    plumb_activations_text_id(in.t, "", 0);
    if (!in.scan) {
        in.t->failed = true;
        return PLUMB_OK;
    }
    if (construct)
        read_construct(&in, construct);
    if (stack && in.rc == PLUMB_OK)
        read_stack(&in, stack);
    if (in.rc == PLUMB_OK)
        read_dump(&in, dump);
    in.t->failed |= in.names.failed;
    plumb_activations_fini(&in.names);
    free(in.about);
    free(in.seen_in);
    free(in.marks);
    free(in.scan);
    return in.rc;
}
