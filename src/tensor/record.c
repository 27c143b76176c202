/* record.c: records as bytes. The struct holds everything that a tensor and the chosen statistics
 * can have, some 8 KB; a small tensor sets 400 bytes of that. Only these are copied to the queue,
 * which would not stay in a cache otherwise.
 *
 *     sizes and head, then: the shape, statistics (to the last that is wanted), the program's own,
 *     module, phase, label, reason, reasons of own statistics; texts with their NUL; filled up to 8
 *
 * The reader may have the bytes from a damaged file: every size is checked. */
#include "tensor/record.h"

#include <string.h>

enum { NAME = 4096 };

struct parts {
    struct plumb_record_head head;
    uint32_t bytes; /* of all */
    uint16_t stats; /* bytes of them */
    uint8_t own;
    uint8_t whys; /* 1: there is a reason */
};

/* ---- To bytes -------------------------------------------------------------------------------- */

static size_t put(unsigned char *out, size_t at, const void *from, size_t n)
{
    memcpy(out + at, from, n);
    return at + n;
}

static size_t put_text(unsigned char *out, size_t at, const char *text, size_t size)
{
    size_t n = strnlen(text, size - 1);
    memcpy(out + at, text, n);
    out[at + n] = '\0';
    return at + n + 1;
}

/* Lists are last, and rarely wanted. */
static size_t stats_bytes(uint32_t want)
{
    return want & PLUMB_VALUE_HISTOGRAM ? sizeof(struct plumb_value_stats)
           : want & PLUMB_VALUE_SAMPLE  ? offsetof(struct plumb_value_stats, histogram)
                                        : offsetof(struct plumb_value_stats, samples);
}

size_t plumb_record_pack(unsigned char *out, const struct plumb_act_record *r,
                         const struct plumb_record_columns *c)
{
    struct parts p = {.head = r->head, .own = (uint8_t)c->own_used, .whys = r->why[0] != '\0'};
    size_t at = sizeof p;
    p.stats = p.whys ? 0 : (uint16_t)stats_bytes(c->want);
    if (r->head.ndim > 0)
        at = put(out, at, r->shape, (size_t)r->head.ndim * sizeof r->shape[0]);
    at = put(out, at, &r->stats, p.stats);
    at = put(out, at, r->own, p.own * sizeof r->own[0]);
    at = put_text(out, at, r->module, NAME);
    at = put_text(out, at, r->phase, NAME);
    at = put_text(out, at, r->label, sizeof r->label);
    if (p.whys)
        at = put_text(out, at, r->why, sizeof r->why);
    for (uint32_t i = 0; i < p.own; i++)
        if (r->head.own_bad >> i & 1)
            at = put_text(out, at, r->own_why[i], sizeof r->own_why[i]);
    p.bytes = (uint32_t)(at + 7) & ~7u;
    memcpy(out, &p, sizeof p);
    return p.bytes;
}

/* ---- From bytes ------------------------------------------------------------------------------ */

struct from {
    const unsigned char *at, *end; /* NULL: it did not fit */
};

static void get(void *to, struct from *f, size_t n)
{
    if (!f->at || (size_t)(f->end - f->at) < n) {
        f->at = NULL;
        return;
    }
    memcpy(to, f->at, n);
    f->at += n;
}

/* A text of less than `size` bytes; "" where there is none. */
static const char *get_text(struct from *f, size_t size)
{
    const char *text = (const char *)f->at;
    size_t room = f->at ? (size_t)(f->end - f->at) : 0;
    size_t n = room ? strnlen(text, room) : 0;
    if (n == room || n >= size) {
        f->at = NULL;
        return "";
    }
    f->at += n + 1;
    return text;
}

static void copy_text(char *to, struct from *f, size_t size)
{
    const char *text = get_text(f, size);
    memcpy(to, text, strlen(text) + 1);
}

static bool is_sound(const struct parts *p, size_t room)
{
    return p->bytes >= sizeof *p && p->bytes <= room && p->bytes % 8 == 0 &&
           p->head.ndim <= PLUMB_VIEW_MAX_DIMS && p->head.io <= PLUMB_RECORD_GRAD &&
           p->stats <= sizeof(struct plumb_value_stats) && p->own <= PLUMB_RECORD_OWN;
}

size_t plumb_record_unpack(struct plumb_act_record *r, const unsigned char *in, size_t room)
{
    struct parts p;
    struct from f;
    if (room < sizeof p)
        return 0;
    memcpy(&p, in, sizeof p);
    if (!is_sound(&p, room))
        return 0;
    f.at = in + sizeof p;
    f.end = in + p.bytes;
    r->head = p.head;
    if (p.head.ndim > 0)
        get(r->shape, &f, (size_t)p.head.ndim * sizeof r->shape[0]);
    get(&r->stats, &f, p.stats);
    get(r->own, &f, p.own * sizeof r->own[0]);
    r->module = get_text(&f, NAME);
    r->phase = get_text(&f, NAME);
    copy_text(r->label, &f, sizeof r->label);
    r->why[0] = '\0';
    if (p.whys)
        copy_text(r->why, &f, sizeof r->why);
    for (uint32_t i = 0; i < p.own; i++)
        if (p.head.own_bad >> i & 1)
            copy_text(r->own_why[i], &f, sizeof r->own_why[i]);
    if (p.stats > offsetof(struct plumb_value_stats, samples) &&
        r->stats.samples > PLUMB_VALUE_SAMPLES)
        return 0;
    return f.at ? p.bytes : 0;
}
