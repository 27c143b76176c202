/* Checkpoints: what is saved is loaded, and no damaged file is.
 * link: none
 */
#include "checkpoint.h"
#include "safetensors.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int widths[NETWORK_LAYERS + 1] = {3, 4, 2, 2};
static const struct checkpoint_facts facts = {7, UINT64_MAX, 90, 100};
static char error[512];

struct bytes {
    unsigned char data[4096];
    size_t size;
};

static void read_bytes(const char *path, struct bytes *b)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    b->size = fread(b->data, 1, sizeof b->data, f);
    assert_true(b->size < sizeof b->data);
    fclose(f);
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *f;
    unlink(path); /* to truncate it would flush it to disk, thousands of times */
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* A file of this JSON and so many zero bytes of data. */
static void write_json(const char *path, const char *json, size_t data_bytes)
{
    uint64_t length = strlen(json);
    struct bytes b = {{0}, 8 + length + data_bytes};
    assert_true(b.size < sizeof b.data);
    memcpy(b.data, &length, 8);
    memcpy(b.data + 8, json, length);
    write_bytes(path, b.data, b.size);
}

static void make(struct network *net, uint64_t seed)
{
    assert_int_equal(network_init(net, widths, 1), 0);
    network_randomize(net, seed);
    net->layers[1].bias[1] = 0.25f;
}

/* Loading fails with `reason`, in one line that names the file, and leaves the network alone. */
static void is_refused(const char *path, const char *reason)
{
    struct network net, before;
    struct checkpoint_facts found;
    make(&net, 2);
    make(&before, 2);
    error[0] = '\0';
    assert_int_equal(checkpoint_load(&net, &found, path, error, sizeof error), -1);
    assert_int_equal(strncmp(error, path, strlen(path)), 0);
    assert_null(strchr(error, '\n'));
    if (!strstr(error, reason))
        fail_msg("'%s' does not say '%s'", error, reason);
    assert_memory_equal(net.parameters, before.parameters, net.n_parameters * sizeof(real));
    network_fini(&net);
    network_fini(&before);
}

static int save_one(const char *path)
{
    struct network net;
    int rc;
    make(&net, 1);
    rc = checkpoint_save(&net, &facts, path, error, sizeof error);
    network_fini(&net);
    return rc;
}

static void what_is_saved_is_loaded(void **state)
{
    struct network saved, loaded;
    struct checkpoint_facts found;
    (void)state;
    make(&saved, 1);
    make(&loaded, 2);
    assert_int_equal(save_one("a.safetensors"), 0);
    assert_int_equal(checkpoint_load(&loaded, &found, "a.safetensors", error, sizeof error), 0);
    assert_memory_equal(saved.parameters, loaded.parameters, saved.n_parameters * sizeof(real));
    assert_true(found.epoch == facts.epoch && found.seed == facts.seed);
    assert_true(found.val_correct == facts.val_correct && found.val_count == facts.val_count);
    assert_int_equal(access("a.safetensors.part", F_OK), -1);
    network_fini(&saved);
    network_fini(&loaded);
}

static void the_file_is_laid_out_as_the_format_says(void **state)
{
    struct safetensors_header h;
    struct bytes b;
    uint64_t length;
    (void)state;
    assert_int_equal(save_one("a.safetensors"), 0);
    read_bytes("a.safetensors", &b);
    memcpy(&length, b.data, 8);
    assert_int_equal(length % 8, 0);
    assert_int_equal(b.data[8], '{');
    assert_int_equal(
        safetensors_parse(&h, (char *)b.data + 8, length, b.size - 8 - length, error, sizeof error),
        0);
    assert_int_equal(h.n_tensors, 6);
    assert_string_equal(h.tensors[0].name, "layer0.weight");
    assert_int_equal(h.tensors[0].shape[0], 3);
    assert_int_equal(h.tensors[0].shape[1], 4);
    assert_int_equal(h.tensors[1].n_axes, 1);
    assert_int_equal(h.tensors[1].begin_bytes, 48);
    assert_int_equal(h.tensors[1].end_bytes, 64);
    assert_string_equal(safetensors_fact(&h, "epoch"), "7");
}

/* Every prefix of a file, and every file with one byte changed: none may be taken for sound. */
static void a_damaged_file_is_refused_wherever_the_damage_is(void **state)
{
    struct bytes sound, damaged;
    uint64_t length;
    (void)state;
    assert_int_equal(save_one("a.safetensors"), 0);
    read_bytes("a.safetensors", &sound);
    memcpy(&length, sound.data, 8);
    for (size_t size = 0; size < sound.size; size++) {
        write_bytes("cut.safetensors", sound.data, size);
        is_refused("cut.safetensors", size < 8 ? "only" : "");
    }
    for (size_t i = 8 + length; i < sound.size; i++) {
        damaged = sound;
        damaged.data[i] ^= 1;
        write_bytes("flipped.safetensors", damaged.data, damaged.size);
        is_refused("flipped.safetensors", "checksum");
    }
    damaged = sound;
    damaged.size += 4;
    write_bytes("longer.safetensors", damaged.data, damaged.size);
    is_refused("longer.safetensors", "bytes of data");
}

/* A changed header may still say the same (a blank, a digit of the seed): it must not crash, and
 * what it loads must be the saved weights. */
