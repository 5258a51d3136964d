#!/bin/sh
test_description='raytrain.serve: services that Python starts, and their client

What they answer is what BatchPredictor makes of the same rows, bit for bit.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

PYTHONPATH=$stage/share/raytrain/python:$PWD
OMP_NUM_THREADS=1
export PYTHONPATH OMP_NUM_THREADS

"$PYTHON" -c "import numpy, cloudpickle" 2>/dev/null && test_set_prereq NUMPY
"$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null && test_set_prereq TORCH
"$PYTHON" -c "import pandas" 2>/dev/null && test_set_prereq PANDAS

# python NAME: run NAME.py, and show what it printed if it fails. Nothing is left running.
python () {
	"$PYTHON" "$1.py" >"$1.out" 2>&1 || { cat "$1.out"; return 1; }
}
nothing_left () {
	! pgrep -f "raytrain-serve.*$PWD" && is_empty tmp
}
TMPDIR=$PWD/tmp
mkdir -p "$TMPDIR"
export TMPDIR

cat >common.py <<\EOT
import numpy, os, raytrain, signal
from raytrain import Checkpoint, Predictor, serve

class Scaled(Predictor):
    """y = 2 x + b; rows with x[0] = 400 are refused, 500 is a bug, 600 stops it, once."""

    def __init__(self, b, preprocessor=None):
        super().__init__(preprocessor)
        self.b = b

    @classmethod
    def from_checkpoint(cls, checkpoint, plus=0):
        return cls(checkpoint.to_dict()["b"] + plus, checkpoint.get_preprocessor())

    def _predict_numpy(self, batch, times=2):
        if (batch["x"][:, 0] == 400).any():
            raise ValueError("x is 400")
        if (batch["x"][:, 0] == 500).any():
            raise RuntimeError("no luck")
        if (batch["x"][:, 0] == 600).any() and not os.path.exists("stopped"):
            open("stopped", "w").close()
            os.kill(os.getpid(), signal.SIGSTOP)
        return {"y": times * batch["x"] + self.b,
                "n": numpy.array([len(t) for t in batch["t"]], "i8")}

inputs = {"x": ("float32", (2,)), "t": "text"}
checkpoint = Checkpoint.from_dict({"b": numpy.float32(0.5)})

def rows(n):
    return {"x": numpy.arange(2 * n, dtype="f4").reshape(n, 2) / 3 - 1000,
            "t": numpy.array(["ä" * (i % 5) for i in range(n)], object)}

def refused(kind, status, words, call, *args):
    try:
        call(*args)
    except kind as error:
        assert getattr(error, "status", 0) == status and words in str(error), error
    else:
        raise AssertionError("not refused")
EOT

