"""What the scripts of the frameworks have in common: who dies, and what is compared."""
import hashlib
import os
import signal

import raytrain

EPOCHS = 4
_first = raytrain.get_checkpoint() is None


def epoch_begins(epoch):
    """The rank DIES is killed at the start of the third epoch of the first attempt."""
    if epoch == 2 and _first and os.environ.get("DIES") == os.environ["RANK"]:
        os.kill(os.getpid(), signal.SIGKILL)


def say_bits(arrays):
    """arrays: the parameters, as NumPy has them."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    print("bits", digest.hexdigest(), flush=True)


def say_torch_bits(model):
    say_bits(p.detach().cpu().numpy() for p in model.parameters())
