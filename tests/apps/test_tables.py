"""Tables as users have them: what `prepare csv` says of the first line and of numbers, and test tables without the
largest class."""
import os


from small_problem import prepare
from support.cases import run_cases
from support.data_files import read_data
from support.refusal import ids_of

YEARS = "2019,2020,2021\n1,2,3\n4,5,6\n"
MISSING = "1,,3\n4,5,6\n"


def inputs(command, table, *options):
    """What `prepare csv` says of this table, and the inputs that it makes of it."""
    command.write("table.csv", table)
    said = command.must("prepare", "csv", "table.csv", *options, "--out", "table.h5").stdout.splitlines()
    return said, read_data(command.folder / "table.h5", "inputs").tolist()


def refuse(command, table, refusal, *options):
    command.write("table.csv", table)
    command.must_refuse(["prepare", "csv", "table.csv", *options, "--out", "no.h5"], *refusal)
    assert not list(command.folder.glob("no.h5*"))


def check_first_lines(command):
    size = "table.h5: {} samples of {} features, {}"
    alone = "no labels or targets: for `mylos predict`"
    assert inputs(command, "a,b,c\n1,2,3\n") == (
        ["table.csv: line 1 names the columns: a, b, c", size.format(1, 3, alone)], [[1, 2, 3]])
    assert inputs(command, YEARS) == (
        ["table.csv: line 1 is the first sample: 2019, 2020, 2021; --header reads it as the columns' names",
         size.format(3, 3, alone)], [[2019, 2020, 2021], [1, 2, 3], [4, 5, 6]])
    assert inputs(command, YEARS, "--header", "--targets", "2021") == (
        ["table.csv: line 1 names the columns: 2019, 2020, 2021", size.format(2, 2, "1 targets")], [[1, 2], [4, 5]])
    refuse(command, MISSING, ("bad-row", "table.csv:1: ", "column 1 is '1'", "column 2 is empty", "--header", "--no-header"),
           "--targets", "3")
    refuse(command, MISSING, ("bad-row", "table.csv:1: column 2 is ''"), "--targets", "3", "--no-header")
    assert inputs(command, "3,2,1\n10,20,30\n", "--header", "--targets", "3") == (
        ["table.csv: line 1 names the columns: 3, 2, 1",
         "table.csv: '3' is the name of column 1, so it does not mean column 3", size.format(1, 2, "1 targets")], [[20, 30]])


def check_numbers(command):
    said, values = inputs(command, "id,x\n16777217,1e-400\n16777219,1\n")
    assert values == [[16777216, 0], [16777220, 1]]
    assert said[1] == ("table.csv: 2 whole numbers above 2^24 = 16777216 are rounded to the nearest float32: "
                       "line 2, column 1 (id) is 16777216 for 16777217"), said
    refuse(command, "x\n+-1\n", ("bad-row", "table.csv:2: column 1 (x) is '+-1'"))
    refuse(command, "x\n1e39\n", ("not-finite", "table.csv:2: column 1 (x) is '1e39'", "3.4028235e+38"))
    refuse(command, "x\n" + "z" * 100_000 + "\n",
           ("bad-row", f"table.csv:2: column 1 (x) is '{'z' * 60}...'"))


def check_fewer_classes(command):
    prepare(command)
    train = ["train", "deck.toml", "run.folder=classes", "data.test=few.h5", "--check"]
    lines = command.text("test.csv").splitlines()
    few = [line for line in lines if not line.endswith(",2")]
    command.write("few.csv", "\n".join(few))
    command.must("prepare", "csv", "few.csv", "--label", "class", "--out", "few.h5")
    command.must_refuse(train, "data-mismatch", "few.h5: has 2 classes, train.h5 has 3")
    said = command.must("prepare", "csv", "few.csv", "--label", "class", "--classes", 3, "--out", "few.h5").stdout
    assert said.endswith(f"few.h5: {len(few) - 1} samples of 8 features, 3 classes\n"), said
    command.must(*train)
    images = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 8]) + bytes(16)
    (command.folder / "images").write_bytes(images)
    (command.folder / "labels").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 0, 1]))
    said = command.must("prepare", "idx", "images", "labels", "--classes", 3, "--out", "few.h5").stdout
    assert said == "few.h5: 2 samples of 8 features, 3 classes\n", said


def check_pipes(command):
    os.mkfifo(command.folder / "pipe")
    for arguments in (["csv"], ["text"], ["text", "--level", "bytes"], ["tokens"], ["idx"]):
        result = command.run("prepare", *arguments, "pipe", "--out", "no.h5", timeout=30)
        assert result.returncode == 2 and result.stderr.startswith("mylos: pipe: is a pipe"), (arguments, result)
        assert len(ids_of(result.stderr)) == 1, (arguments, result)
    assert not list(command.folder.glob("no.h5*"))


run_cases(check_first_lines, check_numbers, check_fewer_classes, check_pipes)
