/* junit.c: the checks as JUnit XML, which test reporters of CI read: a test suite for the file of
 * rules, a test case for each check. The format has no word for "cannot tell": it is an error,
 * which is not a pass either. Attributes and their order are those of the schema that Jenkins and
 * Maven Surefire share. */
#include <string.h>

#include "base/text/utf8.h"
#include "codec/json_fields.h"
#include "report/gate/view.h"

/* Characters that XML 1.0 has no escape for become \xHH, as in all tables. */
static void put_xml(struct plumb_buf *out, const char *text)
{
    static const struct {
        char c;
        const char *escape;
    } escapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    while (*text) {
        size_t n = plumb_utf8_sequence(text);
        unsigned char c = (unsigned char)*text;
        const char *escape = NULL;
        for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
            escape = escapes[i].c == *text ? escapes[i].escape : escape;
        if (escape) {
            plumb_buf_str(out, escape);
        } else if (n == 0 || c < ' ' || c == 127 || strncmp(text, "\xef\xbf\xbe", 3) == 0 ||
                   strncmp(text, "\xef\xbf\xbf", 3) == 0) {
            n = 1;
            plumb_buf_printf(out, "\\x%02x", c);
        } else {
            plumb_buf_append(out, text, n);
        }
        text += n ? n : 1;
    }
}

static void put_attribute(struct plumb_buf *out, const char *name, const char *text)
{
    plumb_buf_printf(out, " %s=\"", name);
    put_xml(out, text);
    plumb_buf_char(out, '"');
}

static void put_buffer(struct plumb_buf *out, const char *name, struct plumb_buf *text)
{
    out->failed |= text->failed;
    put_attribute(out, name, text->data ? text->data : "");
    plumb_buf_fini(text);
    *text = (struct plumb_buf){.data = NULL};
}

static void put_case(struct plumb_buf *out, const struct plumb_gate_sheet *s,
                     const struct plumb_gate_check *c)
{
    static const char *const elements[] = {NULL, "skipped", "error", "failure"};
    const char *element = elements[c->verdict];
    struct plumb_buf text = {0};
    plumb_buf_str(out, "    <testcase");
    plumb_buf_printf(&text, "%s: ", c->rule->name);
    plumb_gate_put_place(&text, c);
    put_buffer(out, "name", &text);
    put_attribute(out, "classname", s->gate->rules->path);
    plumb_buf_str(out, " time=\"0\"");
    if (!element) {
        plumb_buf_str(out, "/>\n");
        return;
    }
    plumb_buf_printf(out, ">\n      <%s", element);
    plumb_gate_put_sentence(&text, c);
    put_buffer(out, "message", &text);
    if (c->verdict > PLUMB_GATE_SKIPPED) {
        put_attribute(out, "type", plumb_gate_verdict_name(c->verdict));
        plumb_buf_char(out, '>');
        plumb_buf_printf(&text, "%s:%u", s->gate->rules->path, c->rule->line);
        if (c->rule->why)
            plumb_buf_printf(&text, ": %s", c->rule->why);
        out->failed |= text.failed;
        put_xml(out, text.data ? text.data : "");
        plumb_buf_fini(&text);
        plumb_buf_printf(out, "</%s>\n", element);
    } else {
        plumb_buf_str(out, "/>\n");
    }
    plumb_buf_str(out, "    </testcase>\n");
}

void plumb_gate_junit(const struct plumb_gate_sheet *s, struct plumb_buf *out)
{
    const size_t *n = s->gate->verdicts;
    char when[PLUMB_TIME_TEXT];
    plumb_time_text(when, s->unix_ns);
    when[19] = '\0'; /* the schema has seconds, and no zone */
    plumb_buf_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    plumb_buf_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", s->gate->count,
                     n[PLUMB_GATE_REGRESSION], n[PLUMB_GATE_INCONCLUSIVE]);
    plumb_buf_str(out, "  <testsuite name=\"plumb gate\"");
    plumb_buf_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
                     s->gate->count, n[PLUMB_GATE_REGRESSION], n[PLUMB_GATE_INCONCLUSIVE],
                     n[PLUMB_GATE_SKIPPED]);
    put_attribute(out, "hostname", s->host);
    plumb_buf_printf(out, " time=\"0\" timestamp=\"%s\">\n", when);
    if (s->fact_count > 0) {
        plumb_buf_str(out, "    <properties>\n");
        for (size_t i = 0; i < s->fact_count; i++) {
            plumb_buf_str(out, "      <property");
            put_attribute(out, "name", s->facts[i].key);
            put_attribute(out, "value", s->facts[i].value);
            plumb_buf_str(out, "/>\n");
        }
        plumb_buf_str(out, "    </properties>\n");
    }
    for (size_t i = 0; i < s->gate->count; i++)
        put_case(out, s, &s->gate->checks[i]);
    plumb_buf_str(out, "  </testsuite>\n</testsuites>");
}
