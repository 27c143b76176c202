/* Prints how the interface of stage libraries lies in memory: as the public headers have it, or,
 * with -DBODY, as generated programs declare it. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef BODY
#include "isolate/program_types_body.h"
#else
#include <dlpack/dlpack.h>
#include <plumb/stage_library.h>
#endif

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define AT(type, member)                                                                           \
    printf(#type "." #member " %zu %zu\n", offsetof(type, member), sizeof(((type *)0)->member))

typedef struct plumb_error error;
typedef struct plumb_value value;
typedef struct plumb_field field;
typedef struct plumb_loop_limit limit;
typedef struct plumb_stage_call call;
typedef struct plumb_stage_ops ops;
typedef struct plumb_stage_library library;
#ifdef BODY
typedef struct plumb_dl_tensor tensor;
typedef struct plumb_dtype dtype;
#else
typedef DLTensor tensor;
typedef DLDataType dtype;
#endif

int main(void)
{
    SIZE(error);
    AT(error, code);
    AT(error, message);
    SIZE(tensor);
    AT(tensor, data);
    AT(tensor, device);
    AT(tensor, ndim);
    AT(tensor, dtype);
    AT(tensor, shape);
    AT(tensor, strides);
    AT(tensor, byte_offset);
    SIZE(dtype);
    AT(dtype, code);
    AT(dtype, bits);
    AT(dtype, lanes);
    SIZE(value);
    AT(value, kind);
    AT(value, count);
    AT(value, as);
    SIZE(field);
    AT(field, name);
    AT(field, value);
    SIZE(limit);
    AT(limit, size);
    AT(limit, loops);
    AT(limit, first);
    AT(limit, count);
    AT(limit, steps);
    AT(limit, ran);
    AT(limit, current);
    AT(limit, inside);
    AT(limit, thread);
    SIZE(call);
    AT(call, size);
    AT(call, inputs);
    AT(call, input_count);
    AT(call, output);
    AT(call, arg);
    SIZE(ops);
    AT(ops, size);
    AT(ops, limit);
    AT(ops, name);
    AT(ops, help);
    AT(ops, inputs);
    AT(ops, open);
    AT(ops, run);
    AT(ops, step);
    AT(ops, close);
    AT(ops, sync);
    SIZE(library);
    AT(library, version);
    AT(library, size);
    AT(library, stages);
    printf("%d %d %d %d %d %d %d %d\n", PLUMB_VALUE_NULL, PLUMB_VALUE_BOOL, PLUMB_VALUE_I64,
           PLUMB_VALUE_F64, PLUMB_VALUE_STR, PLUMB_VALUE_TENSOR, PLUMB_VALUE_LIST,
           PLUMB_VALUE_FIELDS);
    return 0;
}
