"""plumb_torch_activations: what every layer of a PyTorch model gives out, for `plumb diverge`.

    import plumb_torch_activations as activations
    activations.attach(model)            # nothing happens unless PLUMB_ACTIVATIONS is on
    for i, t in enumerate(timesteps):
        with activations.step(i):        # what its records have as "step"
            latents = model(latents, t)

A line of JSON for each tensor that a module returns: module, tensor, step, then the statistics asked for, as
in FastVideo's activation trace, and always shape and dtype. The variables are plumb's: PLUMB_ACTIVATIONS, _LAYERS, _STATS, _STEPS,
_OUTPUT and _APPEND (docs/activations.md). The file needs nothing but torch, so it may be copied.
"""
import atexit, contextlib, dataclasses, fcntl, functools, json, math, os, re, socket, stat, sys, threading  # noqa: E401
from collections.abc import Mapping
import torch

STATISTICS = {  # of a copy in float32; whole numbers: in float64
    "abs_mean": lambda x: x.abs().mean(), "sum": torch.sum, "mean": torch.mean, "std": torch.std,
    "min": torch.min, "max": torch.max, "rms": lambda x: x.square().mean().sqrt(), "l2": torch.norm,
    "nan": lambda x: x.isnan().sum(), "zeros": lambda x: (x == 0).sum(),
    "inf": lambda x: x.isposinf().sum(), "neg_inf": lambda x: x.isneginf().sum()}
KEYS = (0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179)


def signed(x):
    """64 bits as torch has them: int64, which wraps."""
    return (x & (1 << 64) - 1 ^ 1 << 63) - (1 << 63)


def mixed(x):
    """Of an int, or of each element of an int64 tensor: plumb's mix() of src/tensor/content_hash.c."""
    for factor in (signed(0xd6e8feb86659fd93), signed(0xd6e8feb86659fd93), 1):
        x = (x ^ x >> 32 & 0xffffffff) * factor
        x = x if isinstance(x, torch.Tensor) else signed(x)
    return x


def values_hash(t):
    """plumb's hash of the bytes in row-major order. Sums over 1 KiB are found by torch, where the tensor is;
    what ties these together in Python, 5 us each."""
    data = t.contiguous().reshape(-1).view(torch.uint8)
    stripes = (data.numel() + 63) // 64
    words = torch.zeros((stripes + 15) // 16 * 1024, dtype=torch.uint8, device=t.device)
    words[:data.numel()] = data
    words = words.view(torch.int64).view(-1, 16, 8)
    places = [[signed(key + i * 0xc2b2ae3d27d4eb4f) for key in KEYS] for i in range(16)]
    keyed = words ^ torch.tensor(places, dtype=torch.int64, device=t.device)
    product = (keyed & 0xffffffff) * (keyed >> 32 & 0xffffffff)
    product[stripes // 16:, stripes % 16:] = 0  # beyond the end
    sums = (product + words[:, :, [1, 0, 3, 2, 5, 4, 7, 6]]).sum(1).tolist()
    lanes, low = list(KEYS), (1 << 64) - 1
    for i, row in enumerate(sums):
        lanes = [lane + add & low for lane, add in zip(lanes, row)]
        if i < stripes // 16:
            lanes = [(lane ^ lane >> 29 ^ key) * 0x9e3779b97f4a7c15 & low for lane, key in zip(lanes, KEYS)]
    result = mixed(signed(data.numel() + 1))
    for i, lane in enumerate(lanes):
        result = signed(mixed(result ^ mixed(signed(lane + KEYS[i]))) + i)
    return "%016x" % (result & low)


def any_order_hash(t):
    """The same for values in whatever order."""
    size = t.element_size()
    data = t.contiguous().reshape(-1).view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size])
    values = data.to(torch.int64) & signed((1 << 8 * size) - 1)
    return "%016x" % (mixed(values + signed(KEYS[0])).sum().item() & (1 << 64) - 1)


PLAIN = {"shape": lambda t: list(t.shape), "dtype": lambda t: str(t.dtype), "hash": values_hash,
         "hash_any": any_order_hash}
