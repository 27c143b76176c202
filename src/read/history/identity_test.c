/* Tests of profiles, recipes and their ids, against values that FastVideo's own code gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "read/history/identity.h"
#include "read/json/scan.h"

#if defined(PLUMB_HISTORY)

#define GPU                                                                                        \
    "{\"name\": \"NVIDIA L40S\", \"memory_bytes\": 51539607552, \"compute_capability\": \"8.9\"}"
#define CONFIG                                                                                     \
    "{\"benchmark_id\": \"wan-t2v-1.3b-2gpu\", \"workload_id\": \"wan-t2v\","                      \
    " \"variant_id\": \"1.3b-sp2\", \"benchmark_version\": 2, \"model\": {\"model_path\":"         \
    " \"Wan-AI/Wan2.1-T2V-1.3B-Diffusers\", \"model_short_name\": \"Wan2.1-T2V-1.3B\"},"           \
    " \"init_kwargs\": {\"num_gpus\": 2, \"sp_size\": 2, \"tp_size\": 1, \"vae_sp\": true,"        \
    " \"vae_tiling\": true, \"text_encoder_precisions\": [\"fp32\"]}, \"generation_kwargs\": {"    \
    "\"height\": 480, \"width\": 832, \"num_frames\": 45, \"num_inference_steps\": 4,"             \
    " \"guidance_scale\": 3, \"embedded_cfg_scale\": 6, \"seed\": 1024, \"fps\": 24,"              \
    " \"neg_prompt\": \"low quality\"}, \"test_prompts\": [\"A cinematic video.\"]}"

typedef void (*writer)(struct plumb_buf *, const struct plumb_json_value *);

static void recipe(struct plumb_buf *out, const struct plumb_json_value *v)
{
    plumb_recipe_of_config(out, v, "FLASH_ATTN", 0);
}

static void recipe_without_backend(struct plumb_buf *out, const struct plumb_json_value *v)
{
    plumb_recipe_of_config(out, v, NULL, 0);
}

static void written(char *out, size_t size, writer write, const char *json)
{
    struct plumb_json_tree tree;
    struct plumb_buf text = {0};
    plumb_error err = {0, ""};
    if (plumb_json_tree_read(&tree, json, strlen(json), PLUMB_JSON_NAN, "test", &err) < 0)
        fail_msg("%s", err.message);
    write(&text, tree.root);
    assert_false(text.failed);
    assert_true(text.len < size);
    memcpy(out, text.data, text.len + 1);
    plumb_buf_fini(&text);
    plumb_json_tree_fini(&tree);
}

static void hash_of(char out[PLUMB_DIGEST], writer write, const char *json)
{
    char text[4096];
    written(text, sizeof text, write, json);
    plumb_digest_text(out, text);
}

static void id_of(char out[PLUMB_PROFILE_ID], const char *prefix, writer write, const char *json)
{
    char text[4096];
    written(text, sizeof text, write, json);
    plumb_profile_id(out, prefix, text);
}

/* `from` replaced by `to`. */
static const char *changed(const char *from, const char *to)
{
    static char text[4096];
    const char *at = strstr(CONFIG, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - CONFIG), CONFIG, to, at + strlen(from));
    return text;
}

