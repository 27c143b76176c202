/* sizes_results.c: see sizes.h. */
#include "sizes.h"

#include <plumb/read/bench.h>
#include <plumb/read/compare.h>
#include <plumb/read/deep.h>
#include <plumb/read/diverge.h>
#include <plumb/read/energy.h>
#include <plumb/read/gate.h>
#include <plumb/read/history.h>
#include <plumb/read/launches.h>
#include <plumb/read/ncu.h>

static void of_bench(void)
{
    SIZE(plumb_bench_progress);
    MEMBER(plumb_bench_progress, phase);
    MEMBER(plumb_bench_progress, run);
    MEMBER(plumb_bench_progress, step);
    SIZE(plumb_bench_options);
    MEMBER(plumb_bench_options, size);
    MEMBER(plumb_bench_options, warmup);
    MEMBER(plumb_bench_options, repeat);
    MEMBER(plumb_bench_options, steps);
    MEMBER(plumb_bench_options, inputs);
    MEMBER(plumb_bench_options, first_step);
    MEMBER(plumb_bench_options, seed);
    MEMBER(plumb_bench_options, min_time_s);
    MEMBER(plumb_bench_options, deadline_ms);
    MEMBER(plumb_bench_options, energy);
    MEMBER(plumb_bench_options, reserved);
    MEMBER(plumb_bench_options, progress);
    MEMBER(plumb_bench_options, measuring);
    MEMBER(plumb_bench_options, arg);
    MEMBER(plumb_bench_options, powercap);
    SIZE(plumb_bench_result);
    MEMBER(plumb_bench_result, size);
    MEMBER(plumb_bench_result, run_ns);
    MEMBER(plumb_bench_result, remarks);
    MEMBER(plumb_bench_result, runs);
    MEMBER(plumb_bench_result, warmups);
    MEMBER(plumb_bench_result, shape);
    MEMBER(plumb_bench_result, captured);
    MEMBER(plumb_bench_result, first_step);
    MEMBER(plumb_bench_result, steps);
    MEMBER(plumb_bench_result, loop_steps);
    MEMBER(plumb_bench_result, median_ms);
    MEMBER(plumb_bench_result, mean_ms);
    MEMBER(plumb_bench_result, std_ms);
    MEMBER(plumb_bench_result, min_ms);
    MEMBER(plumb_bench_result, max_ms);
    MEMBER(plumb_bench_result, p25_ms);
    MEMBER(plumb_bench_result, p75_ms);
    MEMBER(plumb_bench_result, p95_ms);
    MEMBER(plumb_bench_result, p99_ms);
    MEMBER(plumb_bench_result, p999_ms);
    MEMBER(plumb_bench_result, low_ms);
    MEMBER(plumb_bench_result, high_ms);
    MEMBER(plumb_bench_result, warmup_ms);
    MEMBER(plumb_bench_result, drift);
    MEMBER(plumb_bench_result, noise);
    MEMBER(plumb_bench_result, preemptions);
    MEMBER(plumb_bench_result, peak_bytes);
    MEMBER(plumb_bench_result, output_hash);
    MEMBER(plumb_bench_result, outputs);
    MEMBER(plumb_bench_result, outputs_vary);
    MEMBER(plumb_bench_result, deadline_ms);
    MEMBER(plumb_bench_result, overruns);
    MEMBER(plumb_bench_result, budget_p99);
    MEMBER(plumb_bench_result, budget_max);
    MEMBER(plumb_bench_result, cpu_joules);
    MEMBER(plumb_bench_result, cpu_watts);
    MEMBER(plumb_bench_result, outputs_equal);
    MEMBER(plumb_bench_result, outputs_compared);
    SIZE(plumb_bench_facts);
    MEMBER(plumb_bench_facts, size);
    MEMBER(plumb_bench_facts, stage);
    MEMBER(plumb_bench_facts, library);
    MEMBER(plumb_bench_facts, signature);
    MEMBER(plumb_bench_facts, trace);
    MEMBER(plumb_bench_facts, breakdown);
    MEMBER(plumb_bench_facts, program);
    MEMBER(plumb_bench_facts, trace_bytes);
    MEMBER(plumb_bench_facts, seed);
    MEMBER(plumb_bench_facts, pipeline_ms);
    MEMBER(plumb_bench_facts, pipeline_node);
    MEMBER(plumb_bench_facts, pipeline_count);
    MEMBER(plumb_bench_facts, pipeline_iterations);
    MEMBER(plumb_bench_facts, pipeline_peak_bytes);
    MEMBER(plumb_bench_facts, pipeline_trace_bytes);
}

