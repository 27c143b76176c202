#compdef plumb
# made by: plumb help --completion=zsh
_plumb_runs() {
    local -a runs
    runs=(${PLUMB_DIR:-plumb-out}/*/timing.json(N:h:t) ${PLUMB_DIR:-plumb-out}/*/*/timing.json(N:h:t))
    _alternative "runs:run:(${(u)runs:#latest})" 'files:file:_files'
}
_plumb_report_views() {
    local -a views
    views=(
        'nodes:a row for each node; the view without a name'
        'tree:the call tree\: a line for each place of a node'
        'summary:time and memory of the last request, or of the run, on one page'
        'memory:memory of stages, nodes and pools, and checkpoints'
        'requests:the requests that were served, or the stages of one'
        'signatures:each different signature of inputs and outputs of each stage'
        'counts:exact counts\: dispatches, launches, copies, allocations, and the program'\''s own'
        'streams:streams by sequence\: why stages were idle, latencies of controls and outputs'
        'activations:outputs of the layers of a model, as plumb activations shows them'
        'trace:timeline\: nodes by thread, threads, gaps, steps'
        'gaps:timeline\: the largest gaps between spans of a thread'
        'steps:timeline\: each step of the nodes that run in steps'
        'slowest:timeline\: the longest runs of NODE, each with what ran inside (--top 10)'
        'kernels:timeline\: kernels, and operators on the host, by their own time'
    )
    _describe view views
    _plumb_runs
}
_plumb_history_views() {
    local -a views
    views=(
        'add:compare results with their baselines, and keep them'
        'list:a row for each record, the oldest first'
        'show:one record with its metrics, their baselines and its identity'
        'prune:remove records; the last five of each baseline stay'
        'plot:an SVG with each metric over time, its noise band and its steps'
    )
    _describe view views
    _plumb_runs
}
_plumb() {
    local -a commands
    commands=(
        'record:run a program and record where its time goes'
        'report:show where the time of a run went'
        'compare:compare runs\: what became slower, what faster'
        'diverge:compare activations\: which layer went wrong first'
        'activations:show the outputs of the layers of a model, and suspects'
        'bench:run one stage alone, from its signature, and measure it'
        'gate:check results against the rules of a file'
        'ab:measure two variants in turn, and decide by rules'
        'deep:compare kernels with the peaks of this machine\: what limits them'
        'runs:list recorded runs and remove old ones'
        'history:keep results over time, and compare new ones with their baseline'
        'recover:make the report of a run that was killed'
        'export:write the trace or the requests of a run for other tools'
        'doctor:check what can be recorded here, and what prevents it'
        'count-launches:count dispatches and launches per iteration'
        'serve:watch and steer running processes over gRPC, metrics over HTTP'
        'ps:list running processes that can be controlled'
        'top:watch where a running process spends its time'
        'attach:record a running process for a while, and leave it as it was'
        'help:explain a command, a variable, or a name of another profiler'
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
    record)
        _arguments -S \
        '--malloc[count what the program and its libraries allocate with malloc(), by node]' \
        '--calls=[make spans of the functions below the folder ROOT (-g -finstrument-functions)]:ROOT:' \
        '--energy[joules of processors and GPUs, of the program and its stages]' \
        '--energy-output=[the same, also written to FILE, where {host} is this machine]:FILE:_files' \
        '--powercap=[folder of energy counters (/sys/class/powercap)]:DIR:_files' \
        '--dir=[parent of run directories; ~ %h %p %r %q{NAME} are expanded]:DIR:_files' \
        '--trace-dir=[sets DIR and turns the trace on; with TRACE=0 sets DIR alone]:DIR:_files' \
        '--run-dir=[the run directory itself; refused if it already holds a run]:DIR:_files' \
        '--timing-report=[path of a copy of timing.json; folders are created, ~ %h %p %r %q{NAME} expanded]:NAME:' \
        '--pipeline=[name of the default pipeline, instead of the program'\''s name]:NAME:' \
        '--skip-first=[samples dropped at the start of each (pipeline, phase, node)]:N:' \
        '--sync=-[synchronise the device before each clock read]::on|off:(on off)' \
        '--median=[estimator of the median]:sketch|p2:(sketch p2)' \
        '--debug=-[record debug spans as well]::on|off:(on off)' \
        '--max-nodes=[maximum number of nodes; further ones are counted under (other)]:N:' \
        '--max-state=[maximum memory for statistics and records]:SIZE:' \
        '--ring=[size of a thread'\''s ring of records; each full half is folded into the statistics]:SIZE:' \
        '--clock=[source of time stamps; virtual: advanced by a program, for tests (plumb/fake.h)]:auto|tsc|monotonic|virtual:(auto tsc monotonic virtual)' \
        '--memory=[nodes whose memory is measured]:stages|all|off:(stages all off)' \
        '--memory-peak=[peak of the resident set: the highest sample, or exact, reset by each stage]:sampled|exact:(sampled exact)' \
        '--memory-interval=[ms between memory samples, increasing in long runs; 0: no samples]:N:' \
        '--memory-checkpoints=-[take a memory checkpoint before and after each stage]::on|off:(on off)' \
        '--verify=[check inputs and outputs of stages: report, or also count the stage as failed]:off|warn|fail:(off warn fail)' \
        '--signature=[record inputs and outputs of stages; full: with statistics of the values]:shapes|full|off:(shapes full off)' \
        '--capture=[keep the inputs of one call of a stage (denoise) or of one step (denoise:7)]:NAME:' \
        '--capture-bytes=[maximum size of captured inputs, which are copied into memory first]:SIZE:' \
        '--collect=[collectors: none, auto (those that find their device), or names]:NAME:' \
        '--trace=-[write trace.pftrace, the timeline of the run, into its directory]::on|off:(on off)' \
        '--trace-max=[maximum size of the trace; later events are counted, not written]:SIZE:' \
        '--trace-mode=[write until the maximum is reached, or keep the newest records until asked]:stop|ring:(stop ring)' \
        '--trace-ring=[memory of a thread for records that wait for the writer, or to be kept]:SIZE:' \
        '--keep-signal=[signal that saves the newest records (TRACE_MODE=ring), for example USR2]:NAME:' \
        '--keep-if=[slow spans that save them: denoise_step>50ms; several separated by commas]:NAME:' \
        '--trace-steps=[trace only the spans of these steps: 10-12,40]:NAME:' \
        '--trace-shapes=-[add inputs and outputs of stages to the trace, as arguments]::on|off:(on off)' \
        '--trace-memory=-[add the memory of each pool to the trace, as a counter]::on|off:(on off)' \
        '--trace-flops=-[add arguments named `flops`, and FLOP/s, to the trace]::on|off:(on off)' \
        '--trace-stack=-[add the call stack of each span'\''s begin to the trace]::on|off:(on off)' \
        '--trace-stack-depth=[maximum number of frames of such a stack]:N:' \
        '--regions=[trace only these regions, separated by commas; * for all]:NAME:' \
        '--region-scope=[spans that a region selects: those of its thread, or of the whole process]:thread|process:(thread process)' \
        '--region-check=[if REGIONS names no existing region: warn and do not trace, or end the program]:warn|abort:(warn abort)' \
        '--trace-nodes=[nodes with trace files of their own: shell patterns, separated by commas]:NAME:' \
        '--nvtx=-[emit an NVTX range for each span if a GPU is present, or always]::on|off:(on off)' \
        '--activations=-[record statistics of each tensor that layers report]::on|off:(on off)' \
        '--activations-layers=[regular expression, searched for in module paths; empty: all]:NAME:' \
        '--activations-stats=[statistics to record, in this order]:NAME:' \
        '--activations-steps=[steps to record: 0,5-9; empty: all]:NAME:' \
        '--activations-output=[file of the records; folders are created, ~ %h %p <pid> %r %q{NAME} expanded]:NAME:' \
        '--activations-append=-[append to that file instead of overwriting it]::on|off:(on off)' \
        '--activations-queue=[if records come faster than they can be written: wait, or drop and count them]:block|drop:(block drop)' \
        '--activations-dump=[regular expression: modules whose tensors are saved whole, as safetensors]:NAME:' \
        '--activations-dump-bytes=[maximum size of all tensors saved whole]:SIZE:' \
        '--count=[functions whose calls are counted: LIBRARY:FUNCTION,...]:NAME:' \
        '--fork=[a forked child records a run of its own, or nothing]:follow|off:(follow off)' \
        '--signals=-[end the run on SIGTERM and SIGINT if the program does not handle them]::on|off:(on off)' \
        '--helper=-[use a helper thread; off: no memory samples, no trace, no activations]::on|off:(on off)' \
        '--quiet=-[print no end block on stderr]::on|off:(on off)' \
        '--control=-[take commands of this user'\''s plumb ps, attach, top and serve while running]::on|off:(on off)' \
        '--log=[log lines that are printed on stderr while running]:silent|error|warn|info|debug:(silent error warn info debug)' \
        '--help[show this text]' \
        '*:::command:_normal'
        ;;
    report)
        _arguments -S \
        '--format=[form of the output (text); svg is a picture: a flame graph of nodes and tree, memory over time of memory]:text|json|csv|md|svg:(text json csv md svg)' \
        '--output=[write to FILE instead of standard output]:FILE:_files' \
        '--pipeline=[only this pipeline]:NAME:' \
        '--phase=[only this phase]:NAME:' \
        '--sort=[figure that the rows are sorted by, largest first (total); the tree has no p95]:total|self|mean|p95:(total self mean p95)' \
        '--top=[show the first N rows of each table; sums still cover all rows]:N:' \
        '--frames=[number of frames of one phase: shown in the title, and (less skip_first_n) the divisor of the average; not used if the table has several phases]:N:' \
        '--wide[more columns: self time, share, percentiles, device time]' \
        '--explain[explain the columns below the output]' \
        '--request=[show only this request; in the view requests its stages and time]:ID:' \
        '--min-width=[svg: combine rectangles narrower than PX pixels (0.1); the picture is 1180 pixels wide]:PX:' \
        '--node=[only nodes whose names match; in the tree and the flame graph together with the nodes around and inside them]:REGEX:' \
        '--depth=[only the first N levels of the call tree]:N:' \
        '--fold=-[show nodes whose names differ only in a number as one: layer.0 to layer.31 as layer.*, with the spread over them; default if there are more than 40 lines]::on|off:(on off)' \
        '--unit=[unit of times in tables for people (auto: one that fits each column)]:auto|ns|us|ms|s:(auto ns us ms s)' \
        '--module=[only modules in whose name REGEX is found]:REGEX:' \
        '--suspects[show only the suspects, and all of them]' \
        '--by-step[a row for each layer and step, with its change since the last step]' \
        '--by=[what a row stands for: of kernels name, shape, stage or step (name); of counts node, step or phase (each of them)]:name|shape|stage|step|node|phase:(name shape stage step node phase)' \
        '--help[show this text]' \
        '1:view:_plumb_report_views' \
        '*:run:_plumb_runs'
        ;;
    compare)
        _arguments -S \
        '--a=[runs of side A, the baseline: all that follow, up to --b]:RUN...:_files' \
        '--b=[runs of side B: all that follow, up to --a]:RUN...:_files' \
        '--threshold=[mark differences of more than PCT percent (5; with 3 runs a side or more 2)]:PCT:' \
        '--alpha=[with 3 runs a side or more, mark only if p table is at most P (0.015)]:P:' \
        '--min-delta=[never mark times that differ by less than MS ms (0)]:MS:' \
        '--by=[figure of a node that is compared (p50, the median)]:p50|min|mean|total|self|p95|device:(p50 min mean total self p95 device)' \
        '--sort=[order of the nodes: as first seen, or largest first (seen)]:seen|delta|percent|a|b:(seen delta percent a b)' \
        '--top=[show the first N nodes; the others are compared too]:N:' \
        '--wide[more columns: counts, p50 and p95 of both sides]' \
        '--unit=[unit of times in tables for people (auto: one that fits each column)]:auto|ns|us|ms|s:(auto ns us ms s)' \
        '--node=[compare only nodes whose names match, and the whole run]:REGEX:' \
        '--depth=[compare only nodes of the first N levels of the call tree]:N:' \
        '--fold=-[compare nodes whose names differ only in a number as one, layer.0 to layer.31 as layer.*; by default a table of more than 40 lines shows unmarked ones so]::on|off:(on off)' \
        '--format=[form of the output (text)]:text|json|csv|md:(text json csv md)' \
        '--output=[write to FILE instead of standard output]:FILE:_files' \
        '--any-machine[compare runs of different machines]' \
        '--any-program[compare programs without a common node, or with other pipeline names]' \
        '--any-skip[compare runs that skipped different numbers of samples]' \
        '--any-end[compare runs that ended with runs that were killed or still record]' \
        '--force[all of these, and reports of different schemas]' \
        '--filter-a=[files of benchmarks: of A only names that match, with '\''.'\'' in place of the match]:REGEX:' \
        '--filter-b=[the same of B: two families of benchmarks, side by side]:REGEX:' \
        '--aggregates[files of benchmarks: show only aggregates and tests]' \
        '--help[show this text]' \
        '*:run:_plumb_runs'
        ;;
    diverge)
        _arguments -S \
        '--map=[what A'\''s layers are called in B: '\''s/OLD/NEW/'\'' or a file of pairs; repeatable]:RULE|FILE:_files' \
        '--only=[compare what --map or one name matches, or all (all)]:mapped|named|all:(mapped named all)' \
        '--expect=[demand equality to the last bit, or within tolerances]:same|close:(same close)' \
        '--rtol=[relative tolerance for all types]:X:' \
        '--atol=[absolute tolerance for all types]:X:' \
        '--top=[number of rows around the culprit (20)]:N:' \
        '--all[all rows of the table]' \
        '--format=[form of the output (text)]:text|json|csv|md|svg:(text json csv md svg)' \
        '--output=[write to FILE instead of standard output]:FILE:_files' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    activations)
        _arguments -S \
        '--format=[form of the output (text)]:text|json|csv|md:(text json csv md)' \
        '--output=[write to FILE instead of standard output]:FILE:_files' \
        '--module=[only modules in whose name REGEX is found]:REGEX:' \
        '--steps[a row for each layer and step, with its change since the last]' \
        '--suspects[show only the suspects, and all of them]' \
        '--top=[show the first N rows of each table]:N:' \
        '--explain[explain the columns below the output]' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    bench)
        _arguments -S \
        '--stage=[the stage to run]:NAME:' \
        '--from=[the stage library that has it (plumb/stage_library.h)]:LIB.so:' \
        '--list-stages[list the stages of the signature and end]' \
        '--aggregate[one table of the benchmarks in files, and end]' \
        '--warmup=[runs before the measured ones (1)]:N:' \
        '--steps=[steps of the stage'\''s loop in each run (1)]:N:' \
        '--first-step=[the first of them (the captured one, else 0)]:N:' \
        '--repeat=[measured runs (5, or fewer that take 10 s)]:N:' \
        '--min-time=[measure until runs took this long]:SECONDS:' \
        '--inputs=[where inputs come from (auto)]:auto|captured|random:(auto captured random)' \
        '--seed=[of random inputs (0)]:N:' \
        '--config=[configuration of the model (the recorded one)]:TEXT:' \
        '--deadline=[count runs that take longer: 20ms, 500us, 1s]:TIME:' \
        '--energy[joules of the processor a run (RAPL counters)]' \
        '--powercap=[folder of energy counters (/sys/class/powercap)]:DIR:_files' \
        '--timeout=[end a stage that takes longer in all (600; 0: never)]:SECONDS:' \
        '--out=[folder of the files (that of the signature)]:DIR:_files' \
        '--suffix=[follows the stage'\''s name in names of files]:TEXT:' \
        '--format=[of the result on standard output (text)]:text|json|csv|md:(text json csv md)' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    gate)
        _arguments -S \
        '--old=[compare with this result (repeatable: with several of them)]:RESULT:' \
        '--rule=[apply one rule alone]:NAME:' \
        '--history=[history of rules with '\''old = history'\'' (.plumb/history.db)]:FILE:_files' \
        '--recipe=[recipe of the results for '\''old = history'\'': a JSON file, or its SHA-256]:FILE|HASH:_files' \
        '--commands[run the commands that rules name]' \
        '--fact=[report this too, unchecked (repeatable)]:KEY=TEXT:' \
        '--divergence=[report the traces and the first divergent key of JSON of plumb diverge]:FILE:_files' \
        '--also=[write this format to FILE too (repeatable)]:FORMAT=FILE:_files' \
        '--metrics[list the metrics that rules can name, and end]' \
        '--format=[form of the output (text)]:text|json|md|csv|junit|github:(text json md csv junit github)' \
        '--output=[write to FILE instead of standard output]:FILE:_files' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    ab)
        _arguments -S \
        '--rule=[rules that decide, or one of them (wall_clock <= old + 5 %)]:FILE[\:NAME]:_files' \
        '--rounds=[measure both variants at most N times (60, or that of the rule)]:N:' \
        '--warmup=[runs of each variant before the measured ones (1)]:N:' \
        '--node=[record each run, and take the median time of this node]:NAME:' \
        '--sweep=[run with each size in place of {NAME}; a range has 18 sizes]:NAME=N,N,...|FROM..TO:' \
        '--types=[run with each element type in place of {type}]:T,T,...:' \
        '--out=[write the samples to DIR/NAME-HOST.json, and a summary of DIR]:DIR:_files' \
        '--name=[begins the name of that file (ab)]:NAME:' \
        '--host=[ends it (this host)]:HOST:' \
        '--field=[put this into each entry of that file (repeatable)]:KEY=TEXT:' \
        '--format=[form of the decision (text)]:text|json|md|csv|junit|github:(text json md csv junit github)' \
        '--output=[write it to FILE instead of standard output]:FILE:_files' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    deep)
        _arguments -S \
        '--format=[form of the output (text); svg: a picture]:text|json|csv|md|svg:(text json csv md svg)' \
        '--output=[write to FILE instead of standard output]:FILE:_files' \
        '--kernel=[only kernels in whose name REGEX is found; with --ncu its --kernel-name: a whole name, or regex:EXPRESSION]:REGEX:' \
        '--cores=[compare with the peaks of all cores, or of one (all)]:all|one:(all one)' \
        '--top=[show the first N kernels]:N:' \
        '--peaks[show the peaks of this machine, without a recording]' \
        '--measure[measure the peaks again]' \
        '--explain[explain the columns below the output]' \
        '--ncu[run the program under Nsight Compute]' \
        '--stage=[with --ncu: only kernels that are launched inside the stage]:NAME:' \
        '--launch-skip=[with --ncu: pass over N launches first (0)]:N:' \
        '--launch-count=[with --ncu: profile N launches (1)]:N:' \
        '--metrics=[with --ncu: collect these metrics too, by raw name]:LIST:' \
        '--csv=[with --ncu: where it writes its CSV (plumb-ncu.csv)]:FILE:_files' \
        '--print[with --ncu: print the command, and do not run it]' \
        '--report=[the report on one kernel, from workload to next experiment]:md:' \
        '--run=[with --report: the run whose workload and stage times it has (that of the trace)]:RUN:_files' \
        '--mfu=[model FLOPs utilisation of a run, or of a training step]:run|NAME=VALUE,...:(run NAME=VALUE,...)' \
        '--help[show this text]' \
        '*:run:_plumb_runs'
        ;;
    runs)
        _arguments -S \
        '--dir=[where to look (PLUMB_DIR, else plumb-out)]:DIR:_files' \
        '--prune=[remove runs older than DAYS (30, 30d), or the oldest beyond SIZE (500M, 2G)]:DAYS|SIZE:' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    history)
        _arguments -S \
        '--db=[the history (.plumb/history.db)]:FILE:_files' \
        '--wait=[wait so long for a process that has it locked (10)]:SECONDS:' \
        '--workload=[add: in place of the file'\''s; otherwise: only these records]:NAME:' \
        '--variant=[the same for the variant of the workload]:NAME:' \
        '--version=[the same for the version of the benchmark]:TEXT:' \
        '--recipe=[the same for the recipe: a JSON file, or its SHA-256]:FILE|HASH:_files' \
        '--hardware=[the same for the hardware: facts in JSON, or hw-...]:FILE|ID:_files' \
        '--software=[the same for the software: facts in JSON, or sw-...]:FILE|ID:_files' \
        '--config=[the configuration of the benchmark whose run is added]:FILE:_files' \
        '--baseline=[what counts for baselines: passes of scheduled runs of main (auto), all, none]:auto|yes|no:(auto yes no)' \
        '--no-compare[store without comparing: exit status 0]' \
        '--dry-run[compare without storing]' \
        '--failed[the program that measured has failed (PERF_PYTEST_RC not 0)]' \
        '--report=[also write a Markdown report to this file, or into this folder]:PATH:' \
        '--record=[with --config: write the raw record, perf_ID_TIME.json, into DIR]:DIR:_files' \
        '--metric=[plot only this metric (all gated ones)]:NAME:' \
        '--branch=[only records of this branch]:NAME:' \
        '--source=[only records of such runs]:pr|local|scheduled_main|unknown:(pr local scheduled_main unknown)' \
        '--since=[only records measured then or later (2026-01-31, 30d)]:DATE|DAYS:' \
        '--until=[only records measured before; prune: remove these]:DATE|DAYS:' \
        '--newest=[only the N newest records]:N:' \
        '--eligible[only records that count for baselines]' \
        '--keep=[remove all but the N newest records of each cohort]:N:' \
        '--id=[remove the record N]:N:' \
        '--format=[form of the output (text; plot: svg)]:text|json|csv|md|svg:(text json csv md svg)' \
        '--output=[write to FILE instead of standard output]:FILE:_files' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    recover)
        _arguments -S \
        '--help[show this text]' \
        '*:run:_plumb_runs'
        ;;
    export)
        _arguments -S \
        '--format=[form of the output (chrome)]:chrome|perfetto|folded|speedscope|csv|otf2|prometheus|otlp:(chrome perfetto folded speedscope csv otf2 prometheus otlp)' \
        '--to=[the same]:FORM:' \
        '--output=[write there; '\''-'\'' is standard output, a folder gets the default name]:FILE:_files' \
        '--help[show this text]' \
        '*:run:_plumb_runs'
        ;;
    doctor)
        _arguments -S \
        '--help[show this text]' \
        '*:::command:_normal'
        ;;
    count-launches)
        _arguments -S \
        '--depths=[lengths of the chain, as 2,5,10,20 or as 2 5 10 20 (2,5,10,20)]:LIST:' \
        '--duration=[seconds of the signal (5.0)]:S:' \
        '--channels=[channels of the signal (2)]:N:' \
        '--fs=[its sampling rate (48000)]:HZ:' \
        '--device=[where it is computed (cpu)]:cpu|cuda:(cpu cuda)' \
        '--iters=[iterations that are counted, after one to warm up (30)]:N:' \
        '--tolerance=[largest difference of a fused sample from the unfused one (1e-6)]:X:' \
        '--out=[write the result to FILE, whose folders are made; {host} is this machine; - is stdout (-)]:FILE:_files' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    serve)
        _arguments -S \
        '--listen=[gRPC: HOST:PORT or unix:PATH; may be repeated (127.0.0.1:50051)]:ADDRESS:' \
        '--http=[HTTP, for Prometheus: the same forms; may be repeated (127.0.0.1:9464)]:ADDRESS:' \
        '--device-interval=[between readings of GPUs for HTTP; 0: none is read (5)]:SECONDS:' \
        '--tls-cert=[certificate of the server, PEM; turns TLS on]:FILE:_files' \
        '--tls-key=[its private key, PEM]:FILE:_files' \
        '--client-ca=[demand client certificates that this authority has signed]:FILE:_files' \
        '--control-name=[certificates of this name have the control role, all others may read; may be repeated]:NAME:' \
        '--token=[file with the bearer token of the control role]:FILE:_files' \
        '--read-token=[file with the bearer token of the read-only role]:FILE:_files' \
        '--read-only[give the control role to no caller]' \
        '--any-user[on loopback, without a token: other users of this machine too]' \
        '--insecure[allow an address beyond this machine without TLS]' \
        '--runs=[folder of runs for ListRuns and GetRun (PLUMB_DIR, else plumb-out)]:DIR:_files' \
        '--otlp=[send the requests of runs to this collector of OpenTelemetry]:URL:' \
        '--workers=[threads that answer calls (GRPC_MAX_WORKERS, else 10)]:N:' \
        '--max-message=[largest message (GRPC_MAX_MSG_SIZE, else 314572800)]:BYTES:' \
        '--idle=[close gRPC connections that have no call for so long; 0: never (300)]:SECONDS:' \
        '--drain=[how long calls may go on after SIGTERM (10)]:SECONDS:' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    ps)
        _arguments -S \
        '--format=[how to print (text)]:text|json:(text json)' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    top)
        _arguments -S \
        '--once[print one table as plain text and end]' \
        '--count=[print N tables as plain text and end]:N:' \
        '--interval=[time between two readings (1)]:SECONDS:' \
        '--sort=[share, rate, mean, p95, self, device, open, memory, count or name (share)]:KEY:' \
        '--reverse[the smallest first]' \
        '--filter=[only nodes whose name contains TEXT]:TEXT:' \
        '--tree[show the call tree]' \
        '--total[figures since the start of the run instead of the last interval]' \
        '--format=[form of the table (text); each but text prints one table, as --once does]:text|json|csv|md:(text json csv md)' \
        '--help[show this text]' \
        '*:run:_plumb_runs'
        ;;
    attach)
        _arguments -S \
        '--for=[how long: 10s, 500ms, 2m, or seconds (until Ctrl-C)]:TIME:' \
        '--steps=[until so many steps that begin from now on have ended]:N:' \
        '--trace[write a trace of that time as well]' \
        '--regions=[keep the trace to these regions; implies --trace]:NAMES:' \
        '--nodes=[keep the trace to these nodes; implies --trace]:PATTERNS:' \
        '--output=[where the run goes: a folder that is not there, or empty]:DIR:_files' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    help)
        _arguments -S \
        '--man[as a man page (troff), for packaging]' \
        '--completion=-[the completion of a shell (bash), for packaging]::bash|zsh|fish:(bash zsh fish)' \
        '--markdown[the names of coming-from as Markdown, for packaging]' \
        '--help[show this text]' \
        '*:topic:(record report compare diverge activations bench gate ab deep runs history recover export doctor count-launches serve ps top attach help environment regions coming-from)'
        ;;
    esac
}
_plumb "$@"
