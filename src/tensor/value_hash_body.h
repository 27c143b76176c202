/* A hash of what a stage gives out: names, kinds, types, shapes and values, in the order in which
 * they come. libplumb, libplumb-read and the programs that plumb generates contain this text. The
 * tensors' bytes count in row-major order, whatever their strides. No protection against an author
 * who wants two outputs to have one hash. */

static uint64_t hash_word(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return (h << 29 | h >> 35) + word;
}

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t word;
    size_t i;
    h = hash_word(h, n);
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = hash_word(h, word);
    }
    for (word = 0, i = 0; i < n; i++)
        word |= (uint64_t)p[i] << 8 * i;
    return n ? hash_word(h, word) : h;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
    return hash_bytes(h, text, strlen(text));
}

/* Of one element after the other: the hash of the same elements without gaps. */
static uint64_t hash_strided(uint64_t h, const struct plumb_dl_tensor *t, uint64_t count,
                             size_t element)
{
    int64_t index[64] = {0};
    const unsigned char *at = (const unsigned char *)t->data + t->byte_offset;
    uint64_t word = 0;
    unsigned filled = 0;
    h = hash_word(h, count * element);
    for (uint64_t i = 0; i < count; i++) {
        for (size_t b = 0; b < element; b++) {
            word |= (uint64_t)at[b] << 8 * filled++;
            if (filled == 8) {
                h = hash_word(h, word);
                word = filled = 0;
            }
        }
        for (int d = t->ndim - 1; d >= 0; d--) {
            at += t->strides[d] * (int64_t)element;
            if (++index[d] < t->shape[d])
                break;
            at -= t->strides[d] * (int64_t)element * t->shape[d];
            index[d] = 0;
        }
    }
    return filled ? hash_word(h, word) : h;
}

static int hash_is_compact(const struct plumb_dl_tensor *t)
{
    int64_t expected = 1;
    for (int d = t->ndim - 1; t->strides && d >= 0; d--) {
        if (t->shape[d] != 1 && t->strides[d] != expected)
            return 0;
        expected *= t->shape[d];
    }
    return 1;
}

/* Adds 1 to `unread` for a tensor whose values the host cannot read. */
static uint64_t hash_tensor(uint64_t h, const struct plumb_dl_tensor *t, uint64_t *unread)
{
    uint64_t count = 1, bits = (uint64_t)t->dtype.bits * t->dtype.lanes;
    h = hash_word(h,
                  (uint64_t)t->dtype.code << 32 | (uint64_t)t->dtype.bits << 16 | t->dtype.lanes);
    h = hash_word(h, (uint64_t)t->ndim);
    for (int d = 0; d < t->ndim; d++) {
        h = hash_word(h, (uint64_t)t->shape[d]);
        count *= (uint64_t)t->shape[d];
    }
    if (count == 0)
        return h;
    if (!t->data || t->device.type != 1 || t->ndim > 64 || (bits % 8 && !hash_is_compact(t))) {
        ++*unread;
        return h;
    }
    if (hash_is_compact(t))
        return hash_bytes(h, (const char *)t->data + t->byte_offset,
                          (size_t)(count * bits + 7) / 8);
    return hash_strided(h, t, count, (size_t)bits / 8);
}

static uint64_t hash_value(uint64_t h, const struct plumb_value *v, uint64_t *unread)
{
    uint64_t bits = 0;
    h = hash_word(h, v->kind);
    switch (v->kind) {
    case PLUMB_VALUE_BOOL:
    case PLUMB_VALUE_I64:
        return hash_word(h, (uint64_t)v->as.i64);
    case PLUMB_VALUE_F64:
        memcpy(&bits, &v->as.f64, 8);
        return hash_word(h, bits);
    case PLUMB_VALUE_STR:
        return hash_text(h, v->as.str);
    case PLUMB_VALUE_TENSOR:
        return hash_tensor(h, v->as.tensor, unread);
    case PLUMB_VALUE_LIST:
        h = hash_word(h, v->count);
        for (uint32_t i = 0; i < v->count; i++)
            h = hash_value(h, &v->as.list[i], unread);
        return h;
    case PLUMB_VALUE_FIELDS:
        h = hash_word(h, v->count);
        for (uint32_t i = 0; i < v->count; i++)
            h = hash_value(hash_text(h, v->as.fields[i].name), &v->as.fields[i].value, unread);
        return h;
    default:
        return h;
    }
}