static void of_compare(void)
{
    SIZE(plumb_compare_options);
    MEMBER(plumb_compare_options, size);
    MEMBER(plumb_compare_options, threshold_percent);
    MEMBER(plumb_compare_options, alpha);
    MEMBER(plumb_compare_options, min_delta_ms);
    MEMBER(plumb_compare_options, figure);
    MEMBER(plumb_compare_options, allow);
    MEMBER(plumb_compare_options, fold);
    MEMBER(plumb_compare_options, node);
    MEMBER(plumb_compare_options, depth);
    SIZE(plumb_compare_view);
    MEMBER(plumb_compare_view, size);
    MEMBER(plumb_compare_view, format);
    MEMBER(plumb_compare_view, top);
    MEMBER(plumb_compare_view, sort);
    MEMBER(plumb_compare_view, wide);
    MEMBER(plumb_compare_view, unit);
    SIZE(plumb_compare_result);
    MEMBER(plumb_compare_result, size);
    MEMBER(plumb_compare_result, worse);
    MEMBER(plumb_compare_result, better);
    MEMBER(plumb_compare_result, unclear);
    MEMBER(plumb_compare_result, nodes);
    MEMBER(plumb_compare_result, only_a);
    MEMBER(plumb_compare_result, only_b);
    SIZE(plumb_benchmarks_options);
    MEMBER(plumb_benchmarks_options, size);
    MEMBER(plumb_benchmarks_options, format);
    MEMBER(plumb_benchmarks_options, filter_a);
    MEMBER(plumb_benchmarks_options, filter_b);
    MEMBER(plumb_benchmarks_options, threshold_percent);
    MEMBER(plumb_benchmarks_options, alpha);
    MEMBER(plumb_benchmarks_options, aggregates);
    MEMBER(plumb_benchmarks_options, reserved);
}

static void of_deep(void)
{
    SIZE(plumb_deep_options);
    MEMBER(plumb_deep_options, size);
    MEMBER(plumb_deep_options, peaks_only);
    MEMBER(plumb_deep_options, measure);
    SIZE(plumb_deep_view);
    MEMBER(plumb_deep_view, size);
    MEMBER(plumb_deep_view, format);
    MEMBER(plumb_deep_view, kernel);
    MEMBER(plumb_deep_view, top);
    MEMBER(plumb_deep_view, cores);
    MEMBER(plumb_deep_view, explain);
    MEMBER(plumb_deep_view, report);
    MEMBER(plumb_deep_view, run);
}

static void of_diverge(void)
{
    SIZE(plumb_divergence_options);
    MEMBER(plumb_divergence_options, size);
    MEMBER(plumb_divergence_options, relative);
    MEMBER(plumb_divergence_options, absolute);
    MEMBER(plumb_divergence_options, maps);
    MEMBER(plumb_divergence_options, map_count);
    MEMBER(plumb_divergence_options, expect);
    MEMBER(plumb_divergence_options, only);
    SIZE(plumb_divergence_view);
    MEMBER(plumb_divergence_view, size);
    MEMBER(plumb_divergence_view, format);
    MEMBER(plumb_divergence_view, top);
    MEMBER(plumb_divergence_view, all);
    MEMBER(plumb_divergence_view, reserved);
    SIZE(plumb_divergence_result);
    MEMBER(plumb_divergence_result, size);
    MEMBER(plumb_divergence_result, diverged);
    MEMBER(plumb_divergence_result, compared);
    MEMBER(plumb_divergence_result, only_a);
    MEMBER(plumb_divergence_result, only_b);
}

