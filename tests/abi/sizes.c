/* Prints the layout of every public struct that crosses the binary interface, one
 * `struct.member offset size` a line, for abi.sh to compare with sizes.txt.
 *
 * A member is named by hand: a new one that is forgotten here still shows as a changed sizeof.
 */
#include <plumb/fake.h>
#include <plumb/plumb.h>

#include "sizes.h"

static void handles(void)
{
    SIZE(plumb_span);
    SIZE(plumb_async);
    SIZE(plumb_scope);
    SIZE(plumb_node);
    SIZE(plumb_error);
    MEMBER(plumb_error, code);
    MEMBER(plumb_error, message);
    SIZE(plumb_context);
    MEMBER(plumb_context, flow);
    MEMBER(plumb_context, step);
    MEMBER(plumb_context, group);
    MEMBER(plumb_context, depth);
    MEMBER(plumb_context, run);
    MEMBER(plumb_context, path);
}

static void collectors(void)
{
    SIZE(plumb_lane);
    SIZE(plumb_clock);
    SIZE(plumb_name);
    SIZE(plumb_collector_ops);
    MEMBER(plumb_collector_ops, name);
    MEMBER(plumb_collector_ops, help);
    MEMBER(plumb_collector_ops, on_request);
    MEMBER(plumb_collector_ops, start);
    MEMBER(plumb_collector_ops, stop);
    MEMBER(plumb_collector_ops, destroy);
    MEMBER(plumb_collector_ops, offer);
    SIZE(plumb_lane_options);
    MEMBER(plumb_lane_options, name);
    MEMBER(plumb_lane_options, device);
    MEMBER(plumb_lane_options, parent);
    MEMBER(plumb_lane_options, kind);
    MEMBER(plumb_lane_options, flags);
    MEMBER(plumb_lane_options, slots);
    SIZE(plumb_clock_options);
    MEMBER(plumb_clock_options, name);
    MEMBER(plumb_clock_options, hz);
    MEMBER(plumb_clock_options, drift_ppm);
    MEMBER(plumb_clock_options, wander_ppm);
    MEMBER(plumb_clock_options, now);
    MEMBER(plumb_clock_options, arg);
    SIZE(plumb_origin);
    MEMBER(plumb_origin, flow);
    MEMBER(plumb_origin, request);
    MEMBER(plumb_origin, stage);
    MEMBER(plumb_origin, step);
    MEMBER(plumb_origin, node);
    MEMBER(plumb_origin, group);
    MEMBER(plumb_origin, run);
    MEMBER(plumb_origin, tid);
    SIZE(plumb_event_arg);
    MEMBER(plumb_event_arg, key);
    MEMBER(plumb_event_arg, type);
    MEMBER(plumb_event_arg, value);
    SIZE(plumb_event);
    MEMBER(plumb_event, kind);
    MEMBER(plumb_event, name);
    MEMBER(plumb_event, arg_count);
    MEMBER(plumb_event, begin);
    MEMBER(plumb_event, end);
    MEMBER(plumb_event, flow);
    MEMBER(plumb_event, value);
    MEMBER(plumb_event, origin);
    MEMBER(plumb_event, args);
    SIZE(plumb_collector_status);
    MEMBER(plumb_collector_status, state);
    MEMBER(plumb_collector_status, lanes);
    MEMBER(plumb_collector_status, clocks);
    MEMBER(plumb_collector_status, emitted);
    MEMBER(plumb_collector_status, dropped);
    MEMBER(plumb_collector_status, refused_times);
    MEMBER(plumb_collector_status, refused_late);
    MEMBER(plumb_collector_status, why);
    SIZE(plumb_fake_offer);
    MEMBER(plumb_fake_offer, enqueue);
    MEMBER(plumb_fake_offer, wait);
    MEMBER(plumb_fake_offer, advance);
    MEMBER(plumb_fake_offer, jump);
    MEMBER(plumb_fake_offer, device_ticks);
}

