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
        'summary:time and memory of the last request, else of the run, on one sheet'
        'memory:memory of stages, nodes and pools, and checkpoints'
        'requests:the requests that were served, or the stages of one'
        'signatures:inputs and outputs of each stage, each different signature'
        'activations:what the layers of a model gave out, as plumb activations'
        'trace:the timeline\: each node on each thread, threads and gaps, steps'
        'gaps:of the timeline\: the largest gaps between spans of a thread'
        'steps:of the timeline\: each step of the nodes that run in steps'
        'slowest:of the timeline\: the longest runs of NODE, each with what ran inside (--top 10)'
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
        'activations:show what the layers of a model gave out, and what looks odd'
        'runs:list recorded runs and remove old ones'
        'recover:make the report of a run that was killed'
        'export:write the trace of a run for other tools'
        'doctor:tell what can be recorded here, and what is in the way'
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
        '--dir=[parent of run directories; ~ %h %p %r %q{NAME} are expanded]:DIR:_files' \
        '--trace-dir=[TRACE=1 and DIR in one: traces below this folder; TRACE=0 leaves them out]:DIR:_files' \
        '--run-dir=[the run directory itself; refused when it already holds a run]:DIR:_files' \
        '--timing-report=[a copy of timing.json; its folders are made, ~ %h %p %r %q{NAME} expanded]:NAME:' \
        '--pipeline=[name of the default pipeline, instead of the program'\''s name]:NAME:' \
        '--skip-first=[samples dropped at the start of each (pipeline, phase, node)]:N:' \
        '--sync=-[synchronise the device before each clock read]::on|off:(on off)' \
        '--median=[estimator of the median]:sketch|p2:(sketch p2)' \
        '--debug=-[record debug spans as well]::on|off:(on off)' \
        '--max-nodes=[most nodes kept apart; the rest is counted under (other)]:N:' \
        '--max-state=[most memory for statistics and records]:SIZE:' \
        '--ring=[records of a thread; each time half of this is full, they are added up]:SIZE:' \
        '--clock=[source of time stamps; virtual: stands still, for tests (plumb/fake.h)]:auto|tsc|monotonic|virtual:(auto tsc monotonic virtual)' \
        '--memory=[whose memory is measured]:stages|all|off:(stages all off)' \
        '--memory-peak=[peaks of the resident set: of samples, or the kernel'\''s, reset by each stage]:sampled|exact:(sampled exact)' \
        '--memory-interval=[ms between samples of memory, longer as the run gets longer; 0: none]:N:' \
        '--memory-checkpoints=-[memory checkpoints before and after each stage]::on|off:(on off)' \
        '--verify=[checks of stages'\'' inputs and outputs: reported, or failures of the stage]:off|warn|fail:(off warn fail)' \
        '--signature=[what is kept of inputs and outputs of stages; full: statistics of the values too]:shapes|full|off:(shapes full off)' \
        '--collect=[collectors: none, auto (those that find their device), names, fake:option=1]:NAME:' \
        '--trace=-[write trace.pftrace, the timeline of the run, into its directory]::on|off:(on off)' \
        '--trace-max=[most bytes of the trace; what comes later is counted, not written]:SIZE:' \
        '--trace-mode=[write all until the bound, or hold the newest and write them when kept]:stop|ring:(stop ring)' \
        '--trace-ring=[memory of a thread for records that wait for the writer, or to be kept]:SIZE:' \
        '--keep-signal=[signal that keeps the newest records (TRACE_MODE=ring): USR2, ...]:NAME:' \
        '--keep-if=[a slow span keeps them: denoise_step>50ms; more after commas]:NAME:' \
        '--trace-steps=[only spans of these steps in the trace: 10-12,40]:NAME:' \
        '--trace-shapes=-[inputs and outputs of stages as arguments in the trace]::on|off:(on off)' \
        '--trace-memory=-[memory of each pool as a counter in the trace]::on|off:(on off)' \
        '--trace-flops=-[arguments `flops` of spans, and FLOP/s, in the trace]::on|off:(on off)' \
        '--trace-stack=-[the call stack of each span'\''s begin in the trace]::on|off:(on off)' \
        '--trace-stack-depth=[most frames of such a stack]:N:' \
        '--regions=[trace only these regions, separated by commas, or * for all]:NAME:' \
        '--region-scope=[whose spans a region traces: of its thread, or of all]:thread|process:(thread process)' \
        '--region-check=[REGIONS without one that exists: a warning and no trace, or the program'\''s end]:warn|abort:(warn abort)' \
        '--trace-nodes=[nodes with trace files of their own: shell patterns after commas]:NAME:' \
        '--nvtx=-[emit NVTX ranges for spans where a GPU is, or always]::on|off:(on off)' \
        '--activations=-[a record of each tensor that layers report]::on|off:(on off)' \
        '--activations-layers=[regular expression, searched for in module paths; empty: all]:NAME:' \
        '--activations-stats=[statistics in the order wanted]:NAME:' \
        '--activations-steps=[steps that are recorded, as 0,5-9; empty: all]:NAME:' \
        '--activations-output=[file of the records; folders are made, ~ %h %p <pid> %r %q{NAME} expanded]:NAME:' \
        '--activations-append=-[add to that file instead of beginning it afresh]::on|off:(on off)' \
        '--activations-queue=[records faster than they are written: wait, or leave out and count]:block|drop:(block drop)' \
        '--activations-dump=[regular expression: modules whose tensors are kept whole, as safetensors]:NAME:' \
        '--activations-dump-bytes=[most bytes of tensors kept whole]:SIZE:' \
        '--fork=[a forked child has a run of its own, or none]:follow|off:(follow off)' \
        '--signals=-[finish the run on SIGTERM and SIGINT where the program does not handle them]::on|off:(on off)' \
        '--helper=-[a thread of plumb'\''s own; off: no samples of memory, no trace, no activations]::on|off:(on off)' \
        '--quiet=-[no end block on stderr]::on|off:(on off)' \
        '--log=[what is told on stderr while running]:silent|error|warn|info|debug:(silent error warn info debug)' \
        '--help[show this text]' \
        '*:::command:_normal'
        ;;
    report)
        _arguments -S \
        '--format=[form of the output (text); svg is a picture: of nodes and tree a flame graph, of memory the memory over time]:text|json|csv|md|svg:(text json csv md svg)' \
        '--output=[write to FILE instead of standard output]:FILE:_files' \
        '--pipeline=[only this pipeline]:NAME:' \
        '--phase=[only this phase]:NAME:' \
        '--sort=[figure that orders the rows, largest first (total); the tree has no p95]:total|self|mean|p95:(total self mean p95)' \
        '--top=[show the first N rows of each table; sums are still over all]:N:' \
        '--frames=[frames of one phase: shown in the title, and the divisor of the average (less skip_first_n); not used in a table of several]:N:' \
        '--wide[more columns: self time, share, percentiles, device time]' \
        '--explain[what each column means, below the output]' \
        '--request=[only this request; of requests its stages and its time]:ID:' \
        '--min-width=[svg: rectangles narrower than PX pixels share one (0.1); the picture is 1180 wide]:PX:' \
        '--node=[only nodes whose names match; in the tree and the flame graph with what is around and inside them]:REGEX:' \
        '--depth=[the first N levels of the call tree only]:N:' \
        '--fold=-[nodes that differ in a number alone as one, layer.0 to layer.31 as layer.*, with the spread over them; by default where a table or a tree has more than 40 lines]::on|off:(on off)' \
        '--unit=[unit of times in tables for people (auto: one that fits each column)]:auto|ns|us|ms|s:(auto ns us ms s)' \
        '--module=[only modules in whose name REGEX is found]:REGEX:' \
        '--suspects[only what is suspect, all of it]' \
        '--by-step[a row for each layer and step, with its change since the last step]' \
        '--help[show this text]' \
        '1:view:_plumb_report_views' \
        '*:run:_plumb_runs'
        ;;
    compare)
        _arguments -S \
        '--a=[runs of side A, the baseline: what follows, until --b]:RUN...:_files' \
        '--b=[runs of side B: what follows, until --a]:RUN...:_files' \
        '--threshold=[mark what differs by more than PCT percent (5; from 3 runs a side on 2)]:PCT:' \
        '--alpha=[from 3 runs a side on, mark only where p table is at most P (0.015)]:P:' \
        '--min-delta=[never mark times that differ by less than MS ms (0)]:MS:' \
        '--by=[what is compared of a node (p50, the median)]:p50|min|mean|total|self|p95|device:(p50 min mean total self p95 device)' \
        '--sort=[order of the nodes: as first seen, or largest first (seen)]:seen|delta|percent|a|b:(seen delta percent a b)' \
        '--top=[show the first N nodes; all of them count]:N:' \
        '--wide[more columns: counts, p50 and p95 of both sides]' \
        '--unit=[unit of times in tables for people (auto: one that fits each column)]:auto|ns|us|ms|s:(auto ns us ms s)' \
        '--node=[compare only nodes whose names match, and the whole run]:REGEX:' \
        '--depth=[compare only nodes of the first N levels of the call tree]:N:' \
        '--fold=-[compare nodes that differ in a number alone as one, layer.0 to layer.31 as layer.*; by default a table of more than 40 lines shows those that are not marked as one]::on|off:(on off)' \
        '--format=[form of the output (text)]:text|json|csv|md:(text json csv md)' \
        '--output=[write to FILE instead of standard output]:FILE:_files' \
        '--any-machine[compare runs of different machines]' \
        '--any-program[compare programs without a common node, other named pipelines]' \
        '--any-skip[compare runs that skipped different numbers of samples]' \
        '--any-end[compare runs that ended with such that were killed or go on]' \
        '--force[all of these, and reports of different schema]' \
        '--help[show this text]' \
        '*:run:_plumb_runs'
        ;;
    diverge)
        _arguments -S \
        '--map=[what A'\''s layers are called in B: '\''s/OLD/NEW/'\'' or a file of pairs; repeatable]:RULE|FILE:_files' \
        '--only=[compare what --map or one name matches, or all (all)]:mapped|named|all:(mapped named all)' \
        '--expect=[hold the runs to the bit, or to tolerances]:same|close:(same close)' \
        '--rtol=[relative tolerance of all types, instead of each one'\''s own]:X:' \
        '--atol=[absolute tolerance of all types, likewise]:X:' \
        '--top=[rows of the table, round the culprit (20)]:N:' \
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
        '--suspects[only what is suspect, all of it]' \
        '--top=[show the first N rows of each table]:N:' \
        '--explain[what each column means, below the output]' \
        '--help[show this text]' \
        '*:file:_files'
        ;;
    runs)
        _arguments -S \
        '--dir=[where to look (PLUMB_DIR, else plumb-out)]:DIR:_files' \
        '--prune=[remove runs older than DAYS (30, 30d), or the oldest beyond SIZE (500M, 2G)]:DAYS|SIZE:' \
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
        '--format=[form of the output (chrome)]:chrome|perfetto|folded|speedscope|csv|otf2:(chrome perfetto folded speedscope csv otf2)' \
        '--output=[write there; '\''-'\'' is standard output, a folder gets the default name]:FILE:_files' \
        '--help[show this text]' \
        '*:run:_plumb_runs'
        ;;
    doctor)
        _arguments -S \
        '--help[show this text]' \
        '*:::command:_normal'
        ;;
    help)
        _arguments -S \
        '--man[as a man page (troff), for packaging]' \
        '--completion=-[the completion of a shell (bash), for packaging]::bash|zsh|fish:(bash zsh fish)' \
        '--markdown[the names of coming-from as Markdown, for packaging]' \
        '--help[show this text]' \
        '*:topic:(record report compare diverge activations runs recover export doctor help environment regions coming-from)'
        ;;
    esac
}
_plumb "$@"