ALWAYS = ("shape", "dtype")
OFF = ("", "0", "false", "no", "off")
here, files, stepped = threading.local(), {}, []  # the thread's step; open outputs; whether a step was opened
idle = []  # settings that do nothing, and were told of


def say(text):
    with contextlib.suppress(Exception):  # stderr may be closed
        print("plumb: " + text, file=sys.stderr)


@contextlib.contextmanager
def step(index):
    """The step of this thread's records inside; after it, and after an error, that of before."""
    before, here.step = getattr(here, "step", None), index
    stepped[:] = [True]
    try:
        yield
    finally:
        here.step = before


def setting(name, default=""):
    return os.environ.get("PLUMB" + name, default).strip()


def chosen_steps(text):
    """'0,5-9' as ranges. The grammar is plumb's (src/config/step_list.h), of which this file has a copy because
    it may be used alone."""
    parts = text.split(",")
    parts.pop() if not parts[-1].strip() else None  # a comma at the end
    found = [re.fullmatch(r"[ \t]*([0-9]+)[ \t]*(?:-[ \t]*([0-9]+)[ \t]*)?", part) for part in parts]
    ranges = [f and range(int(f[1]), int(f[2] or f[1]) + 1) for f in found]
    if not all(ranges) or len(ranges) > 64 or any(r[-1] >= 1 << 63 for r in ranges):
        raise ValueError("PLUMB_ACTIVATIONS_STEPS: '%s' is not a list of steps, as 0,5-9" % text)
    return ranges


def output(text):
    """One file for all models of a process; each of several ranks has its own."""
    if os.environ.get("WORLD_SIZE", "1") != "1" and not re.search("%[pr]|<pid>", text):
        text = "%s.rank%%r%s" % os.path.splitext(text)
    words = {"%r": os.environ.get("RANK", "0"), "%h": socket.gethostname()}
    text = re.sub("%[prh]|<pid>", lambda found: words.get(found[0], str(os.getpid())), text)
    path = os.path.abspath(os.path.expanduser(text))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if path not in files or files[path].closed:
        files[path] = opened(path, setting("_ACTIVATIONS_APPEND").lower() not in OFF)
    return files[path]


