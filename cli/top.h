/* top.h: the parts of plumb top. cmd_top.c reads the command line, top_process.c finds the process,
 * top_watch.c makes readings, top_table.c rows from them, top_text.c text that a terminal can show,
 * top_screen.c the screen. */
#ifndef PLUMB_CLI_TOP_H
#define PLUMB_CLI_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <plumb/read/live.h>

enum plumb_top_sort {
    PLUMB_TOP_SHARE = 0,
    PLUMB_TOP_RATE = 1,
    PLUMB_TOP_MEAN = 2,
    PLUMB_TOP_P95 = 3,
    PLUMB_TOP_SELF = 4,
    PLUMB_TOP_DEVICE = 5,
    PLUMB_TOP_OPEN = 6,
    PLUMB_TOP_MEMORY = 7,
    PLUMB_TOP_COUNT = 8,
    PLUMB_TOP_NAME = 9,
    PLUMB_TOP_SORTS = 10
};
extern const char *const plumb_top_sort_names[PLUMB_TOP_SORTS];

/* The choices of the user. */
struct plumb_top_view {
    uint32_t sort; /* enum plumb_top_sort */
    bool reverse;
    bool total; /* figures since the start of the run, not of the last interval */
    bool tree;
    bool opens; /* the list of open spans takes the place of the table (screen) */
    char filter[64];
};

/* ---- top_watch.c
 * ------------------------------------------------------------------------------- */

/* A run, and its last two readings. */
struct plumb_top_watch {
    plumb_watch *watch;
    plumb_reading *now, *before; /* NULL: not yet */
    plumb_reading *since;        /* the time between them; NULL: there is one reading only */
    bool busy;                   /* the last try failed: it changed too fast */
    bool over;                   /* the run has ended, or the process is gone */
};
/* Opens `what`, as for plumb_watch_open(), and makes the first reading. */
int plumb_top_open(struct plumb_top_watch *w, const char *what, plumb_error *err);
void plumb_top_close(struct plumb_top_watch *w);
/* Makes another reading. A busy run keeps its last ones. */
int plumb_top_read(struct plumb_top_watch *w, plumb_error *err);
/* Returns the reading whose rows are shown. */
const plumb_reading *plumb_top_shown(const struct plumb_top_watch *w,
                                     const struct plumb_top_view *view);

/* ---- top_process.c
 * ----------------------------------------------------------------------------- */

/* Opens the process or the run that `what` names. NULL: the process that records (with `screen`,
 * the user chooses among several), otherwise the newest run. Returns 0; 1: nothing was found, after
 * a message with the reason; -1: the user left without a choice. */
int plumb_top_find(struct plumb_top_watch *w, const char *what, bool screen);

/* ---- top_table.c
 * ------------------------------------------------------------------------------- */

struct plumb_top_row {
    const char *pipeline, *phase, *node; /* live as long as the last reading */
    uint32_t depth;                      /* in the tree */
    uint64_t count, failures;
    double rate;                                    /* runs a second */
    double mean_ns, p50_ns, p95_ns, p99_ns, max_ns; /* less than 0: not known */
    double share;                                   /* of the own time of all rows, in percent */
    double self_ns, device_ns;                      /* a second, or in total */
    uint64_t memory_bytes;
    uint32_t open;
    uint64_t open_ns; /* age of the oldest */
};
struct plumb_top_table {
    struct plumb_top_row *rows;
    size_t count, hidden; /* hidden: by the filter */
};
/* Makes the rows of the view. Returns false when out of memory. */
bool plumb_top_table_make(struct plumb_top_table *out, const struct plumb_top_watch *w,
                          const struct plumb_top_view *view);
/* Renders the rows as "json", "csv" or "md", without a newline at the end. Free `*out` with
 * plumb_read_free(). */
int plumb_top_render(char **out, const struct plumb_top_table *t, const struct plumb_top_watch *w,
                     const struct plumb_top_view *view, const char *format, plumb_error *err);
void plumb_top_table_free(struct plumb_top_table *t);

enum { PLUMB_TOP_COLUMNS = 16, PLUMB_TOP_CELL = 512 };
/* The columns of a line of `width` cells; of the node the rest. */
struct plumb_top_columns {
    uint32_t of[PLUMB_TOP_COLUMNS];
    int width[PLUMB_TOP_COLUMNS];
    size_t count;
};
/* Chooses the columns that fit and say something. `width` 0: all that say something. */
void plumb_top_columns_choose(struct plumb_top_columns *out, const struct plumb_top_table *t,
                              const struct plumb_top_view *view, int width);
/* Write the title and the cells of a line to `out`. `row` NULL: the titles. */
void plumb_top_line(char *out, size_t room, const struct plumb_top_columns *c,
                    const struct plumb_top_view *view, const struct plumb_top_row *row);
/* Writes line `i` of the head to `out`; returns false beyond the last. */
bool plumb_top_head(char *out, size_t room, const struct plumb_top_watch *w,
                    const struct plumb_top_view *view, size_t i);
/* Writes line `i` of the list of open spans, of the nodes that the filter leaves. */
bool plumb_top_open_line(char *out, size_t room, const struct plumb_top_watch *w,
                         const struct plumb_top_view *view, size_t i);
/* Returns whether the filter leaves the node. */
bool plumb_top_matches(const struct plumb_top_view *view, const char *node);

/* ---- top_text.c
 * -------------------------------------------------------------------------------- */

/* Writes `text`, which a hostile program may have chosen, to `out` in at most `width` cells (0:
 * as many as it takes): characters that control a terminal, that take no cell of their own or
 * change the direction of writing, and invalid bytes appear as \xHH or \u{HHHH}. A text
 * that is too wide loses its middle. `how`: enum plumb_top_fit_how. Returns the cells used. */
enum plumb_top_fit_how {
    PLUMB_TOP_PAD = 1,    /* blanks follow up to the width */
    PLUMB_TOP_CUT_END = 2 /* a text that is too wide loses its end */
};
int plumb_top_fit(char *out, size_t room, const char *text, int width, uint32_t how);
/* "12.3 us"; "1.23k"; "-" for less than 0. */
void plumb_top_time(char out[16], double ns);
void plumb_top_rate(char out[16], double rate);
void plumb_top_bytes(char out[16], uint64_t bytes);

/* ---- top_terminal.c ------------------------------------------------------------------------- */

/* Returns whether this terminal can show a screen. */
bool plumb_top_terminal_can(void);
/* Writes the codes that leave the screen, show the cursor and end colours to `out`, for a
 * handler of signals; a screen is open. Returns their bytes. */
size_t plumb_top_terminal_restore(char *out, size_t room);

/* ---- top_screen.c --------------------------------------------------------------------------- */

/* Shows the run until the user quits or it ends, and leaves the screen. Returns less than 0 when it
 * cannot be read. */
int plumb_top_screen(struct plumb_top_watch *w, struct plumb_top_view *view, uint64_t interval_ns,
                     plumb_error *err);
/* Lets the user choose one of the lines. Returns its number, and stays on the screen; -1: none. */
int plumb_top_choose(const char *title, const char *const *lines, size_t n);
/* Leaves the screen, if it is there. */
void plumb_top_leave(void);

#endif
