#!/bin/sh
# Makes the man pages, the completions and the tables of docs/environment.md and docs/coming-from.md
# from the command itself: docs/man/update.sh PLUMB [OUT]
# They are checked in so that a package needs no built command to install them; tests compare.
# OUT, with a folder man/ in it, takes the files instead of the source tree.
set -eu
plumb=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
docs=${2:-$root/docs}
completions=${2:-$root/completions}

# insert PAGE: standard input takes the place of what stands between the page's marks
insert() {
    page=$(awk '
        /^<!-- end of what/ { inside = 0 }
        !inside { print }
        /^<!-- made by/ { inside = 1; while ((getline line < "-") > 0) print line }' "$root/docs/$1")
    printf '%s\n' "$page" >"$docs/$1"
}

"$plumb" help --man >"$docs/man/plumb.1"
for command in $("$plumb" help | sed -n '/^Commands/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
    "$plumb" help --man "$command" >"$docs/man/plumb-$command.1"
done
for shell in bash zsh fish; do
    "$plumb" help --completion=$shell >"$completions/plumb.$shell"
done
{
    echo '```'
    "$plumb" help environment
    echo '```'
} | insert environment.md
"$plumb" help --markdown | insert coming-from.md
