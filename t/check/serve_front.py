"""The front of a service, seen by clients: t/1520-serve-front.t runs each of these functions.

    serve_front.py PROGRAM FUNCTION
"""

import http.client
import json
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
import time

ROW = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1.5, 2]},
                  {"name": "t", "datatype": "BYTES", "shape": [1], "data": ["a"]}]}
INFER = "/v2/models/m/infer"
WAIT_S = 60  # for what takes a moment: nothing depends on how long


def rows(*first, second=1):
    return {"inputs": [{"name": "x", "datatype": "FP32", "shape": [len(first), 2],
                        "data": [v for x in first for v in (x, second)]},
                       {"name": "t", "datatype": "BYTES", "shape": [len(first)],
                        "data": [str(x) for x in first]}]}


def until(condition):
    limit = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < limit


class Front:
    """The program under test, with one worker of version 1 by default."""

    def __init__(self, *options, address="127.0.0.1:0", workers=1):
        self.process = subprocess.Popen([PROGRAM, *options, address], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()
        try:
            for _ in range(workers):
                self.do("worker 1")
        except BaseException as error:
            self.__exit__(type(error))
            raise

    def do(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ok\n", command

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(WAIT_S)
        self.reader.join()
        self.process.stdout.close()
        assert status == 0, "".join(self.log)
        return self.log

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
            self.process.wait()  # the next one has the same socket for workers
            self.reader.join()
            sys.stderr.write("".join(self.log))
        else:
            self.end()

    def socket(self):
        if self.address.startswith("unix:"):
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.address[5:])
        else:
            host, port = self.address.rsplit(":", 1)
            s = socket.create_connection((host, int(port)))
        s.settimeout(WAIT_S)
        return s

    def client(self):
        c = http.client.HTTPConnection("localhost")
        c.sock = self.socket()
        return c

    def ask(self, method, path, body=None, headers={}, client=None):
        """Status, headers and body, JSON or not."""
        c = client or self.client()
        c.request(method, path, json.dumps(body) if isinstance(body, dict) else body, headers)
        answer = c.getresponse()
        data = answer.read()
        if not client:
            c.close()
        if answer.getheader("Content-Type") == "application/json" and data and \
                not answer.getheader("Inference-Header-Content-Length"):
            data = json.loads(data)
        return answer.status, answer.headers, data

    def status(self, method, path, body=None, headers={}):
        status, _, data = self.ask(method, path, body, headers)
        if status >= 400 and method != "HEAD":
            assert "error" in data or status == 503, (status, data)
        return status

    def raw(self, data, end=False):
        """What comes back for these bytes, until the connection is closed."""
        with self.socket() as s:
            try:
                s.sendall(data)
                if end:
                    s.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # a header that is too long is not read to its end
            return everything(s)

    def metric(self, name):
        text = self.ask("GET", "/metrics")[2].decode()
        found = re.search(r"^raytrain_serve_" + re.escape(name) + r" (\S+)$", text, re.M)
        return float(found[1]) if found else 0


def everything(s):
    out = b""
    try:
        while data := s.recv(65536):
            out += data
    except ConnectionResetError:
        pass
    return out


def y_of(answer):
    return {o["name"]: o["data"] for o in answer["outputs"]}["y"]


class Asking(threading.Thread):
    """A request in the background."""

    def __init__(self, front, body, path=INFER):
        super().__init__()
        self.front, self.body, self.path = front, body, path
        self.start()

    def run(self):
        self.answer = self.front.ask("POST", self.path, self.body)

    def get(self):
        self.join(WAIT_S)
        return self.answer


# ---- Routes ----

def routes():
    with Front() as f:
        assert f.ask("GET", "/v2")[2]["name"] == "raytrain-serve"
        assert f.status("GET", "/v2/health/live") == 200
        assert f.status("GET", "/v2/health/ready") == 200
        for path in "/v2/models/m", "/v2/models/m/versions/1":
            model = f.ask("GET", path)[2]
            assert model["name"] == "m" and model["versions"] == ["1"], model
            assert [(t["name"], t["datatype"], t["shape"]) for t in model["inputs"]] == \
                [("x", "FP32", [-1, 2]), ("t", "BYTES", [-1])], model
            assert f.status("GET", path + "/ready") == 200
            status, _, answer = f.ask("POST", path + "/infer", ROW)
            assert status == 200 and y_of(answer) == [3.5] and answer["model_version"] == "1"
        assert f.ask("GET", "/raytrain/state")[2]["models"][0]["requests"]["ok"] == 2
        status, headers, page = f.ask("GET", "/")
        assert headers["Content-Type"].startswith("text/html") and b"</html>" in page
        assert b"http:" not in page and b"https:" not in page
        for path in ("/v2/models/other", "/v2/models/m/versions/2", "/v2/models/m/versions/x",
                     "/v2/models/m/versions/1x", "/v2/models/m/versions/-1",
                     "/v2/models/other/ready"):
            assert f.status("GET", path) == 404, path
        assert f.status("POST", "/v2/models/other/infer", ROW) == 404
        assert f.status("POST", "/v2/models/m/versions/9/infer", ROW) == 404


def several_models():
    """Each has its own state; the index has those that are ready, if that is asked for."""
    with Front("--idle", "later") as f:
        def index(body):
            status, _, answer = f.ask("POST", "/v2/repository/index", body)
            return [(m["name"], m.get("version"), m["state"]) for m in answer] \
                if status == 200 else status
        ready, later = ("m", "1", "READY"), ("later", None, "UNAVAILABLE")
        for body in None, {}, {"ready": False}:
            assert index(body) == [ready, later], body
        assert index({"ready": True}) == [ready]
        for body in {"ready": 1}, b"[]", b"x", b"[" * 100000:
            assert index(body) == 400, body
        f.do("worker 2")
        assert index(None) == [ready, ("m", "2", "READY"), later]
        assert f.status("GET", "/v2/health/ready") == 503
        assert f.status("GET", "/v2/models/m/ready") == 200
        assert f.status("GET", "/v2/models/later/ready") == 503
        assert f.status("POST", INFER, ROW) == 200
        assert f.status("POST", "/v2/models/later/infer", ROW) == 503
        status, _, answer = f.ask("GET", "/v2/models/none")
        assert status == 404 and answer["error"].endswith("m, later"), answer
        assert f.metric('ready{model="m"}') == 1 and f.metric('ready{model="later"}') == 0


def wrong_methods():
    with Front() as f:
        for method, path, allow in (("POST", "/v2", "GET, HEAD, OPTIONS"),
                                    ("GET", "/v2/repository/index", "POST, OPTIONS"),
                                    ("DELETE", "/v2/models/m", "GET, HEAD, OPTIONS"),
                                    ("GET", INFER, "POST, OPTIONS"),
                                    ("HEAD", INFER, "POST, OPTIONS"),
                                    ("PUT", INFER, "POST, OPTIONS"),
                                    ("BREW", "/", "GET, HEAD, OPTIONS")):
            status, headers, _ = f.ask(method, path)
            assert status == 405 and headers["Allow"] == allow, (method, path, status)
        status, headers, body = f.ask("OPTIONS", INFER)
        assert status == 204 and headers["Allow"] == "POST, OPTIONS" and body == b""
        status, headers, body = f.ask("HEAD", "/v2")
        assert status == 200 and int(headers["Content-Length"]) > 10 and body == b""
        c = f.client()
        for method in ("OPTIONS", "HEAD", "GET", "DELETE"):  # the connection is kept
            f.ask(method, "/v2", client=c)
        c.close()


def path_tricks():
    with Front("--client-s", "5") as f:
        for path in ("/v2/", "//v2", "/v2/models", "/v2/models/", "/v2/models//ready",
                     "/v2/models/../models/m", "/v2/./models/m", "/etc/passwd", "/..", "/%2e%2e/",
                     "/../../../../etc/passwd", "/v2/models/..%2f..%2fetc%2fpasswd",
                     "/v2%2fmodels%2fm", "/v2/models/m%00", "/v2/models/%00", "/v2%00",
                     "/v2/models/m%2fready", "/v2/models/%", "/v2/models/m%", "/v2/models/m%6",
                     "/v2/models/m%zz", "/v2/models/%ff%fe", "/v2/models/m/", "/V2",
                     "/v2/models/" + "m" * 4000, "/v2/models/*", "/%2fv2", "/v2/models/m/x"):
            assert f.status("GET", path) == 404, path
        for path in "/v2/models/%6d", "/v2/models/%6D/versions/%31", "/v2?x=/../..", "/v2/models/m?":
            assert f.status("GET", path) == 200, path
        for line in (b"GET v2 HTTP/1.1", b"GET", b"GET  /v2 HTTP/1.1 x", b"\xff\xfe /v2 HTTP/1.1",
                     b"GET /v2/\xff\xfe HTTP/1.1", b"GET * HTTP/1.1",
                     b"GET http://other/v2 HTTP/1.1"):
            answer = f.raw(line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n", end=True)
            assert b" 200 " not in answer.split(b"\r\n")[0], (line, answer)
        assert f.status("GET", "/v2") == 200


# ---- Bodies ----

def bodies():
    with Front("--body", "100000") as f:
        many = rows(*range(20))  # three batches
        answer = f.ask("POST", INFER, many)[2]
        assert y_of(answer) == [x + 1 for x in range(20)]
        assert answer["outputs"][1]["data"] == [str(x) for x in range(20)]
        for body in (b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"inputs": "\xff"}', {},
                     {"inputs": []}, b"[" * 50000, json.dumps(ROW)[:-1], {"inputs": ROW["inputs"][:1]},
                     {"inputs": [{**ROW["inputs"][0], "shape": [-1, 2]}, ROW["inputs"][1]]},
                     {"inputs": [{**ROW["inputs"][0], "data": ["a", 1]}, ROW["inputs"][1]]},
                     {"inputs": [{**ROW["inputs"][0], "name": "z"}, ROW["inputs"][1]]},
                     json.dumps(ROW).replace("1.5", "NaN"), json.dumps(ROW) + "x"):
            assert f.status("POST", INFER, body) == 400, body
        status, _, answer = f.ask("POST", INFER, rows(400))
        assert status == 400 and "x is 400" in answer["error"]
        for encoding in "gzip", "deflate", "br", "identity, gzip":
            assert f.status("POST", INFER, ROW, {"Content-Encoding": encoding}) == 415
        assert f.status("POST", INFER, ROW, {"Content-Encoding": "identity"}) == 200
        csv = "x_0,x_1,t\n1,2,a\n3,4,b\n"
        status, _, answer = f.ask("POST", INFER, csv, {"Content-Type": "text/csv"})
        assert status == 200 and y_of(answer) == [3, 7], answer
        c = f.client()
        c.request("POST", INFER, iter([json.dumps(ROW)[:9].encode(), json.dumps(ROW)[9:].encode()]),
                  {"Transfer-Encoding": "chunked"}, encode_chunked=True)
        assert y_of(json.load(c.getresponse())) == [3.5]
        c.close()


def binary():
    head = json.dumps({"inputs": [
        {"name": "x", "datatype": "FP32", "shape": [2, 2], "parameters": {"binary_data_size": 16}},
        {"name": "t", "datatype": "BYTES", "shape": [2], "data": ["a", "b"]}],
        "outputs": [{"name": "y", "parameters": {"binary_data": True}}, {"name": "u"}]}).encode()
    with Front() as f:
        status, headers, data = f.ask("POST", INFER, head + struct.pack("<4f", 1, 2, 3, 4),
                                      {"Inference-Header-Content-Length": str(len(head))})
        assert status == 200, data
        n = int(headers["Inference-Header-Content-Length"])
        assert struct.unpack("<2f", data[n:]) == (3, 7)
        assert json.loads(data[:n])["outputs"][1]["data"] == ["a", "b"]
        for length in "0", "-1", "99999", "x", str(len(head) + 1):
            assert f.status("POST", INFER, head + b"0" * 16,
                            {"Inference-Header-Content-Length": length}) == 400, length


def too_large():
    with Front("--body", "100000", "--client-s", "5") as f:
        big = b" " * 100001
        assert f.status("POST", INFER, big) == 413
        assert f.status("POST", INFER, b" " * 5000000) == 413
        c = f.client()
        c.request("POST", INFER, iter([b" " * 60000, b" " * 60000]), encode_chunked=True,
                  headers={"Transfer-Encoding": "chunked"})
        assert c.getresponse().status == 413
        c.close()
        # A client that asks first need not send it at all.
        answer = f.raw(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n"
                       b"Expect: 100-continue\r\n\r\n" % INFER.encode())
        assert answer.startswith(b"HTTP/1.1 413"), answer
        # 24000 texts of no bytes have 24001 offsets of eight bytes.
        short = b'{"inputs": [{"name": "t", "datatype": "BYTES", "shape": [24000], "data": [%s]}]}' % \
            b",".join([b'""'] * 24000)
        status, _, answer = f.ask("POST", INFER, short)
        assert len(short) < 100000 and status == 413 and "bytes of tensors" in answer["error"], answer
        for length in b"-1", b"x", b"99999999999999999999999", b"1, 2":
            answer = f.raw(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n\r\n" %
                           (INFER.encode(), length), end=True)
            assert b" 200 " not in answer.split(b"\r\n")[0], (length, answer)
        assert f.status("POST", INFER, ROW) == 200


def gigabyte():
    """It is read, dropped and refused."""
    with Front("--body", "100000", "--client-s", "60") as f:
        assert f.status("POST", INFER, ROW) == 200
        before = memory_peak(f)
        part = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
        with f.socket() as s:
            s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" %
                      INFER.encode())
            for _ in range(1024):
                s.sendall(part)
            s.sendall(b"0\r\n\r\n")
            assert s.recv(12) == b"HTTP/1.1 413"
        assert memory_peak(f) - before < 64 << 10, (before, memory_peak(f))
        assert f.status("POST", INFER, ROW) == 200


