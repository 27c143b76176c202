/* The interface of a stage library, as plumb/stage_library.h has it (version 1). */

struct plumb_error {
    int32_t code;
    char message[508];
};
struct plumb_dl_device {
    int32_t type, index;
};
struct plumb_dtype {
    uint8_t code, bits;
    uint16_t lanes;
};
struct plumb_dl_tensor { /* DLTensor of DLPack */
    void *data;
    struct plumb_dl_device device;
    int32_t ndim;
    struct plumb_dtype dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

enum {
    PLUMB_VALUE_NULL,
    PLUMB_VALUE_BOOL,
    PLUMB_VALUE_I64,
    PLUMB_VALUE_F64,
    PLUMB_VALUE_STR,
    PLUMB_VALUE_TENSOR,
    PLUMB_VALUE_LIST,
    PLUMB_VALUE_FIELDS
};
struct plumb_field;
struct plumb_value {
    uint32_t kind, count;
    union {
        int64_t i64;
        double f64;
        const char *str;
        const void *tensor;
        const struct plumb_value *list;
        const struct plumb_field *fields;
    } as;
};
struct plumb_field {
    const char *name;
    struct plumb_value value;
};

struct plumb_loop_limit {
    uint32_t size, loops;
    int64_t first, count, steps, ran;
    volatile int64_t *current;
    int32_t inside, thread;
};
struct plumb_stage_call {
    size_t size;
    const struct plumb_field *inputs;
    size_t input_count;
    void (*output)(struct plumb_stage_call *call, const char *name,
                   const struct plumb_value *value);
    void *arg;
};
struct plumb_stage_ops {
    size_t size;
    void (*limit)(struct plumb_loop_limit *limit);
    const char *name, *help;
    const char *const *inputs;
    int (*open)(void **instance, const char *config, struct plumb_error *err);
    int (*run)(void *instance, struct plumb_stage_call *call, struct plumb_error *err);
    int (*step)(void *instance, struct plumb_stage_call *call, int64_t step,
                struct plumb_error *err);
    void (*close)(void *instance);
    int (*sync)(void *instance, struct plumb_error *err);
};
struct plumb_stage_library {
    uint32_t version, size;
    const struct plumb_stage_ops *const *stages;
};