static void the_hash_is_sha_256(void **state)
{
    char out[PLUMB_DIGEST];
    (void)state;
    plumb_digest_text(out, "abc"); /* FIPS 180-4 */
    assert_string_equal(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    plumb_digest_text(out, "A cinematic video.");
    assert_string_equal(out, "a1aab4d8d8d9a0d43e78d06987cdc938e1b8c4b8267afa45214ac0d339e47ef7");
}

static void a_machine_with_two_gpus_has_the_id_of_the_original(void **state)
{
    char id[PLUMB_PROFILE_ID], other[PLUMB_PROFILE_ID];
    (void)state;
    id_of(id, "hw", plumb_hardware_profile,
          "{\"gpus\": [" GPU "," GPU "], \"interconnect\": \"none_or_partial\"}");
    assert_string_equal(id, "hw-41f86157a00d7e43");
    id_of(other, "hw", plumb_hardware_profile,
          "{\"interconnect\": \"none_or_partial\", \"gpu_count\": 2, \"device_type\": \"cuda\","
          " \"gpus\": [" GPU ", {\"compute_capability\": \"8.9\", \"memory_gb\": 48,"
          " \"name\": \"NVIDIA L40S\"}]}");
    assert_string_equal(id, other);
}

static void devices_that_are_not_listed_are_padded(void **state)
{
    char text[4096];
    (void)state;
    written(text, sizeof text, plumb_hardware_profile,
            "{\"gpu_count\": 2, \"gpus\": [{\"name\": \" \"}]}");
    assert_string_equal(text,
                        "{\"device_type\":\"cuda\",\"gpu_count\":2,\"gpus\":["
                        "{\"compute_capability\":null,\"memory_gb\":null,\"name\":\"unknown\"},"
                        "{\"compute_capability\":null,\"memory_gb\":null,\"name\":\"unknown\"}],"
                        "\"interconnect\":\"unknown\"}");
    written(text, sizeof text, plumb_hardware_profile, "{}");
    assert_string_equal(
        text, "{\"device_type\":\"cpu\",\"gpu_count\":0,\"gpus\":[],\"interconnect\":\"none\"}");
    written(text, sizeof text, plumb_hardware_profile,
            "{\"gpus\": [" GPU "], \"cpu\": \"X\", \"cpus\": 2}");
    assert_non_null(strstr(text, "\"cpu\":{\"count\":2,\"name\":\"X\"}"));
    assert_non_null(strstr(text, "\"interconnect\":\"single_gpu\",")
                        ? text
                        : strstr(text, "\"interconnect\":\"single_gpu\"}"));
    written(text, sizeof text, plumb_hardware_profile, "{\"gpu_count\": -3}");
    assert_non_null(strstr(text, "\"gpu_count\":0"));
}

#define PACKAGES(kernel)                                                                           \
    "\"cuda\": \"13.0\", \"packages\": {\"fastvideo_kernel\": \"" kernel                           \
    "\", \"flash_attn_4\": \"4.0.0.dev0\", \"flashinfer\": \"0.2.11\", \"nvidia_cutlass_dsl\":"    \
    " \"4.5.0\", \"triton\": \"3.4.1\", \"xformers\": null}}"

static void software_keeps_what_changes_kernels(void **state)
{
    char id[PLUMB_PROFILE_ID], patch[PLUMB_PROFILE_ID], kernel[PLUMB_PROFILE_ID];
    (void)state;
    id_of(id, "sw", plumb_software_profile,
          "{\"python\": \"3.12.4\", \"pytorch\": \"2.12.0+cu130\"," PACKAGES("0.3.2"));
    assert_string_equal(id, "sw-f1f9448b4e9bf474");
    id_of(patch, "sw", plumb_software_profile,
          "{\"pytorch\": \"2.12.1\", \"python\": \"3.12.5\"," PACKAGES("0.3.2"));
    assert_string_equal(patch, id);
    id_of(kernel, "sw", plumb_software_profile,
          "{\"python\": \"3.12.4\", \"pytorch\": \"2.12.0+cu130\"," PACKAGES("0.3.3"));
    assert_string_not_equal(kernel, id);
}

static void a_recipe_has_the_hash_of_the_original(void **state)
{
    char hash[PLUMB_DIGEST];
    (void)state;
    hash_of(hash, recipe, CONFIG);
    assert_string_equal(hash, "5ab795fc3171a699c4ffe437e773d9339af2c75477643efb61da34579ea51085");
}

static void what_is_not_work_leaves_a_recipe_as_it_is(void **state)
{
    static const char *const same[][2] = {
        {"\"seed\": 1024",
         "\"output_path\": \"/tmp/x\", \"output_video_name\": \"y\", \"seed\": 1024"},
        {"\"benchmark_id\": \"wan-t2v-1.3b-2gpu\"", "\"benchmark_id\": \"renamed\""},
        {"\"height\": 480, \"width\": 832", "\"width\": 832, \"height\": 480"},
        {"\"guidance_scale\": 3", "\"guidance_scale\": 3.0"},
        {"\"model_short_name\": \"Wan2.1-T2V-1.3B\"", "\"resolved_revision\": \"aaaa\""},
        {"\"neg_prompt\"", "\"negative_prompt\""},
    };
    char hash[PLUMB_DIGEST], other[PLUMB_DIGEST];
    (void)state;
    hash_of(hash, recipe, CONFIG);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        hash_of(other, recipe, changed(same[i][0], same[i][1]));
        assert_string_equal(other, hash);
    }
}

