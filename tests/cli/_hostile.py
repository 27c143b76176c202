"""Files that claim what cannot be, one table of them for each format that activations come in: each is refused by
`plumb activations` and by `plumb diverge`, on either side, in one line that says where, with status 2."""
import gzip
import os
import struct
import subprocess
import sys

DEEP = 1000000
plumb = sys.argv[1]
step = 1 if sys.argv[2] == "plain" else 4  # both read by one reader: where a process is slow, a part will do
os.environ["LC_ALL"] = "C"
cases = []


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def case(path, says, data=None, beside=None):
    """`says`: what the line must hold after the name of the file; `beside`: the file of the case that is at fault."""
    cases.append((path, beside or path, says))
    if data is not None:
        write(path, data)


# ---- JSONL ----
LINE = '{"module": "m", "tensor": "out", "step": 0, "abs_mean": 1, "dtype": "float32", "shape": [3]}\n'
write("good.jsonl", LINE)
case("deep.jsonl", "line 2, column 2086: nested too deeply",
     LINE + '{"module": "m", "tensor": "out", "x": ' + "[" * DEEP + "\n")
case("deep_objects.jsonl", "line 2, column 12289: nested too deeply", LINE + '{"x": ' * DEEP)
case("key_twice.jsonl", "line 2: 'sum' comes twice",
     LINE + '{"module": "m", "tensor": "out", "sum": 1, "sum": 2}\n')
case("cut_line.jsonl", "line 2, column 41: the last line is cut off: leave it out", LINE + LINE[:40])
case("cut_inside.jsonl", "line 2, column 41: the line ends in the middle of a value", LINE + LINE[:40] + "\n" + LINE)
case("nul.jsonl", "line 2, column 1: a value is missing", LINE + "\0" * 8 + "\n")
case("nul_in_text.jsonl", "line 2, column 14: a control character", LINE + '{"module": "a\0b", "tensor": "out"}\n')
case("nul_in_name.jsonl", "line 2: 'module' holds a NUL", LINE + '{"module": "a\\u0000b", "tensor": "out"}\n')
case("zeros.jsonl", "line 1, column 1: a value is missing", bytes(4096))
case("empty.jsonl", "holds no activation record", "")
case("long_line.jsonl", "line 2, column 3000013: the last line is cut off", LINE + '{"module": "' + "m" * 3000000)
case("size_2_64.jsonl", "line 1: 'shape' is not a list", LINE.replace("[3]", "[18446744073709551616]"))

# Packed: cut short, changed, packed twice, and a line that is much longer than its file.
packed = gzip.compress((LINE * 1000).encode())
case("cut.jsonl.gz", "is cut short", packed[:60])
case("cut_at_end.jsonl.gz", "is cut short", packed[:-4])
case("changed.jsonl.gz", "cannot be unpacked", packed[:40] + bytes([packed[40] ^ 255]) + packed[41:])
case("sum.jsonl.gz", "cannot be unpacked (incorrect data check)", packed[:-8] + bytes(8))
case("twice.jsonl.gz", "line 1, column 1: a value is missing", gzip.compress(packed))
case("head.jsonl.gz", "is cut short", packed[:5])
case("cut_inside.jsonl.gz", "line 2, column 41: the last line is cut off", gzip.compress((LINE + LINE[:40]).encode()))
case("bomb.jsonl.gz", "unpacks to more than 200 times its size", gzip.compress(b'{"module": "' + b"m" * (80 << 20), 1))

# ---- dump.json, and what lies beside it ----
TENSOR = '{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1, "Min": 0, "Mean": 0.5, "Norm": 1}'
ENTRY = '"Module.m.M.forward.0": {"output": [%s]}' % TENSOR


def dump(entries):
    return '{"task": "statistics", "data": {%s}}' % entries


case("deep/dump.json", "arguments are nested too deeply", '{"task": 1, "data": {"m": {"output": ' + "[" * DEEP)
case("deep_aside/dump.json", "column 2057: nested too deeply", '{"task": ' + "[" * DEEP)
case("entry_twice/dump.json", "'Module.m.M.forward.0' comes twice", dump(ENTRY + ", " + ENTRY))
case("field_twice/dump.json", "'Max' comes twice", dump(ENTRY.replace('"Max": 1', '"Max": 1, "Max": 2')))
case("data_twice/dump.json", "'data' comes twice", dump(ENTRY)[:-1] + ', "data": {}}')
case("cut/dump.json", "column 142: it ends in the middle", dump(ENTRY)[:141])
case("nul/dump.json", "a value is missing", dump(ENTRY).replace("[{", "[\0{"))
case("nul_in_name/dump.json", "a name holds a NUL", dump(ENTRY).replace("M.forward", "M\\u0000forward"))
case("empty/dump.json", "is empty", "")
for name, data, says in (("construct", '{"a": ' + "[" * DEEP, "nested too deeply"),
                         ("construct", '{"a": "b', "it ends in the middle"),
                         ("construct", '{"a": "b", "a": "c"}', "'a' comes twice"),
                         ("construct", "", "it ends in the middle"),
                         ("stack", '{"0": ' + "[" * DEEP, "nested too deeply"),
                         ("stack", '{"0": [["a"], ["File \0"]]}', "a control character")):
    folder = "beside%d" % len(cases)
    case(folder + "/dump.json", says, dump(ENTRY), "%s/%s.json" % (folder, name))
    write("%s/%s.json" % (folder, name), data)

# ---- .npy ----
DICT = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n"


def npy(header, data, length=None):
    size = struct.pack("<I", len(header) if length is None else length)
    return b"\x93NUMPY\2\0" + size + header.encode() + data


