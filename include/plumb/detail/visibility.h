/* visibility.h: PLUMB_API marks the functions that a shared library exports. */
#ifndef PLUMB_DETAIL_VISIBILITY_H
#define PLUMB_DETAIL_VISIBILITY_H

#ifndef PLUMB_API
#define PLUMB_API __attribute__((visibility("default")))
#endif

#endif
