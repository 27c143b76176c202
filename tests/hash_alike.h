/* hash_alike.h: two names with one plumb_hash_text(), and with one still when the same follows
 * both. */
#ifndef HASH_ALIKE_H
#define HASH_ALIKE_H

#define ALIKE_A "dekpineefjnebbmk"
#define ALIKE_B "bkjdaihjfmhmfbla"

#endif
