/* github.c: workflow commands of GitHub Actions: an annotation at the line of the rule for each
 * check that did not pass, and one line about all. A regression is an error, and what cannot be
 * told a warning. */
#include "report/gate/view.h"

/* A command ends with its line, its properties with ':' or ','. */
static void put_escaped(struct plumb_buf *out, const char *text, bool property)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '%' || c < ' ' || c == 127 || (property && (c == ':' || c == ',')))
            plumb_buf_printf(out, "%%%02X", c);
        else
            plumb_buf_char(out, *text);
    }
}

static void put_check(struct plumb_buf *out, const struct plumb_gate_sheet *s,
                      const struct plumb_gate_check *c)
{
    struct plumb_buf text = {0};
    plumb_buf_str(out, c->verdict == PLUMB_GATE_REGRESSION ? "::error file=" : "::warning file=");
    put_escaped(out, s->gate->rules->path, true);
    plumb_buf_printf(out, ",line=%u,title=", c->rule->line);
    plumb_buf_printf(&text, "%s: %s", plumb_gate_verdict_name(c->verdict), c->rule->name);
    out->failed |= text.failed;
    put_escaped(out, text.data ? text.data : "", true);
    plumb_buf_fini(&text);
    text = (struct plumb_buf){.data = NULL};
    plumb_buf_str(out, "::");
    plumb_gate_put_sentence(&text, c);
    if (c->rule->why)
        plumb_buf_printf(&text, "; why: %s", c->rule->why);
    out->failed |= text.failed;
    put_escaped(out, text.data ? text.data : "", false);
    plumb_buf_fini(&text);
    plumb_buf_char(out, '\n');
}

void plumb_gate_github(const struct plumb_gate_sheet *s, struct plumb_buf *out)
{
    for (size_t i = 0; i < s->gate->count; i++)
        if (s->gate->checks[i].verdict >= PLUMB_GATE_INCONCLUSIVE)
            put_check(out, s, &s->gate->checks[i]);
    plumb_gate_put_total(out, s);
}