static void any_byte_of_the_header_may_be_anything(void **state)
{
    struct bytes sound, damaged;
    struct network saved, net;
    struct checkpoint_facts found;
    uint64_t length;
    int loaded = 0;
    (void)state;
    make(&saved, 1);
    assert_int_equal(save_one("a.safetensors"), 0);
    read_bytes("a.safetensors", &sound);
    memcpy(&length, sound.data, 8);
    for (size_t i = 0; i < 8 + length; i++) {
        static const unsigned char put[] = {0, ' ', '"', '9', '}', '\\', 0xff};
        for (size_t j = 0; j < sizeof put; j++) {
            damaged = sound;
            damaged.data[i] = put[j];
            write_bytes("header.safetensors", damaged.data, damaged.size);
            make(&net, 2);
            if (checkpoint_load(&net, &found, "header.safetensors", error, sizeof error) == 0) {
                loaded++;
                assert_memory_equal(net.parameters, saved.parameters,
                                    net.n_parameters * sizeof(real));
            }
            network_fini(&net);
        }
    }
    assert_true(loaded > 0 && loaded < (int)length);
    network_fini(&saved);
}

static void files_of_other_kinds_are_refused_with_a_reason(void **state)
{
    static const struct {
        const char *reason, *json;
        size_t data_bytes;
    } cases[] = {
        {"no '{'", "", 0},
        {"no '\"'", "{}", 0},
        {"no tensor 'layer0.weight'", "{\"__metadata__\":{}}", 0},
        {"no ':'", "{\"a\" 1}", 0},
        {"F16", "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4},
        {"unknown field 'x'", "{\"a\":{\"x\":1}}", 0},
        {"two fields 'dtype'", "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0},
        {"lacks", "{\"a\":{\"dtype\":\"F32\"}}", 0},
        {"two tensors 'a'",
         "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
         4},
        {"size of its shape", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",
         4},
        {"size of its shape",
         "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0},
        {"wrong data_offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}",
         4},
        {"more than 2 numbers",
         "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1],\"data_offsets\":[0,4]}}", 4},
        {"no number", "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4},
        {"no number", "{\"a\":{\"shape\":[99999999999999999999999]}}", 4},
        {"overlap or leave gaps",
         "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
         12},
        {"ends behind", "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,8]}}", 4},
        {"overlap or leave gaps",
         "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         8},
        {"bytes of data", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8},
        {"ASCII", "{\"a\\n\":{}}", 0},
        {"ASCII", "{\"a\x1b[2J\":{}}", 0},
        {"longer than", "{\"a name that is much longer than any tensor of ours has\":{}}", 0},
        {"more than one object", "{\"__metadata__\":{}}{}", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_json("other.safetensors", cases[i].json, cases[i].data_bytes);
        is_refused("other.safetensors", cases[i].reason);
    }
}

static void a_network_of_another_shape_is_refused(void **state)
{
    const int wider[NETWORK_LAYERS + 1] = {3, 6, 2, 2};
    struct network net;
    (void)state;
    assert_int_equal(network_init(&net, wider, 1), 0);
    assert_int_equal(checkpoint_save(&net, &facts, "wide.safetensors", error, sizeof error), 0);
    is_refused("wide.safetensors", "'layer0.weight' is 3 x 6, and 3 x 4 in this network");
    network_fini(&net);
}

static void a_weight_that_is_no_number_is_refused(void **state)
{
    struct network net;
    (void)state;
    make(&net, 1);
    net.parameters[3] = (real)NAN;
    assert_int_equal(checkpoint_save(&net, &facts, "nan.safetensors", error, sizeof error), 0);
    is_refused("nan.safetensors", "no number");
    network_fini(&net);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    is_refused("missing.safetensors", "No such file");
    assert_int_equal(mkdir("folder", 0777), 0);
    is_refused("folder", "not a file");
    assert_int_equal(mkfifo("pipe", 0666), 0);
    is_refused("pipe", "not a file"); /* and the call does not wait for a writer */
    write_bytes("huge.safetensors", "", 0);
    assert_int_equal(truncate("huge.safetensors", (off_t)1 << 40), 0);
    is_refused("huge.safetensors", "1099511627776 bytes, more than");
    unlink("huge.safetensors");
}

static void a_failed_save_leaves_the_old_file_and_nothing_else(void **state)
{
    struct bytes before, after;
    (void)state;
    assert_int_equal(save_one("missing/a.safetensors"), -1);
    assert_non_null(strstr(error, "missing/a.safetensors: cannot save"));
    assert_int_equal(save_one("kept.safetensors"), 0);
    read_bytes("kept.safetensors", &before);
    assert_int_equal(mkdir("kept.safetensors.part", 0777), 0); /* in the way */
    assert_int_equal(save_one("kept.safetensors"), -1);
    read_bytes("kept.safetensors", &after);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, after.size);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(symlink("/dev/full", "full.safetensors.part"), 0);
        assert_int_equal(save_one("full.safetensors"), -1);
        assert_non_null(strstr(error, strerror(ENOSPC)));
        assert_int_equal(access("full.safetensors", F_OK), -1);
        assert_int_equal(access("full.safetensors.part", F_OK), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(the_file_is_laid_out_as_the_format_says),
        cmocka_unit_test(a_damaged_file_is_refused_wherever_the_damage_is),
        cmocka_unit_test(any_byte_of_the_header_may_be_anything),
        cmocka_unit_test(files_of_other_kinds_are_refused_with_a_reason),
        cmocka_unit_test(a_network_of_another_shape_is_refused),
        cmocka_unit_test(a_weight_that_is_no_number_is_refused),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_failed_save_leaves_the_old_file_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
