/* peaks_file.c: measured peaks as a JSON document, and the place where it is kept. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/roofline/peaks.h"
#include "base/error.h"
#include "base/new_file.h"
#include "base/whole_file.h"
#include "codec/json_write.h"
#include "read/json/tree.h"

#define FORMAT "plumb.peaks.1"
enum { PATH_BYTES = 4096, MOST_BYTES = 1 << 16 };

static const char *const type_names[PLUMB_PEAK_TYPES] = {"f64", "f32", "bf16", "f16", "int8"};

const char *plumb_peak_type_name(enum plumb_peak_type type)
{
    return type < PLUMB_PEAK_TYPES ? type_names[type] : "unknown";
}

enum plumb_peak_type plumb_peak_type_of(const char *name, size_t n)
{
    static const struct {
        const char *name;
        enum plumb_peak_type type;
    } names[] = {
        {"f64", PLUMB_PEAK_F64},     {"float64", PLUMB_PEAK_F64}, {"f32", PLUMB_PEAK_F32},
        {"float32", PLUMB_PEAK_F32}, {"bf16", PLUMB_PEAK_BF16},   {"bfloat16", PLUMB_PEAK_BF16},
        {"f16", PLUMB_PEAK_F16},     {"float16", PLUMB_PEAK_F16}, {"int8", PLUMB_PEAK_INT8},
        {"uint8", PLUMB_PEAK_INT8},  {"i8", PLUMB_PEAK_INT8},     {"s8", PLUMB_PEAK_INT8},
        {"u8", PLUMB_PEAK_INT8}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == n && strncasecmp(names[i].name, name, n) == 0)
            return names[i].type;
    return PLUMB_PEAK_TYPES;
}

/* ---- The place ------------------------------------------------------------------------------- */

bool plumb_peaks_path(char *out, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (cache && cache[0] == '/')
        n = snprintf(out, size, "%s/plumb/peaks.json", cache);
    else if (home && home[0] == '/')
        n = snprintf(out, size, "%s/.cache/plumb/peaks.json", home);
    return n > 0 && (size_t)n < size;
}

