#!/usr/bin/python3
"""report.py: merges the parts of bench-results.json, prints the table, compares with the targets.

usage: bench/report.py RESULTS.json [PART.json...] [--check]

Where several parts hold a number under one key (a program that ran several times), its median counts.
The parts are merged over what RESULTS.json holds already, so that a run of some programs keeps the
figures of the others. --check only reads RESULTS.json and lists what is met and what is missed, by how
much. It always succeeds: figures belong to a machine, and a slow one is no reason to fail a build.
"""
import json
import os
import statistics
import sys


class AtLeast(float):
    """A target that more is better than."""


# key, what it is, unit, target: at most that, or AtLeast that. In the order of importance to a user:
# what a span costs around work first, the friendly tight loops later.
ROWS = [
    ("Around work, cold, off", [
        ("span_payload_over_pair_ns", "around 70 and 270 ns of work, over a clock pair", "ns", 5.0),
        ("span_cold_l2_ns", "after L2 eviction, over a clock pair", "ns", 60.0),
        ("disabled_ns_over_loop", "recording off, over the empty loop", "ns", 0.1),
        ("t2v_overhead_pct", "text_to_video, every node on", "%", 1.0),
    ]),
    ("Tight loop, as multiples of two rdtsc", [
        ("span_x_floor", "span", "x", 1.05),
        ("span_x_floor_2t", "span, two threads", "x", 1.05),
        ("span_nested4_x_floor", "span, nested 4 deep", "x", 1.05),
        ("span_p2_x_floor", "span, with the P-square median", "x", 1.15),
        ("lap_x_floor", "lap", "x", 0.55),
    ]),
    ("Summaries while recording", [
        ("snapshot_idle_ns", "a node and thread, writers idle", "ns", 200.0),
        ("snapshot_hot_p99_us", "100 nodes, writer hot, p99", "us", 20.0),
        ("snapshot_hot_writer_x_floor", "the hot writer in the meantime", "x", 1.15),
    ]),
    ("Control from outside", [
        ("control_idle_ns_per_span", "a span while control is open and idle, over one without", "ns", 0.1),
        ("control_reply_p99_ms", "state and summary of 100 nodes, writer hot, p99", "ms", 50.0),
        ("attach_switch_ms", "a trace on and off, eight threads record without a pause", "ms", None),
    ]),
    ("Inputs and outputs of stages", [
        ("signature_us_per_call", "3 tensors and a number recorded", "us", 5.0),
        ("signature_full_gb_s", "reading values of float32", "GB/s", None),
    ]),
    ("Statistics of activations, as parts of what one core reads", [
        ("act_t2v_overhead_pct", "text_to_video, what all blocks took and gave", "%", 3.0),
        ("act_t2v_layers_overhead_pct", "the same of every layer", "%", None),
        ("act_small_us_per_record", "a record of 1 KiB, all threads", "us", 1.5),
        ("act_llm_overhead_pct", "a decode loop, 75 records a token, all threads", "%", 5.0),
        ("act_f32_dram_x_read", "float32, mean of magnitudes and sum, 256 MiB", "x", AtLeast(0.90)),
        ("act_bf16_dram_x_read", "bfloat16, the same", "x", AtLeast(0.83)),
        ("act_f16_dram_x_read", "float16, the same", "x", AtLeast(0.79)),
        ("act_pivot_x_read", "float32, deviation too, mean 1e4", "x", AtLeast(0.50)),
        ("act_f32_64k_x_sum", "float32, 64 KiB, times a loop that adds", "x", AtLeast(0.75)),
        ("act_bf16_64k_x_sum", "bfloat16, the same", "x", AtLeast(0.65)),
        ("act_f32_x_torch", "float32, 256 MiB, times it by PyTorch's hooks", "x", AtLeast(20)),
        ("act_bf16_x_torch", "bfloat16, the same", "x", AtLeast(80)),
        ("act_f32_64k_x_torch", "float32, 64 KiB, the same", "x", None),
        ("act_bf16_64k_x_torch", "bfloat16, 64 KiB, the same", "x", None),
        ("act_f32_spread_x_read", "bounds and deviation too", "x", None),
        ("act_f32_zeros_x_read", "zeros too", "x", None),
        ("act_f32_hash_x_read", "the hash too", "x", None),
        ("act_f32_hash_any_x_read", "the hash in any order too", "x", None),
        ("act_f32_histogram_x_read", "the histogram too", "x", None),
        ("act_f32_sample_x_read", "the sample too", "x", None),
        ("act_read_gb_s", "what one core reads", "GB/s", None),
    ]),
    ("Memory", [
        ("state_bytes", "a thread, phase and node", "bytes", 12288.0),
        ("rss_growth_kb_1e8", "growth from 1e6 to 1e8 spans", "kB", 1024.0),
    ]),
    ("Measuring memory", [
        ("stage_ns", "an empty stage, nothing of memory", "ns", None),
        ("rss_sample_ns", "reading the resident set, twice a stage", "ns", None),
        ("alloc_event_ns", "an event of an allocator of the program's", "ns", None),
        ("malloc_interposer_ns", "a malloc() and its free() under --malloc, more", "ns", None),
    ]),
    ("Counting calls without a rebuild", [
        ("audit_ns_per_call", "a call that plumb record --count counts, more", "ns", 3.0),
        ("audit_in_spans_ns_per_call", "the same where each call has a node of its own", "ns", None),
        ("ltrace_ns_per_call", "ltrace -c, wall time", "ns", None),
        ("uftrace_ns_per_call", "uftrace record, of a library call, wall time", "ns", None),
    ]),
    ("Collectors", [
        ("emit_ns", "a device span of a known launch", "ns", None),
        ("onednn_hook_ns_per_call", "a primitive of oneDNN under its collector, more", "ns", None),
        ("onednn_hook_traced_ns_per_call", "the same while a trace is written", "ns", None),
        ("onednn_hook_new_ns_per_call", "a primitive that is made for each call, more", "ns", None),
        ("opencl_hook_ns_per_call", "an OpenCL command enqueued under the layer, more", "ns", None),
        ("opencl_layer_ns_per_command", "the same in all threads of the process", "ns", None),
        ("sched_switch_us", "a context switch under sched, all threads", "us", None),
        ("sched_span_ns", "what sched adds to a span", "ns", None),
        ("perf_stage_us", "what perf:software adds to an empty stage", "us", None),
        ("perf_all_stage_us", "the same of perf, with all counters here", "us", None),
        ("emit_traced_ns", "the same while a trace is written", "ns", None),
        ("emit_unknown_ns", "one of an unknown launch", "ns", None),
        ("launch_ns", "telling of a launch", "ns", None),
    ]),
    ("A stage alone", [
        ("bench_vs_insitu_pct", "a denoise step alone against in its pipeline, median", "%", 5.0),
        ("step_trace_bytes", "trace of that step, with its primitives", "bytes", 1e7),
        ("full_trace_bytes", "the same of the whole pipeline", "bytes", None),
    ]),
    ("Tracing", [
        ("trace_x_floor", "span, traced, in ring mode", "x", 1.05),
        ("trace_100_nodes_x_floor", "the same over 100 nodes", "x", None),
        ("trace_stack_1_ns", "a call stack of one address, more", "ns", None),
        ("trace_stack_8_ns", "of eight", "ns", None),
        ("trace_stack_16_ns", "of sixteen", "ns", None),
        ("trace_p999_ns", "span, writer starved, p99.9", "ns", 1000.0),
        ("capped_file_bytes", "1e8 spans under PLUMB_TRACE_MAX=64M", "bytes", 67108864.0),
    ]),
    ("The trace file", [
        ("pftrace_bytes_per_span", "100 threads, 100 nodes, gaps of 10 us", "bytes", 29.0),
        ("writer_x_write", "queues to file, times write() alone", "x", AtLeast(0.85)),
        ("writer_x_hot_write", "the same, write() from the cache", "x", None),
        ("encode_span_ns", "the writer without write(), a span", "ns", None),
        ("encode_nested_span_ns", "the same, nested four deep", "ns", None),
        ("perfetto_read_mb_s", "reading it into tables", "MB/s", AtLeast(200)),
        ("perfetto_read_rss_x_file", "memory that this needs, times the file", "x", 10.0),
    ]),
    ("Gates", [
        ("gate_false_alarm_pct", "answers about unchanged code, of 200 measurements in turn, that are alarms", "%", 1.0),
        ("gate_found_pct", "answers about code that is 5 % slower that find it", "%", AtLeast(95)),
        ("gate_inconclusive_pct", "no answer", "%", 30.0),
    ]),
    ("Services", [
        ("grpc_summary_p50_us", "the rows of a process with 20 nodes, through plumb serve, as a client in C waits", "us", None),
        ("grpc_summary_x_python", "the same, times a Python server of the same service", "x", 1.0),
    ]),
    ("Comparisons", [
        ("compare_false_alarm_pct", "relabellings of the same runs, 5 and 5, that exit 1", "%", 2.0),
        ("compare_found_pct", "one node 5 % slower, 10 and 10 runs: found", "%", AtLeast(90)),
    ]),
    ("First divergence", [
        ("diverge_x_python", "two files of 1e6 records, Python's json times it", "x", AtLeast(20)),
        ("diverge_bytes_per_record", "memory at most, a record", "bytes", 200.0),
        ("diverge_wrong_culprits", "text_to_video: of 1000 faults and 1000 sound pairs", "", 0.0),
        ("diverge_engines_wrong_culprits", "two engines: of 2000 faults and 2000 sound pairs", "", 0.0),
        ("diverge_one_engine_wrong_culprits", "one engine: of 1000 faults and 1000 sound pairs", "", 0.0),
        ("diverge_missed", "faults above the noise that are not found", "", 0.0),
        ("diverge_rounds_max", "recordings by who follows next:", "", 4.0),
        ("diverge_t2v_run_ms", "such a run of text_to_video, CPU", "ms", 50.0),
    ]),
    ("Exported traces", [
        ("chrome_x_snprintf", "Chrome JSON, snprintf() times it", "x", AtLeast(25)),
        ("chrome_x_whole_snprintf", "snprintf() of whole numbers times it", "x", None),
        ("chrome_gz_x_zlib", "compressed, zlib level 1 times it", "x", AtLeast(2.5)),
        ("chrome_gz_bytes_x_zlib", "bytes, as a part of zlib's", "x", 0.85),
        ("chrome_gz_bytes_per_span", "compressed", "bytes", None),
    ]),
    ("Metrics", [
        ("metric_add_ns", "adding to a counter", "ns", None),
        ("metric_observe_ns", "an observation of a histogram", "ns", None),
        ("stream_call_ns", "an event of a stream", "ns", None),
        ("metrics_scrape_ms_1000_series", "a scrape of 1000 series, CPU", "ms", None),
    ]),
    ("Reading activations", [
        ("jsonl_read_x_python", "JSONL into a table, times Python's json by key", "x", AtLeast(20)),
        ("jsonl_read_record_ns", "a record", "ns", None),
        ("jsonl_bytes_per_record", "of the table, default statistics", "bytes", 200.0),
        ("json_scan_gb_s", "the JSON scan alone", "GB/s", None),
    ]),
    ("Others, in the same run, as multiples of two rdtsc", [
        ("peers_span_x_floor", "plumb span", "x", None),
        ("clock_gettime_pair_x_floor", "clock_gettime() pair", "x", None),
        ("lttng_x_floor", "LTTng-UST tracepoint pair, session on", "x", None),
        ("uftrace_x_floor", "uftrace, per recorded call", "x", None),
        ("lttng_bytes_per_event", "LTTng, of those it kept", "bytes", None),
        ("lttng_lost_pct", "LTTng, events lost", "%", None),
        ("uftrace_bytes_per_event", "uftrace, of those it kept", "bytes", None),
        ("uftrace_lost_pct", "uftrace, events lost", "%", None),
    ]),
]
UFTRACE_RECORD = 16  # bytes of an entry or an exit in its files


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def merged(parts):
    values = {}
    for part in parts:
        for key, value in part.items():
            values.setdefault(key, []).append(value)
    result = {}
    for key, all_of_it in values.items():
        numbers = [v for v in all_of_it if isinstance(v, (int, float))]
        result[key] = statistics.median(numbers) if numbers else all_of_it[-1]
    return result


