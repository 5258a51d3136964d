# python-state.sh - sourced after setup.sh by tests of what Python scripts save: what their
# workers have said, and same.py, which compares states.

# errors_of RUN: what the workers of a run have printed to stderr.
errors_of () {
	cat "runs/$1/logs"/attempt-*/rank-*.err
}
# says RUN TEXT: one of them has printed this.
says () {
	errors_of "$1" >said
	grep -F "$2" said >/dev/null || { cat >&2 said; return 1; }
}

test_expect_success 'set up a comparison that knows types, bits and shared memory' '
	cat >same.py <<-\EOF
	import numpy as np, sys

	def same(a, b, at=""):
	    """Types, keys and bits are equal."""
	    torch = sys.modules.get("torch")
	    assert type(a) is type(b), (at, type(a), type(b))
	    if isinstance(a, dict):
	        assert list(a) == list(b), at
	        for (k, v), (l, w) in zip(a.items(), b.items()):
	            assert type(k) is type(l), at
	            same(v, w, f"{at}/{k}")
	    elif isinstance(a, (list, tuple)):
	        assert len(a) == len(b), at
	        for i, (v, w) in enumerate(zip(a, b)):
	            same(v, w, f"{at}/{i}")
	    elif torch and isinstance(a, torch.Tensor):
	        what = lambda t: (t.dtype, t.shape, t.requires_grad)
	        assert what(a) == what(b), (at, what(a), what(b))
	        bits = lambda t: t.detach().contiguous().reshape(-1).view(torch.uint8)
	        assert torch.equal(bits(a), bits(b)), at
	    elif isinstance(a, (np.ndarray, np.generic)):
	        assert (a.dtype, a.shape) == (b.dtype, b.shape), (at, a.dtype, b.dtype)
	        if a.dtype == np.longdouble:  # some of its bytes mean nothing
	            assert np.array_equal(a, b), at
	        else:
	            assert a.tobytes() == b.tobytes(), at
	    elif isinstance(a, float):
	        assert a.hex() == b.hex(), at
	    else:
	        assert a == b, (at, a, b)
	EOF
'
