/* read_report.h: what the files of the reading interface share of an opened report. */
#ifndef PLUMB_API_READ_REPORT_H
#define PLUMB_API_READ_REPORT_H

#include "model/signature.h"
#include "read/run/load.h"
#include "report/run/render.h"
#include <plumb/read/report.h>

enum { PLUMB_REPORT_PATH = 4096 };

/* Finds the run directory, or the file, that `run` names (as for plumb_report_open()). Errors:
 * PLUMB_ERR_ARG, PLUMB_ERR_NOT_FOUND, PLUMB_ERR_IO. */
int plumb_report_find(char out[PLUMB_REPORT_PATH], const char *run, plumb_error *err);
/* How the report was loaded; lives as long as the report. */
const struct plumb_load *plumb_report_loaded(const plumb_report *report);

/* Whether the file is a program: a binary, or a script with its interpreter. */
bool plumb_report_is_program(const char *path);
/* The options of a caller that may know fewer fields than we do. */
int plumb_report_options_take(plumb_report_options *out, const plumb_report_options *in,
                              plumb_error *err);
/* Fills in the options that concern rendering; the run and its state are the caller's. */
void plumb_render_options_fill(struct plumb_render_options *out, const plumb_report_options *o);

/* Reads the signatures of the run in the folder `report`, or those next to the file `report`.
 * `*there` false: it has none, and `out` stays as it is. Errors: those of
 * plumb_signature_read(). */
int plumb_signature_of_report(struct plumb_signature *out, bool *there, const char *report,
                              plumb_error *err);

#endif
