/* setting.h: list and check the settings of plumb. Part of libplumb-read; plumb/read.h has the
 * rules of all its headers. */
#ifndef PLUMB_READ_SETTING_H
#define PLUMB_READ_SETTING_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

enum plumb_setting_kind {
    PLUMB_KIND_BOOL = 0,
    PLUMB_KIND_NUMBER = 1,
    PLUMB_KIND_SIZE = 2,
    PLUMB_KIND_CHOICE = 3,
    PLUMB_KIND_TEXT = 4
};
/* Describes one setting. */
typedef struct plumb_setting_info {
    char variable[64];        /* "PLUMB_MAX_NODES" */
    char option[64];          /* "--max-nodes"; "": none */
    const char *default_text; /* the texts live as long as the process */
    const char *help;         /* one line */
    const char *choices;      /* "a|b" of a choice, otherwise NULL */
    uint32_t kind;            /* enum plumb_setting_kind */
    uint32_t hidden;          /* 1: set by plumb itself */
} plumb_setting_info;
/* Fills `out` with setting `i`. Returns 1, or 0 beyond the last. */
PLUMB_API int plumb_setting_get(plumb_setting_info *out, size_t i);
/* Checks whether `text` is a valid value of the setting with this variable or option name. Errors:
 * PLUMB_ERR_ARG: it is not, or is out of range, and `err` lists the valid ones;
 * PLUMB_ERR_NOT_FOUND: no such setting. */
PLUMB_API int plumb_setting_check(const char *name, const char *text, plumb_error *err);
/* Writes the text of `plumb help environment` to `out`. */
PLUMB_API int plumb_setting_help(char **out, plumb_error *err);
/* Writes the text of `plumb help regions` to `out`: the regions that every program has. */
PLUMB_API int plumb_region_help(char **out, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
