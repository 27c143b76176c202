/* advice.c: the meaning for plumb of a predecessor's variable. No state.
 *
 * The predecessors' variables disagree about which values switch something on: "false" is on for
 * one, "1" is off for another. So the line first says what the value meant there, and then what to
 * set for plumb. */
#include <stdio.h>
#include <string.h>

#include "base/process/environment.h"
#include "base/process/rank.h"
#include "base/text/ascii.h"
#include "report/names/names.h"
#include "summary/cells.h"

enum { COPIED_MAX = 120, NAME_MAX_BYTES = 128 };

/* The effect that a value had on the predecessor. */
struct meaning {
    bool off;          /* it switched nothing on: there is nothing to set */
    const char *aside; /* what is surprising about that; NULL: nothing */
    bool doubtful;     /* the user may have meant the opposite */
};

static bool is_word(const char *value, const char *const *words)
{
    for (; *words; words++)
        if (plumb_ascii_equal(value, *words))
            return true;
    return false;
}

static const char *const yes[] = {"1", "true", "yes", "on", NULL};
static const char *const no[] = {"0", "false", "no", "off", "", NULL};

static bool is_integer(const char *value)
{
    size_t sign = *value == '-' || *value == '+';
    size_t digits = strspn(value + sign, "0123456789");
    return digits > 0 && !value[sign + digits];
}

static bool is_zero(const char *value)
{
    size_t sign = *value == '-' || *value == '+';
    return !value[sign + strspn(value + sign, "0")];
}

static struct meaning integer_meaning(const char *value)
{
    if (!is_integer(value))
        return (struct meaning){is_word(value, no), "no integer, which was an error there", true};
    return (struct meaning){is_zero(value), NULL, false};
}

static struct meaning meaning_of(const struct plumb_predecessor *p, const char *value)
{
    switch (p->text) {
    case PLUMB_TEXT_NOT_ZERO:
        if (strcmp(value, "0") == 0)
            return (struct meaning){true, NULL, false};
        if (is_word(value, no))
            return (struct meaning){false, "on there, as anything but 0 was", true};
        return (struct meaning){false, NULL, false};
    case PLUMB_TEXT_INTEGER:
        return integer_meaning(value);
    case PLUMB_TEXT_TRUE:
        if (plumb_ascii_equal(value, "true"))
            return (struct meaning){false, NULL, false};
        if (is_word(value, no))
            return (struct meaning){true, NULL, false};
        return (struct meaning){false, "off there, where only 'true' was on", true};
    case PLUMB_TEXT_WORDS:
        if (is_word(value, yes))
            return (struct meaning){false, NULL, false};
        if (*value && is_word(value, no))
            return (struct meaning){true, NULL, false};
        return (struct meaning){false, "neither yes nor no: on there, by default", true};
    case PLUMB_TEXT_UNREAD:
        return (struct meaning){false, "never read there", true};
    default:
        return (struct meaning){!*value, NULL, false};
    }
}

/* ---- What to set ----------------------------------------------------------------------------- */

/* Whether a shell takes the value as it stands. */
static bool is_plain(const char *value)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               "_-+=.,:/@%~";
    return strlen(value) <= COPIED_MAX && !value[strspn(value, safe)];
}

/* A value that is long or strange is better taken from the variable that has it. */
static void put_value(struct plumb_buf *out, const struct plumb_predecessor *p, const char *name,
                      const char *value)
{
    if (!is_plain(value)) {
        plumb_buf_printf(out, "\"$%s\"", name);
        return;
    }
    for (; *value; value++) {
        if (*value == '%' && p->text == PLUMB_TEXT_PATH)
            plumb_buf_char(out, '%');
        plumb_buf_char(out, *value);
    }
}

static void put_cure(struct plumb_buf *out, const char *cure, const struct plumb_predecessor *p,
                     const char *name, const char *value)
{
    static const char mark[] = "<value>";
    const char *at = strstr(cure, mark);
    if (!at) {
        plumb_buf_str(out, cure);
        return;
    }
    plumb_buf_append(out, cure, (size_t)(at - cure));
    put_value(out, p, name, value);
    plumb_buf_str(out, at + sizeof mark - 1);
}

/* Whether every variable that `plumb` assigns is set, to whatever value. */
static bool is_set_already(const char *plumb, char *const *environment)
{
    bool all = *plumb != '\0';
    while (*plumb) {
        char name[64];
        size_t n = strcspn(plumb, " ");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(plumb, "= "), plumb);
        all = all && plumb_environment_get(environment, name);
        plumb += n + (plumb[n] == ' ');
    }
    return all;
}

/* ---- The line -------------------------------------------------------------------------------- */

