/* evidence.h: the evidence that two records, or two sites, are the same operation. */
#ifndef PLUMB_ANALYZE_DIVERGE_EVIDENCE_H
#define PLUMB_ANALYZE_DIVERGE_EVIDENCE_H

#include "analyze/diverge/diverge.h"

/* 1: every statistic agrees within tolerance; less the farther they are apart, on a logarithmic
 * scale, down to 0 at 10^4 tolerances or with nothing in common. */
float plumb_evidence_closeness(struct plumb_diverge *d, uint32_t a, uint32_t b);

/* The same of two sites: the best of their first, middle and last records, because a fault may have
 * reached some of them. Negative: their shapes forbid it. */
float plumb_evidence_of_sites(struct plumb_diverge *d, const struct plumb_diverge_site *a,
                              const struct plumb_diverge_site *b, float *shapes);

/* For two sites that agree somewhere: the part of their records that agree, from a sample of eight.
 * Above 0, at most 1. */
float plumb_evidence_share(struct plumb_diverge *d, const struct plumb_diverge_site *a,
                           const struct plumb_diverge_site *b);

/* The evidence for a pair of records `a` and `b` whose sites are known to be partners: above 0, or
 * 0 if their shapes forbid the pair. A plumb_sequence_score with a struct plumb_diverge. */
float plumb_evidence_of_records(void *diverge, uint32_t a, uint32_t b);

#endif
