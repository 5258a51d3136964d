#!/bin/sh
test_description='any process of a PyTorch run is killed at any moment: the same bits at its end

The companions, the scripts, the processes of their DataLoaders, raytrain-run and its helpers.
t/soak/soak describes what is checked; scripts/soak --launcher python runs longer ones by hand.
For slower builds, SOAK_SHARE divides the number of kills.'
. "$(dirname "$0")/setup.sh"

if ! "$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null; then
	skip_all="no torch of 1.10 or later (python3-torch)"
	test_done
fi

test_expect_success 'two workers survive 16 kills, with the bits of an undisturbed run' '
	seed=$(($$ % 10000)) && echo "# seed $seed" >&5 &&
	if ! "$srcdir/t/soak/soak" --launcher python --kills $((16 / ${SOAK_SHARE:-1})) \
		--iterations 14 --seed $seed --keep "$PWD/soak" "$stage/bin" \
		"$srcdir/t/soak/train.py" >said 2>&1
	then
		sed "s/^/# /" said >&5
		return 1
	fi &&
	grep "seed $seed: .* kills" said
'
test_done
