#!/bin/sh
# labels: plain
# plumb record --count: functions and libraries whatever they are called, and however long their names are.
. "$PLUMB_SOURCE_DIR/tests/runtime/_count.sh"

# ---- A library whose name only begins as those of plumb --------------------------------------------
printf 'int plain(int);\nint both(int x) { return plain(x) + plain(x); }\n' >both.c
printf 'int both(int);\nint main(void) { return both(1) + both(0) - 2 + (both(2) != 6); }\n' >calls.c
cc -Wno-missing-prototypes -fPIC -shared both.c -o libplumbing.so libcounted.so.1 -Wl,-rpath,"$PWD"
cc calls.c -o calls ./libplumbing.so -Wl,-rpath,"$PWD"
expect 'libplumbing.so' 4 "$PLUMB_BIN" record --quiet --run-dir run1 --count 'plain,both' -- ./calls
same "$name" '- inference -1 libcounted.so.1:plain 6
- inference -1 libplumbing.so:both 3' "$(calls run1)"

# ---- Long names, as templates of C++ have, that differ at their end -----------------------------------
python3 - <<'PY'
n = 1200
names = ["f%s%d" % ("x" * 700, i) for i in range(2)] + ["g%d%s" % (i, "y" * 250) for i in range(n)]
with open("long_lib.c", "w") as f:
    f.writelines("int %s(void) { return %d; }\n" % (name, i) for i, name in enumerate(names))
with open("long.c", "w") as f:
    f.writelines("int %s(void);\n" % name for name in names)
    f.write("int main(void)\n{\n    long s = 0;\n")
    f.writelines("    s += %s();\n" % name for name in names)
    f.write("    return s == %d ? 7 : 1;\n}\n" % (len(names) * (len(names) - 1) // 2))
PY
cc -O0 -fPIC -shared -Wno-missing-prototypes long_lib.c -o liblong.so
cc -O0 long.c -o long ./liblong.so -Wl,-rpath,"$PWD"
expect 'long names' 7 "$PLUMB_BIN" record --quiet --run-dir run2 --count 'liblong.so:*' -- ./long
[ "$(calls run2 | awk '$4 ~ /^liblong.so:[fg]/ { n += $5 } END { print n, NR }')" = '1202 1202' ] || fail "$name: $(calls run2 | wc -l)"
expect "$name: the report" 0 "$PLUMB_BIN" report counts --format json run2
jq -e '.not_counted == []' out.txt >/dev/null || fail "$name: $(jq -c .not_counted out.txt | cut -c1-300)"

# ---- More functions with an address in the program (-no-pie) than fit into a small table: pointers stay equal ----
python3 - <<'PY'
n = 400
declared = "".join("int h%d(void);\n" % i for i in range(n))
table = "int (*const %s[])(void) = {" + ", ".join("h%d" % i for i in range(n)) + "};\n"
with open("own_lib.c", "w") as f:
    f.writelines("int h%d(void) { return %d; }\n" % (i, i) for i in range(n))
    f.write(table % "its")
with open("own.c", "w") as f:
    f.write(declared + "extern int (*const its[])(void);\n" + table % "mine")
    f.write("int main(void)\n{\n    long s = 0, other = 0;\n    for (int i = 0; i < %d; i++) {\n" % n)
    f.write("        s += mine[i]();\n        other += mine[i] != its[i];\n    }\n")
    f.writelines("    s += h%d();\n" % i for i in range(n))
    f.write("    return other == 0 && s == %d ? 7 : 1;\n}\n" % (n * (n - 1)))
PY
cc -O0 -fPIC -shared -Wno-missing-prototypes own_lib.c -o libown.so
cc -O0 -fno-pie own.c -o own -no-pie ./libown.so -Wl,-rpath,"$PWD"
expect 'addresses of the program' 7 "$PLUMB_BIN" record --quiet --run-dir run3 --count 'libown.so:*' -- ./own
[ "$(calls run3 | awk '{ n += $5 } END { print n, NR }')" = '800 400' ] || fail "$name: $(calls run3 | tail -3)"

# ---- Assembly that does not say which of its symbols are functions ------------------------------------
printf '.text\n.globl bare\nbare: lea 6(%%rdi), %%eax\n ret\n.globl typed\n.type typed, @function\ntyped: lea 1(%%rdi), %%eax\n ret\n.section .note.GNU-stack\n' >bare_lib.s
printf 'int bare(int);\nint typed(int);\nint main(void) { return bare(0) + typed(0); }\n' >bare.c
cc -shared bare_lib.s -o libbare.so
cc bare.c -o bare ./libbare.so -Wl,-rpath,"$PWD"
expect 'assembly' 7 "$PLUMB_BIN" record --quiet --run-dir run4 --count 'libbare.so:*' -- ./bare
same "$name" '- inference -1 libbare.so:typed 1' "$(calls run4)"
expect "$name: the report" 0 "$PLUMB_BIN" report counts run4
has err.txt 'not counted: bare in libbare.so: its symbol says neither function nor data'
exit $((failures > 0))
