#!/bin/sh
# labels: plain
# Each public header compiles alone as C99, C11 and C++11, and the check notices when one does not.
set -eu
check=$PLUMB_SOURCE_DIR/tools/check_headers.sh
"$check"

# One header with a planted C99 fault: an identifier that C11 alone has.
mkdir -p planted/plumb
echo 'static const int plumb_planted = _Generic(1, int : 1, default : 0);' >planted/plumb/bad.h
if "$check" planted gcc 2>/dev/null; then
    echo 'a header that is not C99 went through' >&2
    exit 1
fi
