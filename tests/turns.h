/* turns.h: threads that run in turns, so that the order of what they do is known. Include it after
 * cmocka.h. */
#ifndef TESTS_TURNS_H
#define TESTS_TURNS_H

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

struct turn {
    sem_t begin, done;
    pthread_t thread;
    void (*event)(void);
};

static inline void *turn_take(void *arg)
{
    struct turn *mine = arg;
    for (;;) {
        sem_wait(&mine->begin);
        if (!mine->event)
            return NULL;
        mine->event();
        sem_post(&mine->done);
    }
}

static inline void turn_open(struct turn *t)
{
    sem_init(&t->begin, 0, 0);
    sem_init(&t->done, 0, 0);
    assert_int_equal(pthread_create(&t->thread, NULL, turn_take, t), 0);
}

/* Runs `event` on the thread and waits for its end. */
static inline void turn_run(struct turn *t, void (*event)(void))
{
    t->event = event;
    sem_post(&t->begin);
    sem_wait(&t->done);
}

/* Ends the thread. */
static inline void turn_close(struct turn *t)
{
    t->event = NULL;
    sem_post(&t->begin);
    pthread_join(t->thread, NULL);
    sem_destroy(&t->begin);
    sem_destroy(&t->done);
}

#endif
