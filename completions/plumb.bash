# bash completion of plumb; made by: plumb help --completion
_plumb_runs() {
    local run dir=${PLUMB_DIR:-plumb-out}
    for run in "$dir"/*/*/timing.json "$dir"/*/timing.json; do
        run=${run%/*}
        [[ -e $run/timing.json && $run != */latest ]] && echo "${run##*/}"
    done
}
_plumb() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local words='' names='' files=1 i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W 'record report compare diverge activations bench gate ab deep runs history recover export doctor count-launches serve ps top attach help --help --version' -- "$current"))
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            if ((COMP_CWORD == i + 1)); then
                COMPREPLY=($(compgen -c -- "$current"))
            else
                COMPREPLY=($(compgen -f -- "$current"))
            fi
            return
        fi
    done
    case ${COMP_WORDS[1]} in
    record)
        words='--malloc --calls --energy --energy-output --powercap --dir --trace-dir --run-dir --timing-report --pipeline --skip-first --sync --median --debug --max-nodes --max-state --ring --clock --memory --memory-peak --memory-interval --memory-checkpoints --verify --signature --capture --capture-bytes --collect --trace --trace-max --trace-mode --trace-ring --keep-signal --keep-if --trace-steps --trace-shapes --trace-memory --trace-flops --trace-stack --trace-stack-depth --regions --region-scope --region-check --trace-nodes --nvtx --activations --activations-layers --activations-stats --activations-steps --activations-output --activations-append --activations-queue --activations-dump --activations-dump-bytes --count --fork --signals --helper --quiet --control --log --help'
        case $previous in
        --median) COMPREPLY=($(compgen -W 'sketch p2' -- "$current")); return ;;
        --clock) COMPREPLY=($(compgen -W 'auto tsc monotonic virtual' -- "$current")); return ;;
        --memory) COMPREPLY=($(compgen -W 'stages all off' -- "$current")); return ;;
        --memory-peak) COMPREPLY=($(compgen -W 'sampled exact' -- "$current")); return ;;
        --verify) COMPREPLY=($(compgen -W 'off warn fail' -- "$current")); return ;;
        --signature) COMPREPLY=($(compgen -W 'shapes full off' -- "$current")); return ;;
        --trace-mode) COMPREPLY=($(compgen -W 'stop ring' -- "$current")); return ;;
        --region-scope) COMPREPLY=($(compgen -W 'thread process' -- "$current")); return ;;
        --region-check) COMPREPLY=($(compgen -W 'warn abort' -- "$current")); return ;;
        --activations-queue) COMPREPLY=($(compgen -W 'block drop' -- "$current")); return ;;
        --fork) COMPREPLY=($(compgen -W 'follow off' -- "$current")); return ;;
        --log) COMPREPLY=($(compgen -W 'silent error warn info debug' -- "$current")); return ;;
        esac
        ;;
    report)
        words='--format --output --pipeline --phase --sort --top --frames --wide --explain --request --min-width --node --depth --fold --unit --module --suspects --by-step --by --help'
        names='nodes tree summary memory requests signatures counts streams activations trace gaps steps slowest kernels '$(_plumb_runs)
        case $previous in
        --format) COMPREPLY=($(compgen -W 'text json csv md svg' -- "$current")); return ;;
        --sort) COMPREPLY=($(compgen -W 'total self mean p95' -- "$current")); return ;;
        --unit) COMPREPLY=($(compgen -W 'auto ns us ms s' -- "$current")); return ;;
        --by) COMPREPLY=($(compgen -W 'name shape stage step node phase' -- "$current")); return ;;
        esac
        ;;
    compare)
        words='--a --b --threshold --alpha --min-delta --by --sort --top --wide --unit --node --depth --fold --format --output --any-machine --any-program --any-skip --any-end --force --filter-a --filter-b --aggregates --help'
        names=$(_plumb_runs)
        case $previous in
        --by) COMPREPLY=($(compgen -W 'p50 min mean total self p95 device' -- "$current")); return ;;
        --sort) COMPREPLY=($(compgen -W 'seen delta percent a b' -- "$current")); return ;;
        --unit) COMPREPLY=($(compgen -W 'auto ns us ms s' -- "$current")); return ;;
        --format) COMPREPLY=($(compgen -W 'text json csv md' -- "$current")); return ;;
        esac
        ;;
    diverge)
        words='--map --only --expect --rtol --atol --top --all --format --output --help'
        case $previous in
        --only) COMPREPLY=($(compgen -W 'mapped named all' -- "$current")); return ;;
        --expect) COMPREPLY=($(compgen -W 'same close' -- "$current")); return ;;
        --format) COMPREPLY=($(compgen -W 'text json csv md svg' -- "$current")); return ;;
        esac
        ;;
    activations)
        words='--format --output --module --steps --suspects --top --explain --help'
        case $previous in
        --format) COMPREPLY=($(compgen -W 'text json csv md' -- "$current")); return ;;
        esac
        ;;
    bench)
        words='--stage --from --list-stages --aggregate --warmup --steps --first-step --repeat --min-time --inputs --seed --config --deadline --energy --powercap --timeout --out --suffix --format --help'
        case $previous in
        --inputs) COMPREPLY=($(compgen -W 'auto captured random' -- "$current")); return ;;
        --format) COMPREPLY=($(compgen -W 'text json csv md' -- "$current")); return ;;
        esac
        ;;
    gate)
        words='--old --rule --history --recipe --commands --fact --divergence --also --metrics --format --output --help'
        case $previous in
        --format) COMPREPLY=($(compgen -W 'text json md csv junit github' -- "$current")); return ;;
        esac
        ;;
    ab)
        words='--rule --rounds --warmup --node --sweep --types --out --name --host --field --format --output --help'
        case $previous in
        --format) COMPREPLY=($(compgen -W 'text json md csv junit github' -- "$current")); return ;;
        esac
        ;;
    deep)
        words='--format --output --kernel --cores --top --peaks --measure --explain --ncu --stage --launch-skip --launch-count --metrics --csv --print --report --run --mfu --help'
        names=$(_plumb_runs)
        case $previous in
        --format) COMPREPLY=($(compgen -W 'text json csv md svg' -- "$current")); return ;;
        --cores) COMPREPLY=($(compgen -W 'all one' -- "$current")); return ;;
        --mfu) COMPREPLY=($(compgen -W 'run NAME=VALUE,...' -- "$current")); return ;;
        esac
        ;;
    runs)
        words='--dir --prune --help'
        case $previous in
        esac
        ;;
    history)
        words='--db --wait --workload --variant --version --recipe --hardware --software --config --baseline --no-compare --dry-run --failed --report --record --metric --branch --source --since --until --newest --eligible --keep --id --format --output --help'
        names='add list show prune plot '$(_plumb_runs)
        case $previous in
        --baseline) COMPREPLY=($(compgen -W 'auto yes no' -- "$current")); return ;;
        --source) COMPREPLY=($(compgen -W 'pr local scheduled_main unknown' -- "$current")); return ;;
        --format) COMPREPLY=($(compgen -W 'text json csv md svg' -- "$current")); return ;;
        esac
        ;;
    recover)
        words='--help'
        names=$(_plumb_runs)
        case $previous in
        esac
        ;;
    export)
        words='--format --to --output --help'
        names=$(_plumb_runs)
        case $previous in
        --format) COMPREPLY=($(compgen -W 'chrome perfetto folded speedscope csv otf2 prometheus otlp' -- "$current")); return ;;
        esac
        ;;
    doctor)
        words='--help'
        case $previous in
        esac
        ;;
    count-launches)
        words='--depths --duration --channels --fs --device --iters --tolerance --out --help'
        case $previous in
        --device) COMPREPLY=($(compgen -W 'cpu cuda' -- "$current")); return ;;
        esac
        ;;
    serve)
        words='--listen --http --device-interval --tls-cert --tls-key --client-ca --control-name --token --read-token --read-only --any-user --insecure --runs --otlp --workers --max-message --idle --drain --help'
        case $previous in
        esac
        ;;
    ps)
        words='--format --help'
        case $previous in
        --format) COMPREPLY=($(compgen -W 'text json' -- "$current")); return ;;
        esac
        ;;
    top)
        words='--once --count --interval --sort --reverse --filter --tree --total --format --help'
        names=$(_plumb_runs)
        case $previous in
        --format) COMPREPLY=($(compgen -W 'text json csv md' -- "$current")); return ;;
        esac
        ;;
    attach)
        words='--for --steps --trace --regions --nodes --output --help'
        case $previous in
        esac
        ;;
    help)
        words='--man --completion --markdown --help'
        names='record report compare diverge activations bench gate ab deep runs history recover export doctor count-launches serve ps top attach help environment regions coming-from'
        files=
        case $previous in
        esac
        ;;
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        return
    fi
    COMPREPLY=($(compgen -W "$names" -- "$current"))
    if [[ $files ]]; then
        COMPREPLY+=($(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _plumb plumb
