"""Reads the event files of a run without raytrain's code: records with their checksums, the
wire format of protobuf, and TensorBoard's rules for reports that were superseded.

    tfevents.py events RUN    each event as a line of JSON, in the order of the files
    tfevents.py compare RUN   compares the curves with result.json; prints the tags
"""
import glob
import json
import math
import os
import struct
import sys

TABLE = []
for byte in range(256):
    crc = byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    TABLE.append(crc)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    """The sound records; a file of a process that was killed may end in half of one."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while len(data) - at >= 12:
        (length, crc) = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc(data[at:at + 8]), f"{path}: wrong checksum at {at}"
        if len(data) - at < 16 + length:
            break
        body = data[at + 12:at + 12 + length]
        (crc,) = struct.unpack_from("<I", data, at + 12 + length)
        assert crc == masked_crc(body), f"{path}: wrong checksum of the data at {at}"
        yield body
        at += 16 + length
    if at < len(data):
        print(f"{path}: {len(data) - at} bytes of an incomplete record", file=sys.stderr)


# ---- protobuf ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """{number: [value, ...]}: numbers of varints, and bytes of everything else."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        found.setdefault(key >> 3, []).append(value)
    return found


def double(values):
    return struct.unpack("<d", values[0])[0] if values else 0.0


def hparams(content):
    data = fields(content)
    assert data.get(1, [0]) == [0], "the version of the plugin's data"
    if 3 in data:
        start = fields(data[3][0])
        values = {}
        for entry in start.get(1, []):
            pair = fields(entry)
            value = fields(pair[2][0])
            values[pair[1][0].decode()] = (
                double(value[2]) if 2 in value else value[3][0].decode() if 3 in value
                else bool(value[4][0]))
        return {"start": values, "time": double(start.get(5)), "uri": start[2][0].decode()}
    end = fields(data[4][0])
    return {"status": ["unknown", "success", "failure", "running"][end.get(1, [0])[0]]}


def value_of(value):
    """A number, a text, or what a plugin has."""
    if 2 in value:
        return struct.unpack("<f", value[2][0])[0]
    plugin = fields(fields(value[9][0])[1][0])
    name = plugin[1][0].decode()
    if name == "text":
        tensor = fields(value[8][0])
        assert tensor[1] == [7] and tensor[2] == [b""]
        return tensor[8][0].decode()
    assert name == "hparams" and 8 not in value
    return hparams(plugin[2][0])


def event_of(record):
    found = fields(record)
    event = {"wall_time": double(found[1]), "step": found.get(2, [0])[0]}
    if 3 in found:
        event["version"] = found[3][0].decode()
    if 7 in found:
        assert fields(found[7][0]) == {1: [1]}
        event["start"] = True
    if 5 in found:
        event["values"] = {}
        for one in fields(found[5][0])[1]:
            value = fields(one)
            tag = value[1][0].decode()
            assert tag not in event["values"], tag
            event["values"][tag] = value_of(value)
    return event


def events(run):
    for path in sorted(glob.glob(os.path.join(run, "events.out.tfevents.*"))):
        for i, record in enumerate(records(path)):
            event = event_of(record)
            assert (event.get("version") == "brain.Event:2") == (i == 0), path
            yield event


# ---- what TensorBoard shows ----

def curves(run):
    """{tag: {step: value}}. All starts but the first take back their step and later ones."""
    found, started = {}, False
    for event in events(run):
        if event.get("start"):
            if not started:
                started = True
                continue
            for curve in found.values():
                for step in [s for s in curve if s >= event["step"]]:
                    del curve[step]
        for tag, value in event.get("values", {}).items():
            curve = found.setdefault(tag, {})
            if tag == "_hparams_/session_end_info":
                assert not curve, "TensorBoard keeps the first end that it finds"
            if not tag.startswith("_hparams_/"):
                assert not [s for s in curve if s >= event["step"]], (tag, event["step"])
            curve[event["step"]] = value
    return found


def reports(run):
    """Those of result.json that count."""
    kept = []
    with open(os.path.join(run, "result.json"), encoding="utf-8") as lines:
        for line in lines:
            report = json.loads(line)
            while kept and kept[-1]["training_iteration"] >= report["training_iteration"]:
                kept.pop()
            kept.append(report)
    return kept


def float32(value):
    if value is None:
        return math.nan
    if isinstance(value, str):
        return float(value)
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def expected(report):
    for name in ("attempt", "world_size", "time_total_s", "time_this_iter_s", "data_wait_s",
                 "checkpoint_bytes", "checkpoint_stall_s", "checkpoint_write_s"):
        if name in report:
            yield "raytrain/" + name, float32(report[name])
    for name, ranks in report["by_rank"].items():
        value = report[name]
        if isinstance(value, list):
            value = ranks.get("rank0", value)  # with infinities
            for i, element in enumerate(value if len(value) <= 32 else []):
                yield f"{name}/{i}", float32(element)
            continue
        yield name, value if isinstance(value, str) else float32(value)
        if report["world_size"] > 1 and "min" in ranks:
            yield name + "/min", float32(ranks["min"])
            yield name + "/max", float32(ranks["max"])


def compare(run):
    wanted = {}
    for report in reports(run):
        for tag, value in expected(report):
            wanted.setdefault(tag, {})[report["training_iteration"]] = value
    found = {t: c for t, c in curves(run).items() if not t.startswith("_hparams_/")}
    assert sorted(found) == sorted(wanted), set(found) ^ set(wanted)
    for tag, curve in wanted.items():
        # NaN is not equal to itself, but its text is.
        assert repr(sorted(found[tag].items())) == repr(sorted(curve.items())), (
            tag, found[tag], curve)
    times = {r["training_iteration"]: r["timestamp"] for r in reports(run)}
    for event in events(run):
        if event["step"] in times and "values" in event:
            assert event["wall_time"] <= times[event["step"]] + 3
    return sorted(found)


if __name__ == "__main__":
    if sys.argv[1] == "events":
        for one in events(sys.argv[2]):
            print(json.dumps(one))
    else:
        print("\n".join(compare(sys.argv[2])))