def add_per_event(results):
    """Adds the bytes that an event takes in the traces of other profilers, from the size of their files."""
    if results.get("lttng_trace_bytes") and results.get("lttng_events"):
        kept = results["lttng_events"] - results.get("lttng_lost", 0)
        results["lttng_bytes_per_event"] = results["lttng_trace_bytes"] / kept if kept else None
        results["lttng_lost_pct"] = 100.0 * results.get("lttng_lost", 0) / results["lttng_events"]
    if results.get("uftrace_trace_bytes") and results.get("uftrace_events"):
        kept = min(results["uftrace_trace_bytes"] / UFTRACE_RECORD, results["uftrace_events"])
        results["uftrace_bytes_per_event"] = results["uftrace_trace_bytes"] / kept
        results["uftrace_lost_pct"] = 100.0 * (1 - kept / results["uftrace_events"])


def write(path, results):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=2)
        file.write("\n")
    os.replace(path + ".new", path)


def judge(value, target, half_width=0.0):
    if target is None or value is None:
        return ""
    if half_width > target:
        return "not resolved: +- %.2g" % half_width
    if value >= target if isinstance(target, AtLeast) else value <= target:
        return "met"
    return "missed by %.3g" % abs(value - target)


def goal_of(target):
    if target is None:
        return ""
    return "%s %g" % (">=" if isinstance(target, AtLeast) else "<=", target)


