#!/bin/sh
# Compiles each public header alone, in every language and compiler a user may have:
# tools/check_headers.sh [FOLDER [COMPILER...]]   (default: include, with gcc and clang)
#
# *.h must be C99, C11 and C++11 in itself, *.hpp C++11; with and without plumb switched off; and twice
# in one file. Prints every combination that fails, and how many there were.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/include}
[ $# -gt 0 ] && shift
if [ $# = 0 ]; then
    clang=clang
    command -v clang >/dev/null || clang=clang-14
    set -- gcc "$clang"
fi
warnings='-Wall -Wextra -Wpedantic -Wshadow -Werror'
tried=0
bad=0

# compile COMPILER LANGUAGE STANDARD HEADER MODE
compile() {
    tried=$((tried + 1))
    # shellcheck disable=SC2086 # a list of flags
    printf '#include <%s>\n#include <%s>\nint plumb_header_test;\n' "$4" "$4" |
        "$1" -x "$2" -std="$3" $warnings $5 -I "$folder" -fsyntax-only - && return
    echo "headers: $4 does not compile: $1 -std=$3 $5" >&2
    bad=$((bad + 1))
}

headers=$(cd "$folder" && find plumb -name '*.h' -o -name '*.hpp' | sort)
for compiler in "$@"; do
    for header in $headers; do
        for mode in '' -DPLUMB_DISABLE -DPLUMB_LINKED; do
            compile "$compiler" c++ c++11 "$header" "$mode"
            case $header in
            *.h)
                compile "$compiler" c c99 "$header" "$mode"
                compile "$compiler" c c11 "$header" "$mode"
                ;;
            esac
        done
    done
done
echo "headers: $tried combinations, $bad failed"
[ "$tried" -gt 0 ] && [ "$bad" = 0 ]
