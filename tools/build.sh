#!/bin/sh
# Configures and builds one preset: tools/build.sh PRESET [--target TARGET] [cmake -D options]
# BUILD (default build) holds the build trees, JOBS the number of parallel compilations.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
target=all
if [ "${1-}" = --target ]; then
    target=$2
    shift 2
fi
dir=${BUILD:-build}/$preset
cmake --preset "$preset" -B "$dir" "$@"
cmake --build "$dir" --target "$target" -j "${JOBS:-$(nproc)}"
