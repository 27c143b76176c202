/* ---- Inputs ---------------------------------------------------------------------------------- */

static uint64_t count_of(const struct plumb_dl_tensor *t)
{
    uint64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= (uint64_t)t->shape[d];
    return n;
}

/* Memory for a tensor with its strides, all zero; what a negative stride reaches is in front. */
static void allocate(struct plumb_dl_tensor *t, uint64_t count, size_t element)
{
    int64_t low = 0, high = 0;
    char *memory;
    for (int d = 0; count && t->strides && d < t->ndim; d++) {
        int64_t reach = (t->shape[d] - 1) * t->strides[d];
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    if (!t->strides)
        high = count ? (int64_t)count - 1 : 0;
    memory = calloc((size_t)(high - low + 1), element);
    if (!memory)
        fail("no memory for an input", "");
    t->data = memory - low * (int64_t)element;
}

/* Puts elements in row-major order to where they belong. */
static void scatter(const struct plumb_dl_tensor *t, const char *from, uint64_t count,
                    size_t element)
{
    int64_t index[64] = {0};
    char *at = t->data;
    if (!t->strides) {
        memcpy(at, from, (size_t)count * element);
        return;
    }
    for (uint64_t i = 0; i < count; i++, from += element) {
        memcpy(at, from, element);
        for (int d = t->ndim - 1; d >= 0; d--) {
            at += t->strides[d] * (int64_t)element;
            if (++index[d] < t->shape[d])
                break;
            at -= t->strides[d] * (int64_t)element * t->shape[d];
            index[d] = 0;
        }
    }
}

static void read_input(const struct input_source *s, FILE *file, void *to, size_t bytes)
{
    if (fseek(file, (long)s->offset, SEEK_SET) != 0 || fread(to, 1, bytes, file) != bytes)
        fail("the captured inputs are cut off", s->path);
}

static void make_input(struct plumb_dl_tensor *t, const struct input_source *s, FILE *file,
                       uint64_t seed)
{
    uint64_t count = count_of(t);
    size_t element = (size_t)t->dtype.bits * t->dtype.lanes / 8;
    char *packed = malloc((size_t)count * element + 1);
    if (!packed)
        fail("no memory for an input", s->path);
    allocate(t, count, element);
    if (file && s->offset > 0) {
        read_input(s, file, packed, (size_t)count * element);
    } else {
        struct plumb_random random = s->random;
        random.seed = plumb_random_seed(seed, STAGE_NAME, s->path);
        plumb_random_fill(packed, 0, count * (t->dtype.code == 5 ? 2 : 1), &random);
    }
    scatter(t, packed, count, element);
    free(packed);
}

/* From the file of captured inputs, those that are not in it random; "": all random. */
static void make_inputs(const char *path, uint64_t seed)
{
    FILE *file = *path ? fopen(path, "rb") : NULL;
    if (*path && !file)
        fail("cannot read the captured inputs; --inputs random makes some", path);
    if (file && (fseek(file, 0, SEEK_END) != 0 || ftell(file) != STAGE_CAPTURE_BYTES))
        fail("not the captured inputs that this program was made for", path);
    for (size_t i = 0; i < tensor_count; i++)
        make_input(&tensors[i], &sources[i], file, seed);
    if (file)
        fclose(file);
}
