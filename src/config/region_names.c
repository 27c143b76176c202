/* region_names.c: see region_names.h. The table has every name that the region profiler plumb
 * succeeds documents and every one that its code registers; of two spellings of one thing, the one
 * that its code registers is the name and the documented one the twin. */
#include "config/region_names.h"

#include <string.h>

#include "base/error.h"
#include "base/text/ascii.h"

static const struct plumb_region_name names[] = {
    {"distillation_loss", NULL, "losses of a distillation step"},
    {"distillation_student_forward", NULL, "forward pass of the student"},
    {"distillation_teacher_forward", NULL, "forward pass of the teacher"},
    {"distillation_update", NULL, "the student's update"},
    {"inference_denoising", NULL, "the denoising loop"},
    {"inference_post_denoising", NULL, "from the last denoising step to the result"},
    {"inference_pre_denoising", NULL, "from the request to the first denoising step"},
    {"model_loading", NULL, "weights are read and placed"},
    {"training_backward", NULL, "backward pass"},
    {"training_dit", NULL, "forward pass of the transformer in training"},
    {"training_epoch", NULL, "one pass over the data"},
    {"training_optimizer", NULL, "the optimizer's step"},
    {"training_save_checkpoint", "training_checkpoint_saving", "a checkpoint is written"},
    {"training_train", NULL, "the whole training loop"},
    {"training_train_one_step", "training_step", "one training step"},
    {"training_validation", NULL, "validation within a training"},
};

const struct plumb_region_name *plumb_region_names(size_t *n)
{
    *n = sizeof names / sizeof *names;
    return names;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void trim(const char **text, size_t *len)
{
    for (; *len && is_blank(**text); (*text)++)
        (*len)--;
    while (*len && is_blank((*text)[*len - 1]))
        (*len)--;
}

/* Returns why a lower-case name is not valid, or NULL if it is. */
static const char *complaint(const char *name, size_t len)
{
    bool letter = false;
    if (!len)
        return "is empty";
    if (len > PLUMB_REGION_SHORT_MAX)
        return "is longer than 120 bytes";
    for (size_t i = 0; i < len; i++) {
        if (name[i] == ',')
            return "has a comma in it, which parts names in PLUMB_REGIONS";
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return "has a control character in it";
        letter |= name[i] >= 'a' && name[i] <= 'z';
    }
    return letter ? NULL : "has no letter a to z in it";
}

int plumb_region_normalise(char out[PLUMB_REGION_SHORT_MAX + 1], const char *text, size_t len,
                           plumb_error *err)
{
    const size_t prefix = sizeof PLUMB_REGION_PREFIX - 1;
    char name[PLUMB_REGION_SHORT_MAX + 2];
    const char *given = text, *why;
    size_t given_len = len, n;
    trim(&text, &len);
    if (len >= prefix && plumb_ascii_equal_n(text, PLUMB_REGION_PREFIX, prefix)) {
        text += prefix;
        len -= prefix;
    }
    for (n = 0; n < len && n < sizeof name; n++)
        name[n] = plumb_ascii_lower(text[n]);
    why = complaint(name, len);
    if (why)
        return plumb_fail(err, PLUMB_ERR_ARG, "the region name '%.*s' %s",
                          given_len < 80 ? (int)given_len : 80, given, why);
    memcpy(out, name, len);
    out[len] = '\0';
    return PLUMB_OK;
}

const char *plumb_region_token(const char **at, size_t *len)
{
    while (*at && **at) {
        const char *token = *at;
        *len = strcspn(token, ",");
        *at = token + *len + (token[*len] == ',');
        trim(&token, len);
        if (*len)
            return token;
    }
    return NULL;
}

void plumb_regions_help(struct plumb_buf *out)
{
    plumb_buf_printf(out, "%-30s %-28s %s\n", "Region", "Also called", "What runs in it");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        plumb_buf_printf(out, "%-30s %-28s %s\n", names[i].name,
                         names[i].twin ? names[i].twin : "-", names[i].description);
    plumb_buf_printf(out, "\nPLUMB_REGIONS=NAME,... keeps the trace to what runs inside these, '*' "
                          "to what runs in any\n"
                          "region. Each name may have " PLUMB_REGION_PREFIX
                          " before it, and any case. A program may\n"
                          "have regions of its own: plumb_region_register().\n");
}
