#!/bin/sh
# Lists what this machine lacks to build, test, demonstrate or benchmark plumb, and installs it with apt.
#
#   tools/deps.sh [--check] build|demo|test|ci|fuzz|afl|bench|fmt|size...
#
# Each need is a probe (a command, a pkg-config module, a header) rather than a package name, so that
# a tool which was built by hand counts, other distributions work, and a second run costs milliseconds.
# With apt and root (or sudo without a password) the missing packages are installed; anywhere else the
# exact names are printed and the status is 1. --check never installs.
set -eu

# probe                          | Debian, Ubuntu      | Fedora                     | Arch
NEEDS_build='
cmd:gcc                          | gcc                 | gcc                        | gcc
lib:c                            | libc6-dev           | glibc-devel                | glibc
cmd:cmake                        | cmake               | cmake                      | cmake
cmd:ninja                        | ninja-build         | ninja-build                | ninja
cmd:pkg-config                   | pkg-config          | pkgconf-pkg-config         | pkgconf
pc:zlib                          | zlib1g-dev          | zlib-devel                 | zlib
pc:sqlite3                       | libsqlite3-dev      | sqlite-devel               | sqlite
pc:ncursesw                      | libncurses-dev      | ncurses-devel              | ncurses
pc:nettle                        | nettle-dev          | nettle-devel               | nettle
pc:grpc                          | libgrpc-dev         | grpc-devel                 | grpc
pc:libmicrohttpd                 | libmicrohttpd-dev   | libmicrohttpd-devel        | libmicrohttpd
pc:gnutls                        | libgnutls28-dev     | gnutls-devel               | gnutls
pc:libcurl                       | libcurl4-openssl-dev | libcurl-devel             | curl
pc:libprotobuf-c                 | libprotobuf-c-dev   | protobuf-c-devel           | protobuf-c
cmd:protoc-c                     | protobuf-c-compiler | protobuf-c-compiler        | protobuf-c
cmd:protoc                       | protobuf-compiler   | protobuf-compiler          | protobuf
'
NEEDS_demo="$NEEDS_build"'
hdr:oneapi/dnnl/dnnl.h           | libdnnl-dev         | onednn-devel               | onednn
pc:libavcodec                    | libavcodec-dev      | libavcodec-free-devel      | ffmpeg
pc:libavformat                   | libavformat-dev     | libavformat-free-devel     | ffmpeg
pc:libavutil                     | libavutil-dev       | libavutil-free-devel       | ffmpeg
pc:libswscale                    | libswscale-dev      | libswscale-free-devel      | ffmpeg
hdr:dlpack/dlpack.h              | libdlpack-dev       | dlpack-devel               | dlpack
pc:sndfile                       | libsndfile1-dev     | libsndfile-devel           | libsndfile
'
NEEDS_test="$NEEDS_demo"'
cmd:g++                          | g++                 | gcc-c++                    | gcc
cmd:clang-14                     | clang-14            | clang14                    | clang14
cmd:clang-format-14              | clang-format-14     | clang14-tools-extra        | clang14
pc:jansson                       | libjansson-dev      | jansson-devel              | jansson
pc:cmocka                        | libcmocka-dev       | libcmocka-devel            | cmocka
pc:otf2                          | libotf2-trace-dev   | otf2-devel                 | otf2
pc:libdw                         | libdw-dev           | elfutils-devel             | libelf
cmd:otf2-print                   | otf2-tools          | otf2                       | otf2
cmd:/usr/bin/python3             | python3             | python3                    | python
cmd:git                          | git                 | git                        | git
cmd:tmux                         | tmux                | tmux                       | tmux
cmd:jq                           | jq                  | jq                         | jq
cmd:curl                         | curl                | curl                       | curl
py:prometheus_client             | python3-prometheus-client | python3-prometheus_client | python-prometheus_client
py:grpc                          | python3-grpcio      | python3-grpcio             | python-grpcio
cmd:grpc_python_plugin           | protobuf-compiler-grpc | grpc-plugins          | grpc
cmd:openssl                      | openssl             | openssl                    | openssl
cmd:setarch                      | util-linux          | util-linux                 | util-linux
'
# Programs that some tests use if they are installed, to record, to look at traces or to complete in. They
# are too large to install for everyone.
NEEDS_ci="$NEEDS_test"'
cmd:prometheus                   | prometheus          | golang-github-prometheus   | prometheus
cmd:fish                         | fish                | fish                       | fish
cmd:zsh                          | zsh                 | zsh                        | zsh
cmd:chromium                     | chromium            | chromium                   | chromium
cmd:chromedriver                 | chromium-driver     | chromedriver               | chromium
py:selenium                      | python3-selenium    | python3-selenium           | python-selenium
py:torch                         | python3-torch       | python3-torch              | python-pytorch
hdr:CL/cl_layer.h                | opencl-c-headers    | opencl-headers             | opencl-headers
pc:OpenCL                        | ocl-icd-opencl-dev  | ocl-icd-devel              | ocl-icd
file:/etc/OpenCL/vendors/pocl.icd | pocl-opencl-icd    | pocl                       | pocl
'
NEEDS_fuzz="$NEEDS_test"'
file:/usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-* | libclang-rt-14-dev | compiler-rt | compiler-rt
'
NEEDS_afl="$NEEDS_fuzz"'
cmd:afl-fuzz                     | afl++               | american-fuzzy-lop         | aflplusplus
cmd:afl-clang-fast               | afl++               | american-fuzzy-lop-clang   | aflplusplus
'
# The last step of `make bench` is a test: g++ and cmocka are what the build of tests asks for.
NEEDS_bench="$NEEDS_demo"'
cmd:g++                          | g++                 | gcc-c++                    | gcc
pc:cmocka                        | libcmocka-dev       | libcmocka-devel            | cmocka
cmd:/usr/bin/python3             | python3             | python3                    | python
pc:lttng-ust                     | liblttng-ust-dev    | lttng-ust-devel            | lttng-ust
cmd:lttng                        | lttng-tools         | lttng-tools                | lttng-tools
cmd:uftrace                      | uftrace             | uftrace                    | uftrace
cmd:ltrace                       | ltrace              | ltrace                     | ltrace
cmd:perf                         | linux-perf          | perf                       | perf
hdr:CL/cl_layer.h                | opencl-c-headers    | opencl-headers             | opencl-headers
pc:OpenCL                        | ocl-icd-opencl-dev  | ocl-icd-devel              | ocl-icd
file:/etc/OpenCL/vendors/pocl.icd | pocl-opencl-icd    | pocl                       | pocl
py:torch                         | python3-torch       | python3-torch              | python-pytorch
'

