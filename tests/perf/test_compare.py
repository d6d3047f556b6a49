"""perf/compare.py: its table, what it skips, versions, marks of a busy machine, and calls from start to end with programs whose times are
known.

usage: test_compare.py REPOSITORY
"""
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(REPOSITORY / "perf"))
import chain_vs_pytorch  # noqa: E402: the path is set first
import gpt_vs_pytorch  # noqa: E402
import pool_vs_pytorch  # noqa: E402
import spectral_vs_neuraloperator  # noqa: E402
import step_vs_pytorch  # noqa: E402
from comparison import peers, subjects, table  # noqa: E402
from comparison.subjects import Comparison, Row  # noqa: E402

PYTHON = "/usr/bin/python3"
# Answers each command by a number of ms; as a Python, `-c` runs the real one.
PROGRAM = """#!/usr/bin/python3
import os, sys
if sys.argv[1:2] == ["-c"]:
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv[1:]])
for line in sys.stdin:
    print("{ms}\\n", flush=True)
"""
CRASHING = "#!/usr/bin/python3\nimport sys\nsys.exit('pool_bench: this processor has no such instructions')\n"


def near(found, expected):
    assert len(found) == len(expected) and all(abs(a - b) < 1e-12 for a, b in zip(found, expected)), (found, expected)


def record_of(subject_jobs, **more):
    return {"unit": "ms", "subjects": subject_jobs, "turns": 12, "disturbed": 0, "others_percent": 1.2} | more


STEPS = {"wide": {"fp32": [10.0, 12.0, 11.0], "bf16": [4.0, 4.0, 6.0], "PyTorch fp32": [20.0, 20.0, 20.0],
                  "PyTorch fp32-compiled": [12.0, 10.0, 11.0], "PyTorch bf16-pure": [8.0, 4.0, 5.0]}}
COMPARISON = Comparison("mlp", "step_vs_pytorch.py", (
    Row("float step", "wide", "fp32", "PyTorch fp32"), Row("bf16 step", "wide", "bf16", "PyTorch "),
    Row("half step", "wide", "fp16", "PyTorch "), Row("bf16 beside autocast", "wide", "bf16", "PyTorch bf16-autocast")))


def result_of(record, name="mlp", comparison=COMPARISON):
    return {"name": name, "skipped": None, "failed": False, "rows": table.rows_of(comparison, record),
            **{key: record[key] for key in ("turns", "disturbed", "others_percent")}}


def check_rows():
    """Medians and ratios by hand: those of a row are formed within a round, with the peer's fastest variant."""
    float_row, bf16_row, half_row, autocast_row = table.rows_of(COMPARISON, record_of(STEPS))
    assert (float_row["mylos"], float_row["peer"], float_row["peer_value"]) == (11, "PyTorch fp32-compiled", 11)
    near(float_row["ratio"], [1.0, 10 / 12, 1.2])
    assert (bf16_row["mylos"], bf16_row["peer"], bf16_row["peer_value"]) == (4, "PyTorch bf16-pure", 5)
    near(bf16_row["ratio"], [1.0, 0.5, 1.2])
    assert half_row == {"what": "half step", "skipped": "no time of Mylos for wide"}, half_row
    assert autocast_row["skipped"].startswith("PyTorch bf16-autocast had no such step"), autocast_row


def check_errors():
    """The largest of several networks; nothing is divided."""
    errors = record_of({"mlp": {"Mylos": [1e-7], "PyTorch": [4e-7]}, "unet": {"Mylos": [3e-7], "PyTorch": [2e-7]}})
    comparison = Comparison("weights", "weights_from_pytorch.py", (Row("difference", "", is_error=True), Row("of unet", "unet", is_error=True)))
    both, unet = table.rows_of(comparison, errors)
    assert (both["mylos"], both["peer_value"], both["ratio"]) == (3e-7, 4e-7, None), both
    assert (unet["mylos"], unet["peer_value"]) == (3e-7, 2e-7), unet
    calls = Comparison("call", "call_vs_runtimes.py", (Row("outputs", "mlp outputs", is_error=True, peer="ONNX Runtime"),))
    row, = table.rows_of(calls, record_of({"mlp outputs": {"Mylos": [2e-7]}, "mlp 1": {"Mylos": [1.0], "ONNX Runtime": [1.0]}}))
    assert table.cells("call", row, "") == ("call", "outputs", "2.0e-07", "ONNX Runtime", "–"), row


