/* otf2.c: an OTF2 archive, by libotf2. Empty where that was not found.
 *
 *   tracks      locations; processes, and devices, are their groups
 *   spans      Enter and Leave of a region, which is a name; arguments are attributes
 *   instants   ParameterString of the parameter "instant"; arguments are attributes
 *   counters   a location of their own with Metric events
 *   flows      are left out: OTF2 has them for messages and streams alone
 *
 * Whatever is defined is numbered from 0 without a gap, as readers of the format expect.
 *
 * Events of a location must be in the order of time: spans are unfolded with a stack, instants are
 * put between. The library wants events first, then definitions of locations, then those of the
 * archive. */
#include "report/export/export.h"

#if defined(PLUMB_OTF2)
#include <errno.h>
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "report/export/rows.h"
#include "report/export/tracks.h"
#include "summary/cells.h"
#include <plumb/version.h>

enum { STACK_MAX = 4096, EVENT_CHUNK = 1 << 20, DEFINITION_CHUNK = 4 << 20 };
enum { PARAMETER_INSTANT = 0, NODE = 0 };
#define NO_GROUP UINT32_MAX

/* Numbers in the order of their first use. */
struct numbers {
    struct plumb_map of;   /* key + 1 -> number + 1 */
    struct plumb_buf keys; /* uint64_t, by number */
};

struct otf2 {
    const struct plumb_table *t;
    const struct plumb_export_progress *progress;
    struct plumb_export_track *tracks;
    struct plumb_export_rows rows;
    OTF2_Archive *archive;
    OTF2_AttributeList *attributes;
    uint64_t *events;                                                    /* of each track */
    struct numbers regions, attributes_used, locations, groups, metrics; /* by texts, tracks */
    uint64_t done, last_ns;
    OTF2_ErrorCode code; /* the first that was not success */
    char what[128];
};

static void check(struct otf2 *o, OTF2_ErrorCode code)
{
    if (o->code == OTF2_SUCCESS)
        o->code = code;
}

static uint32_t number_of(struct otf2 *o, struct numbers *n, uint64_t key)
{
    uint64_t known = plumb_map_get(&n->of, key + 1);
    uint32_t next = (uint32_t)(n->keys.len / sizeof key);
    if (known)
        return (uint32_t)known - 1;
    plumb_buf_append(&n->keys, &key, sizeof key);
    if (plumb_map_put(&n->of, key + 1, (uint64_t)next + 1) < 0 || n->keys.failed)
        check(o, OTF2_ERROR_MEM_ALLOC_FAILED);
    return next;
}

/* False beyond the last. */
static bool key_at(const struct numbers *n, uint32_t number, uint64_t *key)
{
    if (number >= n->keys.len / sizeof *key)
        return false;
    memcpy(key, n->keys.data + number * sizeof *key, sizeof *key);
    return true;
}

static void numbers_fini(struct numbers *n)
{
    plumb_map_fini(&n->of);
    plumb_buf_fini(&n->keys);
}

/* The library's own way is to print. */
static OTF2_ErrorCode keep_error(void *arg, const char *file, uint64_t line, const char *function,
                                 OTF2_ErrorCode code, const char *format, va_list args)
{
    struct otf2 *o = arg;
    (void)file;
    (void)line;
    (void)function;
    if (o->what[0])
        return code;
    int n = vsnprintf(o->what, sizeof o->what, format, args);
    /* The library's text says what it was doing, not why that failed. */
    if (n >= 0 && (size_t)n < sizeof o->what)
        snprintf(o->what + n, sizeof o->what - (size_t)n, ": %s", OTF2_Error_GetDescription(code));
    return code;
}

static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location,
                                   void *caller, bool final)
{
    (void)user;
    (void)type;
    (void)location;
    (void)caller;
    (void) final;
    return OTF2_FLUSH;
}

/* When it was flushed would be an event of the trace: at the last one before. */
static OTF2_TimeStamp after_flush(void *user, OTF2_FileType type, OTF2_LocationRef location)
{
    const struct otf2 *o = user;
    (void)type;
    (void)location;
    return o->last_ns;
}