NEEDS_fmt='
cmd:clang-format-14              | clang-format-14     | clang14-tools-extra        | clang14
'
NEEDS_size='
cmd:/usr/bin/python3             | python3             | python3                    | python
'

say() {
    printf 'deps: %s\n' "$*" >&2
}

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# One process a probe: some 10 ms for the largest set.
present() {
    what=${1#*:}
    case $1 in
    cmd:*) command -v "$what" >/dev/null 2>&1 ;;
    pc:*) pkg-config --exists "$what" >/dev/null 2>&1 ;;
    hdr:*) printf '#include <%s>\n' "$what" | gcc -E -x c -o /dev/null - >/dev/null 2>&1 ;;
    py:*) /usr/bin/python3 -c "import importlib.util as u; exit(not u.find_spec('$what'))" ;;
    lib:c) printf '#include <stdlib.h>\n' | gcc -E -x c -o /dev/null - >/dev/null 2>&1 ;;
    file:*) ls $what >/dev/null 2>&1 ;;
    *) say "unknown probe '$1'" && exit 2 ;;
    esac
}

# Reads a table on stdin; prints the rows whose probe fails.
missing_rows() {
    while IFS='|' read -r probe deb fed arch; do
        probe=$(echo $probe)
        [ -n "$probe" ] || continue
        present "$probe" || echo "$probe|$deb|$fed|$arch"
    done
}

column() {
    awk -F'|' -v n="$1" '{ gsub(/ /, "", $n); if (!seen[$n]++) printf "%s%s", sep, $n; sep = " " }'
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

can_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

# The package lists of a fresh image are empty or old: install first, and update only when that fails.
apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    set -- apt-get -y -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 \
        -o Dpkg::Use-Pty=0 install --no-install-recommends "$@"
    as_root "$@" >/dev/null 2>&1 && return 0
    say 'updating the package lists'
    as_root apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 update >&2 || true
    log=$(mktemp)
    status=0
    as_root "$@" >"$log" 2>&1 || status=$?
    [ "$status" = 0 ] || tail -n 40 "$log" >&2
    rm -f "$log"
    return "$status"
}

tell() {
    say 'install these packages, then run the command again:'
    say "  Debian, Ubuntu:  apt-get install $(echo "$1" | column 2)"
    say "  Fedora:          dnf install $(echo "$1" | column 3)"
    say "  Arch:            pacman -S $(echo "$1" | column 4)"
    exit 1
}

check_only=0
needs=
for arg in "$@"; do
    case $arg in
    --check) check_only=1 ;;
    build) needs="$needs$NEEDS_build" ;;
    demo) needs="$needs$NEEDS_demo" ;;
    test) needs="$needs$NEEDS_test" ;;
    ci) needs="$needs$NEEDS_ci" ;;
    fuzz) needs="$needs$NEEDS_fuzz" ;;
    afl) needs="$needs$NEEDS_afl" ;;
    bench) needs="$needs$NEEDS_bench" ;;
    fmt) needs="$needs$NEEDS_fmt" ;;
    size) needs="$needs$NEEDS_size" ;;
    *) usage ;;
    esac
done
[ -n "$needs" ] || usage

missing=$(echo "$needs" | missing_rows)
[ -n "$missing" ] || exit 0
say "missing: $(echo "$missing" | column 1)"
[ "$check_only" = 0 ] && can_install || tell "$missing"

say "installing with apt: $(echo "$missing" | column 2)"
# shellcheck disable=SC2046 # one word per package is what apt takes
apt_install $(echo "$missing" | column 2) || tell "$missing"
missing=$(echo "$needs" | missing_rows)
[ -z "$missing" ] || tell "$missing"
