# The completions that every shell must offer; sourced after _lib.sh. A test defines offer(): offer LINE
# prints what its shell offers at the end of LINE, a word a line.
# shellcheck shell=sh
PATH=$(dirname "$PLUMB_BIN"):$PATH
export PATH
unset PLUMB_DIR
mkdir -p plumb-out/prog/20260101-000000-h-1 plumb-out/20260102-000000-h-2 place
echo '{}' >plumb-out/prog/20260101-000000-h-1/timing.json
cp plumb-out/prog/20260101-000000-h-1/timing.json plumb-out/20260102-000000-h-2/
ln -s 20260101-000000-h-1 plumb-out/prog/latest
: >place/file

# needs_shell NAME: the test is skipped, and says so, where it is not installed
needs_shell() {
    command -v "$1" >/dev/null || { echo "skipped: $1 is not installed"; exit 77; }
}

# completes LINE WORD...: each WORD is offered at the end of LINE, or, as !WORD, is not
completes() {
    name="completion of '$1'"
    offer "$1" >out.txt 2>err.txt || fail "$name: status $?: $(cat err.txt)"
    shift
    for word in "$@"; do
        case $word in
        !*) ! grep -qxF -- "${word#!}" out.txt || fail "$name: has '${word#!}': $(tr '\n' ' ' <out.txt)" ;;
        *) grep -qxF -- "$word" out.txt || fail "$name: lacks '$word': $(tr '\n' ' ' <out.txt)" ;;
        esac
    done
    ! grep -iE 'error|unknown|not found|bad' err.txt >&2 || fail "$name: $(cat err.txt)"
}

check_completion() {
    completes 'plumb re' record recover report '!runs'
    completes 'plumb report --un' --unit '!--threshold'
    completes 'plumb report me' memory
    completes 'plumb report s' summary signatures steps slowest
    completes 'plumb report --me' '!--memory'
    completes 'plumb report memory 202' 20260101-000000-h-1
    completes 'plumb compare me' '!memory'
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
