"""The table that perf/scaling.py keeps, and what it reads of a run.

usage: test_scaling_table.py REPOSITORY
"""
import dataclasses
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "perf"))
from known_study import near, refused, true_row  # noqa: E402: the path is set first
from scaling_study import runs, table  # noqa: E402


def check_order_of_columns(path, rows):
    """Of a table that somebody has sorted, and given a column of notes."""
    path.write_text(",".join(["note", *reversed(table.COLUMNS)]) + "\n", encoding="utf-8")
    for row in rows:
        table.append(path, row)
    assert table.read(path) == rows


def check_steps_behind_the_warm_up():
    """As history.csv has them."""
    with tempfile.TemporaryDirectory() as folder:
        history = pathlib.Path(folder) / "history.csv"
        rows = [(1, 0.5, 0.25, 0.125), (2, 0.53, 0.002, 0.001), (3, 0.55, 0.004, 0.003)]
        names = "step,elapsed_s,communication_s,data_wait_s\n"
        history.write_text(names + "".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
        count, parts = runs.timed_steps(history.parent, 1)
        assert count == 2
        for name, expected in (("step_ms", 25), ("exposed_ms", 3), ("data_ms", 2), ("compute_ms", 20)):
            near(parts[name], expected)
        history.write_text(history.read_text(encoding="utf-8").replace("0.55,", "0.519,"), encoding="utf-8")
        with refused(table.Trouble, "2 steps took 19 ms, too little to be timed: give more --steps"):
            runs.timed_steps(history.parent, 1)


def check_byte_counts():
    """As resolved decks have them."""
    for text, count in (("4096 B", 4096), ("25 MiB", 25 << 20), ("1 GiB", 1 << 30), ("1 TiB", 1 << 40), ("512", 512)):
        assert runs.byte_count(text) == count, text


def check_table():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "study.csv"
        rows = [true_row("weak", 2, 8), true_row("strong", 4, 8, compute_ms=None, rank_bytes=None)]
        for row in rows:
            table.append(path, row)
        assert table.read(path) == rows
        disturbed = dataclasses.replace(rows[0], round=2, step_ms=2 * rows[0].step_ms, samples_per_s=rows[0].samples_per_s / 2)
        both = [disturbed, *rows]
        assert [len(point.rows) for point in table.points(both)] == [1, 2]
        assert table.points(both, fastest=True)[1].step_ms == rows[0].step_ms
        near(table.points(both)[1].step_ms, 1.5 * rows[0].step_ms)
        check_order_of_columns(pathlib.Path(folder) / "reversed.csv", rows)
        other = pathlib.Path(folder) / "other.csv"
        for contents, said in ((b"step,loss\n1,2\n", "has no column 'scaling'"), (b"\xff\xfe\n", "is not a CSV file"),
                               (path.read_bytes().replace(b"weak,1,2,", b"weak,1,two,"), "other.csv:2: "),
                               (path.read_bytes().splitlines()[0], "has no rows")):
            other.write_bytes(contents)
            with refused(table.Trouble, said):
                table.read(other)


def main():
    check_table()
    check_steps_behind_the_warm_up()
    check_byte_counts()


main()
