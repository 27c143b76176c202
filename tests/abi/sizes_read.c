/* sizes_read.c: see sizes.h. */
#include "sizes.h"

#include <plumb/read/activation.h>
#include <plumb/read/doctor.h>
#include <plumb/read/export.h>
#include <plumb/read/live.h>
#include <plumb/read/metrics.h>
#include <plumb/read/otlp.h>
#include <plumb/read/report.h>
#include <plumb/read/run.h>
#include <plumb/read/setting.h>
#include <plumb/read/trace.h>

static void of_activation(void)
{
    SIZE(plumb_activation_log_view);
    MEMBER(plumb_activation_log_view, size);
    MEMBER(plumb_activation_log_view, format);
    MEMBER(plumb_activation_log_view, module);
    MEMBER(plumb_activation_log_view, top);
    MEMBER(plumb_activation_log_view, kind);
    MEMBER(plumb_activation_log_view, explain);
}

static void of_doctor(void)
{
    SIZE(plumb_check);
    MEMBER(plumb_check, name);
    MEMBER(plumb_check, state);
    MEMBER(plumb_check, detail);
    MEMBER(plumb_check, cure);
}

static void of_export(void)
{
    SIZE(plumb_export_options);
    MEMBER(plumb_export_options, size);
    MEMBER(plumb_export_options, format);
    MEMBER(plumb_export_options, output);
    MEMBER(plumb_export_options, write);
    MEMBER(plumb_export_options, progress);
    MEMBER(plumb_export_options, arg);
    SIZE(plumb_exported);
    MEMBER(plumb_exported, path);
    MEMBER(plumb_exported, bytes);
    MEMBER(plumb_exported, spans);
    MEMBER(plumb_exported, replaced);
    MEMBER(plumb_exported, folder);
    MEMBER(plumb_exported, remarks);
}

