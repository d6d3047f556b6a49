"""mylos bench: what its tables say is what its CSV files say, and what cannot be measured is refused."""
import os
import re
import signal

from support.cases import run_cases
from support.processes import ranks_of, send, wait_until
from support.refusal import ids_of


def numbers(line):
    return [float(word) for word in re.findall(r"[\d.]+", line)]


def check_allreduce(command, ranks):
    """A table over sizes and types, and each sum in its two parts in the file. Sizes are rounded up to whole slices."""
    said = command.must("bench", "allreduce", "--sizes", "64KiB,1KiB", "--types", "fp32,bf16", "--rounds", 3, "--csv",
                        "sums.csv", ranks=ranks).stdout
    assert f"{ranks} ranks, {ranks} on this node; MPI; median of 3 rounds" in said, said
    rows = command.rows("sums.csv")
    unit = ranks * 128
    sizes = sorted({int(row["bytes"]) for row in rows} - {0})
    assert sizes == [-(-size // unit) * unit for size in (1024, 65536)], sizes
    found = {(row["operation"], row["type"], int(row["bytes"])): float(row["seconds"]) for row in rows}
    for size in sizes:
        for type_ in ("fp32", "bf16"):
            parts = found["reduce_scatter", type_, size] + found["all_gather", type_, size]
            assert 0 < found["allreduce", type_, size] < 10 * parts, found
        assert found["mpi_allreduce", "fp32", size] > 0
    assert found["agreement", "", 0] > 0
    assert len(found) == 2 * (2 * 3 + 1) + 1, sorted(found)
    assert {(row["ranks"], row["ranks_on_node"], row["backend"]) for row in rows} == {(str(ranks), str(ranks), "mpi")}
    per_core = ranks / len(os.sched_getaffinity(0))
    assert all(abs(float(row["threads_per_core"]) - per_core) < 1e-3 for row in rows), rows[0]
    largest = next(line for line in said.splitlines() if line.strip().startswith("64"))
    microseconds, gigabytes_per_s = numbers(largest.split("KiB")[1])[:2]
    assert abs(microseconds - 1e6 * found["allreduce", "fp32", sizes[-1]]) <= 0.06, largest
    assert abs(gigabytes_per_s - 1e-3 * sizes[-1] / microseconds) <= 0.006 + 0.01 * gigabytes_per_s, largest
    assert re.search(r"agreement of a step: [\d.]+ us", said), said


def check_gemm(command):
    said = command.must("bench", "gemm", "--shapes", "64x32x48,16x16x16", "--types", "fp32,fp16", "--rounds", 2, "--csv",
                        "products.csv").stdout
    rows = command.rows("products.csv")
    engines = {row["engine"] for row in rows}
    assert {row["threads"] for row in rows} == {"1"} and " 1 threads, " in said, said
    assert len(rows) == len(engines) * 2 * 2 * 3 and engines, rows
    one = next(row for row in rows if row["product"] == "dW/64x32x48" and row["type"] == "fp16")
    assert float(one["flops"]) == 2 * 64 * 32 * 48 and float(one["seconds"]) > 0
    assert said.count("64x32x48") == 2 * 3, said
    for engine in engines:
        assert engine in said
    check_rates(said, rows)
    first = sorted(engines)[0]
    alone = command.must("bench", "gemm", "--shapes", "16x16x16", "--types", "bf16", "--engines", first, "--rounds", 1,
                         "--instructions", command.instructions()[0]).stdout
    assert not any(engine in alone.splitlines()[2] for engine in engines - {first}), alone


def check_rates(said, rows):
    """Every cell of the table is in GFLOP/s: 1e-9 * FLOPs / seconds of its row in the file."""
    found = {(row["type"], row["product"], row["engine"]): row for row in rows}
    cells, type_, engines = 0, None, []
    for line in said.splitlines():
        words = line.split()
        if "samples x in x out" in line:
            type_, engines = words[0], words[6:]
        elif type_ and len(words) == 2 + len(engines):
            for engine, cell in zip(engines, words[2:]):
                row = found[type_, f"{words[0]}/{words[1]}", engine]
                assert (cell == "-") == (row["computed_by"] != engine), line
                if cell != "-":
                    rate = 1e-9 * float(row["flops"]) / float(row["seconds"])
                    rounding = 0.5e-9 / float(row["seconds"])  # of the file's seconds, which have 9 decimals
                    assert abs(float(cell) - rate) <= 0.06 + (1e-3 + rounding) * rate, (line, row)
                    cells += 1
    assert cells >= len(rows) / 3, said


def check_checkpoint(command, ranks, *options):
    """All of it is written, read (which checks every byte) and gone again."""
    said = command.must("bench", "checkpoint", ".", "--size", "80 MiB", "--rounds", 1, "--csv", "disk.csv", *options,
                        ranks=ranks).stdout
    rows = command.rows("disk.csv")
    assert [row["operation"] for row in rows] == ["write", "read", "remove"], rows
    assert all(int(row["bytes"]) == 80 << 20 and float(row["seconds"]) >= 0 for row in rows), rows
    assert "80 MiB in 2 arrays" in said, said
    assert not list(command.folder.glob("mylos-bench-*")), "the folder is left"


def check_advice(command):
    cores = len(os.sched_getaffinity(0))
    said = command.must("bench", "checkpoint", ".", "--size", "1 KiB", "--rounds", 1, variables={"OMP_NUM_THREADS": str(2 * cores)})
    assert f"has {2 * cores} threads on its {cores} core" in said.stdout, said.stdout


def check_signal(command, ranks, signal_):
    """One rank is asked to end: all do, and their folder goes with them."""
    running = command.start("bench", "checkpoint", ".", "--size", "1 MiB", "--rounds", 10000, ranks=ranks)
    wait_until(lambda: list(command.folder.glob("mylos-bench-*")), "no folder is made")
    send(signal_, ranks_of(command)[-1:])
    _, said = running.communicate(timeout=600)
    assert running.returncode == 1 and ids_of(said) == ["stopped"] and signal_.name in said, f"{running.returncode}: {said}"
    assert not list(command.folder.glob("mylos-bench-*")), "the folder is left"


def check_limits(command):
    command.must_refuse(["bench", "allreduce"], "wrong-rank-count", "mpirun -n 2")
    command.must_refuse(["bench", "gemm"], "wrong-rank-count", "mpirun", ranks=2)
    command.must_refuse(["bench", "gemm", "--engines", "blas"], "not-in-build", "'blas'")
    for shape in ("16x16", "16x16x16x16", "16x16x", "x16x16", "16x-1x16", "0x16x16", "16x16x1048577", "xx", "16 x16x16"):
        command.must_refuse(["bench", "gemm", f"--shapes={shape}"], "bad-argument", f"--shapes: '{shape}'", "512x784x2048")
    command.must_refuse(["bench", "checkpoint", ".", "--size", "50 TiB"], "does-not-fit", "a state of 50 TiB", "take 50 TiB",
                        code=3, ranks=2)
    command.must_refuse(["bench", "gemm", "--shapes", "1048576x1048576x1048576"], "does-not-fit", "TiB", code=3)
    command.write("file", "")
    command.must_refuse(["bench", "gemm", "--shapes", "16x16x16", "--csv", "file/products.csv"], "cannot-write",
                        "file/products.csv", code=1)
    command.must_refuse(["bench", "checkpoint", "file"], "no-such-folder", "file: ")


run_cases((check_allreduce, 2), (check_allreduce, 3), check_gemm, (check_checkpoint, 1), (check_checkpoint, 2, "--sharded"),
          check_advice, (check_signal, 1, signal.SIGINT), (check_signal, 2, signal.SIGTERM), check_limits)
