#!/bin/sh
# TF-31 (+): the ncu command for one kernel and a few launches is built and run; absence and a missing
# permission are explained in one line each. `ncu` is a script.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
mkdir bin
cat >bin/ncu <<'END'
#!/bin/sh
printf '%s ' "$@" >arguments.txt
for word; do
    [ "${before-}" = --log-file ] && log=$word
    before=$word
done
cat "$REPORT" >"$log"
exit "$STATUS"
END
chmod +x bin/ncu
corpus=$PLUMB_SOURCE_DIR/tests/fuzz/corpus/ncu
# deep REPORT STATUS ARGUMENT...: with the CSV that ncu writes and the status that it ends with
deep() {
    report=$1 ncu_status=$2
    shift 2
    PATH=$PWD/bin:$PATH REPORT=$report STATUS=$ncu_status "$PLUMB_BIN" deep "$@"
}
expect 'one kernel, some launches' 0 deep "$corpus/raw_wide.csv" 0 --ncu --kernel gemm --launch-skip 5 --launch-count 2 \
    --stage denoise -- ./app --steps 4
grep -q '^--target-processes all --kernel-name gemm --nvtx --nvtx-include denoise/ --launch-skip 5 --launch-count 2 --metrics .* ./app --steps 4 $' \
    arguments.txt || fail "$name: $(cat arguments.txt)"
for metric in gpu__time_duration.sum dram__throughput.avg.pct_of_peak_sustained_elapsed sm__throughput.avg.pct_of_peak_sustained_elapsed \
    sm__warps_active.avg.pct_of_peak_sustained_active; do
    has arguments.txt "$metric"
done
has out.txt memory_bound
expect 'the status of ncu' 3 deep "$corpus/raw_wide.csv" 3 --ncu -- ./app
expect 'no permission' 1 deep "$corpus/no_permission.txt" 1 --ncu -- ./app
[ "$(wc -l <err.txt)" = 1 ] || fail "$name: $(cat err.txt)"
has err.txt 'ncu may not read' ERR_NVGPUCTRPERM 'NVreg_RestrictProfilingToAdminUsers=0'
expect 'absent' 127 env PATH=/nowhere "$PLUMB_BIN" deep --ncu -- ./app
[ "$(wc -l <err.txt)" = 1 ] || fail "$name: $(cat err.txt)"
has err.txt 'ncu is not in PATH' install
finish