static void of_live(void)
{
    SIZE(plumb_reading_facts);
    MEMBER(plumb_reading_facts, state);
    MEMBER(plumb_reading_facts, pid);
    MEMBER(plumb_reading_facts, program);
    MEMBER(plumb_reading_facts, command);
    MEMBER(plumb_reading_facts, pipeline);
    MEMBER(plumb_reading_facts, run_dir);
    MEMBER(plumb_reading_facts, path);
    MEMBER(plumb_reading_facts, version);
    MEMBER(plumb_reading_facts, host);
    MEMBER(plumb_reading_facts, rank);
    MEMBER(plumb_reading_facts, ranks);
    MEMBER(plumb_reading_facts, since_ns);
    MEMBER(plumb_reading_facts, at_ns);
    MEMBER(plumb_reading_facts, elapsed_ns);
    MEMBER(plumb_reading_facts, spans);
    MEMBER(plumb_reading_facts, lost);
    MEMBER(plumb_reading_facts, memory_bytes);
    MEMBER(plumb_reading_facts, rss_bytes);
    MEMBER(plumb_reading_facts, peak_rss_bytes);
    MEMBER(plumb_reading_facts, machine_bytes);
    MEMBER(plumb_reading_facts, threads);
    MEMBER(plumb_reading_facts, threads_apart);
    MEMBER(plumb_reading_facts, clock_ppm);
    MEMBER(plumb_reading_facts, requests);
    SIZE(plumb_reading_row);
    MEMBER(plumb_reading_row, row);
    MEMBER(plumb_reading_row, total_ns);
    MEMBER(plumb_reading_row, self_ns);
    MEMBER(plumb_reading_row, own_ns);
    MEMBER(plumb_reading_row, abandoned);
    MEMBER(plumb_reading_row, unbalanced);
    MEMBER(plumb_reading_row, device_total_ns);
    MEMBER(plumb_reading_row, launches);
    MEMBER(plumb_reading_row, launched_ns);
    MEMBER(plumb_reading_row, waits);
    MEMBER(plumb_reading_row, waited_ns);
    MEMBER(plumb_reading_row, rss_bytes);
    MEMBER(plumb_reading_row, peak_allocated_bytes);
    MEMBER(plumb_reading_row, last_at_ns);
    MEMBER(plumb_reading_row, last_failure);
    MEMBER(plumb_reading_row, open);
    MEMBER(plumb_reading_row, stage);
    SIZE(plumb_reading_bucket);
    MEMBER(plumb_reading_bucket, ns);
    MEMBER(plumb_reading_bucket, count);
    SIZE(plumb_reading_open);
    MEMBER(plumb_reading_open, node);
    MEMBER(plumb_reading_open, phase);
    MEMBER(plumb_reading_open, thread);
    MEMBER(plumb_reading_open, depth);
    MEMBER(plumb_reading_open, age_ns);
    SIZE(plumb_reading_place);
    MEMBER(plumb_reading_place, parent);
    MEMBER(plumb_reading_place, row);
    MEMBER(plumb_reading_place, count);
    MEMBER(plumb_reading_place, total_ns);
    MEMBER(plumb_reading_place, self_ns);
    MEMBER(plumb_reading_place, async);
    MEMBER(plumb_reading_place, reserved);
    SIZE(plumb_reading_request);
    MEMBER(plumb_reading_request, id);
    MEMBER(plumb_reading_request, why);
    MEMBER(plumb_reading_request, state);
    MEMBER(plumb_reading_request, thread);
    MEMBER(plumb_reading_request, begin_ns);
    MEMBER(plumb_reading_request, wall_ns);
    MEMBER(plumb_reading_request, stages_ns);
    MEMBER(plumb_reading_request, stage_runs);
    SIZE(plumb_reading_pool);
    MEMBER(plumb_reading_pool, device);
    MEMBER(plumb_reading_pool, pool);
    MEMBER(plumb_reading_pool, total_bytes);
    MEMBER(plumb_reading_pool, allocated_bytes);
    MEMBER(plumb_reading_pool, reserved_bytes);
    MEMBER(plumb_reading_pool, peak_allocated_bytes);
    MEMBER(plumb_reading_pool, peak_reserved_bytes);
    MEMBER(plumb_reading_pool, allocs);
    MEMBER(plumb_reading_pool, frees);
    SIZE(plumb_reading_line);
    MEMBER(plumb_reading_line, pipeline);
    MEMBER(plumb_reading_line, phase);
    MEMBER(plumb_reading_line, node);
    MEMBER(plumb_reading_line, depth);
    MEMBER(plumb_reading_line, open);
    MEMBER(plumb_reading_line, open_ns);
    MEMBER(plumb_reading_line, count);
    MEMBER(plumb_reading_line, failures);
    MEMBER(plumb_reading_line, memory_bytes);
    MEMBER(plumb_reading_line, runs_per_s);
    MEMBER(plumb_reading_line, mean_ns);
    MEMBER(plumb_reading_line, p50_ns);
    MEMBER(plumb_reading_line, p95_ns);
    MEMBER(plumb_reading_line, p99_ns);
    MEMBER(plumb_reading_line, max_ns);
    MEMBER(plumb_reading_line, share_percent);
    MEMBER(plumb_reading_line, self_ns);
    MEMBER(plumb_reading_line, device_ns);
}

static void of_metrics(void)
{
    SIZE(plumb_metrics_options);
    MEMBER(plumb_metrics_options, size);
    MEMBER(plumb_metrics_options, buckets_per_octave);
    MEMBER(plumb_metrics_options, only_recording);
}

