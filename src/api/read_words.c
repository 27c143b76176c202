/* read_words.c: misspelt words in the public interface. No state. */
#include "base/text/nearest.h"
#include <plumb/read/text.h>

const char *plumb_word_nearest(const char *word, const char *const *candidates, size_t n)
{
    struct plumb_nearest nearest = plumb_nearest_start(word);
    for (size_t i = 0; i < n; i++)
        plumb_nearest_offer(&nearest, candidates[i]);
    return nearest.best;
}
