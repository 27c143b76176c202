/* load.c: from a run directory to its timing report. Owns recovery: the report of a killed run is
 * made from its mapping, once, and saved next to it. Any thread, and several processes at once: the
 * file appears whole or not at all, and never replaces one that the run itself wrote.
 *
 * The mapping is kept after recovery, because it holds more than today's report shows. */
#include "read/run/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/whole_file.h"
#include "live/read.h"
#include "read/run/live_watch.h"
#include "read/run/runs.h"
#include "read/run/signature.h"
#include "read/run/timing.h"
#include "read/run/trace_recover.h"

enum { PATH_BYTES = 4096 };

static int make_path(char *out, const char *dir, const char *name, plumb_error *err)
{
    int n = snprintf(out, PATH_BYTES, "%s/%s", dir, name);
    if (n < 0 || n >= PATH_BYTES)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", dir);
    return PLUMB_OK;
}

/* A damaged mapping may give a report that makes no sense: it is read back before it is believed.
 */
static int render(struct plumb_buf *text, const struct plumb_timing *t, const char *dir,
                  plumb_error *err)
{
    char path[PATH_BYTES];
    struct plumb_timing again;
    int rc;
    if ((rc = make_path(path, dir, PLUMB_LIVE_NAME, err)) < 0 ||
        (rc = plumb_timing_write(t, text, err)) < 0)
        return rc;
    rc = plumb_timing_parse(&again, text->data, text->len, path, err);
    if (rc == PLUMB_OK)
        plumb_timing_fini(&again);
    return rc;
}

int plumb_load_save(const char *dir, const char *name, const struct plumb_buf *text,
                    plumb_error *err)
{
    char path[PATH_BYTES];
    struct stat st;
    int code, rc = make_path(path, dir, name, err);
    if (rc < 0)
        return rc;
    code = plumb_whole_file_write(path, PLUMB_WHOLE_FIRST, 0600, text->data, text->len);
    /* Another process has recovered the run, or the run has written its own. */
    if (code == EEXIST && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        return PLUMB_OK;
    if (code)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", path,
                          code == EEXIST || code == EISDIR ? "not a regular file" : strerror(code));
    return PLUMB_OK;
}

/* The signatures of a run that has any, read back as the report is. */
static int render_signatures(struct plumb_buf *text, const char *dir, plumb_error *err)
{
    struct plumb_signature s;
    struct plumb_signature again;
    int rc;
    plumb_signature_init(&s);
    rc = plumb_live_read_signature(&s, dir, err);
    if (rc == PLUMB_OK && s.stage_count > 0) {
        rc = plumb_signature_write(&s, text, err);
        if (rc == PLUMB_OK)
            rc = plumb_signature_parse(&again, text->data, text->len, dir, err);
        if (rc == PLUMB_OK)
            plumb_signature_fini(&again);
    }
    plumb_signature_fini(&s);
    return rc;
}

/* Everything that the mapping holds, as files; timing.json last, because a run that has it is not
 * recovered again. */
static int save_all(const char *dir, const struct plumb_buf *timing, plumb_error *err)
{
    struct plumb_buf signatures = {0};
    int rc = render_signatures(&signatures, dir, err);
    if (rc == PLUMB_OK && signatures.len > 0)
        rc = plumb_load_save(dir, PLUMB_SIGNATURE_FILE, &signatures, err);
    if (rc == PLUMB_OK)
        rc = plumb_load_save(dir, PLUMB_TIMING_NAME, timing, err);
    plumb_buf_fini(&signatures);
    return rc;
}

int plumb_load_file(struct plumb_load *out, const char *path, plumb_error *err)
{
    struct plumb_load load = {.state = PLUMB_LOAD_ENDED};
    int rc = plumb_timing_read(&load.timing, path, err);
    if (rc < 0)
        return rc;
    *out = load;
    if (load.timing.recovered)
        out->state = PLUMB_LOAD_RECOVERED;
    return PLUMB_OK;
}

static bool can_be_recovered(const char *dir)
{
    struct plumb_timing t;
    plumb_timing_init(&t);
    bool can = plumb_live_read(&t, dir, NULL) == PLUMB_OK;
    plumb_timing_fini(&t);
    return can;
}