static void of_otlp(void)
{
    SIZE(plumb_otlp_options);
    MEMBER(plumb_otlp_options, size);
    MEMBER(plumb_otlp_options, service);
    MEMBER(plumb_otlp_options, max_requests);
    MEMBER(plumb_otlp_options, pretty);
    MEMBER(plumb_otlp_options, reserved);
    SIZE(plumb_otlp_batch);
    MEMBER(plumb_otlp_batch, json);
    MEMBER(plumb_otlp_batch, bytes);
    MEMBER(plumb_otlp_batch, requests);
    MEMBER(plumb_otlp_batch, spans);
    MEMBER(plumb_otlp_batch, stages_lost);
    MEMBER(plumb_otlp_batch, requests_lost);
    MEMBER(plumb_otlp_batch, parents_ignored);
    MEMBER(plumb_otlp_batch, why_ignored);
    MEMBER(plumb_otlp_batch, more);
    MEMBER(plumb_otlp_batch, over);
    MEMBER(plumb_otlp_batch, name);
}

static void of_report(void)
{
    SIZE(plumb_report_options);
    MEMBER(plumb_report_options, size);
    MEMBER(plumb_report_options, format);
    MEMBER(plumb_report_options, pipeline);
    MEMBER(plumb_report_options, phase);
    MEMBER(plumb_report_options, frames);
    MEMBER(plumb_report_options, top);
    MEMBER(plumb_report_options, sort);
    MEMBER(plumb_report_options, wide);
    MEMBER(plumb_report_options, tree);
    MEMBER(plumb_report_options, explain);
    MEMBER(plumb_report_options, min_width);
    MEMBER(plumb_report_options, request);
    MEMBER(plumb_report_options, view);
    MEMBER(plumb_report_options, unit);
    MEMBER(plumb_report_options, node);
    MEMBER(plumb_report_options, depth);
    MEMBER(plumb_report_options, fold);
    MEMBER(plumb_report_options, by);
    MEMBER(plumb_report_options, reserved);
}

static void of_run(void)
{
    SIZE(plumb_run_info);
    MEMBER(plumb_run_info, path);
    MEMBER(plumb_run_info, name);
    MEMBER(plumb_run_info, pipeline);
    MEMBER(plumb_run_info, started);
    MEMBER(plumb_run_info, bytes);
    MEMBER(plumb_run_info, state);
    MEMBER(plumb_run_info, reserved);
    SIZE(plumb_prune_options);
    MEMBER(plumb_prune_options, size);
    MEMBER(plumb_prune_options, older_than_s);
    MEMBER(plumb_prune_options, max_bytes);
    SIZE(plumb_pruned_runs);
    MEMBER(plumb_pruned_runs, runs);
    MEMBER(plumb_pruned_runs, bytes);
    SIZE(plumb_recovered);
    MEMBER(plumb_recovered, nodes);
    MEMBER(plumb_recovered, samples);
    MEMBER(plumb_recovered, open_spans);
    MEMBER(plumb_recovered, path);
}

static void of_setting(void)
{
    SIZE(plumb_setting_info);
    MEMBER(plumb_setting_info, variable);
    MEMBER(plumb_setting_info, option);
    MEMBER(plumb_setting_info, default_text);
    MEMBER(plumb_setting_info, help);
    MEMBER(plumb_setting_info, choices);
    MEMBER(plumb_setting_info, kind);
    MEMBER(plumb_setting_info, hidden);
}

