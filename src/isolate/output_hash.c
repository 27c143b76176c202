#include "isolate/output_hash.h"

#include <string.h>

#include "base/error.h"
#include "tensor/dl_tensor.h"
#include "tensor/view.h"

#include "tensor/value_hash_body.h"

enum { DEPTH = 32 }; /* as plumb_value_hash() */

void plumb_output_hash_init(struct plumb_output_hash *hash)
{
    *hash = (struct plumb_output_hash){0};
}

static int refuse(const char *name, const char *why, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_ARG, "output '%.100s': %s", name, why);
}

/* A stage may give out anything, a list that is in itself too; the code that it shares with
 * generated programs trusts it. */
static int check(const plumb_value *v, const char *name, int depth, plumb_error *err)
{
    bool fields = v->kind == PLUMB_VALUE_FIELDS;
    plumb_error why = {0, ""};
    struct plumb_view view;
    int rc = PLUMB_OK;
    if (v->kind == PLUMB_VALUE_STR && !v->as.str)
        return refuse(name, "the text is NULL", err);
    if (v->kind == PLUMB_VALUE_TENSOR && plumb_view_init(&view, v->as.tensor, &why) < 0)
        return refuse(name, why.message, err);
    if (v->kind != PLUMB_VALUE_LIST && !fields)
        return PLUMB_OK;
    if (depth == DEPTH)
        return refuse(name, "more than 32 lists and mappings within each other", err);
    if (v->count && !v->as.list)
        return refuse(name, "the list is NULL", err);
    for (uint32_t i = 0; i < v->count && rc == PLUMB_OK; i++) {
        if (fields && !v->as.fields[i].name)
            return refuse(name, "the name of a field is NULL", err);
        rc = check(fields ? &v->as.fields[i].value : &v->as.list[i], name, depth + 1, err);
    }
    return rc;
}

int plumb_output_hash_add(struct plumb_output_hash *hash, const char *name,
                          const plumb_value *value, plumb_error *err)
{
    int rc;
    if (!name || !value)
        return refuse(name ? name : "", name ? "the value is NULL" : "its name is NULL", err);
    rc = check(value, name, 0, err);
    if (rc < 0)
        return rc;
    hash->value = hash_value(hash_text(hash->value, name), value, &hash->unread);
    hash->outputs++;
    return PLUMB_OK;
}

uint64_t plumb_output_hash_end(const struct plumb_output_hash *hash)
{
    return hash->outputs ? hash_word(hash->value, hash->outputs) : 0;
}
