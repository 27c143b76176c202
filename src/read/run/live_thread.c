/* live_thread.c: see live_thread.h.
 *
 * States, tree and stack of a thread change only in folds, and a fold that has ended has changed
 * `folded`. So everything is copied, and if `folded` and `folding` are then what they were, no fold
 * came in between. If a fold was under way all the time (its thread waits for a processor, or is
 * gone), the undo log is copied last: it has everything that the fold has changed by then, and the
 * copy becomes the state before that fold (as in record/span/thread_copy.c, which can keep the
 * thread from folding; we cannot, and must not).
 *
 * Before the last block that is not folded, all blocks are complete; of the last one, the records
 * that an earlier reading saw are complete.
 *
 * A thread that does nothing but record folds every 30 us to 60 us. Where a copy takes longer, each
 * state and each place is copied singly, each between two folds, and so are the stack and the
 * context. Unfolded records are left out then: a state that is newer than the stack may have them
 * already. Such a copy begins only when everything that was recorded before the reading is folded.
 * So figures never go back from one reading to the next. */
#include "read/run/live_thread.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "live/layout.h"
#include "live/undo.h"

enum {
    TRIES = 3000,
    QUICK_TRIES = 12, /* as a whole, before parts are copied singly */
    SPINS = 40,       /* 15 us: most folds are over by then */
    PART_TRIES = 500,
    TRIES_OF_A_RESET =
        200, /* then the fold is interrupted for ever: as in the report of a killed run,
                               what was reset is dropped */
    PAUSE_NS = 50000
};

/* The first words of a thread block change when it is folded, or given to another thread. */
enum { MARK_BYTES = offsetof(struct plumb_live_thread, state_off) };
_Static_assert(offsetof(struct plumb_live_thread, folding) + 8 == MARK_BYTES, "folded, folding");
_Static_assert(offsetof(struct plumb_live_thread, undo) % 8 == 0, "read up to here");

struct copy {
    struct plumb_live_image *image;
    uint64_t off;                 /* of the thread block */
    struct plumb_live_thread *th; /* its copy */
    uint64_t newest;              /* block that was loaded; the number of the last fold: none */
    bool damaged;
    int tries;
};

/* ---- Pieces ---------------------------------------------------------------------------------- */

static bool read_mark(struct copy *c, unsigned char mark[MARK_BYTES])
{
    return plumb_live_image_read(c->image, mark, c->off, MARK_BYTES);
}

/* Returns whether the thread is as it was when its block was loaded. */
static bool is_unchanged(struct copy *c)
{
    unsigned char now[MARK_BYTES];
    return read_mark(c, now) && memcmp(now, c->th, MARK_BYTES) == 0;
}

/* The block without its undo log. */
static bool load_block(struct copy *c)
{
    return plumb_live_image_fetch(c->image, c->off, offsetof(struct plumb_live_thread, undo)) &&
           plumb_live_image_fetch(c->image, c->off + offsetof(struct plumb_live_thread, queue_off),
                                  sizeof c->th->queue_off);
}

/* Returns whether the file is large enough for `n` objects. */
static bool can_be(struct copy *c, uint64_t n, size_t bytes)
{
    c->damaged |= n && !plumb_live_image_at(c->image, 8, n * bytes);
    return !c->damaged;
}

/* The lines of buckets that a state uses, as one range. */
static void used_range(const struct plumb_live_state *st, size_t *from, size_t *to)
{
    *from = *to = 0;
    for (uint32_t l = 0; l < PLUMB_SKETCH_LINES; l++) {
        if (!(st->lines_used[l / 64] >> (l % 64) & 1))
            continue;
        if (!*to)
            *from = l;
        *to = l + 1;
    }
    *from *= PLUMB_SKETCH_LINE * sizeof st->buckets[0];
    *to *= PLUMB_SKETCH_LINE * sizeof st->buckets[0];
}

