"""Clients of a service of predictions.c.

    serve_client.py URL TOKEN one N          print the predictions of the first N rows
    serve_client.py URL TOKEN load N FILE    N clients ask until the service does not accept
                                             connections, or for at most 60 s; FILE is made
                                             when each of them has had an answer
    serve_client.py URL TOKEN count N M FILE N clients ask M times each, whatever happens

The latter print how many answers were right, wrong, and refused or lost, as JSON; and how many
requests were dropped: accepted, and then not answered because the service ended."""

import http.client
import json
import sys
import threading
import time
import urllib.parse

url, token, what, count = sys.argv[1:4] + [int(sys.argv[4])]
where = urllib.parse.urlsplit(url)
expected = []
lock = threading.Lock()
counts = {"right": 0, "wrong": 0, "refused": 0, "lost": 0, "dropped": 0}


def ask(connection, rows):
    inputs = [
        {"name": "x", "datatype": "FP32", "shape": [len(rows), 3],
         "data": [v for i in rows for v in (i, 0.25 * i, i % 7)]},
        {"name": "id", "datatype": "INT64", "shape": [len(rows)], "data": list(rows)},
    ]
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + token}
    connection.request("POST", "/v2/models/fashion/infer", json.dumps({"inputs": inputs}),
                       headers)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        return answer.status, body
    outputs = {o["name"]: o["data"] for o in json.loads(body)["outputs"]}
    return 200, outputs["score"]


def connect():
    return http.client.HTTPConnection(where.hostname, where.port, timeout=60)


def one():
    status, scores = ask(connect(), range(count))
    if status != 200:
        sys.exit("%d %r" % (status, scores))
    for score in scores:
        print(score)


def note(kind):
    with lock:
        counts[kind] += 1


def client(number, times, begun):
    """times: the number of requests; None: until connections are refused."""
    end = time.monotonic() + 60
    sent = 0
    while (times is None and time.monotonic() < end) or (times and sent < times):
        row = (number * 31 + sent * 7) % 100
        sent += 1
        try:
            status, scores = ask(connect(), [row])
        except ConnectionRefusedError:
            note("refused")
            if times is None:
                break
            continue
        except (OSError, http.client.HTTPException):
            note("lost")
            continue
        if status == 200:
            note("right" if scores == [expected[row]] else "wrong")
            begun.add(number)
        elif b"the service ends" in scores:
            note("dropped")
        else:
            note("refused")


def load(times, path):
    global expected
    status, expected = ask(connect(), range(100))
    if status != 200:
        sys.exit("%d %r" % (status, expected))
    begun = set()
    threads = [threading.Thread(target=client, args=(i, times, begun)) for i in range(count)]
    for thread in threads:
        thread.start()
    while len(begun) < count and any(t.is_alive() for t in threads):
        time.sleep(0.01)
    with open(path, "w") as file:
        file.write("going\n")
    for thread in threads:
        thread.join()
    print(json.dumps(counts))


if what == "one":
    one()
elif what == "load":
    load(None, sys.argv[5])
else:
    load(int(sys.argv[5]), sys.argv[6])