static void of_energy(void)
{
    SIZE(plumb_energy_options);
    MEMBER(plumb_energy_options, size);
    MEMBER(plumb_energy_options, powercap);
    MEMBER(plumb_energy_options, nvml);
    SIZE(plumb_energy);
    MEMBER(plumb_energy, duration_s);
    MEMBER(plumb_energy, cpu_joules);
    MEMBER(plumb_energy, cpu_mean_w);
    MEMBER(plumb_energy, gpu_joules);
    MEMBER(plumb_energy, gpu_mean_w);
    MEMBER(plumb_energy, gpu_peak_w);
    MEMBER(plumb_energy, gpu_sample_count);
    MEMBER(plumb_energy, cpu_available);
    MEMBER(plumb_energy, gpu_available);
    MEMBER(plumb_energy, cpu_domain_count);
    MEMBER(plumb_energy, note_count);
    MEMBER(plumb_energy, cpu_domains);
    MEMBER(plumb_energy, notes);
}

static void of_gate(void)
{
    SIZE(plumb_gate_rule_info);
    MEMBER(plumb_gate_rule_info, size);
    MEMBER(plumb_gate_rule_info, name);
    MEMBER(plumb_gate_rule_info, metric);
    MEMBER(plumb_gate_rule_info, node);
    MEMBER(plumb_gate_rule_info, command);
    MEMBER(plumb_gate_rule_info, line);
    MEMBER(plumb_gate_rule_info, rounds);
    MEMBER(plumb_gate_rule_info, is_time);
    MEMBER(plumb_gate_rule_info, compares);
    MEMBER(plumb_gate_rule_info, history);
    SIZE(plumb_gate_result);
    MEMBER(plumb_gate_result, size);
    MEMBER(plumb_gate_result, status);
    MEMBER(plumb_gate_result, reserved);
    MEMBER(plumb_gate_result, checks);
    MEMBER(plumb_gate_result, passed);
    MEMBER(plumb_gate_result, skipped);
    MEMBER(plumb_gate_result, inconclusive);
    MEMBER(plumb_gate_result, regressions);
    SIZE(plumb_gate_point);
    MEMBER(plumb_gate_point, size);
    MEMBER(plumb_gate_point, a);
    MEMBER(plumb_gate_point, b);
    MEMBER(plumb_gate_point, count);
    MEMBER(plumb_gate_point, resolution);
    SIZE(plumb_gate_crossover_result);
    MEMBER(plumb_gate_crossover_result, size);
    MEMBER(plumb_gate_crossover_result, threshold);
    MEMBER(plumb_gate_crossover_result, estimate);
    MEMBER(plumb_gate_crossover_result, from);
    MEMBER(plumb_gate_crossover_result, to);
    SIZE(plumb_gate_pair_result);
    MEMBER(plumb_gate_pair_result, size);
    MEMBER(plumb_gate_pair_result, a_ns);
    MEMBER(plumb_gate_pair_result, b_ns);
    MEMBER(plumb_gate_pair_result, ratio);
    MEMBER(plumb_gate_pair_result, low);
    MEMBER(plumb_gate_pair_result, high);
    MEMBER(plumb_gate_pair_result, noise);
    MEMBER(plumb_gate_pair_result, faster);
    MEMBER(plumb_gate_pair_result, reserved);
}

