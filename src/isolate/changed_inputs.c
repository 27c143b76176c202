#include "isolate/changed_inputs.h"

#include <stdlib.h>

#include "tensor/value_hash.h"

/* 0: it cannot be read, and cannot be changed either. */
static uint64_t hash_of(const plumb_field *input)
{
    uint64_t hash;
    return plumb_value_hash(&hash, &input->value) ? hash : 0;
}

uint64_t *plumb_inputs_hash(const plumb_field *inputs, size_t count)
{
    uint64_t *out = calloc(count + 1, sizeof *out);
    for (size_t i = 0; out && i < count; i++)
        out[i] = hash_of(&inputs[i]);
    return out;
}

void plumb_inputs_remark_changed(struct plumb_buf *remarks, const uint64_t *before,
                                 const plumb_field *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (hash_of(&inputs[i]) == before[i])
            continue;
        plumb_buf_printf(remarks,
                         "warning: the stage changes its input '%.200s', so no two runs had the "
                         "same inputs: it should change a copy (plumb/stage_library.h)\n",
                         inputs[i].name);
        return;
    }
}
