/* value.h: values that a program hands to plumb: tensors, numbers, texts, and lists and mappings of
 * them. signature.h and activation.h take them. Part of plumb.h.
 *
 * Tensors are DLTensors of DLPack, of any version of its header. plumb does not need that header;
 * if it is included before this one, the compiler checks the type. A DLManagedTensor begins with a
 * DLTensor, a DLManagedTensorVersioned contains one.
 *
 * A value borrows what it points to, until the call that takes the value returns. Making one
 * costs a few instructions and cannot fail. Any thread, signal handlers included. */
#ifndef PLUMB_VALUE_H
#define PLUMB_VALUE_H

#include <plumb/detail/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(DLPACK_DLPACK_H_)
typedef DLTensor plumb_tensor;
#else
typedef void plumb_tensor;
#endif

/* What `as` of a value holds. */
enum plumb_value_kind {
    PLUMB_VALUE_NULL = 0,
    PLUMB_VALUE_BOOL = 1,
    PLUMB_VALUE_I64 = 2,
    PLUMB_VALUE_F64 = 3,
    PLUMB_VALUE_STR = 4,
    PLUMB_VALUE_TENSOR = 5,
    PLUMB_VALUE_LIST = 6,
    PLUMB_VALUE_FIELDS = 7
};
struct plumb_field;
struct plumb_value {
    uint32_t kind;  /* enum plumb_value_kind */
    uint32_t count; /* elements of a list, or fields */
    union {
        int64_t i64; /* BOOL too */
        double f64;
        const char *str;
        const void *tensor;               /* a DLTensor */
        const struct plumb_value *list;   /* [count] */
        const struct plumb_field *fields; /* [count] */
    } as;
};
typedef struct plumb_field { /* a field of a mapping or of a struct */
    const char *name;
    plumb_value value;
} plumb_field;

/* Returns a null. */
static inline plumb_value plumb_value_null(void)
{
    plumb_value v;
    v.kind = PLUMB_VALUE_NULL;
    v.count = 0;
    v.as.i64 = 0;
    return v;
}
/* Returns true unless `boolean` is 0. */
static inline plumb_value plumb_value_bool(int boolean)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_BOOL;
    v.as.i64 = boolean != 0;
    return v;
}
/* Returns an integer. */
static inline plumb_value plumb_value_i64(int64_t number)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_I64;
    v.as.i64 = number;
    return v;
}
/* Returns a floating-point number. */
static inline plumb_value plumb_value_f64(double number)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_F64;
    v.as.f64 = number;
    return v;
}
/* Returns a string value, NUL-terminated UTF-8; for an object that has no text form, pass the name
 * of its type. NULL becomes null. */
static inline plumb_value plumb_value_str(const char *text)
{
    plumb_value v = plumb_value_null();
    v.kind = text ? PLUMB_VALUE_STR : PLUMB_VALUE_NULL;
    v.as.str = text;
    return v;
}
/* Returns a tensor value. NULL becomes null. */
static inline plumb_value plumb_value_tensor(const plumb_tensor *tensor)
{
    plumb_value v = plumb_value_null();
    v.kind = tensor ? PLUMB_VALUE_TENSOR : PLUMB_VALUE_NULL;
    v.as.tensor = tensor;
    return v;
}
/* Returns a list of values of any kind, including lists, at most 16 levels deep. `values` [count]
 * is borrowed until the call that takes the list returns; NULL: an empty list. */
static inline plumb_value plumb_value_list(const plumb_value *values, size_t count)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_LIST;
    v.count = !values ? 0 : count > 0xffffffffu ? 0xffffffffu : (uint32_t)count;
    v.as.list = values;
    return v;
}

/* Returns a value with the fields of a mapping or a struct. `fields` [count] and their names are
 * borrowed until the call that takes the value returns; NULL: no field. */
static inline plumb_value plumb_value_fields(const plumb_field *fields, size_t count)
{
    plumb_value v = plumb_value_null();
    v.kind = PLUMB_VALUE_FIELDS;
    v.count = !fields ? 0 : count > 0xffffffffu ? 0xffffffffu : (uint32_t)count;
    v.as.fields = fields;
    return v;
}

#ifdef __cplusplus
}
#endif
#endif
