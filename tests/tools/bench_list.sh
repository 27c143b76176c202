#!/bin/sh
# Each benchmark that a whole run takes has a command, and each program of bench/ is in a whole run.
set -u
run=$PLUMB_SOURCE_DIR/bench/run.sh
failed=0
names=$("$run" --list) || { echo "bench_list: --list failed"; exit 1; }
for file in "$PLUMB_SOURCE_DIR"/bench/bench_*.c; do
    name=$(basename "$file" .c)
    name=${name#bench_}
    [ "$name" != uftrace_called ] || continue # the other half of uftrace
    case " $names " in
    *" $name "*) ;;
    *)
        echo "bench_list: bench/run.sh does not run bench_$name"
        failed=1
        ;;
    esac
done
"$run" --only machine,no_such_name 2>err.txt
[ $? = 2 ] && grep -q "no benchmark 'no_such_name'" err.txt || {
    echo "bench_list: an unknown name is not refused:"
    cat err.txt
    failed=1
}
/usr/bin/python3 "$PLUMB_SOURCE_DIR/bench/report.py" --help >/dev/null 2>&1 && failed=1
[ ! -e ./--help ] || {
    echo 'bench_list: report.py takes an option for the name of a file'
    failed=1
}
exit "$failed"
