/* run_source.c: see run_source.h. */
#include "read/history/run_source.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/process/environment.h"

static const char *first_of(char *const *environment, const char *const *names)
{
    for (; *names; names++) {
        const char *value = plumb_environment_get(environment, *names);
        if (value && *value)
            return value;
    }
    return NULL;
}

const char *plumb_pull_request(const char *text)
{
    static const char *const none[] = {"", "false", "0", "none", "null"};
    for (size_t i = 0; text && i < sizeof none / sizeof *none; i++)
        if (strcasecmp(text, none[i]) == 0)
            return NULL;
    return text;
}

/* "refs/pull/12/merge" to "12/merge", whose digits are the number; NULL: not such a reference. */
static const char *pull_of_reference(const char *reference)
{
    static const char prefix[] = "refs/pull/";
    return reference && strncmp(reference, prefix, sizeof prefix - 1) == 0
               ? reference + sizeof prefix - 1
               : NULL;
}

static const char *explicit_source(char *const *environment, struct plumb_buf *remarks)
{
    static const char *const sources[] = {"pr", "local", "scheduled_main", "unknown"};
    const char *told = plumb_environment_get(environment, "PERF_RUN_SOURCE");
    if (!told || !*told)
        return NULL;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcmp(sources[i], told) == 0)
            return sources[i];
    plumb_buf_printf(remarks,
                     "PERF_RUN_SOURCE is '%s': it must be pr, local, scheduled_main or unknown; "
                     "the source of the run is inferred\n",
                     told);
    return NULL;
}

void plumb_run_origin_find(struct plumb_run_origin *out, char *const *environment,
                           struct plumb_buf *remarks)
{
    static const char *const commits[] = {"BUILDKITE_COMMIT", "GITHUB_SHA", NULL};
    static const char *const branches[] = {"BUILDKITE_BRANCH", "GITHUB_REF_NAME", NULL};
    static const char *const urls[] = {"BUILDKITE_BUILD_URL", NULL};
    static const char *const builds[] = {"BUILDKITE_BUILD_ID", "GITHUB_RUN_ID", NULL};
    static const char *const jobs[] = {"BUILDKITE_JOB_ID", "GITHUB_JOB", NULL};
    static const char *const scopes[] = {"TEST_SCOPE", NULL};
    const char *pr =
        plumb_pull_request(plumb_environment_get(environment, "BUILDKITE_PULL_REQUEST"));
    if (!pr)
        pr = pull_of_reference(plumb_environment_get(environment, "GITHUB_REF"));
    *out = (struct plumb_run_origin){.commit = first_of(environment, commits),
                                     .branch = first_of(environment, branches),
                                     .pr = pr,
                                     .build_url = first_of(environment, urls),
                                     .build_id = first_of(environment, builds),
                                     .job_id = first_of(environment, jobs),
                                     .scope = first_of(environment, scopes)};
    out->source = explicit_source(environment, remarks);
    if (out->source)
        return;
    if (pr)
        out->source = "pr";
    else if (out->branch && strcmp(out->branch, "main") == 0 && out->scope &&
             strcmp(out->scope, "full") == 0)
        out->source = "scheduled_main";
    else
        out->source = out->commit ? "unknown" : "local";
}