static bool rank_is_read(const char *name, char *const *environment)
{
    struct plumb_rank rank;
    plumb_rank_find(&rank, environment);
    if (!rank.source || strcmp(rank.source, "RANK") != 0)
        return false;
    if (strcmp(name, "WORLD_SIZE") == 0)
        return rank.world_size >= 0;
    return strcmp(name, "LOCAL_RANK") != 0 || rank.local_rank >= 0;
}

struct verdict {
    enum plumb_check_state state;
    const char *aside; /* follows the value; NULL: nothing */
    const char *cure;  /* with the value's place in it; NULL: none */
    const char *unless;
};

static struct verdict judge_rank(const char *name, char *const *environment)
{
    if (rank_is_read(name, environment))
        return (struct verdict){PLUMB_CHECK_SEEN, "plumb reads it too", NULL, ""};
    return (struct verdict){
        PLUMB_CHECK_NOT_SEEN, "not taken",
        "RANK, WORLD_SIZE and LOCAL_RANK as whole numbers, RANK below WORLD_SIZE", ""};
}

static struct verdict judge(const struct plumb_predecessor *p, const char *name, const char *value,
                            char *const *environment)
{
    struct meaning meaning = meaning_of(p, value);
    const char *aside = meaning.aside;
    if (p->text == PLUMB_TEXT_RANK)
        return judge_rank(name, environment);
    if (meaning.off)
        return (struct verdict){PLUMB_CHECK_SEEN, aside ? aside : "off", NULL, ""};
    if (p->status == PLUMB_THEIR_NOT_NEEDED)
        return (struct verdict){PLUMB_CHECK_SEEN, "nothing to set", NULL, ""};
    if (p->status == PLUMB_THEIR_NOT_YET)
        return (struct verdict){PLUMB_CHECK_NOT_SEEN, "not built yet", NULL, ""};
    if (is_set_already(p->plumb, environment))
        return (struct verdict){PLUMB_CHECK_SEEN, "what plumb calls it is set", NULL, ""};
    return (struct verdict){PLUMB_CHECK_NOT_SEEN, aside, p->plumb,
                            meaning.doubtful ? ", if it is to be on" : ""};
}

uint32_t plumb_predecessor_judge(struct plumb_buf *meaning, struct plumb_buf *cure,
                                 const struct plumb_predecessor *p, const char *name,
                                 const char *value, char *const *environment)
{
    struct verdict verdict = judge(p, name, value, environment);
    plumb_put_left(meaning, name, 0);
    plumb_buf_char(meaning, '=');
    plumb_predecessor_put(meaning, value);
    if (verdict.aside)
        plumb_buf_printf(meaning, " (%s)", verdict.aside);
    if (verdict.cure) {
        put_cure(cure, verdict.cure, p, name, value);
        plumb_buf_str(cure, verdict.unless);
    }
    return verdict.state;
}

static void advise(plumb_check *out, const struct plumb_predecessor *p, const char *name,
                   const char *value, char *const *environment)
{
    struct plumb_buf detail = {0};
    struct plumb_buf cure = {0};
    memset(out, 0, sizeof *out);
    out->name = plumb_predecessor_system(p);
    out->state = plumb_predecessor_judge(&detail, &cure, p, name, value, environment);
    plumb_buf_printf(&detail, ": %s", p->remark);
    /* Out of memory: what is certain. */
    snprintf(out->detail, sizeof out->detail, "%s", detail.failed ? p->name : detail.data);
    snprintf(out->cure, sizeof out->cure, "%s", cure.data && !cure.failed ? cure.data : "");
    plumb_buf_fini(&detail);
    plumb_buf_fini(&cure);
}

/* Whether `entry` of the environment is a variable that `p` speaks of; its name goes to `name`. A
 * name that stands there twice counts once: getenv() sees only the first. */
static bool is_entry_of(const struct plumb_predecessor *p, char *const *environment,
                        const char *entry, char name[NAME_MAX_BYTES])
{
    size_t n = strcspn(entry, "=");
    if (p->kind != PLUMB_THEIR_VARIABLE || !entry[n] || n >= NAME_MAX_BYTES)
        return false;
    snprintf(name, NAME_MAX_BYTES, "%.*s", (int)n, entry);
    return plumb_predecessor_match(p, name) > 0 &&
           plumb_environment_get(environment, name) == entry + n + 1;
}

int plumb_predecessors_advise(plumb_check *out, const struct plumb_predecessors *t, size_t i,
                              char *const *environment)
{
    size_t n;
    const struct plumb_predecessor *table = plumb_predecessors_all(t, &n);
    char name[NAME_MAX_BYTES];
    for (size_t k = 0; k < n; k++)
        for (char *const *e = environment; e && *e; e++)
            if (is_entry_of(&table[k], environment, *e, name) && i-- == 0) {
                advise(out, &table[k], name, *e + strlen(name) + 1, environment);
                return 1;
            }
    return 0;
}
