/* record_trace.h: what tests of the trace share: reads trace.pftrace with the fixture's own decoder
 * (perfetto_fixture.h), whose demands every packet must meet, and makes slices of it as a viewer
 * does. Include cmocka.h before. A name in these tests has no newline and no " on ". */
#ifndef TESTS_RECORD_TRACE_H
#define TESTS_RECORD_TRACE_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfetto_fixture.h"

struct trace_slice {
    char name[64];              /* of a begin and of an instant; "" of a counter */
    char more[400];             /* category, args, flows of the begin; value of a counter */
    char last[400];             /* args of the end */
    uint64_t track, begin, end; /* end UINT64_MAX: it has none */
    size_t parent;              /* index + 1; 0: none */
    enum { TRACE_SLICE, TRACE_INSTANT, TRACE_COUNTER } kind;
};
struct trace_read {
    struct plumb_buf text; /* a line a packet */
    struct trace_slice *slices;
    size_t count, cap;
    size_t whole, open; /* slices with an end, and without */
    uint64_t bytes;
};

static inline struct trace_slice *trace_new(struct trace_read *t)
{
    if (t->count == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 256;
        t->slices = realloc(t->slices, t->cap * sizeof *t->slices);
        assert_non_null(t->slices);
    }
    memset(&t->slices[t->count], 0, sizeof t->slices[0]);
    return &t->slices[t->count++];
}

/* Per track: the innermost open slice and the latest time. */
struct trace_track {
    uint64_t track, last;
    size_t open; /* index + 1 */
};

static inline struct trace_track *trace_track(struct trace_track *tracks, size_t *n, uint64_t track)
{
    for (size_t i = 0; i < *n; i++)
        if (tracks[i].track == track)
            return &tracks[i];
    assert_true(*n < 20000);
    tracks[*n] = (struct trace_track){.track = track};
    return &tracks[(*n)++];
}

static inline void trace_line(struct trace_read *t, const char *line, struct trace_track *tracks,
                              size_t *n)
{
    char type[16], rest[600] = "";
    uint64_t ns, track;
    const char *at = strstr(line, " @"), *on;
    int skip = 0;
    struct trace_track *tr;
    struct trace_slice *s;
    if (!at)
        return;
    for (on = strstr(at, " on "); on && strstr(on + 1, " on ");)
        on = strstr(on + 1, " on ");
    assert_non_null(on);
    assert_int_equal(sscanf(on, " on %" SCNu64, &track), 1);
    assert_int_equal(sscanf(at, " @%" SCNu64 " %15s%n", &ns, type, &skip), 2);
    snprintf(rest, sizeof rest, "%.*s", (int)(on - at - skip), at + skip);
    tr = trace_track(tracks, n, track);
    if (strcmp(type, "counter") != 0) {
        assert_true(ns >= tr->last); /* a viewer sorts by time: nesting would be lost */
        tr->last = ns;
    }
    if (strcmp(type, "end") == 0) {
        assert_true(tr->open > 0); /* none invented */
        s = &t->slices[tr->open - 1];
        s->end = ns;
        snprintf(s->last, sizeof s->last, "%.*s", (int)sizeof s->last - 1, rest);
        tr->open = s->parent;
        t->whole++;
        t->open--;
        return;
    }
    s = trace_new(t);
    s->track = track;
    s->begin = ns;
    s->end = UINT64_MAX;
    s->kind = type[0] == 'b' ? TRACE_SLICE : type[0] == 'i' ? TRACE_INSTANT : TRACE_COUNTER;
    s->parent = tr->open;
    if (s->kind != TRACE_COUNTER)
        sscanf(rest, " %63s%n", s->name, &skip);
    snprintf(s->more, sizeof s->more, "%.*s", (int)sizeof s->more - 1,
             s->kind == TRACE_COUNTER ? rest : rest + skip);
    if (s->kind == TRACE_SLICE) {
        tr->open = t->count;
        t->open++;
    }
}

/* A viewer shows the losses of the sequences that the file lists at its end, and no others. Returns
 * how many places have some. */
static inline int trace_check_losses(const struct trace_read *t)
{
    const char *listed = t->text.data ? strstr(t->text.data, " losers=") : NULL;
    int places = 0;
    for (const char *line = t->text.data; line && *line; line = strchr(line, '\n') + 1) {
        char loser[32], *end;
        unsigned long sequence = strtoul(line, &end, 10);
        if (strncmp(end, " dropped", 8) != 0)
            continue;
        places++;
        snprintf(loser, sizeof loser, " loser=%lu", sequence);
        if (!listed)
            fail_msg("sequence %lu has lost something, and the file does not say so", sequence);
        const char *at = strstr(listed, loser);
        while (at && at[strlen(loser)] >= '0' && at[strlen(loser)] <= '9')
            at = strstr(at + 1, loser);
        assert_non_null(at);
    }
    return places;
}

static inline void trace_read_file(struct trace_read *t, const char *path)
{
    static struct trace_track tracks[20000];
    size_t n = 0;
    struct stat st;
    unsigned char *bytes;
    char *line, *next;
    FILE *file = fopen(path, "rb");
    memset(t, 0, sizeof *t);
    if (!file)
        fail_msg("no trace '%s'", path);
    assert_int_equal(fstat(fileno(file), &st), 0);
    bytes = malloc((size_t)st.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)st.st_size, file), st.st_size);
    fclose(file);
    t->bytes = (uint64_t)st.st_size;
    pfx_reset();
    pfx_one_line = true;
    pfx_decode(&t->text, bytes, (size_t)st.st_size);
    for (line = t->text.data; line && *line; line = next) {
        next = strchr(line, '\n');
        *next = '\0';
        trace_line(t, line, tracks, &n);
        *next++ = '\n';
    }
    pfx_reset();
    free(bytes);
    trace_check_losses(t);
}

static inline void trace_read_run(struct trace_read *t, const char *dir)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/trace.pftrace", dir);
    trace_read_file(t, path);
}

static inline void trace_fini(struct trace_read *t)
{
    free(t->slices);
    plumb_buf_fini(&t->text);
    memset(t, 0, sizeof *t);
}

/* Number `i` (from 0) of what is called `name`; fails the test when there is none. */
static inline struct trace_slice *trace_find(const struct trace_read *t, const char *name, size_t i)
{
    for (size_t k = 0; k < t->count; k++)
        if (strcmp(t->slices[k].name, name) == 0 && i-- == 0)
            return &t->slices[k];
    fail_msg("the trace has no '%s' number %zu:\n%s", name, i, t->text.data);
    return NULL;
}

static inline size_t trace_count(const struct trace_read *t, const char *name)
{
    size_t n = 0;
    for (size_t k = 0; k < t->count; k++)
        n += strcmp(t->slices[k].name, name) == 0;
    return n;
}

static inline const char *trace_parent(const struct trace_read *t, const struct trace_slice *s)
{
    return s->parent ? t->slices[s->parent - 1].name : "";
}

/* Some line holds `text`. */
static inline bool trace_says(const struct trace_read *t, const char *text)
{
    return t->text.data && strstr(t->text.data, text);
}

#endif
