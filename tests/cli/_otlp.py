"""Checks OTLP traces in JSON, strictly: the JSON mapping of protobuf for opentelemetry.proto.trace.v1, with
ids in hex. A field that is not in the schema, or has another type than the mapping says, is an error.

  _otlp.py FILE          checks a file; prints its spans, one JSON object a line: for jq
"""
import json
import re
import sys


class Wrong(Exception):
    pass


def want(condition, what):
    if not condition:
        raise Wrong(what)


def text(v, where):
    want(isinstance(v, str), f"{where}: not a string")


def boolean(v, where):
    want(isinstance(v, bool), f"{where}: not a boolean")


def uint32(v, where):
    want(isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 2**32, f"{where}: not a uint32")


def uint64(v, where):
    want(isinstance(v, str) and re.fullmatch(r"0|[1-9][0-9]*", v) and int(v) < 2**64, f"{where}: {v!r} is not a 64-bit integer as a string")


def int64(v, where):
    want(isinstance(v, str) and re.fullmatch(r"-?[0-9]+", v), f"{where}: {v!r} is not a 64-bit integer as a string")


def number(v, where):
    want(isinstance(v, (int, float)) and not isinstance(v, bool), f"{where}: not a number")


def hex_id(digits):
    def check(v, where):
        want(isinstance(v, str) and re.fullmatch(r"[0-9a-fA-F]{%d}" % digits, v) and int(v, 16), f"{where}: {v!r} is not an id of {digits} hex digits")
    return check


def one_of(*values):
    def check(v, where):
        want(isinstance(v, int) and not isinstance(v, bool) and v in values, f"{where}: {v!r} is not one of {values}")
    return check


def array(of):
    def check(v, where):
        want(isinstance(v, list), f"{where}: not an array")
        for i, e in enumerate(v):
            of(e, f"{where}[{i}]")
    return check


def message(fields, required=()):
    def check(v, where):
        want(isinstance(v, dict), f"{where}: not an object")
        for key, value in v.items():
            want(key in fields, f"{where}: no field is called {key!r}")
            fields[key](value, f"{where}.{key}")
        for key in required:
            want(key in v, f"{where}: {key} is missing")
    return check


def any_value(v, where):
    message({"stringValue": text, "boolValue": boolean, "intValue": int64, "doubleValue": number,
             "arrayValue": message({"values": array(any_value)}), "kvlistValue": message({"values": attributes}),
             "bytesValue": text})(v, where)
    want(len(v) <= 1, f"{where}: more than one value")


key_value = message({"key": text, "value": any_value}, ("key", "value"))


def attributes(v, where):
    array(key_value)(v, where)
    keys = [a["key"] for a in v]
    want(len(keys) == len(set(keys)), f"{where}: a key comes twice: {sorted(keys)}")


status = message({"message": text, "code": one_of(0, 1, 2)})
event = message({"timeUnixNano": uint64, "name": text, "attributes": attributes, "droppedAttributesCount": uint32})
link = message({"traceId": hex_id(32), "spanId": hex_id(16), "traceState": text, "attributes": attributes,
                "droppedAttributesCount": uint32, "flags": uint32})
span = message({"traceId": hex_id(32), "spanId": hex_id(16), "traceState": text, "parentSpanId": hex_id(16), "flags": uint32,
                "name": text, "kind": one_of(0, 1, 2, 3, 4, 5), "startTimeUnixNano": uint64, "endTimeUnixNano": uint64,
                "attributes": attributes, "droppedAttributesCount": uint32, "events": array(event), "droppedEventsCount": uint32,
                "links": array(link), "droppedLinksCount": uint32, "status": status},
               ("traceId", "spanId", "name", "startTimeUnixNano", "endTimeUnixNano"))
scope = message({"name": text, "version": text, "attributes": attributes, "droppedAttributesCount": uint32})
scope_spans = message({"scope": scope, "spans": array(span), "schemaUrl": text})
resource = message({"attributes": attributes, "droppedAttributesCount": uint32})
traces = message({"resourceSpans": array(message({"resource": resource, "scopeSpans": array(scope_spans), "schemaUrl": text}))},
                 ("resourceSpans",))


def no_twice(pairs):
    keys = [k for k, _ in pairs]
    want(len(keys) == len(set(keys)), f"a name comes twice in one object: {keys}")
    return dict(pairs)


def plain(list_of):
    out = {}
    for a in list_of:
        kind, value = next(iter(a["value"].items()))
        out[a["key"]] = int(value) if kind == "intValue" else value
    return out


def spans_of(document):
    """Checks a document and returns its spans, with attributes as a plain object and times as integers."""
    traces(document, "")
    out = []
    for r in document["resourceSpans"]:
        for s in r.get("scopeSpans", []):
            for one in s.get("spans", []):
                one = dict(one, attributes=plain(one.get("attributes", [])), resource=plain(r["resource"].get("attributes", [])),
                           scope=s.get("scope", {}).get("name"))
                one["start"] = int(one.pop("startTimeUnixNano"))
                one["end"] = int(one.pop("endTimeUnixNano"))
                want(one["start"] <= one["end"], f"span {one['name']}: it ends before it begins")
                # as text of 19 digits, which jq compares exactly; its numbers are doubles
                one["ns"] = one["end"] - one["start"]
                one["start"], one["end"] = f"{one['start']:019d}", f"{one['end']:019d}"
                out.append(one)
    ids = [(s["traceId"], s["spanId"]) for s in out]
    want(len(ids) == len(set(ids)), "an id comes twice")
    return out


def read(data):
    return spans_of(json.loads(data, object_pairs_hook=no_twice, parse_constant=lambda c: want(False, f"{c} is not JSON")))


def main():
    try:
        with open(sys.argv[1], encoding="utf-8") as f:
            for s in read(f.read()):
                print(json.dumps(s))
    except (Wrong, ValueError) as e:
        sys.exit(f"{sys.argv[1]}: {e}")


if __name__ == "__main__":
    main()