/* Buckets beyond the range are zero, as in the mapping. */
static struct plumb_live_state *load_state(struct copy *c, uint64_t off)
{
    struct plumb_live_state *st = plumb_live_image_at(c->image, off, sizeof *st);
    size_t from, to, head = offsetof(struct plumb_live_state, buckets);
    if (!st) {
        c->damaged = true;
        return NULL;
    }
    used_range(st, &from, &to);
    memset((unsigned char *)st->buckets + from, 0, to - from);
    if (!plumb_live_image_fetch(c->image, off, head))
        return NULL;
    used_range(st, &from, &to);
    if (from < to && !plumb_live_image_fetch(c->image, off + head + from, to - from))
        return NULL;
    return plumb_live_image_put(c->image, off, sizeof *st) ? st : NULL;
}

static bool load_states(struct copy *c)
{
    uint64_t off = c->th->state_off;
    if (!can_be(c, c->th->states, sizeof(struct plumb_live_state)))
        return false;
    for (uint32_t left = c->th->states; off && left; left--) {
        const struct plumb_live_state *st = load_state(c, off);
        if (!st)
            return false;
        off = st->next_off;
    }
    return true;
}

/* Calls `load` for each chunk of the tree. */
static bool each_chunk(struct copy *c, bool (*load)(struct copy *c, uint64_t off, uint32_t n))
{
    const struct plumb_live_table *t = &c->th->tree;
    uint32_t done = 0;
    if (!can_be(c, t->count, sizeof(struct plumb_live_tree)) ||
        (t->count && t->element_bytes != sizeof(struct plumb_live_tree)))
        return !(c->damaged = true);
    for (uint32_t chunk = 0; chunk < PLUMB_TABLE_CHUNKS && done < t->count; chunk++) {
        uint32_t n = t->count - done < 64u << chunk ? t->count - done : 64u << chunk;
        size_t bytes = n * sizeof(struct plumb_live_tree);
        if (!plumb_live_image_at(c->image, t->chunk_off[chunk], bytes))
            return !(c->damaged = true);
        if (!load(c, t->chunk_off[chunk], n) ||
            !plumb_live_image_put(c->image, t->chunk_off[chunk], bytes))
            return false;
        done += n;
    }
    return true;
}

static bool load_places(struct copy *c, uint64_t off, uint32_t n)
{
    return plumb_live_image_fetch(c->image, off, n * sizeof(struct plumb_live_tree));
}

/* ---- Records that were not folded ------------------------------------------------------------ */

static uint64_t *block_at(struct copy *c, uint64_t number, uint64_t *off)
{
    *off = c->th->ring_off + number % c->th->blocks * PLUMB_BLOCK_WORDS * 8;
    return plumb_live_image_at(c->image, *off, PLUMB_BLOCK_WORDS * 8);
}

/* Returns the number of words before the first one that is not complete. */
static uint32_t complete_words(const uint64_t *words)
{
    uint32_t w = PLUMB_BLOCK_HEAD;
    while (w < PLUMB_BLOCK_WORDS && (words[w] & 3) != PLUMB_REC_NONE) {
        uint32_t n = (words[w] & 3) == PLUMB_REC_WIDE ? (uint32_t)(words[w] >> 8) & 255 : 1;
        if (!n || n > PLUMB_BLOCK_WORDS - w)
            break;
        w += n;
    }
    return w;
}

/* Returns the number of the newest block, and how much of it is complete. */
static uint64_t newest_block(struct copy *c, uint32_t *words)
{
    uint64_t off, number = c->th->folded;
    *words = PLUMB_BLOCK_HEAD;
    for (uint32_t i = 0; i < c->th->blocks; i++) {
        const uint64_t *block = block_at(c, number + 1, &off);
        if (!block || !plumb_live_image_fetch(c->image, off, PLUMB_BLOCK_WORDS * 8) ||
            block[1] != number + 1)
            break;
        *words = complete_words(block);
        number++;
    }
    return number;
}

