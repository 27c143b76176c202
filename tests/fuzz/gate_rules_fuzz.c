/* Fuzz target: any bytes as a file of rules of a gate. Accepted rules are applied to values, and an
 * error is one line that names the line of the file. */
#include <stdlib.h>
#include <string.h>

#include "analyze/gate/gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_values(struct plumb_gate_case *g, enum plumb_gate_side side)
{
    struct plumb_gate_source *s = plumb_gate_add(g, side, "result");
    for (size_t i = 0; s && plumb_gate_metric(i); i++) {
        struct plumb_gate_value *v = plumb_gate_put(g, s, plumb_gate_metric(i)->name);
        if (!v)
            abort();
        v->node = "chain";
        v->exact = 3;
        v->runs = 2;
        for (int k = 0; k < 7; k++)
            plumb_gate_sample(g, v, 1000 + k);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_gate_rules rules;
    struct plumb_gate_case gate;
    plumb_error err = {0, ""};
    int rc = plumb_gate_rules_parse(&rules, (const char *)data, size, "input", &err);
    if (rc != PLUMB_OK) {
        if (rc != PLUMB_ERR_FORMAT || strncmp(err.message, "input:", 6) != 0 ||
            strchr(err.message, '\n'))
            abort();
        return 0;
    }
    plumb_gate_init(&gate, &rules);
    put_values(&gate, PLUMB_GATE_SIDE_OLD);
    put_values(&gate, PLUMB_GATE_SIDE_NEW);
    if (rules.count < 20 && plumb_gate_evaluate(&gate, &err) != PLUMB_OK)
        abort();
    if (rules.count < 20 && gate.count < rules.count)
        abort();
    plumb_gate_fini(&gate);
    plumb_gate_rules_fini(&rules);
    return 0;
}
