/* sizes_record.c: see sizes.h. */
#include "sizes.h"

#include <plumb/check.h>
#include <plumb/control.h>
#include <plumb/count.h>
#include <plumb/memory.h>
#include <plumb/metrics.h>
#include <plumb/region.h>
#include <plumb/stage.h>
#include <plumb/stage_library.h>
#include <plumb/step_timer.h>
#include <plumb/stopwatch.h>
#include <plumb/value.h>

static void of_check(void)
{
    SIZE(plumb_rule);
    MEMBER(plumb_rule, size);
    MEMBER(plumb_rule, shape);
    MEMBER(plumb_rule, dtype);
    MEMBER(plumb_rule, finite);
    MEMBER(plumb_rule, range);
    MEMBER(plumb_rule, optional);
    MEMBER(plumb_rule, reserved);
    MEMBER(plumb_rule, min);
    MEMBER(plumb_rule, max);
    MEMBER(plumb_rule, fn);
    MEMBER(plumb_rule, arg);
}

static void of_control(void)
{
    SIZE(plumb_process);
    MEMBER(plumb_process, size);
    MEMBER(plumb_process, pid);
    MEMBER(plumb_process, answers);
    MEMBER(plumb_process, start_time);
    MEMBER(plumb_process, program);
    MEMBER(plumb_process, command);
    MEMBER(plumb_process, pipeline);
    MEMBER(plumb_process, run_dir);
    MEMBER(plumb_process, version);
    MEMBER(plumb_process, socket);
    MEMBER(plumb_process, since_ns);
    MEMBER(plumb_process, spans);
    MEMBER(plumb_process, memory_bytes);
    MEMBER(plumb_process, rank);
    MEMBER(plumb_process, ranks);
    MEMBER(plumb_process, recording);
    MEMBER(plumb_process, tracing);
    SIZE(plumb_control_pipeline);
    MEMBER(plumb_control_pipeline, name);
    MEMBER(plumb_control_pipeline, enabled);
    MEMBER(plumb_control_pipeline, sync);
    MEMBER(plumb_control_pipeline, skip_first_n);
    SIZE(plumb_control_trace);
    MEMBER(plumb_control_trace, size);
    MEMBER(plumb_control_trace, for_ns);
    MEMBER(plumb_control_trace, steps);
    MEMBER(plumb_control_trace, max_bytes);
    MEMBER(plumb_control_trace, path);
    MEMBER(plumb_control_trace, regions);
    MEMBER(plumb_control_trace, nodes);
}

static void of_count(void)
{
    SIZE(plumb_count_scope);
    MEMBER(plumb_count_scope, of);
    MEMBER(plumb_count_scope, node);
    MEMBER(plumb_count_scope, step);
    MEMBER(plumb_count_scope, phase);
    SIZE(plumb_counted);
    MEMBER(plumb_counted, size);
    MEMBER(plumb_counted, of);
    MEMBER(plumb_counted, run);
    MEMBER(plumb_counted, thread);
    MEMBER(plumb_counted, kind);
    MEMBER(plumb_counted, name);
}

static void of_memory(void)
{
    SIZE(plumb_memory);
    MEMBER(plumb_memory, size);
    MEMBER(plumb_memory, allocated);
    MEMBER(plumb_memory, reserved);
    MEMBER(plumb_memory, peak_allocated);
    MEMBER(plumb_memory, peak_reserved);
    MEMBER(plumb_memory, overhead);
    MEMBER(plumb_memory, overhead_percent);
    MEMBER(plumb_memory, rss);
    MEMBER(plumb_memory, peak_rss);
}

static void of_metrics(void)
{
    SIZE(plumb_metric_options);
    MEMBER(plumb_metric_options, size);
    MEMBER(plumb_metric_options, space);
    MEMBER(plumb_metric_options, help);
    MEMBER(plumb_metric_options, labels);
    MEMBER(plumb_metric_options, bounds);
    MEMBER(plumb_metric_options, bound_count);
    SIZE(plumb_metric_value);
    MEMBER(plumb_metric_value, size);
    MEMBER(plumb_metric_value, type);
    MEMBER(plumb_metric_value, bound_count);
    MEMBER(plumb_metric_value, value);
    MEMBER(plumb_metric_value, count);
    MEMBER(plumb_metric_value, sum);
    MEMBER(plumb_metric_value, quantile);
    MEMBER(plumb_metric_value, bound);
    MEMBER(plumb_metric_value, bucket);
    SIZE(plumb_queue);
    MEMBER(plumb_queue, created);
    MEMBER(plumb_queue, completed);
    MEMBER(plumb_queue, failed);
    MEMBER(plumb_queue, cancelled);
    MEMBER(plumb_queue, waited);
    MEMBER(plumb_queue, ran);
    MEMBER(plumb_queue, waiting);
    MEMBER(plumb_queue, running);
    SIZE(plumb_queue_task);
    MEMBER(plumb_queue_task, created_ns);
    MEMBER(plumb_queue_task, started_ns);
}

