/* doctor.h: report what can be recorded on this machine, and what its settings mean. Part of
 * libplumb-read; plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_DOCTOR_H
#define PLUMB_READ_DOCTOR_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/predecessor.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

enum plumb_check_state {
    PLUMB_CHECK_SEEN = 0,     /* works */
    PLUMB_CHECK_NOT_SEEN = 1, /* missing, but nothing prevents it */
    PLUMB_CHECK_BLOCKED = 2   /* something prevents it: `detail` says what, `cure` what to do */
};
typedef struct plumb_check {
    const char *name; /* lives as long as the process; of plumb_doctor_variable() as the table */
    uint32_t state;   /* enum plumb_check_state */
    char detail[256];
    char cure[256]; /* "": nothing to do */
} plumb_check;
/* Runs check `i` of this machine and process and returns 1, or 0 beyond the last. The only side
 * effect is a file that is created and removed in the output folder. Some system calls; no program
 * is run. */
PLUMB_API int plumb_doctor_check(plumb_check *out, size_t i);
/* Fills `out` with line `i` about the settings in this process's environment: what is recorded of
 * the timeline, and each PLUMB_* variable that is misspelt, invalid, or has no effect. Returns 1,
 * or 0 beyond the last. */
PLUMB_API int plumb_doctor_setting(plumb_check *out, size_t i);
/* Fills `out` with variable `i` of this process's environment that belongs to one of the systems
 * that plumb replaces: its purpose, and the variable to set instead. Returns 1, or 0 beyond the
 * last. `state` is never PLUMB_CHECK_BLOCKED. */
PLUMB_API int plumb_doctor_variable(plumb_check *out, const plumb_predecessors *table, size_t i);
/* Renders `checks` [n] as a table with a line for each, without a newline at its end; "" for none.
 * `colour`: 1 colours the states with the escape sequences of terminals. */
PLUMB_API int plumb_doctor_render(char **out, const plumb_check *checks, size_t n, uint32_t colour,
                                  plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
