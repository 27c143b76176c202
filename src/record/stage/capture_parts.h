/* capture_parts.h: what the files of capture.h share. */
#ifndef PLUMB_RECORD_STAGE_CAPTURE_PARTS_H
#define PLUMB_RECORD_STAGE_CAPTURE_PARTS_H

#include <pthread.h>

#include "base/buf.h"
#include "codec/json_write.h"
#include "record/stage/capture.h"
#include "tensor/value_hash.h"
#include "tensor/view.h"

enum {
    PLUMB_CAPTURE_TEXT = 16 << 20,   /* bytes of the description of an input ... */
    PLUMB_CAPTURE_STRING = 2 << 20,  /* ... of a string in it, which JSON makes six times as long */
    PLUMB_CAPTURE_MAKING = 32 << 20, /* more than both */
    PLUMB_CAPTURE_PATH = 1024,       /* of a part of an input; longer ones are cut */
    PLUMB_CAPTURE_LINES = 5,         /* that are said of inputs that could not be kept */
    PLUMB_CAPTURE_LINE = 300
};

struct plumb_capture_blob { /* the values of a tensor, row-major */
    struct plumb_capture_blob *next;
    char key[PLUMB_CAPTURE_PATH];
    void *data; /* pages */
    size_t bytes;
    const char *type; /* as .safetensors calls it */
    int32_t ndim;
    int64_t shape[PLUMB_VIEW_MAX_DIMS];
};

struct plumb_capture_item { /* an input */
    struct plumb_capture_item *next;
    char name[PLUMB_CAPTURE_PATH];
    char *text; /* an object of JSON; pages */
    size_t text_len;
    struct plumb_capture_blob *blobs;
    uint64_t missing;             /* parts of it that could not be kept ... */
    char why[PLUMB_CAPTURE_LINE]; /* ... the first of them, and why */
};

enum plumb_capture_state {
    PLUMB_CAPTURE_OPEN = 0,    /* nothing yet, or `owner` is at it */
    PLUMB_CAPTURE_READY = 1,   /* the items are complete; the writer's */
    PLUMB_CAPTURE_WRITING = 2, /* the thread has them */
    PLUMB_CAPTURE_DONE = 3
};

struct plumb_capture {
    /* Set when the run opens. */
    char stage[PLUMB_SETTINGS_NAME];
    int64_t step; /* -1: a whole call */
    char path[1400];
    const char *file; /* the end of it */
    uint32_t inside;  /* threads that are in a call; atomic */
    uint64_t owner;   /* `span` of the call that has the claim; 0: none. Atomic */
    uint32_t state;   /* enum plumb_capture_state; atomic */
    /* The owner's, then the writer's. */
    struct plumb_capture_item *items;
    uint64_t bytes, blobs, missing, keys;
    bool whole;                         /* of the call, not of a step of its loop */
    bool reached;                       /* what was wanted of it has begun */
    struct plumb_value_hashes *outputs; /* of the call; pages. NULL: none */
    uint32_t node;                      /* of the stage */
    /* The item that is being made, in pages that `making` never outgrows: a signal handler may run
     * the stage, and must not come to malloc. */
    struct plumb_buf making;
    struct plumb_json json;
    struct plumb_capture_item *item; /* that is being made */
    char part[PLUMB_CAPTURE_PATH];
    size_t part_len;
    /* Any thread's, atomic: what the calls named. */
    uint32_t claims, stepped;
    int64_t last_step; /* inside the stage, with an input; -1: none */
    /* The writer's. */
    pthread_mutex_t lock;  /* a leaf: guards `run` */
    struct plumb_run *run; /* whose mapping has the name of the file; NULL: it has closed */
    uint32_t moved;        /* atomic: counts pieces that have gone to the disk */
    int code;              /* an errno, when DONE */
    pthread_t thread;
    bool running;
};
extern struct plumb_capture plumb_capture;

/* capture_value.c: makes an item of a value. NULL: out of memory. */
struct plumb_capture_item *plumb_capture_item_make(const char *name, const plumb_value *value);
void plumb_capture_item_free(struct plumb_capture_item *item);
void plumb_capture_items_free(void);
/* The outputs as a list of JSON, in `making`, until the next item is made; NULL: there are none. */
const struct plumb_buf *plumb_capture_outputs_make(void);

/* capture_note.c */
void plumb_capture_note(struct plumb_run *run);

/* capture_file.c: after READY: has the file written, without waiting where there is a helper. */
void plumb_capture_write(void);
/* Waits; false: no piece has gone to the disk for five seconds. */
bool plumb_capture_await(void);

#endif
