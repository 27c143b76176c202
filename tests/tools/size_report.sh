#!/bin/sh
# labels: plain
# The size report counts the lines of a body and names what is too long, without failing.
set -eu
mkdir -p tree/src
{
    printf 'static const int table[] = {\n    1,\n};\n\nint longest(int a,\n            int b)\n{\n'
    yes '    a += b;' | head -n 70
    printf '}\n\nint brief(void)\n{\n    return 0;\n}\n'
} >tree/src/sample.c
"$PLUMB_SOURCE_DIR/tools/size_report.py" tree >out.txt
cat out.txt
grep -q 'functions: 2, median 36 lines, p90 70, longest 70; 1 over 40, 1 over 60' out.txt
grep -q 'functions over 60: *70  src/sample.c:7 longest' out.txt