/* ---- Events --------------------------------------------------------------------------------- */

static OTF2_AttributeRef attribute_of(struct otf2 *o, uint32_t key, enum plumb_table_type type)
{
    return number_of(o, &o->attributes_used, (uint64_t)key << 3 | type);
}

static OTF2_RegionRef region_of(struct otf2 *o, uint32_t slice)
{
    return number_of(o, &o->regions, o->t->slices.name[slice]);
}

static OTF2_AttributeList *attributes_of(struct otf2 *o, const struct plumb_table_args *args,
                                         uint32_t from, uint32_t to)
{
    OTF2_AttributeList_RemoveAllAttributes(o->attributes);
    for (uint32_t i = from; i < to; i++) {
        enum plumb_table_type type = args->type[i];
        union plumb_table_number v = args->value[i];
        OTF2_AttributeRef ref = attribute_of(o, args->key[i], type);
        if (OTF2_AttributeList_TestAttributeByID(o->attributes, ref))
            continue;
        switch (type) {
        case PLUMB_ARG_I64:
            check(o, OTF2_AttributeList_AddInt64(o->attributes, ref, v.i64));
            break;
        case PLUMB_ARG_U64:
        case PLUMB_ARG_POINTER:
            check(o, OTF2_AttributeList_AddUint64(o->attributes, ref, v.u64));
            break;
        case PLUMB_ARG_F64:
            check(o, OTF2_AttributeList_AddDouble(o->attributes, ref, v.f64));
            break;
        case PLUMB_ARG_BOOL:
            check(o, OTF2_AttributeList_AddUint8(o->attributes, ref, v.u64 != 0));
            break;
        case PLUMB_ARG_TEXT:
        case PLUMB_ARG_JSON:
            check(o, OTF2_AttributeList_AddStringRef(o->attributes, ref, (uint32_t)v.u64));
            break;
        }
    }
    return o->attributes;
}

struct track_writer {
    struct otf2 *o;
    OTF2_EvtWriter *writer;
    uint32_t instant, instants_end;
    uint64_t last_ns; /* of the events so far */
    uint32_t stack[STACK_MAX], depth;
};

/* Time does not go back at a location. A span that was open at the end outlives those around it:
 * they end with it here. */
static uint64_t not_before(struct track_writer *w, uint64_t ns)
{
    w->last_ns = ns > w->last_ns ? ns : w->last_ns;
    w->o->last_ns = w->last_ns;
    return w->last_ns;
}

/* Instants before `ns`, or at it. */
static void put_instants(struct track_writer *w, uint64_t ns)
{
    struct otf2 *o = w->o;
    const struct plumb_table_instants *in = &o->t->instants;
    for (; w->instant < w->instants_end && in->ts_ns[w->instant] <= ns; w->instant++) {
        uint32_t i = w->instant;
        uint64_t at = not_before(w, in->ts_ns[i]);
        check(o, OTF2_EvtWriter_ParameterString(
                     w->writer, attributes_of(o, &o->t->instant_args, in->args[i], in->args[i + 1]),
                     at, PARAMETER_INSTANT, in->name[i]));
    }
}

static void leave(struct track_writer *w)
{
    uint32_t slice = w->stack[--w->depth];
    uint64_t ns = plumb_table_end_ns(w->o->t, slice);
    put_instants(w, ns);
    ns = not_before(w, ns);
    check(w->o, OTF2_EvtWriter_Leave(w->writer, NULL, ns, region_of(w->o, slice)));
}

static void put_slices(struct track_writer *w, struct plumb_table_range range)
{
    struct otf2 *o = w->o;
    const struct plumb_table_slices *s = &o->t->slices;
    for (uint32_t i = range.first; i < range.first + range.count && !o->code; i++) {
        while (w->depth > s->depth[i])
            leave(w);
        if (s->depth[i] >= STACK_MAX)
            continue;
        if (s->ts_ns[i] > 0)
            put_instants(w, s->ts_ns[i] - 1);
        uint64_t at = not_before(w, s->ts_ns[i]);
        check(o, OTF2_EvtWriter_Enter(
                     w->writer, attributes_of(o, &o->t->slice_args, s->args[i], s->args[i + 1]), at,
                     region_of(o, i)));
        w->stack[w->depth++] = i;
        plumb_export_tell(o->progress, ++o->done, o->t->slices.count);
    }
    while (w->depth > 0)
        leave(w);
    put_instants(w, UINT64_MAX);
}