static void of_trace(void)
{
    SIZE(plumb_trace_info);
    MEMBER(plumb_trace_info, size);
    MEMBER(plumb_trace_info, end_ns);
    MEMBER(plumb_trace_info, unix_ns);
    MEMBER(plumb_trace_info, open);
    MEMBER(plumb_trace_info, cut);
    MEMBER(plumb_trace_info, failed);
    MEMBER(plumb_trace_info, dropped);
    MEMBER(plumb_trace_info, cut_bytes);
    MEMBER(plumb_trace_info, texts);
    MEMBER(plumb_trace_info, tracks);
    MEMBER(plumb_trace_info, facts);
    MEMBER(plumb_trace_info, flows);
    MEMBER(plumb_trace_info, plumb);
    MEMBER(plumb_trace_info, reserved);
    SIZE(plumb_trace_track);
    MEMBER(plumb_trace_track, size);
    MEMBER(plumb_trace_track, uuid);
    MEMBER(plumb_trace_track, pid);
    MEMBER(plumb_trace_track, tid);
    MEMBER(plumb_trace_track, name);
    MEMBER(plumb_trace_track, unit);
    MEMBER(plumb_trace_track, kind);
    MEMBER(plumb_trace_track, parent);
    MEMBER(plumb_trace_track, process);
    MEMBER(plumb_trace_track, first_slice);
    MEMBER(plumb_trace_track, slices);
    MEMBER(plumb_trace_track, first_instant);
    MEMBER(plumb_trace_track, instants);
    MEMBER(plumb_trace_track, first_counter);
    MEMBER(plumb_trace_track, counters);
    MEMBER(plumb_trace_track, whole);
    SIZE(plumb_trace_slices);
    MEMBER(plumb_trace_slices, size);
    MEMBER(plumb_trace_slices, count);
    MEMBER(plumb_trace_slices, ts_ns);
    MEMBER(plumb_trace_slices, dur_ns);
    MEMBER(plumb_trace_slices, track);
    MEMBER(plumb_trace_slices, name);
    MEMBER(plumb_trace_slices, category);
    MEMBER(plumb_trace_slices, parent);
    MEMBER(plumb_trace_slices, depth);
    MEMBER(plumb_trace_slices, args);
    MEMBER(plumb_trace_slices, flags);
    SIZE(plumb_trace_instants);
    MEMBER(plumb_trace_instants, size);
    MEMBER(plumb_trace_instants, count);
    MEMBER(plumb_trace_instants, ts_ns);
    MEMBER(plumb_trace_instants, track);
    MEMBER(plumb_trace_instants, name);
    MEMBER(plumb_trace_instants, category);
    MEMBER(plumb_trace_instants, slice);
    MEMBER(plumb_trace_instants, args);
    SIZE(plumb_trace_counters);
    MEMBER(plumb_trace_counters, size);
    MEMBER(plumb_trace_counters, count);
    MEMBER(plumb_trace_counters, ts_ns);
    MEMBER(plumb_trace_counters, track);
    MEMBER(plumb_trace_counters, value);
    SIZE(plumb_trace_args);
    MEMBER(plumb_trace_args, size);
    MEMBER(plumb_trace_args, count);
    MEMBER(plumb_trace_args, key);
    MEMBER(plumb_trace_args, type);
    MEMBER(plumb_trace_args, value);
    SIZE(plumb_trace_flow);
    MEMBER(plumb_trace_flow, size);
    MEMBER(plumb_trace_flow, id);
    MEMBER(plumb_trace_flow, from_ns);
    MEMBER(plumb_trace_flow, to_ns);
    MEMBER(plumb_trace_flow, from);
    MEMBER(plumb_trace_flow, to);
    MEMBER(plumb_trace_flow, from_instant);
    MEMBER(plumb_trace_flow, to_instant);
    SIZE(plumb_trace_metadata);
    MEMBER(plumb_trace_metadata, size);
    MEMBER(plumb_trace_metadata, key);
    MEMBER(plumb_trace_metadata, value);
    MEMBER(plumb_trace_metadata, type);
    MEMBER(plumb_trace_metadata, reserved);
    SIZE(plumb_trace_view);
    MEMBER(plumb_trace_view, size);
    MEMBER(plumb_trace_view, format);
    MEMBER(plumb_trace_view, node);
    MEMBER(plumb_trace_view, top);
    MEMBER(plumb_trace_view, kind);
    MEMBER(plumb_trace_view, explain);
    MEMBER(plumb_trace_view, by);
    MEMBER(plumb_trace_view, reserved);
}

void sizes_read(void)
{
    of_activation();
    of_doctor();
    of_export();
    of_live();
    of_metrics();
    of_otlp();
    of_report();
    of_run();
    of_setting();
    of_trace();
}
