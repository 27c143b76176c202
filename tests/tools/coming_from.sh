#!/bin/sh
# labels: plain
# docs/coming-from.md promises only what is there, and tools/check_coming_from.py notices when it does
# not: each fault is planted alone in a copy that passes without it.
set -u
root=$PLUMB_SOURCE_DIR
check=$root/tools/check_coming_from.py
page=tree/docs/coming-from.md
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

fresh() {
    rm -rf tree
    mkdir -p tree/src/config tree/include tree/completions
    cp "$root/src/config/settings.c" tree/src/config/
    cp -R "$root/docs" tree/
    cp -R "$root/include/plumb" tree/include/
    cp "$root/completions/plumb.bash" tree/completions/
}

# plant FILE SED-SCRIPT
plant() {
    sed -e "$2" "$1" >edited
    cmp -s edited "$1" && fail "the fault '$2' changes nothing in $1"
    cp edited "$1"
}

# reports NAME LINE: the check ends with 1 and says LINE, a fixed string
reports() {
    /usr/bin/python3 "$check" tree >out.txt 2>&1
    status=$?
    [ "$status" -eq 1 ] || fail "$1: exit status $status, not 1"
    grep -qF -- "$2" out.txt || fail "$1: no line says '$2': $(head -n 5 out.txt)"
    fresh
}

/usr/bin/python3 "$check" "$root" || fail 'the tree itself'
fresh
/usr/bin/python3 "$check" tree || fail 'a copy'

plant tree/src/config/settings.c 's/"PIPELINE"/"PIPELINES"/'
reports 'a variable that is gone' "'TELEFUSER_PIPELINE_NAME' is said to be 'works', but there is no 'PLUMB_PIPELINE'"
plant tree/include/plumb/run.h 's/plumb_run_dir/plumb_run_folder/'
reports 'a function that is gone' "'get_profiler_output_dir' is said to be 'works', but there is no 'plumb_run_dir'"
plant tree/include/plumb/summary.h 's/double last_ms;/double final_ms;/'
reports 'a field that is gone' "'last_ms' is said to be 'works', but there is no 'plumb_row.last_ms'"
plant tree/include/plumb/plumb.h 's/PLUMB_STAGE_DEBUG/PLUMB_STAGE_FINE/'
reports 'a macro that is gone' "'ProfilingContext4Debug' is said to be 'works', but there is no 'PLUMB_STAGE_DEBUG'"
plant tree/completions/plumb.bash 's/--frames/--number/'
reports 'an option that is gone' "but there is no 'plumb report --frames'"
plant tree/completions/plumb.bash 's/signatures //'
reports 'a view that is gone' "'--list_stages' is said to be 'works', but there is no 'plumb report signatures'"
plant tree/completions/plumb.bash 's/^    report)/    reports)/'
reports 'a command that is gone' "'profiling_summary.txt' is said to be 'works', but there is no 'plumb report'"
plant tree/docs/timing-json.md 's/total_stages_ms/total_ms/'
reports 'a field of the report that is gone' "'total_stages_ms' is said to be 'partly', but there is no 'total_stages_ms'"

plant $page 's/^\(| `FASTVIDEO_STAGE_LOGGING` .*\)| works |/\1| not yet |/'
reports 'a row that works' "'FASTVIDEO_STAGE_LOGGING' is 'not yet', but docs/rows.md says that FV-20 works"
plant $page 's/^\(| `FASTVIDEO_STAGE_LOGGING` .*\)| works |/\1| partly |/'
reports 'a part of a row that works' "'FASTVIDEO_STAGE_LOGGING' is 'partly', but docs/rows.md says that FV-20 works"
plant $page 's/^\(| `FASTVIDEO_STAGE_LOGGING` .*\)| works |/\1| surely |/'
reports 'a status' "'FASTVIDEO_STAGE_LOGGING' has status 'surely'"
plant $page 's/^\(| `FASTVIDEO_STAGE_LOGGING` | [a-z]*\) | FV-20/\1 | FV-51/'
reports 'a row' "'FASTVIDEO_STAGE_LOGGING' is of row FV-51, which does not exist"
plant $page 's/^| `FASTVIDEO_STAGE_LOGGING` | variable/| `FASTVIDEO_STAGE_LOGGING` | thing/'
reports 'a kind' "'FASTVIDEO_STAGE_LOGGING' is of kind 'thing', which does not exist"
plant $page 's/^\(| `FASTVIDEO_STAGE_LOGGING` | [a-z]* | FV-20\) | `[^`]*`/\1 | -/'
reports 'works as nothing' "'FASTVIDEO_STAGE_LOGGING' is said to be 'works', but not as what"
plant $page 's/^\(| `FASTVIDEO_STAGE_LOGGING` .*| works |\).*/\1  |/'
reports 'no remark' "'FASTVIDEO_STAGE_LOGGING' has no remark"
plant $page '/^| `FASTVIDEO_STAGE_LOGGING`/p'
reports 'twice' "the variable 'FASTVIDEO_STAGE_LOGGING' stands there twice"
plant $page '/^| `/d'
reports 'an empty page' 'no table of names'
rm tree/docs/rows.md
reports 'no catalogue' 'cannot be read'

/usr/bin/python3 "$check" --no-such-option >out.txt 2>&1
[ $? -eq 2 ] || fail 'wrong usage'
[ "$failures" -eq 0 ]
