/* seeds.h: runs a property for many seeds. Each seed is a random program whose result is compared
 * with a simple model of the same thing.
 *
 *   TEST_SEEDS       how many seeds (200; `make soak` asks for 100,000)
 *   TEST_FIRST_SEED  the first one (1)
 *
 * A failed seed is printed with the variables that run it alone. Include it after cmocka.h. */
#ifndef TESTS_SEEDS_H
#define TESTS_SEEDS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

/* Unless the test says another number before it includes this. */
#ifndef SEEDS_DEFAULT
#define SEEDS_DEFAULT 200
#endif

/* The seed that runs now, 0 between two of them. */
static uint64_t seeds_current;

static inline uint64_t seeds_setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end = NULL;
    uint64_t value;
    if (!text || !*text)
        return otherwise;
    value = strtoull(text, &end, 10);
    if (*end || !value)
        fail_msg("%s='%s' is not a number above 0", name, text);
    return value;
}

static inline void seeds_run(void (*one)(uint64_t seed))
{
    uint64_t first = seeds_setting("TEST_FIRST_SEED", 1);
    uint64_t count = seeds_setting("TEST_SEEDS", SEEDS_DEFAULT);
    for (uint64_t i = 0; i < count; i++) {
        seeds_current = first + i;
        one(seeds_current);
    }
    seeds_current = 0;
}

/* cmocka's teardown of a test that calls seeds_run(). */
static inline int seeds_teardown(void **state)
{
    (void)state;
    if (seeds_current)
        fprintf(stderr, "the seed that failed: TEST_FIRST_SEED=%" PRIu64 " TEST_SEEDS=1\n",
                seeds_current);
    seeds_current = 0;
    return 0;
}

#endif
