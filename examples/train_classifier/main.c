/* Trains a small network to read digits, and tests it: the host on which plumb's phases are shown.
 * main() reads the command line, runs the training and prints what came out; trainer.c has the
 * phases. Exit status: 0 done, 1 failed or learnt too little, 2 wrong arguments. */
#include "options.h"
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>

/* Two rows of pixels to a line of text: characters are twice as high as wide. */
static void print_pictures(const struct trainer_result *r)
{
    const char ink[] = " .:+*#@";

    for (int y = 0; y < DIGITS_SIDE; y += 2) {
        for (int i = 0; i < TRAINER_SHOWN; i++) {
            const real *row = r->pixels + i * DIGITS_PIXELS + y * DIGITS_SIDE;
            for (int x = 0; x < DIGITS_SIDE; x++) {
                int shade = (int)(3.5f * (row[x] + row[x + DIGITS_SIDE]));
                putchar(ink[shade < 0 ? 0 : shade > 6 ? 6 : shade]);
            }
            fputs(i + 1 < TRAINER_SHOWN ? " " : "\n", stdout);
        }
    }
    for (int i = 0; i < TRAINER_SHOWN; i++)
        printf("%*s%d read as %d%s", i ? 6 : 0, "", r->digits[i], r->read_as[i],
               i + 1 < TRAINER_SHOWN ? "" : "\n");
}

static int finish(const struct options *o, const struct trainer_result *r)
{
    double accuracy = (double)r->test_correct / (double)r->test_count;

    print_pictures(r);
    printf("test accuracy %.4f (%d of %d)\n", accuracy, r->test_correct, r->test_count);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "train_classifier: cannot write the results to stdout\n");
        return EXIT_FAILURE;
    }
    if (accuracy < o->required) {
        fprintf(stderr, "train_classifier: test accuracy %.4f is below the %.4f of --require\n",
                accuracy, o->required);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options o;
    struct trainer_result r;

    switch (options_parse(&o, argc, argv)) {
    case OPTIONS_WRONG:
        return 2;
    case OPTIONS_DONE:
        return EXIT_SUCCESS;
    case OPTIONS_RUN:
        break;
    }
    if (trainer_run(&o, &r) < 0) {
        fprintf(stderr, "train_classifier: %s\n", r.error);
        return EXIT_FAILURE;
    }
    return finish(&o, &r);
}
