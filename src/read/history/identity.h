/* identity.h: the keys by which results are comparable: profiles of hardware and software, recipes,
 * and their ids. Facts come in as JSON objects, as a result or a file of the user has them; a
 * profile is the canonical JSON of what of them matters. Any thread. */
#ifndef PLUMB_READ_HISTORY_IDENTITY_H
#define PLUMB_READ_HISTORY_IDENTITY_H

#include "base/buf.h"
#include "read/history/digest.h"
#include "read/json/tree.h"

enum { PLUMB_PROFILE_ID = 24, PLUMB_RECIPE_SCHEMA = 2 };

/* Appends the profile of a machine. Facts: device_type, gpu_count, interconnect, gpus (a list of
 * name, memory_gb or memory_bytes, compute_capability), cpu and cpus. Devices that are counted and
 * not listed are padded with unknown and null. A machine without a GPU has device_type "cpu"; `cpu`
 * is part of the profile where it is a fact. */
void plumb_hardware_profile(struct plumb_buf *out, const struct plumb_json_value *facts);

/* Appends the profile of the software: python, pytorch, cuda, libc, framework_version and
 * nvidia_driver as major.minor; the versions of `packages`, the compiler and the other known names
 * as they are. Names without a fact are left out; `packages` is always there. */
void plumb_software_profile(struct plumb_buf *out, const struct plumb_json_value *facts);

/* Appends the recipe of a benchmark's configuration: what decides the work that it does. Output
 * paths, prompts (their SHA-256 is kept), resolved values and the benchmark's own id are left out.
 * `backend` NULL: "auto". `prompts`: how many of test_prompts are measured; 0: all. */
void plumb_recipe_of_config(struct plumb_buf *out, const struct plumb_json_value *config,
                            const char *backend, size_t prompts);
/* Appends the canonical JSON of a recipe as a result has it, without what is for audit alone:
 * model.resolved_revision, attention.resolved_backend, benchmark.benchmark_id. */
void plumb_recipe_canonical(struct plumb_buf *out, const struct plumb_json_value *recipe);

/* Sets `out` to "hw-" (or another prefix) and the first 16 hex digits of the text's SHA-256. */
void plumb_profile_id(char out[PLUMB_PROFILE_ID], const char *prefix, const char *canonical);

#endif