static void what_is_work_changes_a_recipe(void **state)
{
    static const char *const different[][2] = {
        {"\"num_inference_steps\": 4", "\"num_inference_steps\": 8"},
        {"\"seed\": 1024", "\"seed\": 2048"},
        {"\"guidance_scale\": 3", "\"guidance_scale\": 3.5"},
        {"\"fp32\"", "\"bf16\""},
        {"A cinematic video.", "Another video."},
        {"low quality", "blurry"},
        {"\"benchmark_version\": 2", "\"benchmark_version\": 3"},
    };
    char hash[PLUMB_DIGEST], other[PLUMB_DIGEST];
    (void)state;
    hash_of(hash, recipe, CONFIG);
    for (size_t i = 0; i < sizeof different / sizeof *different; i++) {
        hash_of(other, recipe, changed(different[i][0], different[i][1]));
        assert_string_not_equal(other, hash);
    }
    hash_of(other, recipe_without_backend, CONFIG);
    assert_string_not_equal(other, hash);
}

static void a_recipe_of_a_result_has_no_resolved_values(void **state)
{
    char text[4096];
    (void)state;
    written(text, sizeof text, plumb_recipe_canonical,
            "{\"model\": {\"resolved_revision\": \"x\", \"b\": 1.0}, \"attention\": {"
            "\"resolved_backend\": \"F\", \"requested_backend\": \"auto\"}, \"benchmark\": {"
            "\"benchmark_id\": \"b\"}, \"a\": \"\xc3\xa9\xf0\x9f\x98\x80\\u0001\\\"\"}");
    assert_string_equal(text, "{\"a\":\"\\u00e9\\ud83d\\ude00\\u0001\\\"\","
                              "\"attention\":{\"requested_backend\":\"auto\"},\"benchmark\":{},"
                              "\"model\":{\"b\":1}}");
}

/* Python writes and reads them. */
static void a_recipe_may_have_numbers_that_are_not_finite(void **state)
{
    char text[4096];
    (void)state;
    written(text, sizeof text, plumb_recipe_canonical, "{\"b\": [NaN, -Infinity], \"a\": 1.0}");
    assert_string_equal(text, "{\"a\":1,\"b\":[NaN,-Infinity]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recipe_may_have_numbers_that_are_not_finite),
        cmocka_unit_test(the_hash_is_sha_256),
        cmocka_unit_test(a_machine_with_two_gpus_has_the_id_of_the_original),
        cmocka_unit_test(devices_that_are_not_listed_are_padded),
        cmocka_unit_test(software_keeps_what_changes_kernels),
        cmocka_unit_test(a_recipe_has_the_hash_of_the_original),
        cmocka_unit_test(what_is_not_work_leaves_a_recipe_as_it_is),
        cmocka_unit_test(what_is_work_changes_a_recipe),
        cmocka_unit_test(a_recipe_of_a_result_has_no_resolved_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77; /* built without SQLite */
}

#endif
