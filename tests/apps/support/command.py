"""The mylos command in one working directory: finished, still running or refused, alone and under mpirun."""
import contextlib
import json
import os
import pathlib
import re
import subprocess

from .refusal import require_refusal
from .tables import rows_of

# Of a plan that is asked for its bytes: measuring the machine's rates would take ten times as long as planning.
MODELLED = "memory.times=model"
LAUNCHER = ["mpirun", "--quiet", "--oversubscribe", "--bind-to", "none"]


def environment():
    settings = dict(os.environ)
    settings.update(OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return settings


class Command:
    """The mylos command in one working directory."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = pathlib.Path(folder)

    def line(self, *arguments, ranks=1):
        line = [self.program, *map(str, arguments)]
        if ranks > 1:
            line = [*LAUNCHER, "-n", str(ranks), *line]
        return line

    def run(self, *arguments, ranks=1, timeout=600, variables=None):
        """`variables`: of the environment, beside the usual ones."""
        return subprocess.run(self.line(*arguments, ranks=ranks), cwd=self.folder, env=environment() | (variables or {}),
                              capture_output=True, text=True, timeout=timeout)

    def instructions(self):
        """The instruction sets there are here, the slowest first."""
        text = self.must("--version").stdout
        line = re.search(r"^  instructions: (\S+?),? .*here are (.*)$", text, re.M)
        assert line and re.search(r"loops compiled for \S+", text), text
        here = line[2].split(", ")
        assert line[1] == here[-1], f"not the best: {text}"
        return here

    def start(self, *arguments, ranks=1, variables=None):
        """The running command: a subprocess.Popen. `variables`: of the environment, beside the usual ones."""
        return self.start_line(self.line(*arguments, ranks=ranks), variables)

    def start_with_own_messages(self, *arguments, ranks, variables=None):
        """Each rank writes its messages to a file messages-RANK: a launcher that ends ranks does not always pass on what
        they say. `variables`: of the environment, beside the usual ones."""
        shell = ["sh", "-c", 'exec "$0" "$@" 2> messages-$OMPI_COMM_WORLD_RANK']
        return self.start_line([*LAUNCHER, "-n", str(ranks), *shell, *self.line(*arguments)], variables)

    def start_on_own_disks(self, folders, *arguments):
        """A rank in each of these folders of ours, as on nodes with disks of their own."""
        parts = []
        for folder in folders:
            parts += [":", "-n", "1", "-wdir", str(self.folder / folder), *self.line(*arguments)]
        return self.start_line([*LAUNCHER, *parts[1:]])

    def start_line(self, line, variables=None):
        return subprocess.Popen(line, cwd=self.folder, env=environment() | (variables or {}), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def must(self, *arguments, code=0, **options):
        result = self.run(*arguments, **options)
        if result.returncode != code:
            raise AssertionError(f"{arguments}: exit code {result.returncode}, expected {code}\n"
                                 f"{result.stdout}\n{result.stderr}")
        return result

    def must_refuse(self, arguments, error_id, *parts, code=2, **options):
        """The finished command, which must end with this code and one message, with this id and every part."""
        result = self.run(*arguments, **options)
        require_refusal(result, error_id, *parts, code=code)
        return result

    def must_say_once(self, message, *arguments, code=2, **options):
        """The finished command, which must end with this code and in whose messages this expression must match once."""
        result = self.must(*arguments, code=code, **options)
        assert len(re.findall(message, result.stderr, re.MULTILINE)) == 1, f"{arguments}: expected once /{message}/ in\n{result.stderr}"
        return result

    @contextlib.contextmanager
    def writes_nothing(self):
        """In this block no file or folder of the working directory appears or disappears."""
        before = set(self.folder.rglob("*"))
        yield
        changed = before ^ set(self.folder.rglob("*"))
        assert not changed, f"written or removed: {changed}"

    def plan(self, *arguments, **options):
        """`mylos plan`, asked for bytes."""
        return self.must("plan", *arguments, MODELLED, **options)

    def plan_json(self, *arguments, **options):
        return json.loads(self.plan(*arguments, "--json", **options).stdout)

    def json(self, *arguments, **options):
        """The JSON document that the command prints."""
        return json.loads(self.must(*arguments, **options).stdout)

    def write(self, name, text):
        """A file of the folder, such as a deck, or of a new one below it."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def document(self, name):
        """Of a JSON file of the folder."""
        return json.loads(self.text(name))

    def rows(self, name):
        """Of a CSV file of the folder."""
        return rows_of(self.folder / name)
