/* fields.c: takes the fields of JSON files and checks them. Owns the messages about wrong fields.
 */
#include "read/json/fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "read/file/special_file.h"

void plumb_field_fault(struct plumb_fields *f, const char *key, const char *what)
{
    if (f->failed)
        return;
    f->failed = true;
    plumb_fail(f->err, PLUMB_ERR_FORMAT, "'%s' is damaged: %s%s%s %s", f->name, f->place,
               f->place[0] && key[0] ? "." : "", key, what);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

const char *plumb_field_own(struct plumb_fields *f, const char *text)
{
    char *copy = plumb_arena_strdup(f->arena, text);
    char *to = copy;
    if (!copy)
        return NULL;
    for (const char *p = copy; *p;) {
        if (p[0] == '\\' && p[1] == 'x' && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0 &&
            hex_digit(p[2]) + hex_digit(p[3]) > 0) {
            *to++ = (char)(16 * hex_digit(p[2]) + hex_digit(p[3]));
            p += 4;
        } else {
            *to++ = *p++;
        }
    }
    *to = '\0';
    return copy;
}

const char *plumb_field_text(struct plumb_fields *f, const struct plumb_json_value *object,
                             const char *key)
{
    const struct plumb_json_value *v = plumb_json_get(object, key);
    if (plumb_json_is(v, PLUMB_JSON_IS_TEXT))
        return plumb_field_own(f, plumb_json_text(v));
    if (v && !plumb_json_is(v, PLUMB_JSON_IS_NULL))
        plumb_field_fault(f, key, "is not a string");
    return NULL;
}

const char *plumb_field_name(struct plumb_fields *f, const struct plumb_json_value *object,
                             const char *key)
{
    const char *text = plumb_field_text(f, object, key);
    if (!text && !f->arena->failed)
        plumb_field_fault(f, key, "is missing");
    return text ? text : "";
}

bool plumb_field_decimal(const char *text, plumb_u128 *out)
{
    plumb_u128 value = 0;
    const plumb_u128 max = ~(plumb_u128)0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        unsigned digit = (unsigned)(*text - '0');
        if (value > (max - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *out = value;
    return true;
}

uint64_t plumb_field_to_u64(struct plumb_fields *f, const struct plumb_json_value *v,
                            const char *key)
{
    plumb_u128 wide = 0;
    bool digits = plumb_json_is(v, PLUMB_JSON_IS_TEXT) || plumb_json_is(v, PLUMB_JSON_IS_BIG);
    if (plumb_json_is(v, PLUMB_JSON_IS_INT) && v->whole >= 0)
        return (uint64_t)v->whole;
    if (digits && plumb_field_decimal(v->text, &wide) && wide <= UINT64_MAX)
        return (uint64_t)wide;
    plumb_field_fault(f, key, v ? "is not a whole number from 0 to 2^64-1" : "is missing");
    return 0;
}

uint64_t plumb_field_u64(struct plumb_fields *f, const struct plumb_json_value *object,
                         const char *key)
{
    return plumb_field_to_u64(f, plumb_json_get(object, key), key);
}

uint32_t plumb_field_u32(struct plumb_fields *f, const struct plumb_json_value *object,
                         const char *key)
{
    uint64_t v = plumb_field_u64(f, object, key);
    if (v > UINT32_MAX)
        plumb_field_fault(f, key, "is too large");
    return (uint32_t)v;
}

int64_t plumb_field_i64(struct plumb_fields *f, const struct plumb_json_value *object,
                        const char *key)
{
    const struct plumb_json_value *v = plumb_json_get(object, key);
    if (!plumb_json_is(v, PLUMB_JSON_IS_INT))
        plumb_field_fault(f, key, v ? "is not a whole number" : "is missing");
    return plumb_json_whole(v);
}

uint32_t plumb_field_index(struct plumb_fields *f, const struct plumb_json_value *object,
                           const char *key, size_t count, const char *list)
{
    char what[80];
    uint64_t i = plumb_field_u64(f, object, key);
    if (i < count && i < UINT32_MAX)
        return (uint32_t)i;
    snprintf(what, sizeof what, "is not in '%s'", list);
    plumb_field_fault(f, key, what);
    return 0;
}

uint32_t plumb_field_index_or_none(struct plumb_fields *f, const struct plumb_json_value *object,
                                   const char *key, size_t count, const char *list)
{
    const struct plumb_json_value *v = plumb_json_get(object, key);
    return v && !plumb_json_is(v, PLUMB_JSON_IS_NULL)
               ? plumb_field_index(f, object, key, count, list)
               : UINT32_MAX;
}

double plumb_field_f64(struct plumb_fields *f, const struct plumb_json_value *object,
                       const char *key)
{
    const struct plumb_json_value *v = plumb_json_get(object, key);
    if (plumb_json_is_number(v))
        return plumb_json_as_real(v);
    if (!plumb_json_is(v, PLUMB_JSON_IS_NULL))
        plumb_field_fault(f, key, v ? "is not a number" : "is missing");
    return 0;
}

bool plumb_field_bool(struct plumb_fields *f, const struct plumb_json_value *object,
                      const char *key)
{
    const struct plumb_json_value *v = plumb_json_get(object, key);
    if (v && v->kind != PLUMB_JSON_IS_FALSE && v->kind != PLUMB_JSON_IS_TRUE)
        plumb_field_fault(f, key, "is not true or false");
    return plumb_json_is(v, PLUMB_JSON_IS_TRUE);
}

int32_t plumb_field_known(struct plumb_fields *f, const struct plumb_json_value *object,
                          const char *key)
{
    const struct plumb_json_value *v = plumb_json_get(object, key);
    if (!v || plumb_json_is(v, PLUMB_JSON_IS_NULL))
        return -1;
    uint64_t n = plumb_field_to_u64(f, v, key);
    if (n > INT32_MAX)
        plumb_field_fault(f, key, "is too large");
    return (int32_t)n;
}

const struct plumb_json_value *
plumb_field_object(struct plumb_fields *f, const struct plumb_json_value *object, const char *key)
{
    const struct plumb_json_value *v = plumb_json_get(object, key);
    if (!plumb_json_is(v, PLUMB_JSON_IS_OBJECT))
        plumb_field_fault(f, key, v ? "is not an object" : "is missing");
    return v;
}

const struct plumb_json_value *plumb_field_array(struct plumb_fields *f,
                                                 const struct plumb_json_value *object,
                                                 const char *key, size_t size, void *elements,
                                                 size_t *count)
{
    const struct plumb_json_value *v = plumb_json_get(object, key);
    void *memory;
    *count = 0;
    if (!plumb_json_is(v, PLUMB_JSON_IS_ARRAY)) {
        plumb_field_fault(f, key, v ? "is not a list" : "is missing");
        return NULL;
    }
    if (plumb_json_count(v) == 0)
        return v;
    if (!(memory = plumb_arena_alloc(f->arena, plumb_json_count(v) * size))) {
        f->failed = true;
        plumb_fail(f->err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", f->name);
        return NULL;
    }
    memcpy(elements, &memory, sizeof memory);
    *count = plumb_json_count(v);
    return v;
}

/* ---- Places ---------------------------------------------------------------------------------- */

const struct plumb_json_value *plumb_field_entry(struct plumb_fields *f,
                                                 const struct plumb_json_value *list,
                                                 const char *key, size_t i)
{
    const struct plumb_json_value *v = plumb_json_at(list, i);
    snprintf(f->place + f->base, sizeof f->place - f->base, "%s%s[%zu]", f->base ? "." : "", key,
             i);
    if (!plumb_json_is(v, PLUMB_JSON_IS_OBJECT))
        plumb_field_fault(f, "", "is not an object");
    return v;
}

void plumb_field_end(struct plumb_fields *f)
{
    f->place[f->base] = '\0';
}

struct plumb_field_place plumb_field_down(struct plumb_fields *f, const char *key)
{
    struct plumb_field_place outer = {f->base, strlen(f->place)};
    snprintf(f->place + outer.length, sizeof f->place - outer.length, "%s%s",
             outer.length && *key ? "." : "", key);
    f->base = strlen(f->place);
    return outer;
}

void plumb_field_up(struct plumb_fields *f, struct plumb_field_place outer)
{
    f->base = outer.base;
    f->place[outer.length] = '\0';
}

/* ---- Files ----------------------------------------------------------------------------------- */

int plumb_read_file(struct plumb_buf *text, const char *path, plumb_error *err)
{
    char chunk[65536];
    size_t n;
    int rc;
    FILE *file = fopen(path, "rb");
    if (!file)
        return plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                          "cannot read '%s': %s", path, strerror(errno));
    rc = plumb_file_ends(fileno(file), path, err);
    while (rc == PLUMB_OK && (n = fread(chunk, 1, sizeof chunk, file)) > 0)
        plumb_buf_append(text, chunk, n);
    if (rc == PLUMB_OK && ferror(file))
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    else if (text->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", path);
    fclose(file);
    return rc;
}
