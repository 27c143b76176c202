#!/bin/sh
# Removes what an installation has written: tools/uninstall.sh BUILD_DIR. `cmake --install` lists its
# files in BUILD_DIR/install_manifest.txt; folders that are empty afterwards go as well.
set -eu
manifest=${1:?}/install_manifest.txt
if [ ! -f "$manifest" ]; then
    echo "uninstall: no $manifest: nothing was installed from this build tree" >&2
    exit 1
fi
removed=0
while read -r file || [ -n "$file" ]; do
    file=${DESTDIR:-}$file
    if [ -e "$file" ] || [ -L "$file" ]; then
        rm "$file"
        removed=$((removed + 1))
    fi
    folder=$(dirname "$file")
    while rmdir "$folder" 2>/dev/null; do
        folder=$(dirname "$folder")
    done
done <"$manifest"
rm "$manifest"
echo "uninstall: removed $removed files"
