"""Makes short runs of a deck over ranks and threads, by any launcher, and reads their files."""
import dataclasses
import datetime
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import statistics
import tempfile
from typing import Optional

import harness
from harness import machine
from harness.runs import rows_of

from .table import Row, Trouble, append, require_appendable

# history.csv counts in milliseconds: for less the error would be above 5 %.
MIN_TIMED_MS = 20

# {ranks} ranks of {threads} threads each, {ranks_on_node} on each of {nodes} nodes.
LAUNCHERS = {
    "mpirun": "mpirun --bind-to none -n {ranks}",
    "srun": "srun --nodes={nodes} --ntasks={ranks} --cpus-per-task={threads} --cpu-bind=cores --kill-on-bad-exit=1",
    "flux": "flux run --nodes={nodes} --ntasks={ranks} --cores-per-task={threads} -o cpu-affinity=per-task",
}


@dataclasses.dataclass(frozen=True)
class Place:
    """The configuration of one run in a study."""
    scaling: str
    ranks: int
    threads: int
    ranks_on_node: int
    batch: Optional[int]  # None: the deck's

    @property
    def nodes(self):
        return -(-self.ranks // self.ranks_on_node)

    def __str__(self):
        return f"{self.scaling} {self.ranks}x{self.threads}"


def places(arguments):
    """All requested combinations."""
    found = []
    for threads in arguments.threads:
        for ranks in arguments.ranks:
            on_node = min(ranks, arguments.ranks_per_node or ranks)
            if arguments.weak:
                found.append(Place("weak", ranks, threads, on_node, arguments.weak * ranks))
            if arguments.strong or not arguments.weak:
                found.append(Place("strong", ranks, threads, on_node, arguments.strong or None))
    return found


def launcher_words(template, place):
    """The command line before `mylos`."""
    try:
        line = LAUNCHERS.get(template, template).format(
            ranks=place.ranks, threads=place.threads, nodes=place.nodes, ranks_on_node=place.ranks_on_node)
    except (KeyError, IndexError, ValueError) as error:
        raise Trouble(f"--launcher '{template}': {error} is none of its places; they are {{ranks}}, {{threads}}, "
                      "{nodes} and {ranks_on_node}") from None
    return shlex.split(line)


def require_launcher(template, place):
    words = launcher_words(template, place)
    if not words or shutil.which(words[0]) is None:
        raise Trouble(f"there is no launcher '{words[0] if words else template}' here; --launcher takes "
                      f"{', '.join(LAUNCHERS)} or a command line with {{ranks}} and {{threads}} in it")
    if LAUNCHERS.get(template, template).find("{ranks}") < 0:
        raise Trouble(f"--launcher '{template}' has no place for {{ranks}}: every run would have as many")


def training_words(arguments, place, folder):
    """Overrides for steps only, as far as a deck allows: one evaluation and one checkpoint follow the last step."""
    words = [f"run.folder={folder}", f"run.steps={arguments.warm_up + arguments.steps}",
             f"run.log_every={arguments.warm_up}", f"run.threads={place.threads}", "run.evaluate_every=1000000000",
             "schedule.warmup=0", "checkpoint.every=0"]
    if place.batch is not None:
        words.append(f"data.batch={place.batch}")
    return words


def timed_steps(folder, warm_up):
    """Reads from history.csv the number of steps after the warm-up and the milliseconds of one, as columns of the table. Waiting
    times are None if the file lacks them (programs before summary.json)."""
    rows = rows_of(folder)
    timed = [row for row in rows if int(row["step"]) > warm_up]
    begin = next(float(row["elapsed_s"]) for row in rows if int(row["step"]) == warm_up)
    timed_ms = 1e3 * (float(timed[-1]["elapsed_s"]) - begin)
    if timed_ms < MIN_TIMED_MS:
        raise Trouble(f"{len(timed)} steps took {timed_ms:.0f} ms, too little to be timed: give more --steps")
    step_ms = timed_ms / len(timed)
    if "communication_s" not in rows[0]:
        return len(timed), {"step_ms": step_ms, "compute_ms": None, "exposed_ms": None, "data_ms": None}
    exposed, data = (1e3 * statistics.mean(float(row[name]) for row in timed) for name in ("communication_s", "data_wait_s"))
    return len(timed), {"step_ms": step_ms, "compute_ms": step_ms - exposed - data, "exposed_ms": exposed, "data_ms": data}


def resolved_deck(folder):
    """{"section.key": text} of the run's resolved deck."""
    found, section = {}, ""
    for line in (folder / "resolved.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        name, equals, value = line.partition(" = ")
        if equals:
            found[f"{section}.{name.strip()}"] = value.partition("  #")[0].strip().strip('"')
    return found


def byte_count(text):
    """25 MiB -> 26214400"""
    number, unit = re.fullmatch(r"([\d.]+) ?(\w*)", text).groups()
    return round(float(number) * {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[unit])


def bucket_bytes(plan, deck):
    """From plan.json; older programs have a size in every deck."""
    return plan["bucket_bytes"] if "bucket_bytes" in plan else byte_count(deck["communication.bucket"])


def summary_of(folder, samples_per_s, ranks):
    """Reads summary.json as columns of the table; all None if the run wrote none."""
    path = folder / "summary.json"
    if not path.exists():
        return dict.fromkeys(("evaluation_s", "checkpoints_s", "flops_per_s", "peak_share"))
    summary = json.loads(path.read_text(encoding="utf-8"))
    speed, time = summary["speed"], summary["time"]
    flops_per_s = samples_per_s * speed["model_flops_per_sample"]
    return {"evaluation_s": time["evaluation_s"], "checkpoints_s": time["checkpoints_s"], "flops_per_s": flops_per_s,
            "peak_share": flops_per_s / (speed["peak_flops_per_rank"] * ranks)}


def sha256_of(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise Trouble(f"{path}: the deck cannot be read: {error.strerror}") from None


def bytes_of(plan):
    """(bytes of a rank, and of its process before the run), from plan.json."""
    process = next((entry["bytes"] for entry in plan["memory"] if entry["name"] == "process after start-up"), 0)
    return plan["rank_bytes"], process


class Study:
    """The runs of one call of `scaling.py run`."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.deck_sha256 = sha256_of(arguments.deck)
        program = shutil.which(arguments.mylos) or ""
        if not program:
            raise Trouble(f"there is no program '{arguments.mylos}'; build it, or give --mylos PATH")
        self.program = program
        self.version = machine.version_of(program).removeprefix("mylos ")
        self.commit = machine.commit("rev-parse", "--short", "HEAD")
        self.processor = machine.processor()
        for place in places(arguments):
            require_launcher(arguments.launcher, place)
        require_appendable(arguments.out)
        if not os.access(arguments.folder, os.W_OK | os.X_OK) or not os.path.isdir(arguments.folder):
            raise Trouble(f"--folder {arguments.folder}: is no folder that can be written; the runs have theirs in it")

    def run(self, place, folder):
        """Makes one line of the table."""
        arguments = self.arguments
        line = [*launcher_words(arguments.launcher, place), self.program, "train", str(arguments.deck),
                *arguments.overrides, *training_words(arguments, place, folder)]
        began, load = datetime.datetime.now(datetime.timezone.utc), os.getloadavg()[0]
        try:
            harness.finished(line, env=harness.environment(place.threads))
        except harness.ProgramFailed as failure:
            raise Trouble(f"{place}: ended with code {failure.exit_code}: {shlex.join(line)}\n"
                          + harness.last_lines(failure.messages, 12)) from None
        folder = pathlib.Path(folder)
        steps, parts = timed_steps(folder, arguments.warm_up)
        deck = resolved_deck(folder)
        batch = int(deck["data.batch"])
        samples_per_s = 1e3 * batch / parts["step_ms"]
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        rank_bytes, process_bytes = bytes_of(plan)
        on_node = plan["ranks_on_node"]
        return Row(scaling=place.scaling, round=0, ranks=plan["ranks"], threads=place.threads,
                   nodes=-(-plan["ranks"] // on_node), ranks_on_node=on_node, cores=arguments.cores, batch=batch,
                   steps=steps, samples_per_s=samples_per_s, **parts,
                   **summary_of(folder, samples_per_s, plan["ranks"]), rank_bytes=rank_bytes, process_bytes=process_bytes,
                   compute=deck["precision.compute"], reduce_type=deck["communication.reduce_type"],
                   bucket_bytes=bucket_bytes(plan, deck), shard=deck.get("optimizer.shard", "none"),
                   processor=self.processor,
                   machine=arguments.machine, load=load, mylos=self.version, commit=self.commit,
                   deck=str(arguments.deck), deck_sha256=self.deck_sha256, overrides=shlex.join(arguments.overrides),
                   launcher=arguments.launcher, began=began.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def job(self, place, rounds_done):
        """Makes one run: returns the samples per second, and writes a line in the table."""
        def turn():
            with tempfile.TemporaryDirectory(dir=self.arguments.folder, prefix="scaling-") as folder:
                row = self.run(place, f"{folder}/run")
            if row.ranks != place.ranks:
                raise Trouble(f"{place}: the run had {row.ranks} ranks, not {place.ranks}: does this mylos go with this "
                              "launcher?")
            row.round = rounds_done.setdefault(place, 0) + 1
            rounds_done[place] += 1
            append(self.arguments.out, row)
            return row.samples_per_s
        return turn

    def measure(self):
        rounds_done = {}
        jobs = {str(place): self.job(place, rounds_done) for place in places(self.arguments)}
        quiet = harness.Quiet(self.arguments.patience)
        results = harness.measured(self.arguments.rounds, jobs, quiet, "samples/s")
        print(f"\nsamples per second, median of {self.arguments.rounds} rounds [smallest .. largest]")
        for name, rates in results.items():
            print(f"  {name:20} {harness.spread(rates)}")
        quiet.report()
        print(f"table: {self.arguments.out}")
