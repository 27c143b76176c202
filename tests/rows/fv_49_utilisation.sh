#!/bin/sh
# FV-49: model FLOPs utilisation of a training step, to four decimals, against figures by hand:
# h = 1536, s = 32760, c = 512, f = 8960 need 9432667127808 operations a layer, 1131920055336960 a step of
# 30 layers; in 10 s on 8 devices of 989 TFLOP/s that is 1.43063707... %, on one of 312 it is 36.27948895... %.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
shapes=dit_seq_len=32760,context_len=512,hidden_dim=1536,num_layers=30,ffn_dim=8960
expect 'eight devices' 0 "$PLUMB_BIN" deep --mfu "$shapes,step_s=10,device=h100,world_size=8"
[ "$(head -1 out.txt)" = 'Per-Step MFU: 1.4306%' ] || fail "eight devices: $(cat out.txt)"
expect 'one device' 0 "$PLUMB_BIN" deep --mfu "$shapes,step_s=10,device=a100"
[ "$(head -1 out.txt)" = 'Per-Step MFU: 36.2795%' ] || fail "one device: $(cat out.txt)"
expect 'accumulation' 0 "$PLUMB_BIN" deep --mfu "$shapes,step_s=10,device=a100,batch=2,grad_accum=4,world_size=16"
[ "$(head -1 out.txt)" = 'Per-Step MFU: 18.1397%' ] || fail "accumulation: $(cat out.txt)"
finish
