/* value_hash.c: a value is checked as a whole before a byte of it is read: this also runs on
 * threads of programs that describe their tensors wrongly. */
#include "tensor/value_hash.h"

#include <stdio.h>
#include <string.h>

#include "tensor/dl_tensor.h"
#include "tensor/view.h"

#include "tensor/value_hash_body.h"

enum { DEPTH = 32 };

static bool tensor_is_sound(const void *tensor)
{
    struct plumb_view view;
    return plumb_view_init(&view, tensor, NULL) >= 0 && plumb_view_readable(&view, NULL) >= 0;
}

static bool is_sound(const plumb_value *v, int depth)
{
    bool parts = v->kind == PLUMB_VALUE_LIST || v->kind == PLUMB_VALUE_FIELDS;
    if (parts && v->count && !v->as.list)
        return false;
    switch (v->kind) {
    case PLUMB_VALUE_NULL:
    case PLUMB_VALUE_BOOL:
    case PLUMB_VALUE_I64:
    case PLUMB_VALUE_F64:
        return true;
    case PLUMB_VALUE_STR:
        return v->as.str != NULL;
    case PLUMB_VALUE_TENSOR:
        return tensor_is_sound(v->as.tensor);
    case PLUMB_VALUE_LIST:
        for (uint32_t i = 0; i < v->count && depth < DEPTH; i++)
            if (!is_sound(&v->as.list[i], depth + 1))
                return false;
        return depth < DEPTH;
    case PLUMB_VALUE_FIELDS:
        for (uint32_t i = 0; i < v->count && depth < DEPTH; i++)
            if (!v->as.fields[i].name || !is_sound(&v->as.fields[i].value, depth + 1))
                return false;
        return depth < DEPTH;
    default:
        return false;
    }
}

bool plumb_value_hash(uint64_t *out, const plumb_value *value)
{
    uint64_t unread = 0, hash;
    if (!is_sound(value, 0))
        return false;
    hash = hash_value(0, value, &unread);
    if (unread == 0)
        *out = hash;
    return unread == 0;
}

/* ---- Sets ------------------------------------------------------------------------------------ */

const struct plumb_named_hash *plumb_value_hashes_find(const struct plumb_value_hashes *set,
                                                       const char *name)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (strncmp(set->at[i].name, name, sizeof set->at[i].name - 1) == 0)
            return &set->at[i];
    return NULL;
}

void plumb_value_hashes_put(struct plumb_value_hashes *set, const char *name,
                            const plumb_value *value)
{
    const struct plumb_named_hash *found = plumb_value_hashes_find(set, name ? name : "");
    struct plumb_named_hash *at = &set->at[found ? found - set->at : set->count];
    if (!found && set->count == PLUMB_VALUE_HASHES) {
        set->lost++;
        return;
    }
    if (!found) {
        snprintf(at->name, sizeof at->name, "%s", name ? name : "");
        set->count++;
    }
    at->hash = 0;
    at->known = plumb_value_hash(&at->hash, value);
}
