/* Owns the safetensors format: 8 bytes of the header's length, the header as JSON, padded with
 * blanks to 8 bytes, the values of one tensor after the other.
 *
 * Names are the program's own and plain ASCII, so nothing needs escaping; the prompt, which may be
 * any bytes, goes in as a tensor of bytes. */
#include "weights_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct entry {
    const char *name, *dtype;
    int ndims;
    int64_t dims[DNNL_MAX_NDIMS];
    const void *data;
    size_t bytes;
};

static struct entry entry_of(const char *name, const struct tensor *t)
{
    static const char *const types[] = {
        [ELEMENT_F32] = "F32", [ELEMENT_BF16] = "BF16", [ELEMENT_F16] = "F16"};
    struct entry e = {.name = name,
                      .dtype = types[t->type],
                      .ndims = t->ndims,
                      .data = t->data,
                      .bytes = (size_t)tensor_count(t) * element_bytes(t->type)};

    memcpy(e.dims, t->dims, (size_t)t->ndims * sizeof(e.dims[0]));
    return e;
}

/* All that goes into the file, in order; NULL: out of memory. */
static struct entry *list_entries(const struct nn *nn, const struct tensor *latents,
                                  const char *prompt, size_t *count)
{
    struct entry *e = malloc((nn->parameter_count + 2) * sizeof(*e));
    size_t n = 0;

    if (!e)
        return NULL;
    for (; n < nn->parameter_count; n++)
        e[n] = entry_of(nn->parameters[n].name, &nn->parameters[n].tensor);
    e[n++] = entry_of("input.latents", latents);
    e[n++] = (struct entry){.name = "input.prompt",
                            .dtype = "U8",
                            .ndims = 1,
                            .dims = {(int64_t)strlen(prompt)},
                            .data = prompt,
                            .bytes = strlen(prompt)};
    *count = n;
    return e;
}

/* Writes the part of the header with the place of every tensor. */
static void print_header(FILE *out, const struct entry *e, size_t count,
                         const struct weights_fact *facts, int fact_count)
{
    size_t at = 0;

    fputs("{\"__metadata__\":{", out);
    for (int i = 0; i < fact_count; i++)
        fprintf(out, "%s\"%s\":\"%.17g\"", i ? "," : "", facts[i].name, facts[i].value);
    fputs("}", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", e[i].name, e[i].dtype);
        for (int j = 0; j < e[i].ndims; j++)
            fprintf(out, "%s%" PRId64, j ? "," : "", e[i].dims[j]);
        fprintf(out, "],\"data_offsets\":[%zu,%zu]}", at, at + e[i].bytes);
        at += e[i].bytes;
    }
    fputs("}", out);
}

static char *make_header(const struct entry *e, size_t count, const struct weights_fact *facts,
                         int fact_count, size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);

    if (!out)
        return NULL;
    print_header(out, e, count, facts, fact_count);
    while (fflush(out) == 0 && *bytes % 8)
        fputc(' ', out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static int write_all(FILE *file, const char *header, size_t header_bytes, const struct entry *e,
                     size_t count)
{
    unsigned char length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)header_bytes >> 8 * i);
    fwrite(length, sizeof(length), 1, file);
    fwrite(header, 1, header_bytes, file);
    for (size_t i = 0; i < count; i++)
        fwrite(e[i].data, 1, e[i].bytes, file);
    return ferror(file) || fflush(file) ? -1 : 0;
}

/* Writes under another name first, so that no reader finds half a file. */
static void put_in_place(struct nn *nn, const char *path, const char *header, size_t header_bytes,
                         const struct entry *e, size_t count)
{
    char part[4096];
    struct stat there;
    FILE *file;
    int status;

    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        nn_fail(nn, "%s: is there and not a regular file", path);
        return;
    }
    if (snprintf(part, sizeof(part), "%s.part", path) >= (int)sizeof(part)) {
        nn_fail(nn, "%.100s...: the name is too long", path);
        return;
    }
    file = fopen(part, "wb");
    status = file ? write_all(file, header, header_bytes, e, count) : -1;
    if (file && fclose(file) != 0)
        status = -1;
    if (status < 0 || rename(part, path) != 0) {
        nn_fail(nn, "%s: cannot write the weights: %s", path, strerror(errno));
        if (file)
            remove(part);
    }
}

void weights_file_write(struct nn *nn, const char *path, const struct tensor *latents,
                        const char *prompt, const struct weights_fact *facts, int fact_count)
{
    size_t count = 0;
    size_t header_bytes = 0;
    struct entry *e = NULL;
    char *header = NULL;

    if (nn_failed(nn))
        return;
    e = list_entries(nn, latents, prompt, &count);
    if (e)
        header = make_header(e, count, facts, fact_count, &header_bytes);
    if (header)
        put_in_place(nn, path, header, header_bytes, e, count);
    else
        nn_fail(nn, "%s: out of memory for the header", path);
    free(header);
    free(e);
}