def check_table():
    skipped = {"name": "spectral", "skipped": "no neuraloperator: scripts/peers installs it", "failed": False, "rows": []}
    idle, busy = result_of(record_of(STEPS)), result_of(record_of(STEPS, disturbed=3, others_percent=42.4), "again")
    lines = table.table([idle, busy, skipped]).splitlines()
    assert lines[0].split("|")[1:-1] and [cell.strip() for cell in lines[0].split("|")[1:-1]] == list(table.HEADER)
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == [
        "mlp", "float step", "11 ms", "11 ms, PyTorch fp32-compiled", "1.00 [0.83 .. 1.20]"], lines[2]
    assert [line.count(" * ") for line in lines[2:6]] == [0, 0, 1, 1], lines
    assert len({len(line) for line in lines[:6]}) == 1, "columns are not aligned"
    assert ("* again: another process used 42 % of the CPU: 3 of 12 turns began while it computed. Its ratios are not reliable." in lines)
    assert lines[-1] == "spectral: skipped: no neuraloperator: scripts/peers installs it", lines[-1]
    assert "mlp: half step: skipped: no time of Mylos for wide" in lines, lines
    assert table.table([skipped]) == "Nothing was measured.\n\n" + lines[-1]


def fake_packages(folder, **versions):
    """A folder for PYTHONPATH in which packages seem to be installed."""
    for name, version in versions.items():
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")


def check_peers(folder):
    """Versions come from the packages themselves, and what is missing is named with what installs it."""
    fake_packages(folder / "packages", torch="9.8.7", onnxruntime="6.5")
    os.environ["PYTHONPATH"] = str(folder / "packages")
    found = peers.packages_of(PYTHON)
    assert found["torch"] == "9.8.7" and found["onnxruntime"] == "6.5" and "neuraloperator" not in found, found
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["Python"]) and peers.packages_of(folder / "none") == {}
    prefix = folder / "ftorch/lib64/cmake/FTorch"
    prefix.mkdir(parents=True)
    assert peers.ftorch_prefix(folder / "ftorch") is None
    (prefix / "FTorchConfig.cmake").write_text("", encoding="utf-8")
    os.environ["CMAKE_PREFIX_PATH"] = f"/nowhere:{folder / 'ftorch'}"
    assert peers.ftorch_prefix(None) == peers.ftorch_prefix(folder / "ftorch") == folder / "ftorch"
    assert "states no version" in peers.ftorch_version(folder / "ftorch")
    (folder / "ftorch/lib64/pkgconfig").mkdir()
    (folder / "ftorch/lib64/pkgconfig/ftorch.pc").write_text("Name: ftorch\nVersion: 1.1.0\n", encoding="utf-8")
    assert peers.ftorch_version(folder / "ftorch") == "1.1.0"
    (folder / "build/bin").mkdir(parents=True)
    here = peers.Machine(folder / "build", pathlib.Path(PYTHON), None, folder / "cuda")
    of = {comparison.name: here.missing(comparison) for comparison in subjects.COMPARISONS}
    assert of["spectral"] == f"{PYTHON} has no neuraloperator: scripts/peers installs it", of
    assert of["mlp"].startswith(f"no {folder}/build/bin/step_bench: cmake --build {folder}/build --target step_bench"), of
    (folder / "build/bin/step_bench").touch()
    assert here.missing(subjects.COMPARISONS[0]) is None
    del os.environ["CMAKE_PREFIX_PATH"]
    here = peers.Machine(folder / "build", folder / "none", None, folder / "cuda")
    of = {comparison.name: here.missing(comparison) for comparison in subjects.COMPARISONS}
    assert of["ftorch"].startswith("no FTorch in FTORCH_PREFIX") and of["device"].startswith("no "), of
    assert of["mlp"] == f"no Python runs as {folder}/none: scripts/peers installs one with the peers, --python names another", of
    del os.environ["PYTHONPATH"]