def memory_peak(front):
    """KiB."""
    with open(f"/proc/{front.process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])


def many_large():
    """Requests together take no more memory than they may."""
    with Front("--bodies", "150000", "--client-s", "%d" % (2 * WAIT_S)) as f:
        for _ in range(20):  # each gives back what it took
            assert f.status("POST", INFER, b" " * 100000) == 400
        with f.socket() as s:
            s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n" %
                      INFER.encode() + b" " * 90000)
            until(lambda: f.ask("POST", INFER, b" " * 60000)[0] == 503)
            assert f.status("POST", INFER, ROW) == 200
            s.sendall(b" " * 9999)
            assert s.recv(12) == b"HTTP/1.1 400"
        assert f.status("POST", INFER, b" " * 100000) == 400


def long_header():
    with Front() as f:
        for header in b"X: " + b"a" * 100000, b"a" * 100000 + b": 1", b"X: 1\r\n" * 20000:
            answer = f.raw(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n\r\n")
            assert answer[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 413", b"HTTP/1.1 400", b""), answer
        answer = f.raw(b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer[:12] in (b"HTTP/1.1 414", b"HTTP/1.1 431", b"HTTP/1.1 413", b""), answer
        assert f.status("GET", "/v2", headers={"X": "a" * 4000}) == 200


# ---- Connections ----

def two_meanings():
    """A header that a proxy may read in another way is refused, and the connection closed: what
    follows it is not taken for another request."""
    body = json.dumps(ROW).encode()
    length = b"Content-Length: %d\r\n" % len(body)
    ahead = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def answer_to(headers, start=b"POST %s HTTP/1.1" % INFER.encode()):
        return f.raw(start + b"\r\n" + headers + b"\r\n" + body + ahead)

    with Front("--client-s", "30") as f:
        host = b"Host: localhost\r\n"
        for headers in (length + b"Content-Length: 3\r\n" + host, length + length + host,
                        length + host + b"Host: 127.0.0.1\r\n", host + host + length,
                        length + host + b"Transfer-Encoding: chunked\r\n",
                        b"Transfer-Encoding: chunked\r\ntransfer-encoding: identity\r\n" + host,
                        length + b"Host: localhost\0.evil.example\r\n",
                        b"Host: localhost\0\0x\r\n" + length,
                        host + b"X: a\0b\r\n" + length, host + length + b"X: \0b\r\n",
                        host + b"Content-Length: %d\0 1\r\n" % len(body),
                        host + b"X: a\r\n b\r\n" + length, host + length + b"X: a\r\n\tb\r\n",
                        length + host + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"):
            answer = answer_to(headers)
            assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1, \
                (headers, answer)
            assert b"Connection: close" in answer and b'{"error"' in answer, (headers, answer)
        for encoding in b"identity", b"gzip", b"chunked, gzip", b"gzip, chunked", b"xchunked", b"":
            answer = answer_to(host + b"Transfer-Encoding: " + encoding + b"\r\n")
            assert answer.startswith((b"HTTP/1.1 501 ", b"HTTP/1.1 400 ")) and \
                answer.count(b"HTTP/1.1") == 1, (encoding, answer)
        answer = answer_to(host + b"Transfer-Encoding: chunked\r\n", b"POST %s HTTP/1.0" % INFER.encode())
        assert b" 400 " in answer.split(b"\r\n")[0] and answer.count(b"HTTP/1.1 ") == 1, answer
        for target in b"/v2\0x", b"/v2\0/models/m", b"/v2\0?x=1", b"/v2\0x?y":
            answer = answer_to(host, b"GET " + target + b" HTTP/1.1")
            assert answer.startswith(b"HTTP/1.1 400 "), (target, answer)
        # What has one meaning is answered: bare line ends, empty values, spaces.
        last = b"Connection: close\r\n"
        for headers in (host + length, host + length + b"X:\r\nY: \r\nZ:   z  \r\n",
                        host.replace(b"\r", b"") + b"X: 1\n" + length.replace(b"\r", b""),
                        host + length + b"".join(b"X: %d\r\n" % i for i in range(100)),
                        host + length + b"Cookie: a=b; c=d\r\nAccept: a\r\nAccept: b\r\n"):
            for path in b"", b"?", b"?a", b"?a=b&c=d", b"?=", b"?a=%00":
                answer = f.raw(b"POST %s%s HTTP/1.1\r\n" % (INFER.encode(), path) + headers + last +
                               b"\r\n" + body)
                assert answer.startswith(b"HTTP/1.1 200 ") and b"[3.5]" in answer, (headers, path, answer)
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        answer = f.raw(b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n"
                       b"Connection: close\r\n\r\n" % INFER.encode() + chunks)
        assert answer.startswith(b"HTTP/1.1 200 "), answer


def keep_alive():
    with Front() as f:
        c = f.client()
        first = c.sock
        for i in range(50):
            assert y_of(f.ask("POST", INFER, rows(i), client=c)[2]) == [i + 1]
            assert f.ask("GET", "/v2/models/m/versions/7", client=c)[0] == 404
            assert c.sock is first  # http.client drops one that was closed
        c.close()
        body = json.dumps(ROW).encode()
        one = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (INFER.encode(), len(body))
        last = one.replace(b"Host", b"Connection: close\r\nHost")
        answer = f.raw(b"".join([one + body] * 20 + [b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n"] +
                                [last + body]))
        assert answer.count(b"HTTP/1.1 200") == 22 and answer.count(b"[3.5]") == 21, answer


def half_requests():
    request = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" % INFER.encode()
    with Front("--client-s", "1") as f:
        before = f.metric("connections_total")
        for n in range(0, len(request) + 1, 7):
            f.raw(request[:n], end=True)
        for n in range(0, 1000, 90):
            with f.socket() as s:  # the client is gone
                s.sendall(request + b"x" * n)
        assert f.metric("connections_total") > before
        assert f.status("POST", INFER, ROW) == 200


def silent_clients():
    """Clients that say nothing, or nothing more, are disconnected."""
    with Front("--client-s", "0.2") as f:
        sockets = [f.socket() for _ in range(4)]
        sockets[1].sendall(b"POST ")
        sockets[2].sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx" % INFER.encode())
        sockets[3].sendall(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for s in sockets:
            everything(s)
            s.close()
        # One that sends a byte now and then gets no more time for it.
        with f.socket() as s:
            try:
                while True:
                    s.sendall(b"G")
                    s.settimeout(0.05)
                    try:
                        if not s.recv(1):
                            break
                    except socket.timeout:
                        pass
            except (BrokenPipeError, ConnectionResetError):
                pass
        f.do("hold")
        waiting = Asking(f, ROW)  # one that waits for its answer is not late
        f.do("taken 1")
        with f.socket() as s:
            everything(s)
        f.do("go")
        assert waiting.get()[0] == 200


def many_idle():
    """More clients than slots say nothing; a real one is answered at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    many = min(10000, hard - 300)
    with Front("--clients", "1500") as f:
        idle = [f.socket() for _ in range(1400)]
        assert f.metric("connections") >= 1000
        assert f.status("POST", INFER, ROW) == 200
        idle += [f.socket() for _ in range(many - 1400)]
        until(lambda: f.metric("connections") <= 1500)  # those that were pushed out are gone
        for _ in range(5):
            assert f.status("POST", INFER, ROW) == 200
        assert f.metric("connections_pushed_total") > 1000
        for s in idle:
            s.close()


# ---- A service that is full, or ends ----

def full_queue():
    with Front("--queue", "2", "--batch", "1") as f:
        f.do("hold")
        asking = [Asking(f, rows(i)) for i in range(2)]
        f.do("taken 1")
        until(lambda: f.ask("GET", "/raytrain/state")[2]["models"][0]["under_way"] == 2)
        asking += [Asking(f, rows(i)) for i in range(2, 4)]
        until(lambda: f.ask("GET", "/raytrain/state")[2]["models"][0]["queue"] == 2)
        status, headers, answer = f.ask("POST", INFER, ROW)
        assert status == 429 and int(headers["Retry-After"]) > 0, answer
        f.do("go")
        for i, a in enumerate(asking):
            assert y_of(a.get()[2]) == [i + 1]
        assert f.status("POST", INFER, ROW) == 200
        assert f.metric('requests_total{model="m",outcome="queue_full"}') == 1
        assert f.metric('http_responses_total{code="429"}') == 1


def all_wait():
    """While all connections wait for answers, the health is answered, and more requests get
    503."""
    with Front("--clients", "3", "--batch", "1", workers=3) as f:
        f.do("hold")
        asking = [Asking(f, rows(i)) for i in range(3)]
        f.do("taken 3")
        for _ in range(50):  # more than the places for them
            assert f.status("GET", "/v2/health/live") == 200
            assert f.status("GET", "/v2/health/ready") == 200
        status, headers, answer = f.ask("POST", INFER, ROW)
        assert status == 503 and headers["Retry-After"] and "all 3 connections" in answer["error"]
        c = f.client()
        assert f.ask("POST", INFER, ROW, client=c)[0] == 503
        f.do("go")
        for i, a in enumerate(asking):
            assert y_of(a.get()[2]) == [i + 1]
        until(lambda: f.ask("POST", INFER, ROW, client=c)[0] == 200)  # the same connection
        c.close()


def unread():
    """Clients that do not read their answers hold a limited amount of memory."""
    body = json.dumps(rows(*range(1000, 31000))).encode()
    request = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % \
        (INFER.encode(), len(body)) + body
    with Front("--answers", "2000000", "--batch", "10000", address="./front") as f:
        sockets = []
        for i in range(12):  # each answer has some 500 kB, which is more than a socket holds
            s = f.socket()
            s.sendall(request)
            sockets.append(s)
            until(lambda: f.metric('requests_total{model="m",outcome="ok"}') == i + 1)
        until(lambda: f.metric("connections_unread_total") >= 6)
        assert f.status("POST", INFER, ROW) == 200
        answer = b""
        while not answer.endswith(b"]}]}"):  # the last one is read to its end
            answer += sockets[-1].recv(65536)
        assert len(y_of(json.loads(answer.split(b"\r\n\r\n", 1)[1]))) == 30000
        for s in sockets:
            s.close()
        status, _, answer = f.ask("POST", INFER, rows(*range(200000)))
        assert status == 413 and "fewer rows" in answer["error"], answer


def no_worker():
    with Front(workers=0) as f:
        assert f.status("GET", "/v2/health/live") == 200
        assert f.status("GET", "/v2/health/ready") == 503
        assert f.status("GET", "/v2/models/m/ready") == 503
        assert f.ask("POST", INFER, ROW)[0] == 503
        f.do("worker 3")
        assert f.ask("POST", INFER, ROW)[2]["model_version"] == "3"
        f.do("kill")
        status, headers, _ = f.ask("POST", INFER, ROW)
        assert status == 503 and headers["Retry-After"]
        assert f.status("GET", "/v2/health/ready") == 503


def workers_die():
    with Front(workers=4) as f:
        # It ends two workers; the others' requests are answered.
        f.do("hold")
        asking = [Asking(f, rows(i)) for i in range(30)]
        bad = Asking(f, rows(666))
        f.do("taken 4")
        f.do("go")
        assert bad.get()[0] == 503
        for i, a in enumerate(asking):
            assert y_of(a.get()[2]) == [i + 1]
        assert f.metric('workers{model="m"}') == 2
        assert f.metric('workers_lost_total{model="m"}') == 2


def switch():
    with Front(workers=2) as f:
        stop, answers = threading.Event(), []

        def load(n):
            c = f.client()
            while not stop.is_set():
                status, _, answer = f.ask("POST", INFER, rows(n), client=c)
                answers.append((status, y_of(answer) == [n + 1], answer["model_version"]))
            c.close()

        threads = [threading.Thread(target=load, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        until(lambda: answers)
        for version in range(2, 8):
            f.do(f"worker {version}")
            f.do(f"worker {version}")
            f.do(f"switch {version}")
            n = len(answers)
            until(lambda: len(answers) >= n + 50)
        stop.set()
        for t in threads:
            t.join()
        assert all(status == 200 and right for status, right, _ in answers), answers
        assert {version for *_, version in answers} == {str(v) for v in range(1, 8)}
        assert f.metric('model_version{model="m"}') == 7
        assert f.status("GET", "/v2/models/m/versions/1") == 404


def version_dies():
    """Its requests are answered by the version that has replaced it, except those that name it."""
    with Front() as f:
        f.do("hold")
        asking = [Asking(f, rows(i)) for i in range(3)]
        f.do("taken 1")
        until(lambda: f.metric('queue_requests{model="m"}') == 2)
        named = Asking(f, ROW, "/v2/models/m/versions/1/infer")
        until(lambda: f.metric('queue_requests{model="m"}') == 3)
        f.do("worker 2")
        f.do("switch 2")
        f.do("kill")
        f.do("go")
        for i, a in enumerate(asking):
            status, _, answer = a.get()
            assert status == 200 and answer["model_version"] == "2" and y_of(answer) == [i + 1]
        assert named.get()[0] == 503


def drain():
    with Front() as f:
        f.do("hold")
        waiting = Asking(f, ROW)
        f.do("taken 1")
        f.do("drain")
        assert f.status("GET", "/v2/health/ready") == 503
        assert f.ask("POST", INFER, ROW)[0] == 503
        f.do("go")
        assert waiting.get()[0] == 200
        f.do("hold")
    with Front() as f:  # what waits at the end gets an answer, too
        f.do("hold")
        waiting = Asking(f, ROW)
        f.do("taken 1")
    assert waiting.get()[0] == 503
    # And a client that has not read its answer yet, which is larger than the socket holds.
    with Front("--batch", "10000", address="./front") as f:
        c = f.client()
        c.request("POST", INFER, json.dumps(rows(*range(1000, 41000))))
        until(lambda: f.metric('requests_total{model="m",outcome="ok"}') == 1)
        f.process.stdin.close()
        assert len(y_of(json.load(c.getresponse()))) == 40000
        c.close()


# ---- Who may ask ----

def tokens():
    with Front("--token-file", "token", address="0.0.0.0:0") as f:
        token = open("token").read().strip()
        assert os.stat("token").st_mode & 0o777 == 0o600
        for given in (None, "", "Bearer", "Bearer ", "Bearer x", "Bearer " + token[:-1],
                      "Bearer " + token + "0", "Basic " + token, token, "Bearer " + "0" * 64):
            headers = {} if given is None else {"Authorization": given}
            for method, path in (("GET", "/v2"), ("GET", "/nothing"), ("POST", INFER),
                                 ("GET", "/metrics"), ("DELETE", "/v2"), ("OPTIONS", "/v2")):
                status, answer, _ = f.ask(method, path, headers=headers)
                assert status == 401 and answer["WWW-Authenticate"] == "Bearer" and \
                    not answer["Allow"], (given, path, status)
        right = {"Authorization": "Bearer " + token}
        assert f.status("GET", "/v2", headers=right) == 200
        assert f.status("POST", INFER, ROW, right) == 200
        assert f.status("GET", "/nothing", headers=right) == 404
        for path in "/v2/health/live", "/v2/health/ready":  # for load balancers
            assert f.status("GET", path) == 200
        assert f.ask("GET", "/")[0] == 200  # the page asks for the token itself


def names():
    with Front() as f:
        port = f.address.rsplit(":", 1)[1]
        for host in ("localhost", "LOCALHOST:" + port, "127.0.0.1:" + port, "127.1.2.3",
                     "[::1]:" + port):
            assert f.status("GET", "/v2", headers={"Host": host}) == 200, host
        for host in ("evil.example", "evil.example:" + port, "localhost.evil.example",
                     "127.0.0.1.evil.example:" + port, "10.0.0.1", "[::2]", "[::1", "", ":80",
                     "x" * 400):
            for method, path in (("GET", "/"), ("GET", "/v2"), ("POST", INFER)):
                status, _, answer = f.ask(method, path, headers={"Host": host})
                assert status == 421 and "Host header" in answer["error"], (host, status)
        for origin, status in (("http://localhost:" + port, 200), ("null", 403),
                               ("https://evil.example", 403), ("http://localhost:1", 403)):
            headers = {"Host": "localhost:" + port, "Origin": origin}
            assert f.status("POST", INFER, ROW, headers) == status, origin
    with Front("--token-file", "token") as f:
        headers = {"Authorization": "Bearer " + open("token").read().strip(),
                   "Host": "any.example", "Origin": "https://other.example"}
        assert f.status("GET", "/v2", headers=headers) == 200
    with Front(address="./named") as f:
        assert f.status("GET", "/v2", headers={"Host": "h"}) == 200


def unix_socket():
    with Front(address="./front") as f:
        assert os.stat("front").st_mode & 0o777 == 0o600
        assert f.status("POST", INFER, ROW) == 200
    assert not os.path.exists("front")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind("other")
        other.listen(0)
        waiting = []
        try:  # a service that is stopped: those that wait are not taken
            while True:
                waiting.append(socket.socket(socket.AF_UNIX))
                waiting[-1].setblocking(False)
                waiting[-1].connect("other")
        except BlockingIOError:
            pass
        done = subprocess.run([PROGRAM, "./other"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=WAIT_S)
        assert done.returncode != 0 and "another service listens" in done.stderr, done
        for s in waiting:
            s.close()
    with Front(address="./other") as f:  # nothing listens there any more
        assert f.status("POST", INFER, ROW) == 200


def metrics():
    with Front() as f:
        for body in ROW, ROW, {}, rows(400):
            f.ask("POST", INFER, body)
        text = f.ask("GET", "/metrics")[2].decode()
        # A metric has one head, and a histogram counts up.
        heads = re.findall(r"^# TYPE (\S+) ", text, re.M)
        assert len(heads) == len(set(heads)) > 10
        for line in text.splitlines():
            assert line.startswith("# ") or \
                re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+', line), line
        buckets = [int(n) for n in re.findall(r"latency_seconds_bucket.* (\d+)", text)]
        assert buckets == sorted(buckets) and buckets[-1] == 2
        assert f.metric('requests_total{model="m",outcome="ok"}') == 2
        assert f.metric('requests_total{model="m",outcome="bad_request"}') == 1
        assert f.metric('rows_total{model="m"}') == 2
        assert f.metric('http_responses_total{code="400"}') == 2
        log = f.end()
        assert sum('"POST %s" 200 ' % INFER in line and "rows=1 batch=1 version=1" in line
                   for line in log) == 2, log


def mixed_load():
    """Good and bad clients at once; every good one gets its own answer."""
    with Front("--clients", "200", "--client-s", "5", workers=3) as f:
        stop = threading.Event()

        def good(n):
            c = f.client()
            for i in range(60):
                x = 1000 * n + i
                status, _, answer = f.ask("POST", INFER, rows(x, x + 1, x + 2), client=c)
                wrong[n] += status != 200 or y_of(answer) != [x + 1, x + 2, x + 3]
            c.close()

        def bad():
            while not stop.is_set():
                f.raw(b"\xff" * 100 + b"\r\n\r\n", end=True)
                f.raw(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{" % INFER.encode(),
                      end=True)
                f.status("POST", INFER, b"[" * 1000)
                f.status("POST", INFER, rows(400))

        wrong = [0] * 6
        threads = [threading.Thread(target=good, args=(n,)) for n in range(6)]
        others = [threading.Thread(target=bad) for _ in range(3)]
        for t in threads + others:
            t.start()
        for t in threads:
            t.join()
        stop.set()
        for t in others:
            t.join()
        assert wrong == [0] * 6


PROGRAM = sys.argv[1]
if __name__ == "__main__":
    globals()[sys.argv[2]]()
