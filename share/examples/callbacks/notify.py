#!/usr/bin/env python3
"""notify.py - post a message to a webhook when something happens to a run.

    run_config = { callbacks = ( "json",
        { type = "command";
          argv = ["./notify.py", "https://hooks.example.org/T000/B000"];
          events = ["start", "attempt_end", "end"]; } ); };

The message is {"text": "..."}, which Slack, Mattermost and others take. raytrain-run starts this
program once and writes each event to it as a line of JSON. What this program prints is in
RUN/logs/callback-notify.py.log; if the webhook cannot be reached, the run is not affected.
"""
import json
import sys
import urllib.error
import urllib.request


def message(event):
    """The text for an event, or None."""
    kind = event["event"]
    if kind == "start":
        return f"run {event['run']} has begun: {event['path']}"
    if kind == "attempt_end":
        attempt = event["attempt"]
        if attempt["outcome"] != "failed":
            return None
        return f"attempt {attempt['attempt']} has failed: {attempt.get('message')}"
    if kind == "end":
        result = event["result"]
        metrics = result["metrics"] or {}
        values = ", ".join(f"{name} {metrics[name]:.4g}" for name in metrics.get("by_rank", {})
                           if isinstance(metrics[name], (int, float)))
        return f"run {result['path']} has {result['status']}: {values or 'no reports'}"
    if kind == "lost":
        return f"{event['lines']} events were missed"
    return None


def post(url, text):
    request = urllib.request.Request(
        url, data=json.dumps({"text": text}).encode(),
        headers={"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except (urllib.error.URLError, OSError) as error:
        print(f"cannot post to the webhook: {error}", file=sys.stderr, flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: notify.py URL")
    for line in sys.stdin:
        text = message(json.loads(line))
        if text:
            post(sys.argv[1], text)


if __name__ == "__main__":
    main()
