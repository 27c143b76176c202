/* decimal.h: printf writes numbers with the decimal separator of the host's locale; plumb's files
 * and tables have '.'. */
#ifndef PLUMB_CODEC_DECIMAL_H
#define PLUMB_CODEC_DECIMAL_H

#include <stdbool.h>

/* In a number as %f, %e or %g write it, the separator, one byte or more, becomes one '.'. */
static inline void plumb_decimal_point(char *number)
{
    char *to = number;
    bool inside = false;
    for (const char *p = number; *p; p++) {
        bool other = !((*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e');
        if (!other)
            *to++ = *p;
        else if (!inside)
            *to++ = '.';
        inside = other;
    }
    *to = '\0';
}

#endif
