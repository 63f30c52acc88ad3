"""births.csv.gz (US births by week and state, 1969-1988) to relative.csv: the weeks from 1984 on, over the mean of the state."""

import csv
import datetime
import gzip
import sys

with gzip.open(sys.argv[1], "rt") as file:
    header, *rows = list(csv.reader(file))
FIRST = 783
births = [[int(value) for value in row] for row in rows[FIRST:]]
means = [sum(column) / len(births) for column in zip(*births)]
first = datetime.date(1969, 1, 1) + datetime.timedelta(days=7 * FIRST)
lines = ["week," + ",".join(header)]
for week, row in enumerate(births):
    date = first + datetime.timedelta(days=7 * week)
    lines.append(f"{date}," + ",".join(f"{value / mean:.3f}" for value, mean in zip(row, means)))
with open(sys.argv[2], "w", newline="\n") as file:
    file.write("\n".join(lines) + "\n")
