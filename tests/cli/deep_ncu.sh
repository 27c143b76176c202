#!/bin/sh
# plumb deep with Nsight Compute: the command it builds, the program's status and output, absence,
# missing permission, and reports in every format. `ncu` is a script.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
corpus=$PLUMB_SOURCE_DIR/tests/fuzz/corpus/ncu
mkdir bin
# Writes its arguments, what it was told through the environment, and the file that $REPORT names, and
# runs the program as ncu does.
cat >bin/ncu <<'END'
#!/bin/sh
printf '%s\n' "$@" >arguments.txt
echo "PLUMB=${PLUMB-} PLUMB_NVTX=${PLUMB_NVTX-}" >environment.txt
while [ $# -gt 0 ]; do
    case $1 in
    --csv | --nvtx) shift ;;
    --log-file) log=$2 && shift 2 ;;
    --*) shift 2 ;;
    *) break ;;
    esac
done
[ -z "${REPORT-}" ] || cat "$REPORT" >"$log"
"$@" || exit
exit "${NCU_STATUS-0}"
END
chmod +x bin/ncu
path=$PWD/bin:$PATH
unset PLUMB PLUMB_NVTX
deep() {
    PATH=$path REPORT=${report-$corpus/raw_wide.csv} "$PLUMB_BIN" deep "$@"
}
metrics=gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
metrics=$metrics,sm__throughput.avg.pct_of_peak_sustained_elapsed,sm__warps_active.avg.pct_of_peak_sustained_active

# ---- The command ---------------------------------------------------------------------------------
expect 'printed' 0 deep --ncu --print --kernel 'regex:gemm.*' --stage denoise --launch-skip 3 --launch-count 2 -- ./app 'a b' "it's"
echo "ncu --target-processes all --kernel-name 'regex:gemm.*' --nvtx --nvtx-include denoise/ --launch-skip 3" \
    "--launch-count 2 --metrics $metrics --csv --page raw --print-units base --log-file plumb-ncu.csv ./app 'a b' 'it'\\''s'" >want.txt
cmp out.txt want.txt || fail "$name: $(cat out.txt)"
[ ! -e arguments.txt ] || fail "$name: ncu was run"
expect 'one launch by default' 0 deep --ncu --print --metrics dram__bytes.sum --csv x.csv -- ./app
has out.txt "--launch-skip 0 --launch-count 1 --metrics $metrics,dram__bytes.sum " '--log-file x.csv ./app'
lacks out.txt nvtx
lacks out.txt kernel-name
expect 'a stage with marks of the filter' 0 deep --ncu --print --stage 'vae/decode[0]' -- ./app
has out.txt "--nvtx-include 'regex:^vae.decode.0.\$/'"

# ---- The run -------------------------------------------------------------------------------------
expect 'run' 0 deep --ncu --stage denoise --csv kernels.csv -- sh -c 'echo from the program'
head -1 out.txt | grep -qx 'from the program' || fail "$name: the program's output has gone"
has out.txt 'memory(float *)' memory_bound compute_bound latency_bound
empty err.txt
[ "$(cat environment.txt)" = 'PLUMB=1 PLUMB_NVTX=1' ] || fail "$name: $(cat environment.txt)"
tail -3 arguments.txt >tail.txt
printf 'sh\n-c\necho from the program\n' | cmp - tail.txt || fail "$name: the program's arguments"
grep -qx 'denoise/' arguments.txt || fail "$name: no filter"
expect 'without a stage nothing is recorded' 0 deep --ncu -- true
[ "$(cat environment.txt)" = 'PLUMB= PLUMB_NVTX=' ] || fail "$name: $(cat environment.txt)"
[ -s plumb-ncu.csv ] || fail "$name: no CSV"
expect 'the status of the program' 7 deep --ncu -- sh -c 'exit 7'
has out.txt memory_bound
NCU_STATUS=9
export NCU_STATUS
expect 'the status of ncu' 9 deep --ncu -- true
report=
expect 'a report of before is not shown' 9 deep --ncu -- true
lacks out.txt memory_bound
has err.txt "ncu ended with status 9 and left no report in 'plumb-ncu.csv'"
report=$corpus/no_permission.txt
expect 'no permission' 9 deep --ncu -- true
[ "$(wc -l <err.txt)" = 1 ] || fail "$name: not one line: $(cat err.txt)"
has err.txt ERR_NVGPUCTRPERM 'run as root' --cap-add=SYS_ADMIN NVreg_RestrictProfilingToAdminUsers=0
unset NCU_STATUS
report=$corpus/no_kernel.txt
expect 'no kernel' 2 deep --ncu -- true
has err.txt 'ncu profiled no kernel: no launch passed the filters'
cp "$corpus/raw_wide.csv" plumb-ncu.csv
path=/nowhere
expect 'absent' 127 deep --ncu -- true
[ "$(wc -l <err.txt)" = 1 ] || fail "$name: not one line: $(cat err.txt)"
has err.txt 'ncu is not in PATH: install NVIDIA Nsight Compute'
[ -s plumb-ncu.csv ] || fail "$name: the report of before is gone"

# ---- Reports -------------------------------------------------------------------------------------
expect 'details' 0 deep "$corpus/details_labels.csv"
has out.txt 'void rms_norm<float, 4>(const float *, float *)' '(4096, 1, 1)' 1205.5 memory_bound 'gemm_bf16(int, int)' compute_bound
expect 'unknown' 0 deep "$corpus/metrics_names.csv"
has out.txt unknown 'latency_bound' '1 kernel is unknown. Missing: dram__throughput.avg.pct_of_peak_sustained_elapsed (1)'
expect 'JSON' 0 deep --format json "$corpus/raw_wide.csv"
jq -e '.format == "plumb-ncu" and (.kernels | length) == 5 and .kernels[0].duration_ns == 1234567 and
    ([.kernels[].bottleneck] == ["memory_bound", "compute_bound", "latency_bound", "unknown", "latency_bound"]) and
    .kernels[3].dram_throughput_pct == null and (.kernels[0].recommendation | contains("fuse"))' out.txt >/dev/null ||
    fail "$name: $(cat out.txt)"
expect 'CSV' 0 deep --format csv --top 2 "$corpus/raw_wide.csv"
[ "$(cut -d, -f1,2 out.txt)" = 'id,kernel
0,memory(float *)
1,compute(float *)' ] || fail "$name: $(cat out.txt)"
expect 'Markdown' 0 deep --format md "$corpus/raw_wide.csv"
has out.txt '| Verdict |' '| memory\_bound |' 'Missing: `dram__throughput.avg.pct_of_peak_sustained_elapsed` (1)'
cp "$corpus/raw_wide.csv" mine.csv
expect 'not over itself' 2 deep --output mine.csv mine.csv
cmp "$corpus/raw_wide.csv" mine.csv || fail "$name: it was written to"
expect 'not a report' 2 deep "$corpus/binary.ncu-rep"
has err.txt "ncu --import"
expect 'no program' 2 deep --ncu
has err.txt "--ncu wants a program"
expect 'an option without --ncu' 2 deep --launch-skip 3 mine.csv
has err.txt '--ncu'
finish
