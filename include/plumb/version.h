/* version.h: the version of these headers. plumb_read_version() returns that of the library in
 * use. */
#ifndef PLUMB_VERSION_H
#define PLUMB_VERSION_H

#define PLUMB_VERSION_MAJOR 0
#define PLUMB_VERSION_MINOR 1
#define PLUMB_VERSION_PATCH 0
#define PLUMB_VERSION "0.1.0"

#endif