/* The blocks are read again when it is known which are complete. */
static bool load_blocks(struct copy *c)
{
    uint32_t words;
    uint64_t off, *block;
    c->newest = newest_block(c, &words);
    for (uint64_t n = c->th->folded + 1; n <= c->newest; n++) {
        block = block_at(c, n, &off);
        if (!block || !plumb_live_image_fetch(c->image, off, PLUMB_BLOCK_WORDS * 8) ||
            !plumb_live_image_put(c->image, off, PLUMB_BLOCK_WORDS * 8))
            return false;
        if (block[1] != n)
            return false;
        if (n == c->newest)
            memset(block + words, 0, (PLUMB_BLOCK_WORDS - words) * sizeof *block);
    }
    return true;
}

/* Ends the list of blocks: the next one, as it may be by now, is of another moment. */
static bool end_blocks(struct copy *c)
{
    uint64_t off, *block;
    if (c->newest - c->th->folded >= c->th->blocks)
        return true;
    block = block_at(c, c->newest + 1, &off);
    if (!block)
        return !(c->damaged = true);
    block[1] = 0;
    return plumb_live_image_put(c->image, off, PLUMB_BLOCK_WORDS * 8);
}

/* Returns the highest number of a block in the ring. */
static uint64_t newest_in_ring(struct copy *c)
{
    uint64_t off, newest = 0, *block;
    for (uint32_t i = 0; i < c->th->blocks && (block = block_at(c, i, &off)); i++) {
        if (!plumb_live_image_fetch(c->image, off, PLUMB_BLOCK_HEAD * sizeof *block))
            break;
        newest = block[1] > newest ? block[1] : newest;
    }
    return newest;
}

/* ---- A fold that does not end ---------------------------------------------------------------- */

/* The counts first: entries are complete before they are counted. */
static bool load_undo(struct copy *c)
{
    struct plumb_live_undo *u = &c->th->undo;
    uint64_t at = c->off + offsetof(struct plumb_live_thread, undo);
    size_t head = offsetof(struct plumb_live_undo, frames);
    if (!plumb_live_image_fetch(c->image, at, head))
        return false;
    if (u->states > PLUMB_UNDO_STATES || u->trees > PLUMB_UNDO_TREES)
        return !(c->damaged = true);
    return plumb_live_image_fetch(c->image, at + head,
                                  offsetof(struct plumb_live_undo, state) - head +
                                      u->states * sizeof u->state[0]) &&
           plumb_live_image_fetch(c->image, at + offsetof(struct plumb_live_undo, rest),
                                  u->states * sizeof u->rest[0]);
}

/* States that the fold has made since the list was copied are not in the copy: the replay makes all
 * their samples. Undone, they would be loaded only when that is done, with the buckets of later
 * samples, and the replay would leave out as many. */
static void forget_new_states(struct copy *c)
{
    struct plumb_live_undo *u = &c->th->undo;
    for (uint32_t i = 0; i < u->states; i++) {
        uint64_t off = u->state[i].state_off & ~(uint64_t)PLUMB_UNDO_FULL;
        if (plumb_map_get(&c->image->loaded, off) < sizeof(struct plumb_live_state))
            u->state[i].state_off = 0;
    }
}

static struct plumb_live_state *state_of(void *self, uint64_t off)
{
    return plumb_live_image_at(((struct copy *)self)->image, off, sizeof(struct plumb_live_state));
}

static bool resets_agree(struct copy *c)
{
    const struct plumb_undo_target states = {state_of, NULL, c};
    return plumb_undo_resets_agree(&c->th->undo, &states);
}

/* ---- As a whole ------------------------------------------------------------------------------ */

static bool load_whole(struct copy *c)
{
    bool folds;
    for (int i = 0; i < SPINS; i++) {
        if (!load_block(c))
            return false;
        if (c->th->folding == c->th->folded)
            break;
    }
    folds = c->th->folding != c->th->folded;
    if (!load_states(c) || !each_chunk(c, load_places) || !load_blocks(c) || !end_blocks(c) ||
        (folds && !load_undo(c)))
        return false;
    if (folds)
        forget_new_states(c);
    return is_unchanged(c) && (!folds || c->tries > TRIES_OF_A_RESET || resets_agree(c));
}

