#!/bin/sh
# FV-36: the software profile keeps major.minor of the runtimes and exact versions of kernel packages.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
software() {
    perf a.json 09 10
    jq -n --arg python "$1" --arg kernel "$2" '{python: $python, pytorch: "2.12.0+cu130", cuda: "13.0",
        packages: {fastvideo_kernel: $kernel, flash_attn_4: "4.0.0.dev0", flashinfer: "0.2.11",
        nvidia_cutlass_dsl: "4.5.0", triton: "3.4.1", xformers: null}}' >s.json
    history_of add --dry-run --format json --software s.json a.json | jq -r '.results[0].software_profile_id'
}
[ "$(software 3.12.4 0.3.2)" = sw-f1f9448b4e9bf474 ] || fail "golden: $(software 3.12.4 0.3.2)"
[ "$(software 3.12.9 0.3.2)" = sw-f1f9448b4e9bf474 ] || fail 'a patch of Python changed it'
[ "$(software 3.13.0 0.3.2)" != sw-f1f9448b4e9bf474 ] || fail 'a minor of Python did not change it'
[ "$(software 3.12.4 0.3.3)" != sw-f1f9448b4e9bf474 ] || fail 'a patch of the kernels did not change it'
finish