/* A timing.json is never replaced, not even a damaged one: the user decides what becomes of it. */
static int load_report(struct plumb_load *out, const char *dir, const char *path, plumb_error *err)
{
    plumb_error why = {0, ""};
    int rc = plumb_load_file(out, path, &why);
    if (rc == PLUMB_OK)
        return rc;
    bool again = rc == PLUMB_ERR_FORMAT && can_be_recovered(dir);
    return plumb_fail(err, rc, "%s%s", why.message,
                      again ? "; remove it, and it is made again from " PLUMB_LIVE_NAME : "");
}

/* The figures of a run stay right when its trace is damaged or gone; a note says so. */
static void note_trace(struct plumb_timing *t, const plumb_error *why)
{
    plumb_timing_note(
        t, plumb_arena_printf(&t->arena, "the trace is as the process left it: %s", why->message));
}

/* Reads a run whose process goes on, as of one moment (live_watch.h). Returns PLUMB_ERR_STATE if
 * that succeeds, PLUMB_OK if the run is to be read as that of a process that is gone. */
static int read_recording(struct plumb_timing *out, const char *dir, plumb_error *err)
{
    struct plumb_live_watch watch;
    struct plumb_live_moment moment;
    int rc = PLUMB_OK;
    if (plumb_live_watch_open(&watch, dir, NULL) < 0)
        return PLUMB_OK;
    if (watch.pid && plumb_live_watch_records(&watch) &&
        plumb_live_watch_read(&watch, out, &moment, NULL) == PLUMB_OK &&
        moment.state == PLUMB_LIVE_WATCH_RECORDS)
        rc = plumb_fail(err, PLUMB_ERR_STATE, "'%s' is being recorded by process %u", dir,
                        watch.pid);
    plumb_live_watch_close(&watch);
    return rc;
}

static int read_mapping(struct plumb_timing *out, const char *dir, plumb_error *err)
{
    int rc = read_recording(out, dir, err);
    if (rc < 0)
        return rc;
    plumb_timing_fini(out);
    return plumb_live_read(out, dir, err);
}

int plumb_load_run(struct plumb_load *out, const char *dir, plumb_error *err)
{
    char path[PATH_BYTES];
    struct stat st;
    struct plumb_load load = {.state = PLUMB_LOAD_RECOVERED};
    struct plumb_buf text = {0};
    int traced = PLUMB_OK, rc = make_path(path, dir, PLUMB_TIMING_NAME, err);
    if (rc < 0)
        return rc;
    if (stat(path, &st) == 0)
        return load_report(out, dir, path, err);
    plumb_timing_init(&load.timing);
    rc = read_mapping(&load.timing, dir, err);
    /* It ended between the two looks. */
    if (rc == PLUMB_ERR_NOT_FOUND && stat(path, &st) == 0) {
        plumb_timing_fini(&load.timing);
        return load_report(out, dir, path, err);
    }
    load.timing.recovered = rc == PLUMB_OK;
    /* Before the report is saved, because the report says what the trace holds. */
    if (rc == PLUMB_OK)
        traced = plumb_trace_recover(&load.timing, dir, &load.why);
    if (traced == PLUMB_ERR_FORMAT) {
        note_trace(&load.timing, &load.why);
        traced = PLUMB_OK;
    }
    if (rc == PLUMB_OK)
        rc = render(&text, &load.timing, dir, err);
    if (rc == PLUMB_OK) {
        load.fresh = traced == PLUMB_OK && save_all(dir, &text, &load.why) == PLUMB_OK;
        load.state = load.fresh ? PLUMB_LOAD_RECOVERED : PLUMB_LOAD_UNSAVED;
    }
    plumb_buf_fini(&text);
    if (rc == PLUMB_ERR_STATE) {
        load.state = PLUMB_LOAD_LIVE;
    } else if (rc < 0) {
        plumb_timing_fini(&load.timing);
        return rc;
    }
    if (err)
        *err = (plumb_error){PLUMB_OK, ""};
    *out = load;
    return PLUMB_OK;
}