static int make_folders(const char *path, plumb_error *err)
{
    char copy[PATH_BYTES];
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path of the peaks is too long");
    return plumb_make_above(copy, 0700, err);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_peak(struct plumb_json *j, const char *key, const struct plumb_peak p[2])
{
    plumb_json_key(j, key);
    plumb_json_array(j);
    for (int i = 0; i < PLUMB_PEAK_SPANS; i++) {
        plumb_json_object_inline(j);
        plumb_json_key(j, "per_second");
        if (p[i].rate > 0)
            plumb_json_fixed(j, p[i].rate, 0);
        else
            plumb_json_null(j);
        plumb_json_key(j, "spread");
        plumb_json_fixed(j, p[i].spread, 4);
        plumb_json_key(j, "loop");
        plumb_json_str(j, p[i].how);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

void plumb_peaks_json(struct plumb_buf *out, const struct plumb_peaks *p)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 1);
    plumb_json_object(&j);
    plumb_json_key(&j, "format");
    plumb_json_str(&j, FORMAT);
    plumb_json_key(&j, "cpu");
    plumb_json_str(&j, p->cpu);
    plumb_json_key(&j, "measured");
    plumb_json_str(&j, p->date);
    plumb_json_key(&j, "cores");
    plumb_json_i64(&j, p->cores);
    plumb_json_key(&j, "repeats");
    plumb_json_i64(&j, p->repeats);
    plumb_json_key(&j, "run_ns");
    plumb_json_i64(&j, (int64_t)p->run_ns);
    plumb_json_key(&j, "array_bytes");
    plumb_json_i64(&j, (int64_t)p->array_bytes);
    plumb_json_key(&j, "cache_bytes");
    plumb_json_i64(&j, (int64_t)p->cache_bytes);
    put_peak(&j, "bandwidth_bytes", p->bandwidth);
    plumb_json_key(&j, "operations");
    plumb_json_object(&j);
    for (int type = 0; type < PLUMB_PEAK_TYPES; type++)
        put_peak(&j, type_names[type], p->compute[type]);
    plumb_json_object_end(&j);
    plumb_json_object_end(&j);
}

int plumb_peaks_save(const struct plumb_peaks *peaks, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = make_folders(path, err), code;
    if (rc < 0)
        return rc;
    plumb_peaks_json(&text, peaks);
    plumb_buf_char(&text, '\n');
    code = text.failed ? ENOMEM : plumb_whole_file_write(path, 0, 0600, text.data, text.len);
    plumb_buf_fini(&text);
    return code ? plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", path, strerror(code))
                : PLUMB_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool take_peak(struct plumb_peak out[2], const struct plumb_json_value *spans)
{
    if (!plumb_json_is(spans, PLUMB_JSON_IS_ARRAY) || plumb_json_count(spans) != PLUMB_PEAK_SPANS)
        return false;
    for (size_t i = 0; i < PLUMB_PEAK_SPANS; i++) {
        const struct plumb_json_value *v = plumb_json_at(spans, i);
        const char *how = plumb_json_text(plumb_json_get(v, "loop"));
        out[i].rate = plumb_json_as_real(plumb_json_get(v, "per_second"));
        out[i].spread = plumb_json_as_real(plumb_json_get(v, "spread"));
        if (!how || !(out[i].rate >= 0) || out[i].rate > 1e21)
            return false;
        snprintf(out[i].how, sizeof out[i].how, "%s", how);
    }
    return true;
}

static bool take_document(struct plumb_peaks *p, const struct plumb_json_value *root)
{
    const char *format = plumb_json_text(plumb_json_get(root, "format"));
    const char *cpu = plumb_json_text(plumb_json_get(root, "cpu"));
    const char *date = plumb_json_text(plumb_json_get(root, "measured"));
    const struct plumb_json_value *operations = plumb_json_get(root, "operations");
    int64_t cores = plumb_json_whole(plumb_json_get(root, "cores"));
    if (!format || strcmp(format, FORMAT) != 0 || !cpu || !date || cores < 1 || cores > 1 << 20)
        return false;
    snprintf(p->cpu, sizeof p->cpu, "%s", cpu);
    snprintf(p->date, sizeof p->date, "%s", date);
    p->cores = (uint32_t)cores;
    p->repeats = (uint32_t)plumb_json_whole(plumb_json_get(root, "repeats"));
    p->run_ns = (uint64_t)plumb_json_whole(plumb_json_get(root, "run_ns"));
    p->array_bytes = (uint64_t)plumb_json_whole(plumb_json_get(root, "array_bytes"));
    p->cache_bytes = (uint64_t)plumb_json_whole(plumb_json_get(root, "cache_bytes"));
    for (int type = 0; type < PLUMB_PEAK_TYPES; type++)
        if (!take_peak(p->compute[type], plumb_json_get(operations, type_names[type])))
            return false;
    return take_peak(p->bandwidth, plumb_json_get(root, "bandwidth_bytes"));
}

int plumb_peaks_parse(struct plumb_peaks *out, const char *text, size_t size, const char *name,
                      plumb_error *err)
{
    struct plumb_json_tree tree = {0};
    struct plumb_peaks p = {0};
    int rc = plumb_json_tree_read(&tree, text, size, 0, name, err);
    if (rc < 0)
        return rc;
    if (take_document(&p, tree.root))
        *out = p;
    else
        rc = plumb_fail(err, PLUMB_ERR_FORMAT,
                        "'%s' does not hold peaks of this version of plumb: measure them again "
                        "with --measure",
                        name);
    plumb_json_tree_fini(&tree);
    return rc;
}

int plumb_peaks_load(struct plumb_peaks *out, const char *path, plumb_error *err)
{
    char *text = malloc(MOST_BYTES);
    int rc = PLUMB_OK, fd = -1;
    ssize_t n = -1;
    if (!text)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", path);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) >= 0)
        n = read(fd, text, MOST_BYTES);
    if (n < 0)
        rc = plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                        "cannot read '%s': %s", path, strerror(errno));
    else
        rc = plumb_peaks_parse(out, text, (size_t)n, path, err);
    if (fd >= 0)
        close(fd);
    free(text);
    return rc;
}