case("header.npy", "its header is longer than the file", npy(DICT % "(2,)", bytes(8), 0xffffffff))
case("shape.npy", "it ends before its last element", npy(DICT % ("(%d, %d)" % (1 << 60, 1 << 60)), bytes(8)))
case("size.npy", "'shape' holds a size beyond 2^63", npy(DICT % ("(%d,)" % (1 << 80)), bytes(8)))
case("deep.npy", "'shape' is not a tuple", npy(DICT % ("(" * DEEP), bytes(8)))
case("key_twice.npy", "a key that is unknown, or comes twice", npy("{'descr': '<f4', " + (DICT % "(2,)")[1:], bytes(8)))
case("cut.npy", "it ends before its last element", npy(DICT % "(2,)", bytes(5)))
case("cut_header.npy", "its header is longer than the file", npy(DICT % "(2,)", b"")[:30])
case("nul.npy", "'shape' is not a tuple", npy(DICT % "(2\0,)", bytes(8)))
case("zeros.npy", "does not begin as one", bytes(4096))
case("empty.npy", "is empty", "")

# ---- .safetensors ----
A = '"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}'


def tensors(header, data=b"", length=None):
    return struct.pack("<Q", len(header) if length is None else length) + header.encode() + data


def with_b(begin, end):
    return "{%s, %s}" % (A, A.replace('"a"', '"b"').replace("[0, 8]", "[%d, %d]" % (begin, end)))


case("header_2_60.safetensors", "its header is longer than the file", tensors("{%s}" % A, bytes(8), 1 << 60))
case("header_2_64.safetensors", "its header is longer than the file", tensors("{%s}" % A, bytes(8), (1 << 64) - 1))
case("overlap.safetensors", "tensor 'b' overlaps", tensors(with_b(4, 12), bytes(12)))
case("hole.safetensors", "tensor 'b' leaves a hole", tensors(with_b(12, 20), bytes(20)))
case("outside.safetensors", "tensor 'b' ends after the file", tensors(with_b(8, 16), bytes(12)))
case("backwards.safetensors", "tensor 'b' has 'data_offsets'", tensors(with_b(16, 8), bytes(16)))
case("offset_2_63.safetensors", "tensor 'b' has a list", tensors(with_b((1 << 63) - 8, 1 << 63), bytes(16)))
case("deep.safetensors", "tensor 'a' is not an object", tensors('{"a": ' + "[" * DEEP))
case("deep_aside.safetensors", "column 2065: nested too deeply", tensors('{"__metadata__": ' + "[" * DEEP))
case("tensor_twice.safetensors", "tensor 'a' comes twice", tensors("{%s, %s}" % (A, A), bytes(8)))
case("key_twice.safetensors", "tensor 'a' has a field that comes twice",
     tensors("{%s}" % A.replace('"dtype"', '"shape": [2], "dtype"'), bytes(8)))
case("cut.safetensors", "tensor 'a' ends after the file", tensors("{%s}" % A, bytes(5)))
case("cut_header.safetensors", "column 21: it ends in the middle", tensors(("{%s}" % A)[:20]))
case("nul.safetensors", "a value is missing", tensors("{%s}" % A.replace("{", "\0{"), bytes(8)))
case("nul_in_name.safetensors", "has a NUL character in its name",
     tensors("{%s}" % A.replace('"a"', '"a\\u0000b"'), bytes(8)))
case("short.safetensors", "is shorter than", bytes(5))
case("zeros.safetensors", "line 1, column 1", bytes(4096))
case("empty.safetensors", "is empty", "")

# ---- Folders, and what cannot be read ----
write("steps/step0/m.out.npy", npy(DICT % "(2,)", bytes(8)))
write("steps/step1/m.out.npy", npy(DICT % "(2,)", bytes(5)))
case("steps", "it ends before its last element", beside="steps/step1/m.out.npy")
write("run/activations.jsonl", LINE + LINE[:40])
case("run", "line 2, column 41: the last line is cut off", beside="run/activations.jsonl")
for name in ("folder.jsonl", "folder.npy", "folder.safetensors", "dump.json"):
    os.mkdir(name)
    case(name, "holds no activations")
os.symlink("loop.jsonl", "loop.jsonl")
case("loop.jsonl", "Too many levels of symbolic links")
case("none.jsonl", "No such file or directory")
case("good.jsonl/none", "Not a directory")
if os.geteuid() != 0:
    case("closed.jsonl", "Permission denied", LINE)
    os.chmod("closed.jsonl", 0)

# ---- The answers ----
failures = 0


def run(name, at_fault, says, *args):
    global failures
    got = subprocess.run([plumb, *args], stdin=subprocess.DEVNULL, capture_output=True)
    text = got.stderr.decode("utf-8", "replace")
    good = got.returncode == 2 and got.stdout == b"" and text.count("\n") == 1 and text.endswith("\n")
    begins = text.startswith("plumb %s: " % args[0]) and len(text) < 400 and text[:-1].isprintable()
    # A place is said after the name of the file that is at fault.
    named = "'%s'" % at_fault
    if not (good and begins and named in text and says in text.split(named, 1)[1]):
        failures += 1
        print("FAIL: %s: plumb %s: status %d, not 2, or not one line with %s and then: %s\n%s" % (
            name, " ".join(args), got.returncode, named, says, text[:1000]), file=sys.stderr)


for i, (path, at_fault, says) in enumerate(cases):
    run(path, at_fault, says, "activations", path)
    if i % step == 0:
        run(path, at_fault, says, "diverge", "good.jsonl", path)
    if i % 4 == 1:
        run(path, at_fault, says, "diverge", path, "good.jsonl")
if failures or len(cases) < 60:
    sys.exit("%d cases, %d failures" % (len(cases), failures))
