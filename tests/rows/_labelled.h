/* _labelled.h: a series of a metric with one label, for tests of metrics. */
#ifndef TESTS_ROWS_LABELLED_H
#define TESTS_ROWS_LABELLED_H

#include <plumb/plumb.h>

/* Returns the series, or NULL. `help`: of the metric, or NULL. */
static plumb_metric_series *labelled(uint32_t type, const char *name, const char *key,
                                     const char *value, const char *help)
{
    plumb_metric_options o = plumb_metric_options_default();
    plumb_pair labels[2] = {{key, value}, {NULL, NULL}};
    plumb_metric_series *m = NULL;
    o.labels = labels;
    o.help = help;
    plumb_metric_get(&m, type, name, &o, NULL);
    return m;
}

#endif
