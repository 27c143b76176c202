/* Tests of the file of rules: what it accepts, and the line and the words with which it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "analyze/gate/rules.h"

static void parse(struct plumb_gate_rules *out, const char *text)
{
    plumb_error err = {0, ""};
    if (plumb_gate_rules_parse(out, text, strlen(text), "g.rules", &err) < 0)
        fail_msg("%s", err.message);
}

static void a_rule_has_all_its_keys(void **state)
{
    struct plumb_gate_rules rules;
    const struct plumb_gate_rule *r;
    (void)state;
    parse(&rules, "# a comment\r\n"
                  "\n"
                  "[ memory of the decoder ]\r\n"
                  "metric = peak_rss\n"
                  "  node=vae*\n"
                  "phase = test\n"
                  "limit on H100 PCIe = none\n"
                  "limit on H100 = <= 20 GiB\n"
                  "limit = <= old + 5 %, > 1 B\n"
                  "floor = 256 MB\n"
                  "old = history\n"
                  "missing = skip\n"
                  "why = it = the largest\n"
                  "[calls]\n"
                  "metric = calls\n"
                  "node = chain\n"
                  "name = libiir.so:*\n"
                  "step = 0-3,7\n"
                  "limit = == 1");
    assert_int_equal(rules.count, 2);
    r = &rules.rules[0];
    assert_string_equal(r->name, "memory of the decoder");
    assert_int_equal(r->line, 3);
    assert_string_equal(r->metric->name, "peak_rss");
    assert_string_equal(r->node, "vae*");
    assert_int_equal(r->limit_count, 3);
    assert_true(r->limits[0].none);
    assert_string_equal(r->limits[0].device, "H100 PCIe");
    assert_int_equal(r->limits[1].bound[0].exact, INT64_C(20) << 30);
    assert_null(r->limits[2].device);
    assert_int_equal(r->limits[2].bounds, 2);
    assert_float_equal(r->limits[2].bound[0].of_old, 1.05, 1e-12);
    assert_true(r->compares);
    assert_float_equal(r->floor, 256e6, 0);
    assert_int_equal(r->old, PLUMB_GATE_OLD_HISTORY);
    assert_int_equal(r->missing, PLUMB_GATE_MISSING_SKIP);
    assert_string_equal(r->why, "it = the largest");
    r = &rules.rules[1];
    assert_true(plumb_step_list_has(&r->steps, 7));
    assert_true(r->limits[0].bound[0].whole);
    plumb_gate_rules_fini(&rules);
}

static void the_limit_of_a_machine_is_the_first_that_its_name_has(void **state)
{
    struct plumb_gate_rules rules;
    (void)state;
    parse(&rules, "[a]\nmetric=wall_clock\nlimit=<= 1 s\nlimit on H100 PCIe=<= 2 s\n"
                  "limit on H100=<= 3 s\n[b]\nmetric=wall_clock\nlimit on H100=<= 3 s\n");
    const struct plumb_gate_rule *r = rules.rules;
    assert_float_equal(plumb_gate_limit_for(r, "NVIDIA H100 PCIe\nXeon")->bound[0].add, 2e9, 0);
    assert_float_equal(plumb_gate_limit_for(r, "NVIDIA H100 SXM")->bound[0].add, 3e9, 0);
    assert_float_equal(plumb_gate_limit_for(r, "Xeon")->bound[0].add, 1e9, 0);
    assert_null(plumb_gate_limit_for(r + 1, "Xeon"));
    plumb_gate_rules_fini(&rules);
}

static void what_is_wrong_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "g.rules:1: there are no rules"},
        {"# nothing\n", "there are no rules"},
        {"metric = runs\n", "g.rules:1: a key stands before the first rule"},
        {"[a\n", "g.rules:1: a rule begins with its name in brackets"},
        {"[]\n", "g.rules:1: a rule needs a name"},
        {"[a]\nnonsense\n", "g.rules:2: expected [NAME], KEY = VALUE or # COMMENT"},
        {"[a]\nmetrik = runs\n", "g.rules:2: unknown key 'metrik': did you mean 'metric'?"},
        {"[a]\nmetric = dispatch\n", "g.rules:2: unknown metric 'dispatch'"},
        {"[a]\nmetric = dispatchs\n", "did you mean 'dispatches'?"},
        {"[a]\nmetric =\n", "g.rules:2: the value is empty"},
        {"[a]\n\nlimit = == 1\n", "g.rules:1: rule 'a' has no 'metric'"},
        {"[a]\nmetric = dispatches\n", "g.rules:1: rule 'a' has no 'limit'"},
        {"[a]\nmetric = dispatches\nmetric = runs\n", "g.rules:3: 'metric' stands in line 2"},
        {"[a]\nmetric = dispatches\nlimit = == 1\n\n[a]\nmetric = runs\nlimit = == 1\nnode = x\n",
         "g.rules:5: the rule 'a' stands in line 1 too"},
        {"[a]\nmetric = wall_clock\nlimit = <= 1 s\nnode = x\n",
         "g.rules:4: metric 'wall_clock' has no 'node', so nothing can match"},
        {"[a]\nmetric = time\nnode = x\nstep = 3\nlimit = <= 1 s\n",
         "g.rules:4: metric 'time' has no 'step'"},
        {"[a]\nmetric = time\nlimit = <= 1 s\n", "g.rules:1: rule 'a': metric 'time' needs 'node'"},
        {"[a]\nmetric = copies\nstep = 3\nlimit = == 1\n", "g.rules:3: 'step' without 'node'"},
        {"[a]\nmetric = copies\nnode = x\nstep = 5-3\nlimit = == 1\n", "g.rules:4: '5-3' is not"},
        {"[a]\nmetric = copies\nphase = train\nlimit = == 1\n", "g.rules:3: 'phase' without"},
        {"[a]\nmetric = copies\nper = step\nlimit = == 1\n", "g.rules:3: 'per' is 'call' or"},
        {"[a]\nmetric = copies\nnode = x\nper = call\nlimit = <= old\n", "g.rules:5: 'per = call'"},
        {"[a]\nmetric = copies\nnode = x\nper = call\nlimit = <= 1.5\n", "takes a whole number"},
        {"[a]\nmetric = copies\nper = call\nlimit = <= 1\n", "g.rules:3: 'per = call' without"},
        {"[a]\nmetric = copies\nper = call\nstep = 3\nnode = x\nlimit = <= 1\n",
         "g.rules:3: 'per = call' with 'step'"},
        {"[a]\nmetric = copies\nlimit = 1\n", "g.rules:3: '1' does not begin with a comparison"},
        {"[a]\nmetric = copies\nlimit = == 1 MB\n", "g.rules:3: '1 MB' is not a number, as 3"},
        {"[a]\nmetric = peak_rss\nlimit = <= 300\n", "'300' is not bytes with their unit"},
        {"[a]\nmetric = peak_rss\nlimit = <= 3 s\n", "'3 s' is not bytes with their unit"},
        {"[a]\nmetric = wall_clock\nlimit = == 1 s\n", "are never equal"},
        {"[a]\nmetric = wall_clock\nlimit = <= 1e3 s\n", "'1e3 s' is not a time"},
        {"[a]\nmetric = wall_clock\nlimit = <= 5 %\n", "'5 %' is not a time"},
        {"[a]\nmetric = copies\nlimit = >= 3, <= 2\n", "no value meets '>= 3, <= 2'"},
        {"[a]\nmetric = copies\nlimit = < 0\n", "no value is below 0"},
        {"[a]\nmetric = copies\nlimit = > 3, < 3\n", "no value meets"},
        {"[a]\nmetric = copies\nlimit = > 3, < 4\n", "no value meets '> 3, < 4'"},
        {"[a]\nmetric = copies\nlimit = == 1.5\n", "no value meets '== 1.5'"},
        {"[a]\nmetric = copies\nlimit = == 2, != 2\n", "no value meets"},
        {"[a]\nmetric = copy_bytes\nlimit = == 1.2345 kB\n", "no value meets"},
        {"[a]\nmetric = copies\nlimit = > 9223372036854775807\n", "no value meets"},
        {"[a]\nmetric = copies\nlimit = >= -1\n", "'-1' is not a number, as 3"},
        {"[a]\nmetric = user\nlimit = > -4, < -3\n", "no value meets"},
        {"[a]\nmetric = figure\nname = x\nlimit = > -3, < -4\n", "g.rules:4: no value meets"},
        {"[a]\nmetric = wall_clock\nlimit = <= 0 s\n", "g.rules:3: no value meets '<= 0 s'"},
        {"[a]\nmetric = copies\nlimit = <= 1, <= 2, <= 3\n", "stands after the limit"},
        {"[a]\nmetric = copies\nlimit = <= old * 0\n", "after 'old *' comes a number above 0"},
        {"[a]\nmetric = copies\nlimit = <= old - 100 %\n", "cannot fall by 100 %"},
        {"[a]\nmetric = copies\nlimit = <= old + x\n", "after 'old +' comes a percentage"},
        {"[a]\nmetric = copies\nlimit = <= old\nold = yesterday\n", "g.rules:4: 'old' is 'given'"},
        {"[a]\nmetric = copies\nlimit = <= 3\nold = history\n", "g.rules:4: 'old' is not used"},
        {"[a]\nmetric = copies\nlimit = <= 3\nfloor = 1\n", "g.rules:4: 'floor' is a change from"},
        {"[a]\nmetric = peak_rss\nlimit = <= old\nfloor = 1 s\n",
         "g.rules:4: 'floor' is an amount"},
        {"[a]\nmetric = copies\nlimit = <= 3\nlimit on X = <= 4\nlimit on X = <= 5\n",
         "g.rules:5: this limit stands twice"},
        {"[a]\nmetric = copies\nlimit on H100 = <= 4\nlimit on H100 PCIe = <= 5\n",
         "g.rules:4: 'limit on H100 PCIe' is never used: that on 'H100' in line 3 comes first"},
        {"[a]\nmetric = copies\n# caf\xe9\nlimit = == 1\n", "g.rules:3: the line is not UTF-8"},
        {"[a]\nmetric = runs\nnode = \xc3\nlimit = == 1\n", "g.rules:3: the line is not UTF-8"},
        {"[a]\nmetric = copies\nlimit = <= 3\nmissing = fine\n", "g.rules:4: 'missing' is"},
        {"[a]\nmetric = copies\nlimit = <= 3\nrounds = 5\n", "g.rules:4: 'rounds' is a whole"},
        {"[a]\nmetric = exit_status\nlimit = == 0\n", "metric 'exit_status' needs 'command'"},
        {"[a]\nmetric = copies\nlimit = == 0\ncommand = rm\n", "has no 'command'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct plumb_gate_rules rules;
        plumb_error err = {0, ""};
        int rc =
            plumb_gate_rules_parse(&rules, wrong[i].text, strlen(wrong[i].text), "g.rules", &err);
        if (rc != PLUMB_ERR_FORMAT || !strstr(err.message, wrong[i].error))
            fail_msg("%s\nwanted '%s', got %d '%s'", wrong[i].text, wrong[i].error, rc,
                     err.message);
    }
}

static void a_file_with_a_zero_byte_is_refused(void **state)
{
    static const char text[] = "[a]\nmetric = cop\0ies\n";
    struct plumb_gate_rules rules;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_gate_rules_parse(&rules, text, sizeof text - 1, "g", &err),
                     PLUMB_ERR_FORMAT);
    assert_non_null(strstr(err.message, "g:2: a zero byte"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_has_all_its_keys),
        cmocka_unit_test(the_limit_of_a_machine_is_the_first_that_its_name_has),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_line),
        cmocka_unit_test(a_file_with_a_zero_byte_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
