"""Two small Parquet files, byte by byte, as the format asks for: plain pages, not compressed. Run in this folder, `python by_hand.py`."""

import json
import struct, sys

# ---- a minimal Parquet writer: PLAIN, uncompressed, required columns
def uv(n):
    out = b""
    while True:
        b = n & 0x7F
        n >>= 7
        if n:
            out += bytes([b | 0x80])
        else:
            return out + bytes([b])

def zz(n):
    return uv((n << 1) ^ (n >> 63) if n < 0 else n << 1)

class S:
    def __init__(self):
        self.b = []
        self.last = 0
    def f(self, i, t, data):
        d = i - self.last
        self.b.append(bytes([(d << 4) | t]) if 0 < d < 16 else bytes([t]) + zz(i))
        self.b.append(data)
        self.last = i
        return self
    def i32(self, i, v): return self.f(i, 5, zz(v))
    def i64(self, i, v): return self.f(i, 6, zz(v))
    def s(self, i, v):
        v = v.encode() if isinstance(v, str) else v
        return self.f(i, 8, uv(len(v)) + v)
    def st(self, i, v): return self.f(i, 12, v.end())
    def li(self, i, t, items):
        n = len(items)
        h = bytes([(n << 4) | t]) if n < 15 else bytes([0xF0 | t]) + uv(n)
        return self.f(i, 9, h + b"".join(items))
    def end(self): return b"".join(self.b) + b"\0"

def txt(v):
    v = v.encode()
    return uv(len(v)) + v

def parquet(path, cols, meta=None):
    """cols: (name, kind, values), kind of 'i64', 'u64', 'f64', 'str'"""
    n = len(cols[0][2])
    typ = {"i64": 2, "u64": 2, "f64": 5, "str": 6}
    schema = [S().s(4, "schema").i32(5, len(cols)).end()]
    chunks = []
    with open(path, "wb") as f:
        f.write(b"PAR1")
        at = 4
        for name, kind, values in cols:
            if kind == "i64": data = struct.pack("<%dq" % n, *values)
            elif kind == "u64": data = struct.pack("<%dQ" % n, *values)
            elif kind == "f64": data = struct.pack("<%dd" % n, *values)
            else: data = b"".join(struct.pack("<I", len(v.encode())) + v.encode() for v in values)
            head = S().i32(1, 0).i32(2, len(data)).i32(3, len(data)).st(5, S().i32(1, n).i32(2, 0).i32(3, 3).i32(4, 3)).end()
            e = S().i32(1, typ[kind]).i32(3, 0).s(4, name)
            if kind == "str": e.i32(6, 0)
            if kind == "u64": e.i32(6, 14)
            schema.append(e.end())
            size = len(head) + len(data)
            md = S().i32(1, typ[kind]).li(2, 5, [zz(0)]).li(3, 8, [txt(name)]).i32(4, 0).i64(5, n).i64(6, size).i64(7, size).i64(9, at)
            chunks.append(S().i64(2, at).st(3, md).end())
            f.write(head + data)
            at += size
        rg = S().li(1, 12, chunks).i64(2, at - 4).i64(3, n).end()
        m = S().i32(1, 1).li(2, 12, schema).i64(3, n).li(4, 12, [rg])
        if meta: m.li(5, 12, [S().s(1, k).s(2, v).end() for k, v in meta])
        m = m.s(6, "mk").end()
        f.write(m + struct.pack("<I", len(m)) + b"PAR1")


# A data frame whose index has a name: pandas writes the column last, and says in the metadata that it is the index. `index.csv` is what `to_csv` writes.
frame = [("g1", "f64", [1.0, 2, 3, 5]), ("g2", "f64", [2.0, 3, 4, 6]), ("patient_id", "i64", [11, 7, 32, 5])]
parquet("index.parquet", frame, [("pandas", json.dumps({"index_columns": ["patient_id"], "columns": []}))])
# A column of whole numbers that do not fit beside others.
parquet("unsigned.parquet", [("hash", "u64", [2**63 + 5, 1, 2]), ("y", "f64", [1.0, 2.0, 3.0])])
