/* Owns the loader's threads and the ring of batches between them and the reader.
 *
 * Batch number n lies in slot n modulo the ring's size. Threads take numbers in order, each when
 * its slot is free; the reader takes batches in order, each when it is drawn. Every counter below
 * only grows during a pass, and all of them change under the lock; drawing happens outside it. */
#include "loader.h"

#include <plumb/plumb.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct slot {
    struct batch batch;
    int drawn; /* number of the batch that lies here ready, -1: none */
};

struct loader {
    struct pass pass;
    plumb_context context; /* where in the pipeline the pass began */
    int batch_rows, n_batches, n_slots, n_threads;
    struct slot *slots;
    pthread_t *threads;

    pthread_mutex_t lock;
    pthread_cond_t work, drawn; /* for the threads; for the reader */
    int taken;                  /* batches the threads have begun */
    int read;                   /* batches the reader has got; it still looks at the last */
    bool quit;
};

/* ---- Drawing --------------------------------------------------------------------------------- */

static void draw_batch(const struct loader *l, struct batch *b, int number)
{
    PLUMB_STEP(number);
    PLUMB_SPAN("load_data");
    const struct pass *p = &l->pass;
    int begin = number * l->batch_rows;

    b->rows = p->count - begin < l->batch_rows ? p->count - begin : l->batch_rows;
    for (int i = 0; i < b->rows; i++) {
        int picture = p->first + (p->order ? p->order[begin + i] : begin + i);
        b->labels[i] = digits_draw(b->pixels + i * DIGITS_PIXELS, p->seed, p->set, picture);
    }
}

static bool can_take(const struct loader *l)
{
    int freed = l->read > 0 ? l->read - 1 : 0;

    return l->taken < l->n_batches && l->taken - freed < l->n_slots;
}

static void *draw_batches(void *arg)
{
    struct loader *l = arg;

    pthread_mutex_lock(&l->lock);
    while (!l->quit) {
        struct slot *slot;
        int number;
        if (!can_take(l)) {
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        number = l->taken++;
        slot = &l->slots[number % l->n_slots];
        pthread_mutex_unlock(&l->lock);
        {
            PLUMB_ADOPT(&l->context); /* this thread works for the pass */
            draw_batch(l, &slot->batch, number);
        }
        pthread_mutex_lock(&l->lock);
        slot->drawn = number;
        pthread_cond_signal(&l->drawn);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

int loader_begin(struct loader *l, const struct pass *pass)
{
    pthread_mutex_lock(&l->lock);
    l->pass = *pass;
    plumb_context_capture(&l->context);
    l->n_batches = (pass->count + l->batch_rows - 1) / l->batch_rows;
    l->taken = l->read = 0;
    for (int i = 0; i < l->n_slots; i++)
        l->slots[i].drawn = -1;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    return l->n_batches;
}

/* Time in here is time in which the training has nothing to do. */
static const struct batch *wait_for_batch(struct loader *l)
{
    PLUMB_SPAN("wait_data");
    struct slot *slot = &l->slots[l->read % l->n_slots];

    pthread_mutex_lock(&l->lock);
    while (slot->drawn != l->read)
        pthread_cond_wait(&l->drawn, &l->lock);
    l->read++;
    pthread_cond_signal(&l->work); /* the batch before is not looked at any more */
    pthread_mutex_unlock(&l->lock);
    return &slot->batch;
}

const struct batch *loader_next(struct loader *l)
{
    if (l->read == l->n_batches)
        return NULL;
    if (l->n_threads > 0)
        return wait_for_batch(l);
    draw_batch(l, &l->slots[0].batch, l->read++);
    return &l->slots[0].batch;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int make_slots(struct loader *l)
{
    size_t rows = (size_t)l->batch_rows;

    l->slots = calloc((size_t)l->n_slots, sizeof(*l->slots));
    for (int i = 0; l->slots && i < l->n_slots; i++) {
        struct batch *b = &l->slots[i].batch;
        b->pixels = malloc(rows * DIGITS_PIXELS * sizeof(*b->pixels));
        b->labels = malloc(rows * sizeof(*b->labels));
        if (!b->pixels || !b->labels)
            return -1;
    }
    return l->slots ? 0 : -1;
}

struct loader *loader_open(int threads, int batch)
{
    struct loader *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->drawn, NULL);
    l->batch_rows = batch;
    l->n_slots = 2 * threads + 1; /* one in the reader's hands, and two for each thread */
    l->threads = calloc((size_t)threads + 1, sizeof(*l->threads));
    if (!l->threads || make_slots(l) < 0)
        goto fail;
    for (; l->n_threads < threads; l->n_threads++)
        if (pthread_create(&l->threads[l->n_threads], NULL, draw_batches, l) != 0)
            goto fail;
    return l;
fail:
    loader_close(l);
    return NULL;
}

void loader_close(struct loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
    for (int i = 0; l->slots && i < l->n_slots; i++) {
        free(l->slots[i].batch.pixels);
        free(l->slots[i].batch.labels);
    }
    pthread_cond_destroy(&l->drawn);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    free(l->threads);
    free(l->slots);
    free(l);
}
