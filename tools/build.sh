#!/bin/sh
# Configures and builds one preset: tools/build.sh PRESET [cmake -D options]
# BUILD (default build) holds the build trees, JOBS the number of parallel compilations.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
dir=${BUILD:-build}/$preset
cmake --preset "$preset" -B "$dir" "$@"
cmake --build "$dir" -j "${JOBS:-$(nproc)}"
