/* chrome_words.h: words by which the reader of Chrome traces knows those that plumb wrote. */
#ifndef PLUMB_CODEC_CHROME_WORDS_H
#define PLUMB_CODEC_CHROME_WORDS_H

/* A fact of the head, 1: texts of the file have \xHH for a byte. */
#define PLUMB_CHROME_ESCAPED "plumb.escaped"
/* The instant that ends the file, as it ends Kineto's. It is not an event of the program. */
#define PLUMB_CHROME_WINDOW_END "Record Window End"

#endif
