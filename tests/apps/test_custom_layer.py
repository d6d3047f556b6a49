"""apps/custom_layer: a program whose layer learns the speeds of waves, on every number of ranks; and what the command says
of its deck and its files."""
import re
import shutil

from support.cases import run_cases
from support.command import Command

SPEEDS = 0.3, 0.7  # of the program's samples
DECK = "advection.toml"


def learn(command, program, *, ranks=1, code=0):
    result = Command(program, command.folder).must(DECK, ranks=ranks, code=code)
    return result.stdout if code == 0 else result.stderr


def check_speeds(command, program, repository):
    shutil.copy(repository / "apps/custom_layer" / DECK, command.folder)
    for ranks in (1, 2, 3, 4):
        text = learn(command, program, ranks=ranks)
        found = re.search(r"^loss (\S+), speeds (\S+) and (\S+), greatest error of advection.h5 (\S+)$", text, re.M)
        assert found, text
        loss, slow, fast, error = map(float, found.groups())
        print(ranks, loss, slow, fast, error)
        assert abs(slow - SPEEDS[0]) < 2e-3 and abs(fast - SPEEDS[1]) < 2e-3 and loss < 1e-5 and error < 5e-3, text
    command.must_refuse(["export", "advection.h5", "model.h5"], "unknown-name", "'advection'")


def check_mistakes(command, program, repository):
    text = (repository / "apps/custom_layer" / DECK).read_text()
    for right, wrong, error_id in (('layer = "advection"', 'layer = "diffusion"', "unknown-name"),
                                   ('layer = "advection"', "", "missing-key"), ("speed = 0.5", "sped = 0.5", "unknown-key"),
                                   ("speed = 0.5", 'speed = "fast"', "bad-value"), ("shape = [64, 2]", "shape = [8, 8, 2]", "bad-layer"),
                                   ('kind = "custom"', 'kind = "dense"', "key-without-effect")):
        assert right in text
        (command.folder / DECK).write_text(text.replace(right, wrong))
        said = learn(command, program, code=2)
        assert f"[{error_id}]" in said, (wrong, said)


run_cases(check_speeds, check_mistakes, arguments=["program", "repository"])
