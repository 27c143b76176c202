/* run_source.h: where a run comes from, and the commit, branch and pull request that it measured,
 * as the variables of the process and of its continuous integration say. Any thread. */
#ifndef PLUMB_READ_HISTORY_RUN_SOURCE_H
#define PLUMB_READ_HISTORY_RUN_SOURCE_H

#include <stdbool.h>

#include "base/buf.h"

struct plumb_run_origin {
    const char *source;               /* "pr", "local", "scheduled_main" or "unknown" */
    const char *commit, *branch, *pr; /* NULL: not known */
    const char *build_url, *build_id, *job_id, *scope;
};

/* Reads the variables of Buildkite and GitHub Actions. PERF_RUN_SOURCE decides; another value than
 * these four is reported in `remarks`, a line, and the source is inferred: a pull request, the
 * branch main with TEST_SCOPE=full, no commit at all (local), otherwise unknown. The texts are
 * those of `environment`. */
void plumb_run_origin_find(struct plumb_run_origin *out, char *const *environment,
                           struct plumb_buf *remarks);
/* The number of a pull request, or NULL for one of the words by which CI says that there is
 * none. */
const char *plumb_pull_request(const char *text);

#endif
