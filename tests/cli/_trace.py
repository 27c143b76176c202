"""Writes a small trace in Perfetto's format, field by field, without any code of plumb's: trace.pftrace.

Two threads. On "main" (TID 11): request (0 to 100 ms, marked as failed) with three runs of step in the
steps 0 to 2 (10, 20 and 40 ms), the last of which has unet (30 ms) and two runs of copy (2 ms each) inside;
idle for 50 ms; then save (150 to 160 ms), and open, which never ends. On "io" (TID 12): load (5 ms), 3 ms
idle, load (7 ms); 4 spans of load were dropped; one had its end lost. A second argument is why the trace ended."""

import sys

MS = 1_000_000


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def message(field, *parts):
    body = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def packet(*parts):
    return message(1, *parts)


def event(track, ns, kind, name=None, category=None, *args):
    return packet(
        number(8, 1000 + ns),
        number(10, 2),
        message(
            11,
            number(9, kind),
            number(11, track),
            message(23, name) if name else b"",
            message(22, category) if category else b"",
            *[message(4, message(10, key), value) for key, value in args],
        ),
    )


def thread(uuid, tid, name):
    return packet(message(60, number(1, uuid), message(4, number(1, 10), number(2, tid), message(5, name))))


def begin(track, ms, name, *args):
    return event(track, int(ms * MS), 1, name, None, *args)


def end(track, ms, *args):
    return event(track, int(ms * MS), 2, None, None, *args)


def clock(number_of, ns):
    return message(1, number(1, number_of), number(2, ns))


def step(n):
    return ("step", number(4, n))


trace = packet(message(6, clock(6, 1000), clock(1, 1_700_000_000 * 10**9)))
trace += packet(message(126, message(1, message(1, "plumb.version"), message(3, "9.9"))))
if len(sys.argv) > 2:
    trace += packet(message(126, message(1, message(1, "plumb.trace_end"), message(3, sys.argv[2]))))
trace += thread(5, 11, "main") + thread(6, 12, "io \x1b[31m|")
trace += begin(5, 0, "request", ("prompt", message(6, 'a "cat"\n')))
for n, (at, ms) in enumerate([(0, 10), (10, 20), (50, 40)]):
    trace += begin(5, at, "step", step(n))
    if n == 2:
        trace += begin(5, 51, "unet", step(n)) + end(5, 81)
        for k in range(2):
            trace += begin(5, 82 + 3 * k, "copy") + end(5, 84 + 3 * k)
    trace += end(5, at + ms)
trace += end(5, 100, ("failed", message(6, "out of memory")))
trace += begin(5, 150, "save") + end(5, 160) + begin(5, 170, "open")
trace += begin(6, 0, "load") + end(6, 5) + begin(6, 8, "load") + end(6, 15)
trace += event(6, 16 * MS, 3, "plumb.dropped", None, ("spans", number(3, 4)), ("load", number(3, 4)))
trace += begin(6, 17, "load") + end(6, 18, ("cut", number(2, 1)))
trace += event(6, 200 * MS, 3, "mark")

with open(sys.argv[1], "wb") as file:
    file.write(trace)
