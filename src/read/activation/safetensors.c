/* safetensors.c: reads .safetensors files as records. */
#include <string.h>

#include "base/error.h"
#include "read/activation/array.h"
#include "read/activation/safetensors_header.h"

struct source {
    const struct plumb_activation_source *from;
    const struct plumb_safetensors *file;
    struct plumb_activation told; /* by `__metadata__` */
};

/* A number from 0 to 2^31 - 1, the range that every field can hold. A `seq` beyond it is ignored.
 */
static bool take_digits(const struct plumb_safetensors_note *note, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < note->text_size; i++) {
        if (note->text[i] < '0' || note->text[i] > '9' ||
            (*out = *out * 10 + (uint64_t)(note->text[i] - '0')) > INT32_MAX)
            return false;
    }
    return note->text_size > 0;
}

static void take_number(struct plumb_activation *r, const struct plumb_safetensors_note *note)
{
    static const char *const numbers[] = {"step", "call", "rank", "seq"};
    uint64_t n;
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(note->key, numbers[i]) != 0 || !take_digits(note, &n))
            continue;
        r->has |= 1u << (PLUMB_ACT_STEP + i);
        if (i == 0)
            r->step = (int64_t)n;
        else if (i == 1)
            r->call = (uint32_t)n;
        else if (i == 2)
            r->rank = (int32_t)n;
        else
            r->seq = n;
    }
}

/* Takes one member of the metadata. Other names, and values that are not numbers, belong to other
 * programs and are skipped. */
static void take_told(struct source *in, const struct plumb_safetensors_note *note)
{
    struct plumb_activations *table = in->from->table;
    struct plumb_activation *r = &in->told;
    if (strcmp(note->key, "module") == 0)
        r->module = plumb_activations_text_id(table, note->text, note->text_size);
    else if (strcmp(note->key, "tensor") == 0)
        r->tensor = plumb_activations_text_id(table, note->text, note->text_size);
    else if (strcmp(note->key, "phase") == 0)
        r->phase = plumb_activations_text_id(table, note->text, note->text_size);
    for (enum plumb_activation_io io = PLUMB_ACT_OUT; io <= PLUMB_ACT_PARAM; io++) {
        if (strcmp(note->key, "io") == 0 && strcmp(note->text, plumb_activation_io_name(io)) == 0) {
            r->io = (uint8_t)io;
            r->has |= 1u << PLUMB_ACT_IO;
        }
    }
    take_number(r, note);
}

/* Whether the one tensor of the file is that of the record in the header. */
static bool is_told(const struct source *in, const struct plumb_safetensors_entry *tensor)
{
    const struct plumb_activations *table = in->from->table;
    const char *module = plumb_activations_text(table, in->told.module);
    const char *label = plumb_activations_text(table, in->told.tensor);
    size_t n = strlen(module);
    return in->file->count == 1 && *label && strncmp(tensor->name, module, n) == 0 &&
           tensor->name[n] == '.' && strcmp(tensor->name + n + 1, label) == 0;
}

static int add_tensor(const struct source *in, const struct plumb_safetensors_entry *tensor,
                      const unsigned char *data, plumb_error *err)
{
    struct plumb_activation r = {0};
    if (is_told(in, tensor))
        r = in->told;
    else
        plumb_activation_name(in->from->table, &r, tensor->name, tensor->name_size);
    return plumb_activation_array_add(in->from, &r, &tensor->a, data + tensor->a.offset, err);
}

int plumb_activations_safetensors(const struct plumb_activation_source *from,
                                  const unsigned char *data, size_t size, plumb_error *err)
{
    struct plumb_safetensors file;
    struct source in = {.from = from, .file = &file};
    int rc = plumb_safetensors_read(&file, data, size, from->name, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < file.note_count; i++)
        take_told(&in, &file.notes[i]);
    for (size_t i = 0; i < file.count && rc == PLUMB_OK; i++)
        rc = add_tensor(&in, file.at[i], data, err);
    plumb_safetensors_fini(&file);
    return rc;
}