static void of_history(void)
{
    SIZE(plumb_cohort);
    MEMBER(plumb_cohort, workload);
    MEMBER(plumb_cohort, variant);
    MEMBER(plumb_cohort, version);
    MEMBER(plumb_cohort, recipe);
    MEMBER(plumb_cohort, hardware);
    MEMBER(plumb_cohort, software);
    SIZE(plumb_metric);
    MEMBER(plumb_metric, name);
    MEMBER(plumb_metric, unit);
    MEMBER(plumb_metric, value);
    MEMBER(plumb_metric, higher_is_better);
    MEMBER(plumb_metric, gated);
    MEMBER(plumb_metric, floor_relative);
    MEMBER(plumb_metric, floor_absolute);
    SIZE(plumb_result);
    MEMBER(plumb_result, cohort);
    MEMBER(plumb_result, label);
    MEMBER(plumb_result, device);
    MEMBER(plumb_result, commit);
    MEMBER(plumb_result, branch);
    MEMBER(plumb_result, pr);
    MEMBER(plumb_result, run_source);
    MEMBER(plumb_result, source);
    MEMBER(plumb_result, reason);
    MEMBER(plumb_result, time_ns);
    MEMBER(plumb_result, id);
    MEMBER(plumb_result, success);
    MEMBER(plumb_result, eligible);
    MEMBER(plumb_result, status);
    MEMBER(plumb_result, baseline);
    MEMBER(plumb_result, metrics);
    MEMBER(plumb_result, metric_count);
    SIZE(plumb_results_options);
    MEMBER(plumb_results_options, size);
    MEMBER(plumb_results_options, workload);
    MEMBER(plumb_results_options, variant);
    MEMBER(plumb_results_options, version);
    MEMBER(plumb_results_options, recipe);
    MEMBER(plumb_results_options, hardware);
    MEMBER(plumb_results_options, software);
    MEMBER(plumb_results_options, config);
    MEMBER(plumb_results_options, environ_of);
    SIZE(plumb_history_options);
    MEMBER(plumb_history_options, size);
    MEMBER(plumb_history_options, write);
    MEMBER(plumb_history_options, wait_ms);
    SIZE(plumb_baseline);
    MEMBER(plumb_baseline, size);
    MEMBER(plumb_baseline, state);
    MEMBER(plumb_baseline, status);
    MEMBER(plumb_baseline, count);
    MEMBER(plumb_baseline, higher_is_better);
    MEMBER(plumb_baseline, floor_relative);
    MEMBER(plumb_baseline, floor_absolute);
    MEMBER(plumb_baseline, unit);
    MEMBER(plumb_baseline, median);
    MEMBER(plumb_baseline, values);
    MEMBER(plumb_baseline, times_ns);
    SIZE(plumb_history_add_options);
    MEMBER(plumb_history_add_options, size);
    MEMBER(plumb_history_add_options, counts);
    MEMBER(plumb_history_add_options, no_compare);
    MEMBER(plumb_history_add_options, dry);
    MEMBER(plumb_history_add_options, failed);
    SIZE(plumb_history_added);
    MEMBER(plumb_history_added, size);
    MEMBER(plumb_history_added, added);
    MEMBER(plumb_history_added, known);
    MEMBER(plumb_history_added, exit);
    SIZE(plumb_history_filter);
    MEMBER(plumb_history_filter, size);
    MEMBER(plumb_history_filter, cohort);
    MEMBER(plumb_history_filter, branch);
    MEMBER(plumb_history_filter, run_source);
    MEMBER(plumb_history_filter, metric);
    MEMBER(plumb_history_filter, since_ns);
    MEMBER(plumb_history_filter, until_ns);
    MEMBER(plumb_history_filter, newest);
    MEMBER(plumb_history_filter, eligible);
    SIZE(plumb_history_prune_options);
    MEMBER(plumb_history_prune_options, size);
    MEMBER(plumb_history_prune_options, until_ns);
    MEMBER(plumb_history_prune_options, keep);
    MEMBER(plumb_history_prune_options, id);
}

static void of_launches(void)
{
    SIZE(plumb_launch_counts);
    MEMBER(plumb_launch_counts, size);
    MEMBER(plumb_launch_counts, iterations);
    MEMBER(plumb_launch_counts, native);
    MEMBER(plumb_launch_counts, launches);
    MEMBER(plumb_launch_counts, wall_ns);
    SIZE(plumb_launches_row);
    MEMBER(plumb_launches_row, size);
    MEMBER(plumb_launches_row, depth);
    MEMBER(plumb_launches_row, fused);
    MEMBER(plumb_launches_row, device);
    MEMBER(plumb_launches_row, duration_s);
    MEMBER(plumb_launches_row, channels);
    MEMBER(plumb_launches_row, fs);
    MEMBER(plumb_launches_row, counted);
}

static void of_ncu(void)
{
    SIZE(plumb_ncu_report_view);
    MEMBER(plumb_ncu_report_view, size);
    MEMBER(plumb_ncu_report_view, format);
    MEMBER(plumb_ncu_report_view, report);
    MEMBER(plumb_ncu_report_view, run);
    MEMBER(plumb_ncu_report_view, command);
    MEMBER(plumb_ncu_report_view, top);
}

void sizes_results(void)
{
    of_bench();
    of_compare();
    of_deep();
    of_diverge();
    of_energy();
    of_gate();
    of_history();
    of_launches();
    of_ncu();
}
