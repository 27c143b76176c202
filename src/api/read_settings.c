/* read_settings.c: the table of settings in the public interface. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/region_names.h"
#include "config/settings.h"
#include <plumb/read/setting.h>

static uint32_t kind_of(const struct plumb_setting *setting)
{
    switch (setting->type) {
    case PLUMB_SETTING_SWITCH:
    case PLUMB_SETTING_BOOL:
        return PLUMB_KIND_BOOL;
    case PLUMB_SETTING_UINT:
        return PLUMB_KIND_NUMBER;
    case PLUMB_SETTING_SIZE:
        return PLUMB_KIND_SIZE;
    case PLUMB_SETTING_ENUM:
        return PLUMB_KIND_CHOICE;
    default:
        return PLUMB_KIND_TEXT;
    }
}

int plumb_setting_get(plumb_setting_info *out, size_t i)
{
    size_t n;
    const struct plumb_setting *table = plumb_settings_table(&n);
    if (i >= n)
        return 0;
    memset(out, 0, sizeof *out);
    plumb_setting_variable(out->variable, sizeof out->variable, &table[i]);
    plumb_setting_option(out->option, sizeof out->option, &table[i]);
    out->default_text = table[i].default_text;
    out->help = table[i].help;
    out->choices = table[i].choices;
    out->kind = kind_of(&table[i]);
    out->hidden = table[i].hidden;
    return 1;
}

int plumb_setting_check(const char *name, const char *text, plumb_error *err)
{
    const struct plumb_setting *setting = plumb_setting_find(name);
    if (!setting)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "unknown setting '%s'", name);
    struct plumb_settings *settings = malloc(sizeof *settings);
    if (!settings)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    plumb_settings_default(settings);
    /* A value that would be moved into its range is refused where a person can correct it. */
    int rc = plumb_setting_parse(setting, settings, text, err);
    free(settings);
    char *moved = rc > 0 && err ? strstr(err->message, "; using ") : NULL;
    if (moved)
        *moved = '\0';
    return rc > 0 ? PLUMB_ERR_ARG : rc;
}

/* The text as the caller's. */
static int hand_over(char **out, struct plumb_buf *text, plumb_error *err)
{
    if (text->failed) {
        plumb_buf_fini(text);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    }
    *out = text->data;
    return PLUMB_OK;
}

int plumb_setting_help(char **out, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_settings_help(&text);
    return hand_over(out, &text, err);
}

int plumb_region_help(char **out, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_regions_help(&text);
    return hand_over(out, &text, err);
}