def machine(results):
    keys = ["cpu", "core_ghz", "cpus", "kernel", "clock_source", "tick_step_ns", "governor", "nice",
            "load_average"]
    return ", ".join("%s %s" % (k.replace("_", " "), results[k]) for k in keys if k in results)


def table(results):
    print("\n%s\nfloor (two rdtsc): %s ns\n" % (machine(results), results.get("floor_ns", "?")))
    for title, rows in ROWS:
        print(title)
        for key, what, unit, target in rows:
            if key not in results:
                print("  %-28s %-50s not measured" % (key, what))
                continue
            value = results[key]
            if value is None:
                print("  %-28s %-50s none: %s" % (key, what, results.get(key + "_reason", "?")))
                continue
            goal = goal_of(target)
            figure = "%.4g %s" % (value, unit)
            verdict = judge(value, target, results.get(key + "_half_width", 0.0))
            print("  %-28s %-50s %12s  %-9s %s" % (key, what, figure, goal, verdict))
    print()


def check(results):
    counts = {"met": 0, "missed": 0, "not resolved": 0, "not measured": 0}
    for _, rows in ROWS:
        for key, what, unit, target in rows:
            if target is None:
                continue
            value = results.get(key)
            verdict = judge(value, target, results.get(key + "_half_width", 0.0)) or "not measured"
            counts[verdict.split(" by")[0].split(":")[0]] += 1
            figure = "-" if value is None else "%.4g %s" % (value, unit)
            over = "" if not verdict.startswith("missed") else " (%.2f times)" % (value / target)
            print("%-28s %12s  %-11s %s%s" % (key, figure, goal_of(target), verdict, over))
    print(", ".join("%d %s" % (n, name) for name, n in counts.items()))


def main():
    paths = [a for a in sys.argv[1:] if a != "--check"]
    if not paths or any(path.startswith("-") for path in paths):
        sys.exit(__doc__)
    results = load(paths[0]) if os.path.exists(paths[0]) else {}
    if "--check" in sys.argv:
        check(results)
        return
    new = merged([load(part) for part in paths[1:]])
    # A figure that was measured again is no longer listed as missing.
    for key in new:
        results.pop(key + "_reason", None)
    results.update(new)
    add_per_event(results)
    write(paths[0], results)
    table(results)


if __name__ == "__main__":
    main()
