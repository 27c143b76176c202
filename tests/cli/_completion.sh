# What every shell must complete; sourced after _lib.sh, with a completes() of its own:
# completes LINE WORD...: each WORD is offered at the end of LINE, or, as !WORD, is not.
# shellcheck shell=sh
PATH=$(dirname "$PLUMB_BIN"):$PATH
export PATH
unset PLUMB_DIR
mkdir -p plumb-out/prog/20260101-000000-h-1 plumb-out/20260102-000000-h-2 place
echo '{}' >plumb-out/prog/20260101-000000-h-1/timing.json
cp plumb-out/prog/20260101-000000-h-1/timing.json plumb-out/20260102-000000-h-2/
ln -s 20260101-000000-h-1 plumb-out/prog/latest
: >place/file

check_completion() {
    completes 'plumb re' record recover report '!runs'
    completes 'plumb report --un' --unit '!--threshold'
    completes 'plumb compare --fol' --fold
    completes 'plumb report --unit ' auto ns us ms s
    completes 'plumb export --format ' chrome speedscope '!json'
    # The first word is the command, whatever else is there.
    completes 'plumb diverge report --' --map '!--unit'
    completes 'plumb report 202' 20260101-000000-h-1 20260102-000000-h-2 '!latest'
    completes 'plumb recover 202' 20260101-000000-h-1
    completes 'plumb help co' compare coming-from '!plumb-out'
    # Another program, with its files, and none of plumb's options.
    completes 'plumb record -- tru' true
    completes 'plumb doctor -- fals' false
    completes 'plumb record --debug -- cat --uni' '!--unit' '!--min-width'
}