static void options(void)
{
    SIZE(plumb_options);
    MEMBER(plumb_options, size);
    MEMBER(plumb_options, dir);
    MEMBER(plumb_options, run_dir);
    MEMBER(plumb_options, pipeline);
    MEMBER(plumb_options, max_nodes);
    MEMBER(plumb_options, max_state_bytes);
    MEMBER(plumb_options, skip_first_n);
    MEMBER(plumb_options, sync);
    MEMBER(plumb_options, median_p2);
    MEMBER(plumb_options, debug);
    MEMBER(plumb_options, signals);
    MEMBER(plumb_options, quiet);
    MEMBER(plumb_options, log_level);
    MEMBER(plumb_options, log);
    MEMBER(plumb_options, log_arg);
    MEMBER(plumb_options, timing_report);
    MEMBER(plumb_options, ring_bytes);
    MEMBER(plumb_options, memory);
    MEMBER(plumb_options, memory_peak);
    MEMBER(plumb_options, memory_interval_ms);
    MEMBER(plumb_options, memory_checkpoints);
    MEMBER(plumb_options, signature);
    MEMBER(plumb_options, verify);
    MEMBER(plumb_options, fork);
    MEMBER(plumb_options, trace);
    MEMBER(plumb_options, trace_mode);
    MEMBER(plumb_options, trace_max_bytes);
    MEMBER(plumb_options, trace_ring_bytes);
    MEMBER(plumb_options, keep_signal);
    MEMBER(plumb_options, keep_if);
    MEMBER(plumb_options, trace_steps);
    MEMBER(plumb_options, trace_shapes);
    MEMBER(plumb_options, trace_memory);
    MEMBER(plumb_options, trace_flops);
    MEMBER(plumb_options, trace_stack);
    MEMBER(plumb_options, trace_stack_depth);
    MEMBER(plumb_options, region_scope);
    MEMBER(plumb_options, regions);
    MEMBER(plumb_options, trace_nodes);
    MEMBER(plumb_options, nvtx);
    MEMBER(plumb_options, activations_layers);
    MEMBER(plumb_options, activations_stats);
    MEMBER(plumb_options, activations_steps);
    MEMBER(plumb_options, activations_output);
    MEMBER(plumb_options, activations_dump);
    MEMBER(plumb_options, activations_dump_bytes);
    MEMBER(plumb_options, activations);
    MEMBER(plumb_options, activations_append);
    MEMBER(plumb_options, activations_queue);
    SIZE(plumb_field);
    MEMBER(plumb_field, name);
    MEMBER(plumb_field, value);
    SIZE(plumb_hook);
    MEMBER(plumb_hook, size);
    MEMBER(plumb_hook, name);
    MEMBER(plumb_hook, before);
    MEMBER(plumb_hook, after);
    MEMBER(plumb_hook, on_attach);
    MEMBER(plumb_hook, on_detach);
    MEMBER(plumb_hook, arg);
    MEMBER(plumb_options, reserved);
    MEMBER(plumb_options, collect);
    SIZE(plumb_config);
    MEMBER(plumb_config, size);
    MEMBER(plumb_config, enabled);
    MEMBER(plumb_config, sync);
    MEMBER(plumb_config, reset);
    MEMBER(plumb_config, skip_first_n);
    SIZE(plumb_measure_options);
    MEMBER(plumb_measure_options, size);
    MEMBER(plumb_measure_options, warmups);
    MEMBER(plumb_measure_options, samples);
    MEMBER(plumb_measure_options, device);
    MEMBER(plumb_measure_options, counter);
}