def check_subjects():
    """Every comparison names options, programs and subjects that its script has."""
    shared = (REPOSITORY / "perf/harness/options.py").read_text(encoding="utf-8")
    targets = (REPOSITORY / "perf/CMakeLists.txt").read_text(encoding="utf-8")
    known = {"step_vs_pytorch.py": step_vs_pytorch.NETWORKS, "gpt_vs_pytorch.py": [*gpt_vs_pytorch.SHAPES, "run"],
             "chain_vs_pytorch.py": chain_vs_pytorch.NETWORKS, "spectral_vs_neuraloperator.py": spectral_vs_neuraloperator.NETWORKS}
    names = [comparison.name for comparison in subjects.COMPARISONS]
    assert len(set(names)) == len(names), names
    for comparison in subjects.COMPARISONS:
        text = (REPOSITORY / "perf" / comparison.script).read_text(encoding="utf-8")
        for word in (*comparison.words, *(comparison.quick or ()), "--json"):
            assert not word.startswith("--") or f'"{word}"' in text + shared, f"{comparison.script} has no {word}"
        for row in comparison.rows:
            assert row.subject in known.get(comparison.script, [row.subject]), row
        for program in comparison.programs:
            assert program.removesuffix("_bench") in targets or program in ("mylos", "model_outputs", "gpt_logits"), program
    class Arguments:
        types, kernels, only = ["fp32"], [3], ""
    pools = set(pool_vs_pytorch.names(Arguments))
    for comparison in subjects.COMPARISONS:
        if comparison.name == "pools":
            assert {row.subject for row in comparison.rows} <= pools


def compare(folder, *options, code, **environment):
    done = subprocess.run([PYTHON, REPOSITORY / "perf/compare.py", "--build", folder / "build", "--patience", "0", *map(str, options)],
                          capture_output=True, text=True, env=os.environ | environment, timeout=300, check=False)
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    assert done.returncode == code, f"{options}: {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
    return done


def check_run_without_peers(folder):
    """Nothing can be measured: every comparison has its line, the results are stored, and the exit code is 1."""
    stored = folder / "nothing.json"
    said = compare(folder, "--quick", "--python", folder / "none", "--json", stored, code=1).stdout
    assert "Nothing was measured." in said, said
    for comparison in subjects.COMPARISONS:
        assert f"\n{comparison.name}: skipped: " in said, (comparison.name, said)
    document = json.loads(stored.read_text(encoding="utf-8"))
    assert document["comparisons"][0]["skipped"] == "not a part of --quick" and document["versions"] == {}, document
    assert document["machine"]["processor"] and document["machine"]["cores"] >= 1 and re.match(r"\d{4}-\d\d-\d\dT", document["date"])


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def check_run_with_known_times(folder):
    """Mylos takes 2 ms, the peer 4: the script, its record, the table and the stored document agree."""
    fake_packages(folder / "packages", torch="9.8.7")
    write_program(folder / "build/bin/pool_bench", PROGRAM.format(ms=2))
    write_program(folder / "peers/python", PROGRAM.format(ms=4))
    stored = folder / "pools.json"
    options = ("--only", "pools", "--rounds", 2, "--python", folder / "peers/python", "--json", stored)
    said = compare(folder, *options, code=0, PYTHONPATH=str(folder / "packages")).stdout
    assert said.count("0.50 [0.50 .. 0.50]") == 2 and "2 ms " in said and "4 ms, PyTorch" in said, said
    assert f"PyTorch 9.8.7" in said and f"Python {platform.python_version()}" in said, said
    document = json.loads(stored.read_text(encoding="utf-8"))
    result, = document["comparisons"]
    assert [row["ratio"] for row in result["rows"]] == [[0.5, 0.5, 0.5]] * 2 and result["turns"] == 8, result
    assert document["versions"]["PyTorch"] == "9.8.7" and document["reliable"] == (result["disturbed"] == 0), document
    assert ("another process used" in said) == (result["disturbed"] > 0), said
    write_program(folder / "build/bin/pool_bench", CRASHING)
    said = compare(folder, *options, code=1, PYTHONPATH=str(folder / "packages")).stdout
    assert "pools: skipped: pool_vs_pytorch.py ended with code 1: pool_bench: this processor has no such instructions; " in said, said


def check_refusals(folder):
    for options, word in ((("--only", "everything"), "invalid choice"), (("--ftorch", folder), "FTorchConfig.cmake"),
                          (("--json", folder / "none/x.json"), "is not a folder")):
        said = compare(folder, *options, code=2).stderr
        assert word in said, said


def check_stored_results():
    """Results in the repository name their machine, and were measured on an idle one."""
    for path in (REPOSITORY / "perf/results").glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        assert document["reliable"], f"{path} was measured on a busy machine"
        assert document["machine"]["processor"] and document["commit"] and document["date"] and document["versions"], path


def main():
    check_rows()
    check_errors()
    check_table()
    check_subjects()
    check_stored_results()
    for check in check_peers, check_run_without_peers, check_run_with_known_times, check_refusals:
        with tempfile.TemporaryDirectory() as folder:
            check(pathlib.Path(folder))


main()
