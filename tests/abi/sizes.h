/* sizes.h: prints a layout, one `struct.member offset size` a line. */
#ifndef TESTS_ABI_SIZES_H
#define TESTS_ABI_SIZES_H

#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("%s %zu\n", #type, sizeof(type))
#define MEMBER(type, member)                                                                       \
    printf("%s.%s %zu %zu\n", #type, #member, offsetof(type, member), sizeof(((type *)0)->member))

/* Print the structs of a part of the headers, in files of these names: of one noun each, of
 * reading, and of what is made of runs that were read. */
void sizes_record(void);
void sizes_read(void);
void sizes_results(void);

#endif
