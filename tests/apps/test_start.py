"""What needs no MPI starts without it: where MPI cannot start these commands work all the same, and the others say so."""

from small_problem import prepare
from support.cases import run_cases, skip

BROKEN = {"OMPI_MCA_pml": "there_is_none"}  # Open MPI's MPI_Init fails


def outputs(command, lines, **options):
    results = [command.run(*line, **options) for line in lines]
    return [(result.returncode, result.stdout, result.stderr) for result in results]


def check_starts(command):
    command.must("train", "deck.toml")
    if command.run("train", "deck.toml", "--check", "run.folder=other", variables=BROKEN).returncode == 0:
        skip("another MPI than Open MPI, which starts all the same")
    newest = "runs/small/checkpoints/step-0000000032.h5"
    works = [["--version"], ["--help"], ["manual"], ["types"], ["check-precision", "train.h5"], ["check-precision", newest],
             ["info", "runs/small"], ["info", newest, "--verify"], ["report", "runs/small"], ["prepare", "stamp", "test.h5"],
             ["export", "runs/small", "model.h5"]]
    refused = [["--versoin"], ["types", "train.h5"], ["info", "nowhere"], ["check-precision", "deck.toml"], ["report", "nowhere"],
               ["export", "nowhere", "model.h5"],
               ["prepare", "csv", "nowhere.csv", "--out", "new.h5"]]
    for lines, code in ((works, 0), (refused, 2)):
        alone = outputs(command, lines, variables=BROKEN)
        for line, result in zip(lines, alone):
            assert result[0] == code, (line, result)
            assert code == 0 or len(result[2].strip().splitlines()) <= 2, (line, result)
        launched = outputs(command, lines, variables={"SLURM_PROCID": "0"})  # as in a batch script
        for line, with_mpi, without in zip(lines, launched, alone):
            assert with_mpi == without, (line, with_mpi, without)
    # Several ranks are as they were: one message, or one page.
    for line, error_id in ((["report", "runs/small"], "wrong-rank-count"), (["check-precision", "train.h5"], "wrong-rank-count"),
                           (["prepare", "stamp", "test.h5"], "wrong-rank-count"),
                           (["export", "runs/small", "model.h5"], "wrong-rank-count"), (["info", "nowhere"], "no-such-file")):
        command.must_refuse(line, error_id, ranks=2)
    for line in (["--version"], ["types"], ["info", "runs/small"]):
        assert command.must(*line, ranks=2).stdout == command.must(*line).stdout, line


run_cases(prepare, check_starts)
