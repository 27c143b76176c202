/* diverge.h: find the first difference between the activations of two runs. Part of
 * libplumb-read; plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_DIVERGE_H
#define PLUMB_READ_DIVERGE_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How equal two runs must be. AUTO: bit for bit if both are runs of one engine that begin equal to
 * the last bit, otherwise within the tolerance of their element types. */
enum plumb_divergence_expect {
    PLUMB_DIVERGENCE_EXPECT_AUTO = 0,
    PLUMB_DIVERGENCE_EXPECT_SAME = 1, /* equal in every bit */
    PLUMB_DIVERGENCE_EXPECT_CLOSE = 2 /* within tolerance */
};
/* Which records are compared. */
enum plumb_divergence_only {
    PLUMB_DIVERGENCE_ALL = 0,
    PLUMB_DIVERGENCE_NAMED = 1, /* records with the same name, or with a name from a map */
    PLUMB_DIVERGENCE_MAPPED = 2 /* records with a name from a map */
};

typedef struct plumb_divergence_options {
    size_t size;             /* sizeof(plumb_divergence_options) */
    double relative;         /* 0: by the element types (docs/diverge.md); below 0: none */
    double absolute;         /* likewise */
    const char *const *maps; /* [map_count] from names of A to names of B: "s/OLD/NEW/", or files */
    uint64_t map_count;
    uint32_t expect; /* enum plumb_divergence_expect */
    uint32_t only;   /* enum plumb_divergence_only */
} plumb_divergence_options;

/* Returns options with every field at its default. */
static inline plumb_divergence_options plumb_divergence_options_default(void)
{
    plumb_divergence_options o = {sizeof(plumb_divergence_options), 0, 0, NULL, 0, 0, 0};
    return o;
}

typedef struct plumb_divergence_view {
    size_t size;        /* sizeof(plumb_divergence_view) */
    const char *format; /* "text" (NULL), "json", "csv" (the table), "md", "svg" */
    uint64_t top;       /* rows of the table around the culprit; 0: 20 */
    uint32_t all;       /* 1: all rows */
    uint32_t reserved;
} plumb_divergence_view;

/* Returns a view with every field at its default. */
static inline plumb_divergence_view plumb_divergence_view_default(void)
{
    plumb_divergence_view v = {sizeof(plumb_divergence_view), NULL, 0, 0, 0};
    return v;
}

typedef struct plumb_divergence_result {
    size_t size;             /* sizeof(plumb_divergence_result), set by the caller */
    uint64_t diverged;       /* 1: a record is beyond tolerance */
    uint64_t compared;       /* pairs of records */
    uint64_t only_a, only_b; /* records of one side alone */
} plumb_divergence_result;

typedef struct plumb_divergence plumb_divergence;

/* Compares the activations `a` and `b` (of any kind in docs/diverge.md, or names of runs) and finds
 * the first record that is wrong while its inputs are right. Errors: PLUMB_ERR_NOT_FOUND,
 * PLUMB_ERR_IO, PLUMB_ERR_FORMAT: a side cannot be read, or the sides have nothing in common;
 * PLUMB_ERR_ARG: an invalid map, or options without a size; PLUMB_ERR_MEMORY. */
PLUMB_API int plumb_divergence_open(plumb_divergence **out, const char *a, const char *b,
                                    const plumb_divergence_options *options, plumb_error *err);
/* Frees the divergence. */
PLUMB_API void plumb_divergence_close(plumb_divergence *divergence);
/* Fills as much of `out` as its `size` says, which the caller has set. */
PLUMB_API void plumb_divergence_summary(plumb_divergence_result *out,
                                        const plumb_divergence *divergence);
/* Renders the report as text, without a newline at its end. `view`: NULL for the defaults. If both
 * sides stored values, the first call reads them. Errors: PLUMB_ERR_ARG: no such format. */
PLUMB_API int plumb_divergence_render(char **out, plumb_divergence *divergence,
                                      const plumb_divergence_view *view, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
