"""events.py FILE...: what event files hold, one line a number, read with nothing but Python itself.

Prints version,TEXT  start,STEP  and TAG,STEP,NUMBER in the order of the files. Fails on a checksum that is wrong, on
a record that is cut off, and on a field that TensorBoard's messages do not have with that number and type.
"""
import math
import struct
import sys


def crc32c(data):
    """Division by x^32 + ... (0x1edc6f41), highest bit first: of the mirrored bytes, and mirrored at the end."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= int(f"{byte:08b}"[::-1], 2) << 24
        for _ in range(8):
            rest = (rest << 1 ^ (0x1EDC6F41 if rest >> 31 else 0)) & 0xFFFFFFFF
    return int(f"{rest ^ 0xFFFFFFFF:032b}"[::-1], 2)


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        size, check = struct.unpack("<QI", data[:12])
        assert masked(data[:8]) == check, "checksum of a size"
        message, check = data[12 : 12 + size], data[12 + size : 16 + size]
        assert len(message) == size and struct.unpack("<I", check)[0] == masked(message), "checksum of a message"
        yield message
        data = data[16 + size :]


def varint(data):
    for i, byte in enumerate(data):
        if byte < 128:
            return sum((b & 127) << 7 * k for k, b in enumerate(data[: i + 1])), data[i + 1 :]
    raise ValueError("a number is cut off")


def fields(data, known):
    """The fields of a message; known: number -> (wire type, name)."""
    while data:
        key, data = varint(data)
        wire, name = known[key >> 3]
        assert wire == key & 7, name
        size = {1: 8, 5: 4}.get(wire)
        if wire == 0:
            value, data = varint(data)
        else:
            if wire == 2:
                size, data = varint(data)
            value, data = data[:size], data[size:]
            assert len(value) == size, name
        yield name, value


EVENT = {1: (1, "wall_time"), 2: (0, "step"), 3: (2, "file_version"), 5: (2, "summary"), 7: (2, "session_log")}


def show(message, first):
    event = dict(fields(message, EVENT))
    assert first == ("file_version" in event), "the version comes first, and once"
    assert 1e9 < struct.unpack("<d", event["wall_time"])[0] < 1e10, "seconds since 1970"
    if first:
        print("version," + event["file_version"].decode())
    if "session_log" in event:
        assert dict(fields(event["session_log"], {1: (0, "status")})) == {"status": 1}
        print(f"start,{event['step']}")
    for _, value in fields(event.get("summary", b""), {1: (2, "value")}):
        value = dict(fields(value, {1: (2, "tag"), 2: (5, "simple_value")}))
        number = struct.unpack("<f", value["simple_value"])[0]
        print(f"{value['tag'].decode()},{event['step']},{'nan' if math.isnan(number) else f'{number:.9g}'}")


assert crc32c(b"123456789") == 0xE3069283
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        for i, message in enumerate(records(file.read())):
            show(message, i == 0)
