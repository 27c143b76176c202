/* text.c: texts of which a program may make up an unlimited number: reasons of failures, names of
 * instants, counters, arguments, checkpoints and metrics. Under the runtime's lock, except
 * plumb_thread_name().
 *
 * Names are kept for the run, because a trace refers to them until it is read. They have a
 * sixteenth of the mapping; names that do not fit become "(other)", and are counted.
 *
 * Reasons reuse slots. Only the last reason of a node is shown, and a server that puts a time or an
 * address into each would use up any budget: after that, every node's last reason would be
 * "(other)". A hash of the reason selects one of many small buckets, and a new reason replaces the
 * oldest of a full bucket. A reference to the replaced one reads "(other)" instead of the newer
 * text, because it includes the turn of its slot. A text inline in each state would never be lost,
 * but frames, undo log, records and trace would have to carry it too. */
#include <string.h>

#include "base/pages.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"

enum {
    NAMES_PART = 16, /* one part in so many of the mapping is for names */
    WHYS_PART = 64,  /* and for reasons */
    WAYS = 8,        /* slots of a bucket */
    TURNS_MOST = 65535
};

uint64_t plumb_text_name(struct plumb_run *run, const char *name)
{
    uint64_t used = run->h->used, most = run->mapped / NAMES_PART, off;
    if (strlen(name) < most - run->names_bytes) {
        off = plumb_carve_text(run, name);
        run->names_bytes += run->h->used - used;
        if (off)
            return off;
    } else if ((off = plumb_carved_text(run, name)) != 0) {
        return off;
    }
    plumb_drop(run, PLUMB_DROP_NAMES);
    return plumb_carve_text(run, "(other)");
}

/* Avoids the lock, which takes system calls, for the few names that a thread uses repeatedly. */
uint64_t plumb_thread_name(struct plumb_in in, const char *name)
{
    uint64_t hash = plumb_hash_text(name);
    struct plumb_known_name *known = &in.th->names[hash % PLUMB_KNOWN_NAMES];
    if (known->generation == in.run->generation && known->hash == hash && known->off &&
        strcmp(PLUMB_AT(in.run, const char, known->off + sizeof(struct plumb_live_text)), name) ==
            0)
        return known->off;
    plumb_lock();
    *known = (struct plumb_known_name){hash, plumb_text_name(in.run, name), in.run->generation};
    plumb_unlock();
    return known->off;
}

/* ---- Reasons --------------------------------------------------------------------------------- */

struct plumb_why_bucket {
    uint64_t off;   /* of its slots; 0: not carved yet */
    uint32_t turns; /* so many reasons have come */
};

static uint32_t bucket_count(const struct plumb_run *run)
{
    uint32_t n = 1;
    while (2 * (uint64_t)n * WAYS * sizeof(struct plumb_live_why) <= run->mapped / WHYS_PART)
        n *= 2;
    return n;
}

/* Returns the bucket of a hash; once the mapping is full, the next carved one. NULL: there is
 * none. */
static struct plumb_why_bucket *bucket_of(struct plumb_run *run, uint64_t hash)
{
    uint32_t count = bucket_count(run), at = (uint32_t)(hash >> 20) & (count - 1);
    if (!run->whys)
        run->whys = plumb_pages_map(count * sizeof *run->whys);
    if (!run->whys)
        return NULL;
    for (uint32_t i = 0; i < count; i++, at = (at + 1) & (count - 1)) {
        if (!run->whys[at].off)
            run->whys[at].off = plumb_carve(run, WAYS * sizeof(struct plumb_live_why));
        if (run->whys[at].off)
            return &run->whys[at];
    }
    return NULL;
}

/* Returns how many bytes of a reason fit into a slot, without cutting a character. */
static uint32_t bytes_kept(const char *why)
{
    size_t n = strnlen(why, PLUMB_WHY_BYTES);
    if (n < PLUMB_WHY_BYTES)
        return (uint32_t)n;
    for (n--; n && ((unsigned char)why[n] & 0xc0) == 0x80;)
        n--;
    return (uint32_t)n;
}

static uint64_t reference(const struct plumb_run *run, const struct plumb_live_why *w)
{
    return plumb_off_of(run, &w->text) | w->turn << PLUMB_TEXT_BITS;
}

uint64_t plumb_text_why(struct plumb_run *run, const char *why)
{
    struct plumb_why_bucket *b = bucket_of(run, plumb_hash_text(why));
    uint32_t n = bytes_kept(why);
    struct plumb_live_why *w;
    if (!b)
        return 0;
    w = PLUMB_AT(run, struct plumb_live_why, b->off);
    for (uint32_t i = 0; i < WAYS; i++)
        if (w[i].turn && w[i].text.bytes == n && memcmp(w[i].bytes, why, n) == 0)
            return reference(run, &w[i]);
    w += b->turns % WAYS;
    /* A reader finds turn 0, or the old turn before the text changes, or the new turn after. */
    PLUMB_STORE(w->turn, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memcpy(w->bytes, why, n);
    w->bytes[n] = '\0';
    PLUMB_RELEASE(w->text.bytes, n);
    PLUMB_RELEASE(w->turn, b->turns++ / WAYS % TURNS_MOST + 1);
    return reference(run, w);
}

void plumb_text_fini(struct plumb_run *run)
{
    if (run->whys)
        plumb_pages_unmap(run->whys, bucket_count(run) * sizeof *run->whys);
    run->whys = NULL;
}