def opened(path, append):
    """A write() a line: each is whole even after kill -9. What another process writes to is left to it: then
    this one's is beside it. Pipes and devices are for everybody."""
    for n in range(100):
        tag = ".%d-%d" % (os.getpid(), n) if n > 1 else ".%d" % os.getpid() if n else ""
        own = tag.join(os.path.splitext(path))
        file = open(own, "ab", buffering=0)
        try:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                fcntl.flock(file, (fcntl.LOCK_SH if append else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        except OSError:  # a file system without locks
            pass
        if not append and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.truncate(0)
        if n:
            say("'%s' is being written to; the activation records of this process go to '%s'" % (path, own))
        return file
    raise OSError("'%s' is being written to" % path)


def parts_of(value):
    """The parts of a sequence, a mapping or a dataclass, and how their labels are formed."""
    if isinstance(value, Mapping):  # also ModelOutput of transformers, which is a dataclass as well
        return "%s.%s", value.items()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "%s.%s", [(f.name, getattr(value, f.name, None)) for f in dataclasses.fields(value)]
    return "%s[%s]", enumerate(value) if isinstance(value, (tuple, list)) else ()


def labelled(value, label, depth=16):
    """The tensors of nested sequences, mappings and structures: out, out[1], out.key, out.field."""
    if isinstance(value, torch.Tensor):
        return [(label, value)]
    form, parts = parts_of(value) if depth else ("", ())
    return [found for key, part in parts for found in labelled(part, form % (label, key), depth - 1)]


def statistic(name, t):
    try:
        if name in PLAIN:
            return PLAIN[name](t)
        number = STATISTICS[name](t.float() if t.is_floating_point() else t.double()).item()
        return number if math.isfinite(number) else json.dumps(number)  # "NaN": JSON has no number for it
    except Exception as why:  # the other statistics go on
        return "<error: %s>" % why


def record(file, stats, steps, module, label, value):
    at = getattr(here, "step", None)
    if file.closed or steps and not any(at in chosen for chosen in steps):
        return
    try:
        for tensor, t in labelled(value, label):
            row = {"module": module, "tensor": tensor, "step": at}
            row.update((name, statistic(name, t.detach())) for name in stats)
            file.write((json.dumps(row) + "\n").encode())
    except Exception as why:  # the model goes on
        file.close()
        say("activation trace: %s; no more activations are recorded" % why)


def marked(path, hook):
    hook.plumb_path = path
    return hook


def detached(module, path):
    """Removes the hooks that record `module` as `path`; whether there were some."""
    found = [(hooks, key) for hooks in (module._forward_hooks, module._forward_pre_hooks)
             for key, hook in hooks.items() if getattr(hook, "plumb_path", None) == path]
    for hooks, key in found:
        del hooks[key]
    return bool(found)


def attach(model, name="", inputs=None):
    """Hooks on the modules in whose names (dotted, behind `name`) PLUMB_ACTIVATIONS_LAYERS is found, on the
    root only if `name` names it. `inputs`, an expression as well: of these, what goes in is recorded too.
    Modules that are attached already under the same name lose their earlier hooks, so nothing is doubled.
    Gives the handles, for remove()."""
    handles, layers = [], setting("_ACTIVATIONS_LAYERS")
    if setting("", "1").lower() in OFF:
        return handles
    if setting("_ACTIVATIONS").lower() in OFF:
        if "PLUMB_ACTIVATIONS" not in os.environ and not idle:
            all_names = ["_ACTIVATIONS_" + name for name in ("LAYERS", "STATS", "STEPS", "OUTPUT")]
            idle[:] = ["PLUMB" + name for name in all_names if setting(name)]
            if idle:
                say("%s: nothing without activations: set PLUMB_ACTIVATIONS=1" % ", ".join(idle))
        return handles
    asked = dict.fromkeys(re.findall(r"[^\s,]+", setting("_ACTIVATIONS_STATS") or "abs_mean,sum"))
    stats = [stat for stat in asked if stat in STATISTICS or stat in PLAIN]
    for stat in [stat for stat in asked if stat not in stats]:
        say("PLUMB_ACTIVATIONS_STATS: no statistic '%s'; there are %s" % (
            stat, ", ".join(sorted([*STATISTICS, *PLAIN]))))
    try:
        if not stats:
            raise ValueError("PLUMB_ACTIVATIONS_STATS: no statistic is left")
        pattern, steps = re.compile(layers), chosen_steps(setting("_ACTIVATIONS_STEPS"))
        file = output(setting("_ACTIVATIONS_OUTPUT") or "torch_activations_%p.jsonl")
    except (re.error, ValueError, OSError) as why:
        where = "PLUMB_ACTIVATIONS_LAYERS: '%s': " % layers if isinstance(why, re.error) else ""
        return say("%s%s; no activations are recorded" % (where, why)) or handles
    named = ((".".join(filter(None, (name, below))), module) for below, module in model.named_modules())
    chosen = [(path, module) for path, module in named if path and pattern.search(path)]
    # Whatever was asked for: without shape and type nobody can tell what a difference is worth.
    all_stats = stats + [name for name in ALWAYS if name not in stats]
    again = sum(detached(module, path) for path, module in chosen)
    if again:
        say("activation trace: %d modules were attached before; their earlier hooks are removed" % again)
    for path, module in chosen:
        to = functools.partial(record, file, all_stats, steps, path)
        handles.append(module.register_forward_hook(marked(path, lambda m, i, out, to=to: to("out", out))))
        if inputs is not None and re.search(inputs, path):
            handles.append(module.register_forward_pre_hook(marked(
                path, lambda m, i, to=to: to("in", i[0] if len(i) == 1 else i))))
    if not chosen or setting("_QUIET").lower() in OFF:
        say("activation trace attached to %d modules (pattern='%s', stats=[%s])%s" % (
            len(chosen), layers, ", ".join(stats), "" if chosen else ": nothing matched"))
    if steps:
        atexit.register(lambda: stepped or say(
            "PLUMB_ACTIVATIONS_STEPS chose steps, and the program opened none"))
    return handles