cat >serving.py <<\EOT
import http.client, json, socket, threading
from common import *
with serve.run(checkpoint, Scaled, name="scaled", inputs=inputs, settings={"times": 3},
               predictor_kwargs={"plus": 1}, options=["-q"]) as service:
    made = service.predict(rows(1000))
    assert made["y"].dtype == numpy.float32 and made["n"].dtype == numpy.int64
    assert numpy.array_equal(made["y"], 3 * rows(1000)["x"] + numpy.float32(1.5))
    assert made["n"].tolist() == [i % 5 for i in range(1000)]
    assert service.name == "scaled" and service.token is None and service.client.is_ready()
    assert [t["name"] for t in service.client.metadata()["inputs"]] == ["x", "t"]
    one = {"x": [[1, 2]], "t": [None], "more": [0]}
    assert service.predict(one)["n"].tolist() == [0]
    assert numpy.isnan(service.predict({"x": [[numpy.nan, 1]], "t": [""]})["y"][0, 0])

    # one bad row
    bad = rows(10)
    bad["x"][7, 0] = 400
    refused(serve.BadRequest, 400, "row 7: x is 400", service.predict, bad)
    bad["x"][7, 0] = 500
    refused(serve.ServeError, 500, "row 7: no luck", service.predict, bad)
    refused(serve.BadRequest, 400, '"x" has shape', service.predict,
            {"x": [[1, 2, 3]], "t": ["a"]})
    refused(serve.BadRequest, 400, '"t" is missing', service.predict, {"x": [[1, 2]]})
    refused(serve.BadRequest, 400, "'x': float64 does not fit", raytrain._serve_client._input,
            {"name": "x", "datatype": "INT8"}, [1.5])
    refused(serve.BadRequest, 400, "'x': int64 does not fit", raytrain._serve_client._input,
            {"name": "x", "datatype": "INT8"}, [300])
    refused(serve.BadRequest, 400, "several inputs", service.predict, [[1, 2]])

    # threads share a client
    said = {}
    def ask(i):
        said[i] = service.predict({"x": [[i, i]], "t": ["a"]})["y"][0, 0]
    threads = [threading.Thread(target=ask, args=[i]) for i in range(20)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert said == {i: 3 * i + 1.5 for i in range(20)}, said

    # another client, which knows the run's directory only
    other = serve.Client("unix:" + service.socket)
    assert other.name == "scaled" and other.predict(one)["y"].tolist() == [[4.5, 7.5]]

    # binary tensors by http.client alone
    x = numpy.array([[1, 2], [3, 4]], "<f4").tobytes()
    t = b"".join(len(w).to_bytes(4, "little") + w for w in (b"a", b"bc"))
    head = json.dumps({"inputs": [
        {"name": "x", "datatype": "FP32", "shape": [2, 2],
         "parameters": {"binary_data_size": len(x)}},
        {"name": "t", "datatype": "BYTES", "shape": [2],
         "parameters": {"binary_data_size": len(t)}}],
        "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}).encode()
    c = http.client.HTTPConnection("localhost")
    c.sock = socket.socket(socket.AF_UNIX)
    c.sock.connect(service.socket)
    c.request("POST", "/v2/models/scaled/infer", head + x + t,
              {"Inference-Header-Content-Length": str(len(head))})
    answer = c.getresponse()
    body = answer.read()
    n = int(answer.getheader("Inference-Header-Content-Length"))
    assert answer.status == 200 and [o["name"] for o in json.loads(body[:n])["outputs"]] == ["y"]
    assert numpy.frombuffer(body[n:], "<f4").tolist() == [4.5, 7.5, 10.5, 13.5]
    c.close()
assert not service.is_running()
EOT
cat >listening.py <<\EOT
import os
from common import *
service = serve.run(checkpoint, Scaled, inputs=rows(2), listen="127.0.0.1:0", num_replicas=2,
                    token_file="token", max_batch_size=16, batch_wait_timeout_s=0.001)
assert service.url.startswith("http://127.0.0.1:") and service.token
refused(serve.ServeError, 401, "token", serve.Client(service.url).predict, rows(1))
with serve.Client(service.url, service.token) as client:
    assert numpy.array_equal(client.predict(rows(100))["y"],
                             2 * rows(100)["x"] + numpy.float32(0.5))
serve.shutdown()
assert not service.is_running()

# by TLS; only the service's file says that its certificate can be trusted
with serve.run(checkpoint, Scaled, inputs=rows(2), listen="localhost:0", name="m",
               options=["--tls-cert", "cert.pem", "--tls-key", "key.pem"]) as service:
    assert service.url.startswith("https://localhost:")
    assert service.predict(rows(3))["n"].tolist() == [0, 1, 2]
    try:
        serve.Client(service.url).metadata()
    except OSError as error:
        assert "certificate" in str(error), error
    else:
        raise AssertionError("an unknown certificate is accepted")
EOT
cat >failing.py <<\EOT
from common import *
refused(raytrain.RaytrainError, 0, "no worker is left", lambda: serve.run(
    checkpoint, Scaled, inputs=inputs, predictor_kwargs={"plus": "no number"}))
refused(ValueError, 0, "type of an element", lambda: serve.run(checkpoint, Scaled,
                                                       inputs={"x": ("float31", ())}))
refused(TypeError, 0, "subclass of Predictor", lambda: serve.run(checkpoint, 3))
refused(ValueError, 0, "path of a run", lambda: serve.run("absent", Scaled))
refused(raytrain.errors.NotFound, 0, "is not served now", serve.Client, ".")
EOT
cat >stopping.py <<\EOT
from common import *
with serve.run(checkpoint, Scaled, inputs=inputs, num_replicas=2) as service:
    data = rows(3)
    data["x"][0, 0] = 600
    assert service.predict(data)["y"][0, 0] == 1200.5
    assert os.path.exists("stopped")
EOT
cat >busy.py <<\EOT
import http.server, json, threading
from common import *

class Busy(http.server.BaseHTTPRequestHandler):
    """Two refusals, and then an answer; it closes its connections without saying so."""
    asked, wait = [], "0.01"

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.send(200, {"inputs": [{"name": "x", "datatype": "INT64", "shape": [-1]}]})

    def do_POST(self):
        self.asked.append(self.rfile.read(int(self.headers["Content-Length"])))
        if len(self.asked) < 3:
            return self.send(429, {"error": "full"})
        self.send(200, {"model_version": "1", "outputs": [
            {"name": "y", "datatype": "INT64", "shape": [1], "data": [5]}]})

    def send(self, status, answer):
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Retry-After", self.wait)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        self.close_connection = True

Busy.protocol_version = "HTTP/1.1"
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
made = serve.Client(url, name="m").predict([7])
assert made["y"].tolist() == [5] and len(Busy.asked) == 3
del Busy.asked[:]
client = serve.Client(url, name="m")
client.metadata()
Busy.wait = "3600"
refused(serve.ServeError, 429, "full", client.predict, [7])
server.shutdown()
EOT

test_expect_success NUMPY 'a predictor is served: NumPy in, NumPy out, and a bad row is named' '
	python serving && nothing_left
'
# certificate: for localhost, of a CA that is made for it.
certificate () {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
		-subj /CN=ca -keyout ca.key -out ca.pem 2>/dev/null &&
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
		-keyout key.pem -out request.pem 2>/dev/null &&
	echo "subjectAltName=DNS:localhost" >names &&
	openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 \
		-extfile names -out cert.pem 2>/dev/null
}
test_expect_success NUMPY 'at a port, with a token and several workers, and by TLS' '
	certificate && python listening && nothing_left
'
test_expect_success NUMPY 'what cannot be served is an exception with the reason' '
	python failing && nothing_left
'
test_expect_success NUMPY 'a script that is stopped is replaced, and its rows are predicted by another one' '
	python stopping && grep "no sign of life" stopping.out &&
	rm -rf tmp/raytrain-private-* && nothing_left # what was killed could not remove it
'
test_expect_success NUMPY 'a full queue is asked again, as long as the client has time' '
	python busy
'
test_expect_success TORCH,NUMPY 'a network of torch answers what BatchPredictor says, bit for bit' '
	cat >nets.py <<-\EOT &&
	import torch
	from common import *
	from raytrain.torch import TorchPredictor
	torch.manual_seed(3)
	net = torch.nn.Sequential(torch.nn.Linear(7, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
	checkpoint = Checkpoint.from_dict({"model": net.state_dict()})
	x = numpy.random.default_rng(1).random((64, 7), "f4")
	numpy.savez("x.npz", x=x)
	batch = raytrain.BatchPredictor(checkpoint, TorchPredictor, model=net).predict(
	    "x.npz", output="y.h5", launcher="local", columns=["x"]).materialize()
	with serve.run(checkpoint, TorchPredictor, predictor_kwargs={"model": net}, name="net",
	               inputs={"x": x}, settings={"columns": ["x"]}) as service:
	    made = service.predict(x)
	    again = service.predict({"x": x.tolist()})
	assert set(made) == set(batch), (set(made), set(batch))
	for name in made:
	    assert made[name].tobytes() == numpy.asarray(batch[name]).tobytes() == \
	        again[name].tobytes(), name
	EOT
	python nets && nothing_left
'
test_expect_success PANDAS,NUMPY 'rows of pandas, for a predict function in C' '
	make_rows 20 && make_model &&
	raytrain-predict --launcher local --checkpoint runs/model --data rows.npz -o rows.h5 \
		"$model" 2>err &&
	cat >frames.py <<-\EOT &&
	import os, pandas, sys
	from common import *
	from raytrain.data import read_hdf5
	frame = pandas.DataFrame({"id": range(20)})
	frame["id"] = frame["id"].astype("Int64") # the numbers of pandas that may be missing
	frame["x"] = [numpy.array([i, 0.25 * i, i % 7], "f4") for i in range(20)]
	with serve.run(raytrain.Result.from_path("runs/model"), os.environ["MODEL"],
	               inputs={"x": ("float32", (3,)), "id": "int64"}) as service:
	    made = service.predict(frame)
	    by_run = serve.Client("runs/model").predict(frame)
	missing = pandas.DataFrame({"a": pandas.array(["b", None], "string"), "n": [1.5, None]})
	given = raytrain._serve_client._columns(missing, [])
	assert raytrain._serve_client._input({"name": "a", "datatype": "BYTES"}, given["a"])[1] == \
	    b"\1\0\0\0b\0\0\0\0"
	assert numpy.isnan(given["n"][1])
	batch = dict(read_hdf5("rows.h5").materialize())
	for each in made, by_run, batch: # the other part is the number of rows in a batch
	    each["parts"] = numpy.asarray(each["parts"])[:, 0]
	for name, values in batch.items():
	    assert made[name].tobytes() == numpy.asarray(values).tobytes() == by_run[name].tobytes()
	EOT
	MODEL=$model python frames && nothing_left
'
test_expect_success NUMPY 'a service ends with the process that has started it' '
	cat >dies.py <<-\EOT &&
	import os, signal
	from common import *
	service = serve.run(checkpoint, Scaled, inputs=inputs)
	print(service._process.pid, flush=True)
	os.kill(os.getpid(), signal.SIGKILL)
	EOT
	{ "$PYTHON" dies.py >pid 2>err || :; } && eventually eval "! kill -0 $(cat pid) 2>/dev/null"
'
test_done
