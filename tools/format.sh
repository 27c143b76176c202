#!/bin/sh
# Checks (or with --fix mends) the format of the C and C++ files: tools/format.sh [--fix]
# One version of clang-format, because two versions never agree.
set -eu
cd "$(dirname "$0")/.."
formatter=clang-format-14
if ! command -v $formatter >/dev/null; then
    echo "format: no $formatter (package clang-format-14)" >&2
    exit 1
fi
# Tracked files and new ones that git does not ignore; without git, what lies in our folders.
list_files() {
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard -- '*.c' '*.h' '*.cc' '*.hpp'
    else
        find include src cli examples bench tests \
            \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.hpp' \) -print0
    fi
}
if [ "${1:-}" = --fix ]; then
    list_files | xargs -0 -r -P "${JOBS:-2}" -n 16 $formatter -i
else
    # The first place in each file is enough: `make fmt` mends it.
    bad=$(list_files | xargs -0 -r $formatter --dry-run -Werror 2>&1 |
        awk -F: '/\[-Wclang-format-violations\]$/ && !seen[$1]++ { print $1 ":" $2 }')
    if [ -n "$bad" ]; then
        printf 'format: run "make fmt" for\n%s\n' "$bad" >&2
        exit 1
    fi
    # Comments are not reflowed (.clang-format), so nothing else bounds their lines.
    long=$(list_files | LC_ALL=C.UTF-8 xargs -0 -r grep -nHE '^.{101,}' | cut -d : -f 1,2)
    if [ -n "$long" ]; then
        printf 'format: longer than 100 columns:\n%s\n' "$long" >&2
        exit 1
    fi
fi
