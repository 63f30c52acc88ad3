"""The table of ../parquet/plays.csv as a database: run in this folder, `python make.py`. Written by Python's sqlite3."""

import csv
import pathlib
import sqlite3

path = pathlib.Path("shop.db")
path.unlink(missing_ok=True)
with open("../parquet/plays.csv", encoding="utf-8") as file:
    rows = [(int(row["user"]), row["track"], int(row["plays"])) for row in csv.DictReader(file)]
database = sqlite3.connect(path)
database.execute("PRAGMA page_size = 1024")
database.execute("VACUUM")
database.execute("CREATE TABLE plays (user INTEGER, track TEXT, plays INTEGER)")
database.executemany("INSERT INTO plays VALUES (?, ?, ?)", rows)
database.execute("CREATE TABLE odd (name TEXT, picture BLOB, price REAL)")
database.executemany("INSERT INTO odd VALUES (?, ?, ?)", [("a", b"\0\1", 1.5), ("b", None, None), ("c", b"x", 3)])
database.execute("CREATE VIEW loud AS SELECT * FROM plays WHERE plays > 10")
database.commit()
database.close()
