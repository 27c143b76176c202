/* read_otlp.c: OTLP of the public interface: which requests of a run were exported already. One
 * thread at a time.
 *
 * Requests end in any order, and a run keeps the newest ones. So the number of each exported one is
 * remembered at its place in a ring of the same size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/read_report.h"
#include "api/take.h"
#include "base/text/sanitize.h"
#include "live/ledger.h"
#include "report/export/otlp.h"
#include <plumb/read/otlp.h>

struct plumb_otlp {
    char *run;     /* NULL: the newest */
    char *service; /* NULL: of the run */
    plumb_otlp_options options;
    uint64_t done[PLUMB_LIVE_REQUESTS]; /* number n at n % PLUMB_LIVE_REQUESTS */
    uint64_t passed; /* numbers up to this one were exported, or counted as lost */
    uint64_t lost;
};

static char *copy(const char *text, bool *failed)
{
    char *made = text ? strdup(text) : NULL;
    if (text && !made)
        *failed = true;
    return made;
}

int plumb_otlp_open(plumb_otlp **out, const char *run, const plumb_otlp_options *options,
                    plumb_error *err)
{
    plumb_otlp_options o = plumb_otlp_options_default();
    struct plumb_otlp *made;
    bool failed = false;
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc < 0)
        return rc;
    made = calloc(1, sizeof *made);
    if (made) {
        made->options = o;
        made->run = copy(run, &failed);
        made->service = copy(o.service, &failed);
    }
    if (!made || failed) {
        plumb_otlp_close(made);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a reader of traces");
    }
    *out = made;
    return PLUMB_OK;
}

void plumb_otlp_close(plumb_otlp *otlp)
{
    if (!otlp)
        return;
    free(otlp->run);
    free(otlp->service);
    free(otlp);
}

static bool is_new(void *arg, uint64_t number)
{
    const struct plumb_otlp *o = arg;
    return o->done[number % PLUMB_LIVE_REQUESTS] != number;
}

/* Counts what the run has dropped since it was read last. */
static void count_lost(struct plumb_otlp *o, const struct plumb_timing *t)
{
    for (; o->passed < t->requests_lost; o->passed++)
        o->lost += is_new(o, o->passed + 1);
}

/* The first `n` new ones are those of the batch. */
static void remember(struct plumb_otlp *o, const struct plumb_timing *t, bool open_too, uint64_t n)
{
    for (size_t i = 0; i < t->request_count && n > 0; i++) {
        const struct plumb_timing_request *r = &t->requests[i];
        if ((!open_too && r->state == PLUMB_TIMING_REQUEST_OPEN) || !is_new(o, r->number))
            continue;
        o->done[r->number % PLUMB_LIVE_REQUESTS] = r->number;
        n--;
    }
}

static void name_it(char *out, size_t size, const struct plumb_timing *t)
{
    char host[PLUMB_SAFE_NAME_MAX + 1];
    plumb_sanitize(host, t->host && *t->host ? t->host : "run");
    snprintf(out, size, "%s_%" PRIu32 "_rank%d.%" PRIu64 ".otlp.json", host, t->pid,
             t->rank < 0 ? 0 : (int)t->rank, t->start_unix_ns);
}

static int write_batch(plumb_otlp_batch *out, struct plumb_otlp *o, const struct plumb_timing *t,
                       bool over, plumb_error *err)
{
    struct plumb_otlp_wish wish = {.service = o->service,
                                   .indent = o->options.pretty ? 2 : 0,
                                   .open_too = over,
                                   .killed = over && t->recovered,
                                   .max = (size_t)o->options.max_requests,
                                   .wanted = is_new,
                                   .arg = o};
    struct plumb_otlp_written written;
    struct plumb_buf text = {0};
    int rc = plumb_otlp_write(&text, t, &wish, &written, err);
    if (rc < 0 || written.requests == 0) {
        plumb_buf_fini(&text);
        return rc;
    }
    remember(o, t, over, written.requests);
    out->json = text.data;
    out->bytes = text.len;
    out->requests = written.requests;
    out->spans = written.spans;
    out->stages_lost = written.stages_lost;
    out->parents_ignored = written.parents_ignored;
    out->why_ignored = written.why_ignored;
    out->more = written.more;
    return 1;
}

int plumb_otlp_next(plumb_otlp_batch *out, plumb_otlp *otlp, plumb_error *err)
{
    plumb_report *report = NULL;
    plumb_otlp_batch batch;
    const struct plumb_load *load;
    bool over;
    int rc = plumb_report_open(&report, otlp->run, err);
    if (rc < 0)
        return rc;
    load = plumb_report_loaded(report);
    over = load->state != PLUMB_LOAD_LIVE;
    memset(&batch, 0, sizeof batch);
    count_lost(otlp, &load->timing);
    batch.requests_lost = otlp->lost;
    batch.over = over;
    name_it(batch.name, sizeof batch.name, &load->timing);
    rc = write_batch(&batch, otlp, &load->timing, over, err);
    plumb_report_close(report);
    if (rc >= 0)
        *out = batch;
    return rc;
}
