/* The kernels, once for each type (iir_kernel.h). */
#include "iir.h"

#include <string.h>

enum {
    GROUP = 8,  /* sections of a pass over a block: what the processor keeps in flight */
    BLOCK = 512 /* frames; a block stays in the first cache between the groups */
};

#define T float
#define NAME(name) name##_f32
#include "iir_kernel.h"
#undef T
#undef NAME

#define T double
#define NAME(name) name##_f64
#include "iir_kernel.h"
#undef T
#undef NAME

void biquad_forward(const struct iir_section *section, double (*state)[2],
                    const struct iir_signal *s)
{
    if (s->type == IIR_F32)
        cascade_f32(section, 1, state, s);
    else
        cascade_f64(section, 1, state, s);
}

void sos_forward(const struct iir_section *sections, size_t count, double (*state)[2],
                 const struct iir_signal *s)
{
    if (s->type == IIR_F32)
        cascade_f32(sections, count, state, s);
    else
        cascade_f64(sections, count, state, s);
}

void delay_forward(size_t delay, double mix, void *line, size_t *position,
                   const struct iir_signal *s)
{
    if (s->type == IIR_F32)
        echo_f32(delay, (float)mix, line, position, s);
    else
        echo_f64(delay, mix, line, position, s);
}