static void put_counters(struct track_writer *w, uint32_t track)
{
    const struct plumb_table *t = w->o->t;
    const struct plumb_table_track *l = &t->tracks[track];
    for (uint32_t i = l->counters.first; i < l->counters.first + l->counters.count; i++) {
        OTF2_Type type = l->whole ? OTF2_TYPE_INT64 : OTF2_TYPE_DOUBLE;
        OTF2_MetricValue value;
        if (l->whole)
            value.signed_int = t->counters.value[i].i64;
        else
            value.floating_point = t->counters.value[i].f64;
        w->o->last_ns = t->counters.ts_ns[i];
        check(w->o,
              OTF2_EvtWriter_Metric(w->writer, NULL, t->counters.ts_ns[i],
                                    number_of(w->o, &w->o->metrics, track), 1, &type, &value));
    }
}

static void put_track(struct otf2 *o, uint32_t track)
{
    const struct plumb_table_track *l = &o->t->tracks[track];
    struct track_writer *w = calloc(1, sizeof *w);
    if (!w) {
        check(o, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    w->o = o;
    w->instant = l->instants.first;
    w->instants_end = l->instants.first + l->instants.count;
    w->writer = OTF2_Archive_GetEvtWriter(o->archive, number_of(o, &o->locations, track));
    if (w->writer) {
        put_slices(w, l->slices);
        put_counters(w, track);
        check(o, OTF2_EvtWriter_GetNumberOfEvents(w->writer, &o->events[track]));
        check(o, OTF2_Archive_CloseEvtWriter(o->archive, w->writer));
    } else {
        check(o, OTF2_ERROR_MEM_FAULT);
    }
    free(w);
}

/* ---- Definitions ---------------------------------------------------------------------------- */

/* Texts of the table have their own numbers; those of tracks and of the exporter follow. */
struct definitions {
    struct otf2 *o;
    OTF2_GlobalDefWriter *writer;
    OTF2_StringRef next;
    struct plumb_buf text;
};

static OTF2_StringRef define(struct definitions *d, const char *text)
{
    d->text.len = 0;
    plumb_buf_char(&d->text, ' '); /* so that there is a text */
    plumb_put_left(&d->text, text, 0);
    check(d->o, d->text.failed
                    ? OTF2_ERROR_MEM_ALLOC_FAILED
                    : OTF2_GlobalDefWriter_WriteString(d->writer, d->next, d->text.data + 1));
    return d->next++;
}

static void define_names(struct definitions *d)
{
    static const OTF2_Type types[] = {OTF2_TYPE_INT64, OTF2_TYPE_UINT64, OTF2_TYPE_DOUBLE,
                                      OTF2_TYPE_UINT8, OTF2_TYPE_UINT64, OTF2_TYPE_STRING,
                                      OTF2_TYPE_STRING};
    struct otf2 *o = d->o;
    uint32_t n = o->t->strings.count;
    uint64_t key;
    for (uint32_t i = 0; i < n; i++)
        define(d, plumb_table_text(o->t, i));
    for (uint32_t i = 0; key_at(&o->regions, i, &key); i++) {
        OTF2_StringRef name = (OTF2_StringRef)key;
        check(o, OTF2_GlobalDefWriter_WriteRegion(d->writer, i, name, name, name,
                                                  OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER,
                                                  OTF2_REGION_FLAG_NONE, 0, 0, 0));
    }
    for (uint32_t i = 0; key_at(&o->attributes_used, i, &key); i++)
        check(o, OTF2_GlobalDefWriter_WriteAttribute(d->writer, i, (OTF2_StringRef)(key >> 3), 0,
                                                     types[key & 7]));
    check(o, OTF2_GlobalDefWriter_WriteParameter(d->writer, PARAMETER_INSTANT, define(d, "instant"),
                                                 OTF2_PARAMETER_TYPE_STRING));
}

static OTF2_StringRef define_track(struct definitions *d, uint32_t track)
{
    struct plumb_buf name = {0};
    plumb_export_row_name(&name, &d->o->rows, track);
    OTF2_StringRef ref = define(d, name.data ? name.data : "");
    plumb_buf_fini(&name);
    return ref;
}

/* The track whose name the group of a track has: its process, its device; NO_GROUP: neither. */
static uint32_t group_track(const struct otf2 *o, uint32_t track)
{
    uint32_t process = o->t->tracks[track].process;
    if (o->tracks[track].device)
        return plumb_export_device(o->t, track);
    return process != PLUMB_TABLE_NONE ? process : NO_GROUP;
}

static void define_groups(struct definitions *d)
{
    struct otf2 *o = d->o;
    const char *host = plumb_export_fact_text(o->t, "plumb.host");
    OTF2_StringRef kind = define(d, "machine"), name = define(d, *host ? host : "machine");
    uint64_t track;
    check(o, OTF2_GlobalDefWriter_WriteSystemTreeNode(d->writer, NODE, name, kind,
                                                      OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (uint32_t i = 0; key_at(&o->locations, i, &track); i++) {
        uint32_t group = group_track(o, (uint32_t)track);
        if (plumb_map_get(&o->groups.of, (uint64_t)group + 1))
            continue;
        name = group == NO_GROUP ? define(d, "others") : define_track(d, group);
        check(o, OTF2_GlobalDefWriter_WriteLocationGroup(
                     d->writer, number_of(o, &o->groups, group), name,
                     o->tracks[track].device ? OTF2_LOCATION_GROUP_TYPE_ACCELERATOR
                                             : OTF2_LOCATION_GROUP_TYPE_PROCESS,
                     NODE, OTF2_UNDEFINED_LOCATION_GROUP));
    }
}

static void define_counters(struct definitions *d)
{
    static const char *const units[] = {"", "ns", "", "B"};
    struct otf2 *o = d->o;
    uint64_t track;
    for (uint32_t i = 0; key_at(&o->metrics, i, &track); i++) {
        const struct plumb_table_track *l = &o->t->tracks[track];
        const char *unit = plumb_table_text(o->t, l->unit_name);
        OTF2_MetricMemberRef member = i;
        OTF2_StringRef unit_ref = define(d, *unit ? unit : units[l->unit & 3]);
        check(o,
              OTF2_GlobalDefWriter_WriteMetricMember(
                  d->writer, member, l->name, 0, OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT,
                  l->whole ? OTF2_TYPE_INT64 : OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, unit_ref));
        check(o, OTF2_GlobalDefWriter_WriteMetricClass(d->writer, i, 1, &member,
                                                       OTF2_METRIC_ASYNCHRONOUS,
                                                       OTF2_RECORDER_KIND_ABSTRACT));
    }
}

static void define_locations(struct definitions *d)
{
    struct otf2 *o = d->o;
    uint64_t track;
    for (uint32_t i = 0; key_at(&o->locations, i, &track); i++) {
        const struct plumb_table_track *l = &o->t->tracks[track];
        OTF2_LocationType type = o->tracks[track].device ? OTF2_LOCATION_TYPE_ACCELERATOR_STREAM
                                 : l->kind == PLUMB_TRACK_COUNTER ? OTF2_LOCATION_TYPE_METRIC
                                                                  : OTF2_LOCATION_TYPE_CPU_THREAD;
        OTF2_StringRef name = define_track(d, (uint32_t)track);
        check(o, OTF2_GlobalDefWriter_WriteLocation(
                     d->writer, i, name, type, o->events[track],
                     number_of(o, &o->groups, group_track(o, (uint32_t)track))));
    }
}

static void put_definitions(struct otf2 *o)
{
    struct definitions d = {.o = o, .writer = OTF2_Archive_GetGlobalDefWriter(o->archive)};
    if (!d.writer) {
        check(o, OTF2_ERROR_MEM_FAULT);
        return;
    }
    check(o, OTF2_GlobalDefWriter_WriteClockProperties(
                 d.writer, UINT64_C(1000000000), 0, o->t->end_ns + 1,
                 o->t->unix_ns ? o->t->unix_ns : OTF2_UNDEFINED_TIMESTAMP));
    define_names(&d);
    define_groups(&d);
    define_counters(&d);
    define_locations(&d);
    plumb_buf_fini(&d.text);
    check(o, OTF2_Archive_CloseGlobalDefWriter(o->archive, d.writer));
}

static void put_archive(struct otf2 *o)
{
    static const OTF2_FlushCallbacks flush = {before_flush, after_flush};
    uint64_t track;
    check(o, OTF2_Archive_SetFlushCallbacks(o->archive, &flush, o));
    check(o, OTF2_Archive_SetSerialCollectiveCallbacks(o->archive));
    check(o, OTF2_Archive_SetCreator(o->archive, "plumb " PLUMB_VERSION));
    check(o, OTF2_Archive_OpenEvtFiles(o->archive));
    for (uint32_t i = 0; i < o->rows.count && !o->code; i++)
        put_track(o, o->rows.tracks[i]);
    check(o, OTF2_Archive_CloseEvtFiles(o->archive));
    check(o, OTF2_Archive_OpenDefFiles(o->archive));
    for (uint32_t i = 0; key_at(&o->locations, i, &track) && !o->code; i++) {
        OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(o->archive, i);
        check(o, local ? OTF2_Archive_CloseDefWriter(o->archive, local) : OTF2_ERROR_MEM_FAULT);
    }
    check(o, OTF2_Archive_CloseDefFiles(o->archive));
    if (!o->code)
        put_definitions(o);
}

int plumb_export_otf2(const char *path, const struct plumb_table *t,
                      const struct plumb_export_progress *progress, plumb_error *err)
{
    struct otf2 o = {.t = t, .progress = progress, .code = OTF2_SUCCESS};
    int rc = PLUMB_OK;
    /* No event, no location; and readers of the format refuse archives without one. */
    if (t->slices.count + t->instants.count + t->counters.count == 0)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "the trace has no event, without which there is no OTF2 archive");
    OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(keep_error, &o);
    o.tracks = plumb_export_tracks(t);
    o.events = calloc((size_t)t->track_count + 1, sizeof *o.events);
    o.attributes = OTF2_AttributeList_New();
    if ((rc = plumb_export_rows_init(&o.rows, t, false, err)) < 0)
        goto out;
    if (!o.tracks || !o.events || !o.attributes) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for an export");
        goto out;
    }
    o.archive = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, EVENT_CHUNK,
                                  DEFINITION_CHUNK, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (o.archive)
        put_archive(&o);
    if (!o.archive || o.code != OTF2_SUCCESS)
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': libotf2: %s", path,
                        o.what[0]                ? o.what
                        : o.code != OTF2_SUCCESS ? OTF2_Error_GetDescription(o.code)
                                                 : "the archive cannot be made");
    OTF2_ErrorCode closed = o.archive ? OTF2_Archive_Close(o.archive) : OTF2_SUCCESS;
    if (rc == PLUMB_OK && closed != OTF2_SUCCESS)
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': libotf2: %s", path,
                        OTF2_Error_GetDescription(closed));
out:
    OTF2_Error_RegisterCallback(before, NULL);
    if (o.attributes)
        OTF2_AttributeList_Delete(o.attributes);
    plumb_export_rows_fini(&o.rows);
    free(o.tracks);
    free(o.events);
    numbers_fini(&o.regions);
    numbers_fini(&o.attributes_used);
    numbers_fini(&o.locations);
    numbers_fini(&o.groups);
    numbers_fini(&o.metrics);
    return rc;
}
#endif
