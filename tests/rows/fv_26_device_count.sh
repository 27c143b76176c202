#!/bin/sh
# FV-25, FV-26: a configuration is refused with file and field; too few devices skip the benchmark. The
# cases are in src/read/history/raw_test.c; here the face of it.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_compare.sh"
make_run run.json 0 100 1000000 -- x:4:10
config='{"benchmark_id": "b", "config_schema_version": 2, "workload_id": "w", "variant_id": "v", "benchmark_version": 1}'
echo "$config" | jq '. + {benchmark_version: true}' >bad.json
expect 'a wrong field' 2 history_of add --config bad.json run.json
has err.txt "'bad.json': benchmark_version must be a whole number"
echo "$config" | jq '. + {run_config: {required_gpus: 2}}' >gpus.json
expect 'too few devices' 3 history_of add --config gpus.json run.json
has err.txt "benchmark 'b' is skipped: it needs 2 GPUs, and the run had 0"
[ ! -e .plumb ] || fail 'a skipped benchmark made a history'
echo "$config" >good.json
expect 'a run without requests' 2 history_of add --config good.json run.json
has err.txt "the run has 0 good requests, and benchmark 'b' wants 1 warm-ups and 3 measured runs"
expect 'no configuration' 2 history_of add --config missing.json run.json
finish
