/* point.h: trace points and the objects that they are in. Defined in record/span/point.c. */
#ifndef PLUMB_RECORD_RUNTIME_POINT_H
#define PLUMB_RECORD_RUNTIME_POINT_H

#include <plumb/detail/abi.h>

/* Writes the mode words of all points again. Under the lock. */
void plumb_points_refresh(void);
void plumb_point_register(struct plumb_client *client, struct plumb_point *point);
void plumb_client_detach(struct plumb_client *client);
void plumb_set_debug_points(int on);

#endif
