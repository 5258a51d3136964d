"""Clients of a service, whose answers are counted: t/1510-serve.t runs this.

    serve_clients.py SOCKET MODEL PREDICTIONS

PREDICTIONS has a line "SCORE,..." for each row of rows.npz (t/predict.sh). Each of four
clients asks for one row after the other until its standard input ends. Prints a line for each
answer: "ok", "wrong", the status, or "gone" if there was none; after that the client connects
again.
"""

import http.client
import json
import socket
import sys
import threading
import time

PATH, MODEL = sys.argv[1:3]
SCORES = [float(line.split(",")[0]) for line in open(sys.argv[3])]
ended = threading.Event()


def connect():
    c = http.client.HTTPConnection("localhost")
    c.sock = socket.socket(socket.AF_UNIX)
    c.sock.settimeout(60)
    c.sock.connect(PATH)
    return c


def ask(c, i):
    c.request("POST", f"/v2/models/{MODEL}/infer", json.dumps({"inputs": [
        {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [i, 0.25 * i, i % 7]},
        {"name": "id", "datatype": "INT64", "shape": [1], "data": [i]}]}))
    answer = c.getresponse()
    body = json.loads(answer.read())
    if answer.status != 200:
        return str(answer.status)
    score = {o["name"]: o["data"] for o in body["outputs"]}["score"]
    return "ok" if score == [SCORES[i]] else "wrong"


def client(n):
    c = None
    i = n
    while not ended.is_set():
        i = (i + 4) % len(SCORES)
        try:
            c = c or connect()
            print(ask(c, i) + "\n", end="", flush=True)
        except (OSError, http.client.HTTPException):
            print("gone\n", end="", flush=True)
            c = None
            time.sleep(0.05)  # not to fill the file


threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
for t in threads:
    t.start()
sys.stdin.read()
ended.set()
for t in threads:
    t.join()
