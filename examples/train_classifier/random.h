/* Random numbers from a seed, the same on every machine. A generator is plain data: each purpose
 * has its own, so no draw depends on the draws made elsewhere or on the thread. */
#ifndef TRAIN_CLASSIFIER_RANDOM_H
#define TRAIN_CLASSIFIER_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

/* The generator of draw number `index` of what `purpose` is for. */
enum random_purpose { RANDOM_WEIGHTS, RANDOM_SHUFFLE, RANDOM_DIGIT };
struct random random_of(uint64_t seed, enum random_purpose purpose, uint64_t index);

/* Uniform in [0, n); n from 1 to 2^32. */
uint32_t random_below(struct random *r, uint32_t n);

/* Uniform in (least, most). */
double random_between(struct random *r, double least, double most);

/* Fills `order` with 0 to n-1, every order as likely as another. */
void random_order(struct random *r, int *order, int n);

#endif
