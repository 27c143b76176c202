/* The command line. */
#ifndef VIDEO_NODES_OPTIONS_H
#define VIDEO_NODES_OPTIONS_H

#include <stdbool.h>

struct options {
    const char *in_path, *out_path, *json_path;
    int frames;      /* to be made; 0: the video once */
    int width;       /* of the result, even */
    int threshold;   /* luma */
    int least_cells; /* of a box */
    bool profile;
    bool leak;
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/* Strings point into argv. OPTIONS_DONE: --help was given, and the help is printed. OPTIONS_WRONG:
 * the reason is on stderr, in one line. */
enum options_result options_parse(struct options *o, int argc, char **argv);

#endif
