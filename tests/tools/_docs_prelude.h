/* _docs_prelude.h: what the code blocks of docs/ take for granted. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <plumb/plumb.h>

struct job {
    int n, stop, misses;
    plumb_async span;
    plumb_context context;
    const char *prompt, *id;
    const void *latents;
};
struct pool;

#ifdef __cplusplus
#include <plumb/plumb.hpp>
#include <stdexcept>
extern "C" {
#endif
void work(void);
void run(struct job *job);
void run_decoder(struct job *job);
void run_block(struct job *job, int i);
void copy_to_device(struct job *job);
void wait_for(struct job *job);
void read_frame(struct job *job);
void resize(struct job *job);
void write_frame(struct job *job);
void enqueue(struct job *job);
int cache_has(struct job *job);
int download(struct job *job);
int train(struct job *job, int step);
void validate(struct job *job);
void pool_run(void (*fn)(void *), void *arg);
void synchronise(void *stream);
void *take(struct pool *pool, size_t bytes);
void give(struct pool *pool, void *block);
#ifdef __cplusplus
}
#endif