/* ---- Singly ---------------------------------------------------------------------------------- */

static void pause_shortly(void)
{
    struct timespec ts = {0, PAUSE_NS};
    nanosleep(&ts, NULL);
}

/* Calls `load` between two folds. */
static bool between_folds(struct copy *c, bool (*load)(struct copy *c, uint64_t off), uint64_t off)
{
    struct plumb_live_thread before;
    unsigned char after[MARK_BYTES];
    for (int i = 0; i < PART_TRIES && !c->damaged && !c->image->failed; i++) {
        if (!read_mark(c, (unsigned char *)&before))
            return false;
        if (before.folding == before.folded) {
            if (load(c, off) && read_mark(c, after) && memcmp(&before, after, MARK_BYTES) == 0)
                return true;
        } else if (i % SPINS == SPINS - 1) {
            pause_shortly();
        }
    }
    return false;
}

static bool load_block_alone(struct copy *c, uint64_t off)
{
    (void)off;
    return load_block(c);
}

static bool load_state_alone(struct copy *c, uint64_t off)
{
    return load_state(c, off) != NULL;
}

static bool load_place_alone(struct copy *c, uint64_t off)
{
    return plumb_live_image_fetch(c->image, off, sizeof(struct plumb_live_tree));
}

static bool load_places_singly(struct copy *c, uint64_t off, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!between_folds(c, load_place_alone, off + i * sizeof(struct plumb_live_tree)))
            return false;
    }
    return true;
}

/* `oldest`: the number of a block that must have been folded. */
static bool load_apart(struct copy *c, uint64_t oldest)
{
    uint64_t off;
    if (!between_folds(c, load_block_alone, 0) || c->th->folded < oldest)
        return false;
    off = c->th->state_off;
    for (uint32_t left = c->th->states; off && left; left--) {
        if (!between_folds(c, load_state_alone, off))
            return false;
        off = ((struct plumb_live_state *)plumb_live_image_at(c->image, off,
                                                              sizeof(struct plumb_live_state)))
                  ->next_off;
    }
    c->newest = c->th->folded;
    return each_chunk(c, load_places_singly) && end_blocks(c);
}

/* ---- The whole of it ------------------------------------------------------------------------- */

/* Returns whether the thread can never be read: what is wrong with it does not change. */
static bool is_damaged(struct copy *c)
{
    bool damaged = c->damaged && is_unchanged(c);
    c->damaged = false;
    return damaged || c->image->failed;
}

int plumb_live_thread_load(struct plumb_live_image *image, uint64_t off)
{
    struct copy c = {.image = image,
                     .off = off,
                     .th = plumb_live_image_at(image, off, sizeof(struct plumb_live_thread))};
    uint64_t oldest = 0;
    if (!c.th)
        return image->unsettled ? PLUMB_ERR_STATE : PLUMB_ERR_FORMAT;
    for (int i = 0; i < TRIES && !image->unsettled; i++) {
        c.tries = i;
        if (load_whole(&c) && plumb_live_image_put(image, off, sizeof *c.th))
            return PLUMB_LIVE_THREAD_WHOLE;
        if (is_damaged(&c))
            return PLUMB_ERR_FORMAT;
        if (!i)
            oldest = newest_in_ring(&c);
        if (i >= QUICK_TRIES && load_apart(&c, oldest) &&
            plumb_live_image_put(image, off, sizeof *c.th))
            return PLUMB_LIVE_THREAD_APART;
        if (i >= QUICK_TRIES && is_damaged(&c))
            return PLUMB_ERR_FORMAT;
        if (i > QUICK_TRIES)
            pause_shortly();
    }
    return PLUMB_ERR_STATE;
}
