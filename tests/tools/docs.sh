#!/bin/bash
# labels: plain
# The documentation holds: code blocks compile with and without plumb, whole programs run, links lead
# somewhere, docs/environment.md and docs/coming-from.md are what the command prints.
set -u
src=$PLUMB_SOURCE_DIR
status=0

complain() {
    echo "docs: $*" >&2
    status=1
}

# blocks LANGUAGE FILE: each code block becomes block-N.LANGUAGE, with the line it stands on.
blocks() {
    awk -v language="$1" -v file="$2" -v here="$(basename "$(dirname "$2")")-$(basename "$2" .md)" '
        $0 == "```" language { n++; inside = 1; name = here "-" n "." language
            printf "#line %d \"%s\"\n", NR + 1, file > name; next }
        /^```/ { if (inside) close(name); inside = 0 }
        inside { print > name }' "$2"
}

compile() {
    "$@" -Wall -Wextra -Wpedantic -Wno-unused-function -Werror -I"$src/include" ||
        complain "does not compile: $*"
}

readers=(trace control) # pages whose programs read: nothing of them goes away with PLUMB_DISABLE
for page in "$src"/README.md "$src"/docs/*.md; do
    [[ " ${readers[*]} " == *" $(basename "$page" .md) "* ]] && continue
    blocks c "$page"
    blocks cpp "$page"
done
shopt -s nullglob
count=0
for block in *.c *.cpp; do
    count=$((count + 1))
    compiler=("${CC:-cc}" -std=c11 -x c)
    [[ $block == *.cpp ]] && compiler=("${CXX:-c++}" -std=c++11 -x c++)
    given=(-include "$src/tests/tools/_docs_prelude.h")
    grep -q '#include' "$block" && given=() # a whole program
    for define in PLUMB_ENABLED PLUMB_DISABLE; do
        compile "${compiler[@]}" -D_GNU_SOURCE -D"$define" "${given[@]}" -c -o "${block%.*}-$define.o" "$block"
    done
    nm -u "${block%.*}-PLUMB_DISABLE.o" | grep -w 'plumb_[a-z0-9_]*' &&
        complain "$block refers to plumb under PLUMB_DISABLE"
    if grep -q 'int main(' "$block"; then
        "${CC:-cc}" -o program "${block%.*}-PLUMB_ENABLED.o" "$PLUMB_LIB" -lm ||
            complain "$block does not link"
        LD_LIBRARY_PATH=$(dirname "$PLUMB_LIB") "$PLUMB_BIN" record --dir runs -- ./program >out.txt 2>err.txt ||
            complain "$block does not run: $(cat err.txt)"
        grep -qE ' spans? in ' err.txt || complain "$block records nothing: $(cat err.txt)"
    fi
done
mkdir -p reading
for page in "${readers[@]}"; do
    (cd reading && blocks c "$src/docs/$page.md")
done
for block in reading/*.c; do
    count=$((count + 1))
    compile "${CC:-cc}" -std=c11 -c -o "${block%.c}.o" "$block"
done

[ "$count" -ge 20 ] || complain "only $count code blocks found"

mkdir -p man
"$src/docs/man/update.sh" "$PLUMB_BIN" "$PWD" || complain "docs/man/update.sh"
for page in environment.md coming-from.md; do
    diff -u "$src/docs/$page" "$page" || complain "docs/$page is stale: run docs/man/update.sh PLUMB"
done

# Functions that the pages name are there.
for name in $(grep -oh '`plumb_[a-z0-9_]*()' "$src"/README.md "$src"/docs/*.md | tr -d '`()' | sort -u); do
    grep -rqw "$name" "$src/include" || complain "the pages name $name(), which plumb does not have"
done

# Links between pages, and to their headings.
for page in "$src"/*.md "$src"/docs/*.md "$src"/examples/*/README.md "$src"/bench/README.md; do
    # Code blocks have brackets of their own.
    for link in $(awk '/^```/ { inside = !inside } !inside' "$page" | grep -o '](\([^)]*\))' |
        sed 's/^](//; s/)$//' | grep -v '^[a-z]*:'); do
        target=$(dirname "$page")/${link%%#*}
        [ -n "${link%%#*}" ] || target=$page
        [ -e "$target" ] || complain "${page#"$src"/}: no '$link'"
        [[ $link == *'#'* && -f $target ]] || continue
        awk '/^```/ { inside = !inside } !inside && /^#/' "$target" |
            sed 's/^#* //' | tr 'A-Z' 'a-z' | tr -d '`+().,:?!/' | tr ' ' '-' |
            grep -qxF -- "${link#*#}" || complain "${page#"$src"/}: no heading '$link'"
    done
done
exit $status
