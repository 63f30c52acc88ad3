"""Parquet tables, each with the same table as .csv: run in this folder, `python make.py`. Written with pyarrow and pandas."""

import datetime
import decimal
import random

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

random.seed(5)


def write(name, frame, schema=None, index=False, **options):
    table = pa.Table.from_pandas(frame, schema=schema, preserve_index=index or None)
    pq.write_table(table, f"{name}.parquet", **options)
    frame.to_csv(f"{name}.csv", index=index)


# A long table of ids and names, in several groups of rows, names as a dictionary.
rows = 60
plays = pd.DataFrame({
    "user": [random.randrange(1, 12) for _ in range(rows)],
    "track": [random.choice(["Ödland", "NA", "7", "say \"hi\", you", "x"]) for _ in range(rows)],
    "plays": [random.randrange(0, 50) for _ in range(rows)],
})
plays["track"] = plays["track"].replace({"NA": "na na na"})
plays = plays.drop_duplicates(["user", "track"])
indexed = plays.copy()
plays = plays.reset_index(drop=True)
write("plays", plays, row_group_size=13, compression="snappy", use_dictionary=["track"])
# With the index that is left of taking rows out.
write("indexed", indexed, index=True)
# The same as floats of which some are missing, with columns that are not read, compressed by gzip.
rated = pd.DataFrame({
    "when": pd.to_datetime(["2020-01-01"] * len(plays)),
    "user_id": plays["user"].values,
    "track_id": pd.factorize(plays["track"])[0],
    "tags": [["a", "b"]] * len(plays),
    "rating": [None if i % 7 == 3 else random.gauss(0, 1) * 10 ** random.randrange(-8, 9) for i in range(len(plays))],
})
write("rated", rated, compression="gzip")
# Rows by columns with labels of rows, integers of many kinds, truth, single precision and decimals.
wide = pd.DataFrame({
    "i8": pd.array([-1, 2, 3], dtype="int8"),
    "u32": pd.array([4_000_000_000, 0, 7], dtype="uint32"),
    "i64": pd.array([9_007_199_254_740_993, None, -5], dtype="Int64"),
    "f64": [0.1, float("nan"), -1e300],
    "half": [0.5, 0.25, -2.0],
    "price": [decimal.Decimal("0.10"), decimal.Decimal("12.35"), None],
    "bool": [True, False, True],
}, index=["a", "b,c", "d"])
table = pa.Table.from_pandas(wide)
place = table.schema.get_field_index("half")
table = table.set_column(place, "half", table.column("half").cast(pa.float32()))
pq.write_table(table, "wide.parquet", compression="none", data_page_version="2.0")
wide["bool"] = wide["bool"].astype(int)
wide.to_csv("wide.csv")
# Texts.
texts = pd.DataFrame({"id": [3, 5, 9], "body": ["The red\nfox", None, "a red, red hen"]})
write("texts", texts)
# What is not read.
pq.write_table(pa.table({"x": [1, 2, 3]}), "zstd.parquet", compression="zstd")
days = pa.array([datetime.date(2020, 1, 1)] * 2)
pq.write_table(pa.table({"row": ["r", "s"], "day": days, "list": [[1], [2]], "raw": [b"\xff", b"a"]}), "odd.parquet")
