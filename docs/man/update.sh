#!/bin/sh
# Makes the man pages, the completion and the table of docs/environment.md from the command itself:
# docs/man/update.sh PLUMB [OUT]
# They are checked in so that a package needs no built command to install them; tests compare.
# OUT, with a folder man/ in it, takes the files instead of the source tree.
set -eu
plumb=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
man=${2:-$root/docs}/man
completion=${2:-$root/completions}/plumb.bash
environment=${2:-$root/docs}/environment.md
"$plumb" help --man >"$man/plumb.1"
for command in $("$plumb" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    "$plumb" help --man "$command" >"$man/plumb-$command.1"
done
"$plumb" help --completion >"$completion"
table=$("$plumb" help environment)
page=$(awk -v table="$table" '
    /^<!-- end of what/ { inside = 0 }
    !inside { print }
    /^<!-- made by/ { inside = 1; print "```\n" table "\n```" }' "$root/docs/environment.md")
printf '%s\n' "$page" >"$environment"
