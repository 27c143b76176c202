/* Owns the denoise loop: the rectified flow, x(t) = (1 - t) clean + t noise, followed from t = 1 to
 * t = 0 by Euler's method (Liu, Gong, Liu: Flow Straight and Fast, 2022). */
#include "sampler.h"

#include "module.h"

#include <plumb/plumb.h>

/* Times are not spread evenly: a shift above 1 spends more steps near the noise, where the large
 * shapes are decided (Esser et al., Scaling Rectified Flow Transformers, 2024). */
static float time_at(int step, int steps)
{
    const float shift = 3.0f;
    float even = 1.0f - (float)step / (float)steps;

    return shift * even / (1.0f + (shift - 1.0f) * even);
}

/* The model predicts the clean latents, so the flow's velocity is (x - clean) / t, and the Euler
 * step from t to t_next is a blend of x and the prediction. The prediction is extrapolated from
 * the unguided one through the guided one. */
static void euler_update(struct nn *nn, const struct tensor *x, const struct tensor *guided,
                         const struct tensor *unguided, float guidance, float t, float t_next)
{
    int64_t count = tensor_count(x);
    float keep = t_next / t;

    for (int64_t i = 0; i < count && !nn_failed(nn); i++) {
        float without = tensor_get(unguided, i);
        float clean = without + guidance * (tensor_get(guided, i) - without);
        tensor_put(x, i, keep * tensor_get(x, i) + (1.0f - keep) * clean);
    }
}

/* Records the latents that a step begins with, so that PLUMB_CAPTURE=denoise:7 has them. */
static void tell_latents(plumb_span stage, const struct tensor *latents)
{
    struct tensor now = *latents;
    DLTensor tensor = tensor_dlpack(&now);
    plumb_stage_input(stage, "latents", &tensor);
}

/* And those that it ends with, so that the step run alone can be compared with it. */
static void tell_result(plumb_span stage, const struct tensor *latents)
{
    struct tensor now = *latents;
    DLTensor tensor = tensor_dlpack(&now);
    plumb_stage_output(stage, "latents", &tensor);
}

void denoise(struct nn *nn, const struct sampler *s, const struct dit *dit,
             const struct tensor *text, const struct tensor *no_text, const struct tensor *latents)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor guided = nn_matrix(nn, latents->dims[0], latents->dims[1]);
    struct tensor unguided = nn_matrix(nn, latents->dims[0], latents->dims[1]);

    for (PLUMB_STEPS (step, s->steps)) {
        PLUMB_SPAN("denoise_step");
        nn->step = step;
        tell_latents(s->stage, latents);
        float t = time_at(step, s->steps);
        float t_next = time_at(step + 1, s->steps);
        dit_forward(nn, dit, latents, t, text, &guided);
        dit_forward(nn, dit, latents, t, no_text, &unguided);
        euler_update(nn, latents, &guided, &unguided, s->guidance, t, t_next);
        module_leaf(nn, "euler", latents);
        tell_result(s->stage, latents);
    }
    nn->step = -1;
    nn_check_finite(nn, latents, "latents");
    nn_release(nn, mark);
}
