#!/bin/sh
# labels: plain
# plumb record --count: what cannot be counted is said, and objects whose relocations lie among code or data work.
. "$PLUMB_SOURCE_DIR/tests/runtime/_count.sh"
compiled host.o -DPLUMB_LINKED
linked lazy host.o -Wl,-z,lazy

# ---- Relocations in pages that hold more ----------------------------------------------------------
library libcounted_rx.so -Wl,-z,noseparate-code
library libcounted_rwx.so -Wl,-z,noseparate-code -DCOUNT_STAMPS
python3 - <<'END' || exit 1
"""Makes the first segment of libcounted_rwx.so writable, as tools that change a library after linking do."""
import struct
with open("libcounted_rwx.so", "r+b") as f:
    b = bytearray(f.read())
    at, size, n = struct.unpack_from("<Q", b, 32)[0], *struct.unpack_from("<HH", b, 54)
    first = next(i for i in range(n) if struct.unpack_from("<I", b, at + i * size)[0] == 1)
    flags = struct.unpack_from("<I", b, at + first * size + 4)[0]
    struct.pack_into("<I", b, at + first * size + 4, flags | 2)
    f.seek(0)
    f.write(b)
END
counted lazy mapped 'libcounted*:*'
same "$what" '- inference -1 libcounted.so.1:chosen 2
- inference -1 libcounted.so.1:plain 2
- inference -1 libcounted_rwx.so:chosen 1
- inference -1 libcounted_rx.so:chosen 1' "$(calls run)"

# ---- Libraries with much thread-local memory, as jemalloc's -------------------------------------------
printf 'static __thread char area[BYTES] __attribute__((tls_model("initial-exec")));\nchar *area_of(void) { return area; }\n' >tls_lib.c
printf 'char *area_of(void);\nint main(void) { return area_of()[0] + 7; }\n' >tls.c
for bytes in 2000 40000; do
    cc -fPIC -shared -Wno-missing-prototypes -DBYTES=$bytes tls_lib.c -o libtls$bytes.so
    cc tls.c -o tls$bytes libtls$bytes.so -Wl,-rpath,"$PWD"
    counted tls$bytes - 'libtls*.so:*'
    same "$what" 1 "$(total run area_of)"
done
expect 'below a shell' 7 "$PLUMB_BIN" record --quiet --count 'libtls*.so:*' -- sh -c './tls2000; exit $?'
expect 'what is set stays' 7 env GLIBC_TUNABLES=glibc.malloc.perturb=0 "$PLUMB_BIN" record --quiet --run-dir run4 \
    --count 'libtls*.so:*' -- sh -c 'case $GLIBC_TUNABLES in glibc.malloc.perturb=0:*=4*) exit 7 ;; esac'

# ---- References that cannot be counted are listed ---------------------------------------------------
compiled inside.o -DPLUMB_LINKED -DCOUNT_INSIDE
linked inside inside.o -Wl,-z,now
counted inside has_tables
same "$what" 1 "$(total run plain)"
expect 'the report' 0 "$PLUMB_BIN" report counts run
has err.txt 'not counted: plain in inside: a table has an address inside it'
expect 'the report as JSON' 0 "$PLUMB_BIN" report counts --format json run
jq -e '.not_counted == ["plain in inside: a table has an address inside it"]' out.txt >/dev/null || fail "not_counted: $(cat out.txt)"

# A process that may not make its memory writable, as under a security policy.
cat >policy.c <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog policy = {sizeof refuse / sizeof *refuse, refuse};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &policy) != 0)
        return 77;
    execv(argv[1], argv + 1);
    return 1;
}
END
cc policy.c -o policy
compiled no_plt.o -DPLUMB_LINKED -fno-plt
linked no_plt no_plt.o -Wl,-z,now -Wl,-z,relro
./policy ./lazy has_tables
if [ $? = 7 ]; then
    rm -rf run
    expect 'a policy' 7 "$PLUMB_BIN" record --quiet --run-dir run --count 'libcounted.so.1:plain' -- ./policy ./no_plt has_tables
    expect 'its report' 0 "$PLUMB_BIN" report counts run
    has err.txt 'not counted: plain in no_plt: calls through a pointer: the relocation cannot be made writable'