static void of_region(void)
{
    SIZE(plumb_region);
    MEMBER(plumb_region, name);
    MEMBER(plumb_region, short_name);
    MEMBER(plumb_region, twin);
    MEMBER(plumb_region, description);
    MEMBER(plumb_region, entered);
    MEMBER(plumb_region, selected);
    MEMBER(plumb_region, reserved);
}

static void of_stage(void)
{
    SIZE(plumb_pair);
    MEMBER(plumb_pair, key);
    MEMBER(plumb_pair, value);
}

static void of_stage_library(void)
{
    SIZE(plumb_stage_call);
    MEMBER(plumb_stage_call, size);
    MEMBER(plumb_stage_call, inputs);
    MEMBER(plumb_stage_call, input_count);
    MEMBER(plumb_stage_call, output);
    MEMBER(plumb_stage_call, arg);
    SIZE(plumb_stage_ops);
    MEMBER(plumb_stage_ops, size);
    MEMBER(plumb_stage_ops, limit);
    MEMBER(plumb_stage_ops, name);
    MEMBER(plumb_stage_ops, help);
    MEMBER(plumb_stage_ops, inputs);
    MEMBER(plumb_stage_ops, open);
    MEMBER(plumb_stage_ops, run);
    MEMBER(plumb_stage_ops, step);
    MEMBER(plumb_stage_ops, close);
    MEMBER(plumb_stage_ops, sync);
    SIZE(struct plumb_stage_library);
    MEMBER(struct plumb_stage_library, version);
    MEMBER(struct plumb_stage_library, size);
    MEMBER(struct plumb_stage_library, stages);
}

static void of_step_timer(void)
{
    SIZE(plumb_step_timers);
    MEMBER(plumb_step_timers, count);
    MEMBER(plumb_step_timers, dropped);
    MEMBER(plumb_step_timers, timers);
    SIZE(plumb_step_timed);
    MEMBER(plumb_step_timed, timers);
    MEMBER(plumb_step_timed, name);
    MEMBER(plumb_step_timed, begin_ns);
}

static void of_stopwatch(void)
{
    SIZE(plumb_timed);
    MEMBER(plumb_timed, operation_name);
    MEMBER(plumb_timed, begin_ns);
    MEMBER(plumb_timed, elapsed_seconds);
    MEMBER(plumb_timed, log);
    MEMBER(plumb_timed, log_arg);
    MEMBER(plumb_timed, level);
    SIZE(plumb_stopwatch_options);
    MEMBER(plumb_stopwatch_options, size);
    MEMBER(plumb_stopwatch_options, devices);
    MEMBER(plumb_stopwatch_options, device_count);
    MEMBER(plumb_stopwatch_options, capture_peak_memory);
    MEMBER(plumb_stopwatch_options, reserved);
    MEMBER(plumb_stopwatch_options, now_s);
    MEMBER(plumb_stopwatch_options, arg);
    SIZE(plumb_stopwatch_result);
    MEMBER(plumb_stopwatch_result, size);
    MEMBER(plumb_stopwatch_result, seconds);
    MEMBER(plumb_stopwatch_result, device_count);
    MEMBER(plumb_stopwatch_result, reserved);
    MEMBER(plumb_stopwatch_result, memory);
    SIZE(plumb_environment);
    MEMBER(plumb_environment, size);
    MEMBER(plumb_environment, platform);
    MEMBER(plumb_environment, libc);
    MEMBER(plumb_environment, compiler);
    MEMBER(plumb_environment, plumb);
    MEMBER(plumb_environment, framework);
    MEMBER(plumb_environment, framework_version);
    MEMBER(plumb_environment, nvidia_driver);
    MEMBER(plumb_environment, git_commit);
    MEMBER(plumb_environment, gpu_count);
    MEMBER(plumb_environment, reserved);
    MEMBER(plumb_environment, gpus);
}

static void of_value(void)
{
    SIZE(plumb_value);
    MEMBER(plumb_value, kind);
    MEMBER(plumb_value, count);
    MEMBER(plumb_value, as);
}

void sizes_record(void)
{
    of_check();
    of_control();
    of_count();
    of_memory();
    of_metrics();
    of_region();
    of_stage();
    of_stage_library();
    of_step_timer();
    of_stopwatch();
    of_value();
}
