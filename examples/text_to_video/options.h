/* The command line. */
#ifndef TEXT_TO_VIDEO_OPTIONS_H
#define TEXT_TO_VIDEO_OPTIONS_H

#include "element.h"
#include "fault.h"
#include "latents.h"

#include <stdint.h>

struct options {
    const char *prompt;
    const char *out_path;     /* the video; NULL: it is not written */
    const char *weights_path; /* where the weights go; NULL: nowhere */
    uint64_t seed;
    int steps;
    int frames;
    int width, height; /* multiples of 16 */
    int fps;
    float guidance;
    int model_width; /* of text encoder and diffusion transformer */
    enum element precision;
    struct fault fault; /* kind FAULT_NONE: everything is as it should be */
    int threads;        /* 1 to the number of cores this process may use */
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/* The defaults: with --quick, with --tiny, or with neither. */
struct options options_default(bool quick, bool tiny);

/* Strings point into argv. OPTIONS_DONE: --help was given, and the help is printed. OPTIONS_WRONG:
 * the reason is on stderr, in one line. */
enum options_result options_parse(struct options *o, int argc, char **argv);

/* Writes the options that decide what the models and their stages compute, as a command line. */
void options_text(char *out, size_t size, const struct options *o);

/* The tokens that make at least the frames asked for: the VAE makes frames by fours. */
struct latent_grid options_grid(const struct options *o);

#endif
