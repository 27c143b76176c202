#!/bin/sh
# plumb report --format svg, and -o: golden pictures, valid XML whatever the names, sizes that add up,
# output that cannot be written.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
report() {
    "$PLUMB_BIN" report "$@"
}
check() {
    "$PLUMB_SOURCE_DIR/tests/cli/_check_svg.py" "$@" >counts.txt 2>check.txt ||
        fail "$name: $(tail -n 1 check.txt)"
}
cp "$data/rich.json" "$data/golden.json" .

expect 'the golden picture' 0 report --format svg rich.json
check out.txt
cmp -s out.txt "$data/rich.svg" ||
    fail "the picture differs: $(diff out.txt "$data/rich.svg" | head -n 20)"
has counts.txt '2 sections, 3 boxes, 3 labels'
# The check itself finds what is wrong.
for fault in 's/ width="1180"/ width="nan"/' 's/ width="1180"/ width="20"/' 's/ x="10"/ x="900"/' \
    's/<title>f/<title>x/' 's/ x="10"/ x="-10"/' 's/prog/\x01/'; do
    sed "$fault" out.txt >fault.svg
    "$PLUMB_SOURCE_DIR/tests/cli/_check_svg.py" fault.svg >counts.txt 2>check.txt &&
        fail "the check of pictures misses '$fault'"
done
expect 'a file instead of stdout' 0 report --format svg -o a.svg rich.json
empty out.txt
cmp -s a.svg "$data/rich.svg" || fail '-o writes something else than stdout'
expect 'every format' 0 report --format csv --output=rows.csv golden.json
has rows.csv 'prog,node_a,inference,100'
expect 'a dash is stdout' 0 report -o - golden.json
has out.txt 'Profiling Summary'

# Names of every unpleasant kind, a worker's place, async, a squeezed place, and as many as you like.
expect 'made by hand' 0 /usr/bin/python3 - <<'END'
import json

rich = json.load(open("rich.json"))
names = ["</title><script>alert(1)</script>", "]]>", "a&amp;b\"'", "\x01\x1b[31m\n", "\ufffe\uffff",
         "\U0001f600\u202e\u65e5\u672c\u8a9e" * 9, "--><!--", "", "&#0;", "n" * 5000, "\x85",
         "\\xff"]
nodes = [dict(rich["nodes"][0], name=name, pipeline=names[i % 3], phase=names[i % 5],
              stage=i % 2 == 0, skipped=3 * (i == 5), failures=0) for i, name in enumerate(names)]
for node in nodes:
    node.pop("name_hex", None)


def place(i, parent, total, self, is_async=False):
    return {"parent": parent, "node": i % len(names), "name": "", "async": is_async, "count": i,
            "total_ms": 0, "self_ms": 0, "total_ns": total, "self_ns": self}


def write(path, tree):
    json.dump(dict(rich, nodes=nodes, tree=tree, open=[]), open(path, "w"))


tree = [place(0, None, 10**9, 6 * 10**8), place(1, 0, 4 * 10**8, 10), place(2, 0, 9 * 10**9, 1),
        place(3, 2, 5, 5), place(4, None, 10**8, 0, True), place(5, None, 97, 0),
        place(6, 5, 100, 100), place(7, None, 0, 0), place(8, 7, 10**9, 3)]
tree += [place(i, i - 1, 10**9 >> i // 4, (10**9 >> i // 4) // 9) for i in range(9, 60)]
write("hostile.json", tree)
write("many.json", [place(i, None, 2**63 - 1 - i, 0) for i in range(60000)])
write("deep.json", [place(i, i - 1 if i else None, 1000, 0) for i in range(3000)])
write("none.json", [place(0, None, 0, 0)])
write("empty.json", [])
END
expect 'hostile names' 0 report --format svg -o hostile.svg hostile.json
check hostile.svg
lacks hostile.svg '<script>alert'
expect 'phase' 0 report --format svg --phase ']]>' -o phase.svg hostile.json
check phase.svg
has phase.svg 'phase ]]&gt;, pipeline'
[ "$(grep -c 'class="n"' phase.svg)" -lt "$(grep -c 'class="n"' hostile.svg)" ] ||
    fail 'the picture of a phase has everything'
expect 'no time' 0 report --format svg --phase '</title><script>alert(1)</script>' -o none.svg none.json
check none.svg
has none.svg 'No place of the call tree has any time in phase &lt;/title&gt;&lt;script&gt;alert(1)'
expect 'top' 0 report --format svg --top 1 -o top.svg hostile.json
check top.svg
has top.svg 'not among the 1 largest siblings'
expect 'minimum width' 0 report --format svg --min-width 300 -o min.svg hostile.json
check min.svg
has min.svg 'smaller): ' 'narrower than 300.00 px'
lacks min.svg 'deeper than'
expect 'more than a picture holds' 0 report --format svg --min-width 0.0001 -o many.svg many.json
check many.svg
has many.svg 'the limit of 20000 allows'
[ "$(grep -c 'class="n"' many.svg)" -le 20000 ] || fail 'more boxes than the limit'
expect 'deep' 0 report --format svg -o deep.svg deep.json
check deep.svg
has deep.svg 'deeper than 256 levels'
expect 'empty' 0 report --format svg -o empty.svg empty.json
check empty.svg
has empty.svg 'No profiling data collected.'

expect 'no such folder' 2 report -o nowhere/a.svg golden.json
has err.txt "plumb report: cannot write 'nowhere/a.svg': No such file or directory"
[ "$(wc -l <err.txt)" = 1 ] || fail 'more than one line'
mkdir folder
expect 'a folder' 2 report -o folder golden.json
has err.txt "cannot write 'folder': Is a directory"
expect 'the report itself' 2 report -o golden.json golden.json
has err.txt "'golden.json' is the report itself: give --output another name"
cmp -s golden.json "$data/golden.json" || fail 'the report was overwritten'
expect 'an empty name' 2 report -o '' golden.json
has err.txt "cannot write ''"
expect 'no file name' 2 report golden.json -o
has err.txt "option '-o' needs a value"
for width in 0 -1 x nan 1e9 ''; do
    expect "width '$width'" 2 report --format svg --min-width "$width" golden.json
    has err.txt "--min-width wants pixels above 0 and up to 1180, not '$width'"
done
if [ -w /dev/full ]; then
    expect 'full disk' 2 report -o /dev/full golden.json
    has err.txt "cannot write '/dev/full': No space left on device"
fi
# An older file stays what it was when the new one cannot be written whole.
echo old >old.txt
chmod 640 old.txt
name='file size limit'
(
    ulimit -f 1
    trap '' XFSZ
    "$PLUMB_BIN" report --format svg -o old.txt hostile.json 2>err.txt
)
[ "$(cat old.txt)" = old ] || fail "a failed write destroyed the older file: $(cat err.txt)"
has err.txt "cannot write 'old.txt': File too large"
expect 'over an older file' 0 report -o old.txt golden.json
has old.txt 'Profiling Summary'
[ "$(stat -c %a old.txt)" = 640 ] || fail 'the mode of the older file is lost'
ln -s target.txt link
expect 'through a link' 0 report -o link golden.json
has target.txt 'Profiling Summary'
ls | grep -E '\.[A-Za-z0-9]{6}$' && fail 'a temporary file stays'
finish
