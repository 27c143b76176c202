/* The reason for a failure: one line of text, written by the function that knows it first. */
#ifndef VIDEO_NODES_PROBLEM_H
#define VIDEO_NODES_PROBLEM_H

struct problem {
    char text[512]; /* "" while all is well */
};

/* Keeps the first text; control characters (of a file's name, say) become '?'. Returns -1. */
int problem_set(struct problem *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, followed by what libav calls `status`. */
int problem_set_av(struct problem *p, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
