"""The table of a study: a CSV file with a line for each run, which `run` appends to and `plot` and `model` read."""
import csv
import dataclasses
import pathlib
import statistics
from typing import Optional

SHARDS = ("none", "state", "gradients")  # what optimizer.shard may be


class Trouble(Exception):
    """An error that the user can correct: a missing file or launcher."""


@dataclasses.dataclass
class Row:
    """One run. Missing values are None."""
    scaling: str  # "weak": samples per rank stay the same; "strong": the batch does
    round: int
    ranks: int
    threads: int  # of a rank
    nodes: int
    ranks_on_node: int
    cores: int  # of a node
    batch: int  # samples of a step, over all ranks
    steps: int  # that were timed
    step_ms: float
    samples_per_s: float
    compute_ms: Optional[float]  # of a step, on rank 0: all but the next two
    exposed_ms: Optional[float]  # likewise: communication that the step waited for
    data_ms: Optional[float]  # likewise: until the next batch was there
    evaluation_s: Optional[float]  # of the whole run, and not in its steps
    checkpoints_s: Optional[float]  # likewise
    flops_per_s: Optional[float]  # of the model, over all ranks
    peak_share: Optional[float]
    rank_bytes: Optional[int]  # by the plan
    process_bytes: Optional[int]  # of them, what the process had before: the only part that two starts do not share
    compute: str  # the deck's type
    reduce_type: str
    bucket_bytes: int
    shard: str
    processor: str
    machine: str
    load: float  # of the machine when the run began
    mylos: str  # version and commit of the program
    commit: str  # of the checkout that scaling.py lies in
    deck: str
    deck_sha256: str
    overrides: str
    launcher: str
    began: str  # UTC

    @property
    def samples_per_rank(self):
        return self.batch / self.ranks

    @property
    def rate_per_rank(self):
        return self.samples_per_s / self.ranks

    @property
    def kept_samples(self):
        return kept_samples(self.scaling, self.batch, self.ranks)

    @property
    def stated_bytes(self):
        """The bytes of a rank without its process: the same at every start."""
        return None if self.rank_bytes is None else self.rank_bytes - self.process_bytes

    @property
    def threads_per_core(self):
        return threads_per_core(self.ranks_on_node, self.threads, self.cores)


def kept_samples(scaling, batch, ranks):
    """The samples that stay constant over rank counts: of a rank (weak), of the batch (strong)."""
    return batch / ranks if scaling == "weak" else float(batch)


def threads_per_core(ranks_on_node, threads, cores):
    """At least 1."""
    return max(1.0, ranks_on_node * threads / cores)


COLUMNS = [field.name for field in dataclasses.fields(Row)]


def parsed(field, text):
    types = {str: str, int: int, float: float, Optional[float]: float, Optional[int]: int}
    if text == "" and field.type not in (str, int, float):
        return None
    return types[field.type](text)


def read(path):
    """All rows of a study's table."""
    rows = read_csv(path, COLUMNS, "table of `scaling.py run`")
    result = []
    for number, row in enumerate(rows, start=2):
        try:
            result.append(Row(**{field.name: parsed(field, row[field.name]) for field in dataclasses.fields(Row)}))
        except (ValueError, TypeError) as error:
            raise Trouble(f"{path}:{number}: {error}") from None
    return result


def read_csv(path, columns, what):
    """Reads the rows of a CSV file that has at least these columns; `what` describes the file."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
    except OSError as error:
        raise Trouble(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise Trouble(f"{path}: is no {what}: it is not a CSV file") from None
    missing = [column for column in columns if column not in (reader.fieldnames or [])]
    if missing:
        raise Trouble(f"{path}: is no {what}: it has no column '{missing[0]}'")
    if not rows:
        raise Trouble(f"{path}: this {what} has no rows")
    return rows


def append(path, row):
    """Creates the file if it is missing; otherwise appends in the order of its columns, which may include others."""
    path = pathlib.Path(path)
    columns = COLUMNS
    if path.exists():
        with open(path, newline="", encoding="utf-8") as file:
            columns = next(csv.reader(file))
    begins = not path.exists()
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)  # writes "" for None
        if begins:
            writer.writeheader()
        writer.writerow(dataclasses.asdict(row))


def require_appendable(path):
    """Checks before the first run, not after it."""
    if pathlib.Path(path).exists():
        read(path)
    elif not pathlib.Path(path).absolute().parent.is_dir():
        raise Trouble(f"{path}: there is no folder {pathlib.Path(path).absolute().parent}")


def median(rows, name):
    """The median over the rows that have the value."""
    values = [getattr(row, name) for row in rows if getattr(row, name) is not None]
    return statistics.median(values) if values else None


@dataclasses.dataclass
class Point:
    """The rounds of one configuration in a study."""
    scaling: str
    threads: int
    ranks: int
    rows: list

    def __getattr__(self, name):
        """Of a column, or of a property of every row: the median of numbers, the first of texts."""
        if name.startswith("_"):
            raise AttributeError(name)
        first = getattr(self.rows[0], name)
        return first if isinstance(first, str) else median(self.rows, name)


def points(rows, fastest=False):
    """Sorted by scaling, threads and ranks. `fastest`: only the fastest round of every configuration, which other load has
    disturbed least."""
    found = {}
    for row in rows:
        found.setdefault((row.scaling, row.threads, row.ranks, row.batch), []).append(row)
    return [Point(scaling, threads, ranks, [min(group, key=lambda row: row.step_ms)] if fastest else group)
            for (scaling, threads, ranks, _), group in sorted(found.items(), key=lambda item: item[0])]