fi

# ---- More functions than have a counter --------------------------------------------------------------
python3 - <<'END'
n = 2100
with open("many_lib.c", "w") as f:
    f.writelines("int f%d(void) { return %d; }\n" % (i, i) for i in range(n))
with open("many.c", "w") as f:
    f.writelines("int f%d(void);\n" % i for i in range(n))
    f.write("int main(void)\n{\n    long s = 0;\n")
    f.writelines("    s += f%d();\n" % i for i in range(n))
    f.write("    return s == %d ? 7 : 1;\n}\n" % (n * (n - 1) // 2))
END
cc -O0 -fPIC -shared -Wno-missing-prototypes many_lib.c -o libmany.so
cc -O0 many.c -o many libmany.so -Wl,-rpath,"$PWD" -Wl,-z,lazy
rm -rf run
expect 'many functions' 7 "$PLUMB_BIN" record --quiet --run-dir run --count 'libmany.so:f*' -- ./many
[ "$(calls run | awk '{ n += $5 } END { print n, NR }')" = '2048 2048' ] || fail "many functions: $(calls run | tail -3)"
expect 'the report' 0 "$PLUMB_BIN" report counts run
has err.txt 'not counted: f2048 in libmany.so: more than 2048 functions match (this is the first that is left out)'

# ---- What cannot be counted is said ----------------------------------------------------------------
expect 'a name that is not there' 7 "$PLUMB_BIN" record --quiet --run-dir run2 \
    --count 'libcounted.so:plain,libcounted.so:plane,libnone.so:*' -- ./lazy nodes
has err.txt "no call of 'libcounted.so:plane' crossed a dynamic symbol" "no call of 'libnone.so:*'"
lacks err.txt "'libcounted.so:plain'"
while IFS='|' read -r list why; do
    expect "a wrong list: $list" 125 "$PLUMB_BIN" record --count "$list" -- ./lazy nodes
    has err.txt "--count: '$list': $why"
done <<'LISTS'
,|an item is empty
a,,b|an item is empty
lib:|an item wants LIBRARY:FUNCTION
:f|an item wants LIBRARY:FUNCTION
a b|names have no spaces
lib:f:g|an item has two colons
[|a set of characters has no ']'
lib[:f|a set of characters has no ']'
f[!]|a set of characters has no ']'
lib.so:f[a-]*[]|a set of characters has no ']'
./lib.so:f|a library is named without its folder
f@V1|names are without versions
LISTS
expect 'sets that are closed' 7 "$PLUMB_BIN" record --quiet --run-dir run6 --count 'libcounted.so:[]p]lai[!]],nowhere[]]' -- ./lazy nodes
[ "$(total run6 plain)" = 34 ] || fail "$name: $(total run6 plain)"
expect 'too many items' 125 "$PLUMB_BIN" record --count "$(seq -s, 1025)" -- ./lazy nodes
has err.txt 'more than 1024 items: use patterns'
expect 'too long a list' 125 "$PLUMB_BIN" record --count "$(printf '%016384d' 0)" -- ./lazy nodes
has err.txt 'longer than 16383 bytes'
expect 'a long list' 7 "$PLUMB_BIN" record --quiet --run-dir run7 --count "libcounted.so:plain,$(printf '%08000d' 0)" -- ./lazy nodes
[ "$(total run7 plain)" = 34 ] || fail "$name: $(total run7 plain)"
printf 'int main(void) { return 0; }\n' >trivial.c
for flag in -static -static-pie; do
    cc $flag trivial.c -o still
    expect "a program linked with $flag" 125 "$PLUMB_BIN" record --count f -- ./still
    has err.txt "'./still' is statically linked" 'no dynamic linker'
done
cp ./lazy with_rights
if [ "$(id -u)" = 0 ] && chown 65534 with_rights && chmod u+s with_rights; then
    expect 'a program with rights' 125 "$PLUMB_BIN" record --count f -- ./with_rights
    has err.txt 'the loader ignores LD_AUDIT'
fi
# Processes that have the auditor and no list, or limits that leave little, run as they do without. (glibc ends a process
# whose auditor declines and is one that stays.)
expect 'the auditor alone' 7 env LD_AUDIT="$lib_dir/libplumb-count.so" ./lazy nodes
expect 'the list was removed' 7 "$PLUMB_BIN" record --quiet --run-dir run9 --count 'libcounted.so:plain' -- env -u PLUMB_COUNT ./lazy nodes
for limit in '-f 0' '-d 10000' '-v 60000'; do
    rm -rf run9
    expect "ulimit $limit" 7 "$PLUMB_BIN" record --quiet --run-dir run9 --count 'libcounted.so:plain' -- \
        sh -c "ulimit $limit; exec ./lazy nodes"
done
[ "$(total run9 plain)" = 34 ] || fail "$name: $(total run9 plain)"

# A glibc that is too old is refused, with the reason, by both commands.
printf '#include <gnu/libc-version.h>\nconst char *gnu_get_libc_version(void) { return VERSION; }\n' >version.c
for version in 2.34 2.35 3.0; do
    cc -fPIC -shared -DVERSION="\"$version\"" version.c -o version.so
    status=7
    [ $version != 2.34 ] || status=125
    rm -rf run8
    expect "glibc $version" $status env LD_PRELOAD="$PWD/version.so" "$PLUMB_BIN" record --quiet --run-dir run8 --count 'libcounted.so:plain' \
        -- ./lazy nodes
    [ $status = 7 ] || has err.txt '--count: glibc 2.34 does not report every function to auditors: 2.35 or later is needed'
    LD_PRELOAD=$PWD/version.so "$PLUMB_BIN" doctor >out.txt 2>err.txt
    [ $status = 7 ] || has out.txt 'glibc 2.34 does not report every function to auditors: 2.35 or later is needed'
    [ $status = 125 ] || lacks out.txt 'auditors'
done
# As sotruss does: it follows calls through the PLT, and sets the flags of each binding.
cat >auditor.c <<'END'
#define _GNU_SOURCE
#include <link.h>

unsigned la_version(unsigned version)
{
    return version;
}
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)map, (void)space, (void)cookie;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
uintptr_t la_symbind64(Elf64_Sym *sym, unsigned n, uintptr_t *from, uintptr_t *to, unsigned *flags, const char *name)
{
    (void)n, (void)from, (void)to, (void)name;
    *flags = LA_SYMB_NOPLTEXIT;
    return sym->st_value;
}
Elf64_Addr la_x86_64_gnu_pltenter(Elf64_Sym *sym, unsigned n, uintptr_t *from, uintptr_t *to, La_x86_64_regs *regs,
                                  unsigned *flags, const char *name, long *frame)
{
    (void)n, (void)from, (void)to, (void)regs, (void)flags, (void)name, (void)frame;
    return sym->st_value;
}
END
cc -fPIC -shared auditor.c -o auditor.so
expect 'an auditor of the user goes on' 7 env LD_AUDIT="$PWD/auditor.so" "$PLUMB_BIN" record --quiet --run-dir run5 \
    --count 'libcounted.so:plain' -- ./lazy nodes
[ "$(total run5 plain)" = 34 ] || fail "with an auditor that follows calls: $(total run5 plain)"
expect 'an auditor of the user that cannot be loaded' 7 env LD_AUDIT=/no/such.so "$PLUMB_BIN" record --quiet --run-dir run3 \
    --count 'libcounted.so:plain' -- ./lazy nodes
[ "$(total run3 plain)" = 34 ] || fail "with another auditor: $(total run3 plain)"
expect 'the report' 0 "$PLUMB_BIN" report counts run3
has out.txt 'libcounted.so.1:plain'
expect 'PLUMB=0' 7 env PLUMB=0 "$PLUMB_BIN" record --count 'libcounted.so:plain' -- ./lazy nodes
exit $((failures > 0))