static void results(void)
{
    SIZE(plumb_row);
    MEMBER(plumb_row, pipeline);
    MEMBER(plumb_row, phase);
    MEMBER(plumb_row, node);
    MEMBER(plumb_row, count);
    MEMBER(plumb_row, skipped);
    MEMBER(plumb_row, failures);
    MEMBER(plumb_row, mean_ms);
    MEMBER(plumb_row, median_ms);
    MEMBER(plumb_row, std_ms);
    MEMBER(plumb_row, min_ms);
    MEMBER(plumb_row, max_ms);
    MEMBER(plumb_row, total_ms);
    MEMBER(plumb_row, self_ms);
    MEMBER(plumb_row, last_ms);
    MEMBER(plumb_row, p50_ms);
    MEMBER(plumb_row, p90_ms);
    MEMBER(plumb_row, p95_ms);
    MEMBER(plumb_row, p99_ms);
    MEMBER(plumb_row, device_count);
    MEMBER(plumb_row, device_total_ms);
    MEMBER(plumb_row, device_mean_ms);
    MEMBER(plumb_row, device_min_ms);
    MEMBER(plumb_row, device_max_ms);
    MEMBER(plumb_row, device_median_ms);
    MEMBER(plumb_row, threads);
    MEMBER(plumb_row, median_estimator);
    SIZE(plumb_measured);
    MEMBER(plumb_measured, median_ns);
    MEMBER(plumb_measured, min_ns);
    MEMBER(plumb_measured, max_ns);
    MEMBER(plumb_measured, mean_ns);
    MEMBER(plumb_measured, samples);
    MEMBER(plumb_measured, warmups);
}

static void trace_points(void)
{
    SIZE(struct plumb_point);
    MEMBER(struct plumb_point, mode);
    MEMBER(struct plumb_point, node);
    MEMBER(struct plumb_point, name);
    MEMBER(struct plumb_point, file);
    MEMBER(struct plumb_point, line);
    MEMBER(struct plumb_point, flags);
    MEMBER(struct plumb_point, next);
    SIZE(struct plumb_client);
    MEMBER(struct plumb_client, api);
    MEMBER(struct plumb_client, points);
    MEMBER(struct plumb_client, state);
    MEMBER(struct plumb_client, activations);
}

static void table(void)
{
    SIZE(struct plumb_api);
    MEMBER(struct plumb_api, version);
    MEMBER(struct plumb_api, size);
    MEMBER(struct plumb_api, span_begin);
    MEMBER(struct plumb_api, span_end);
    MEMBER(struct plumb_api, span_lap);
    MEMBER(struct plumb_api, span_begin_node);
    MEMBER(struct plumb_api, span_begin_special);
    MEMBER(struct plumb_api, span_mark);
    MEMBER(struct plumb_api, span_arg);
    MEMBER(struct plumb_api, async_begin);
    MEMBER(struct plumb_api, async_end);
    MEMBER(struct plumb_api, record_ns);
    MEMBER(struct plumb_api, counter_add);
    MEMBER(struct plumb_api, point_register);
    MEMBER(struct plumb_api, client_detach);
    MEMBER(struct plumb_api, node_get);
    MEMBER(struct plumb_api, node_set_device);
    MEMBER(struct plumb_api, phase_begin);
    MEMBER(struct plumb_api, step_begin);
    MEMBER(struct plumb_api, step_set);
    MEMBER(struct plumb_api, pipeline_begin);
    MEMBER(struct plumb_api, context_capture);
    MEMBER(struct plumb_api, context_adopt);
    MEMBER(struct plumb_api, scope_end);
    MEMBER(struct plumb_api, pipeline_get);
    MEMBER(struct plumb_api, configure);
    MEMBER(struct plumb_api, pipeline_enabled);
    MEMBER(struct plumb_api, reset);
    MEMBER(struct plumb_api, pipeline_close);
    MEMBER(struct plumb_api, pipeline_set_device);
    MEMBER(struct plumb_api, device_register);
    MEMBER(struct plumb_api, summary_rows);
    MEMBER(struct plumb_api, rows_count);
    MEMBER(struct plumb_api, rows_get);
    MEMBER(struct plumb_api, rows_free);
    MEMBER(struct plumb_api, summary_text);
    MEMBER(struct plumb_api, free_text);
    MEMBER(struct plumb_api, start);
    MEMBER(struct plumb_api, stop);
    MEMBER(struct plumb_api, is_recording);
    MEMBER(struct plumb_api, run_dir);
    MEMBER(struct plumb_api, set_debug);
    MEMBER(struct plumb_api, set_log);
    MEMBER(struct plumb_api, log_line);
    MEMBER(struct plumb_api, measure);
}

int main(void)
{
    handles();
    options();
    results();
    collectors();
    trace_points();
    table();
    sizes_record();
    sizes_read();
    sizes_results();
    return 0;
}
