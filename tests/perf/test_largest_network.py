"""perf/largest_network.py: the layers that it finds fit by `mylos plan`, and one more does not.

usage: test_largest_network.py MYLOS REPOSITORY
"""
import json
import pathlib
import re
import subprocess
import sys


def plan(mylos, repository, layers, *keys):
    line = [mylos, "plan", repository / "inputs/gpt2_124m.toml", "--device", "v100-16gb", "--ranks", "1", "--json", "model.width=1024",
            "model.heads=8", "data.batch=64", f"model.layers={layers}", *keys]
    return subprocess.run([str(word) for word in line], text=True, capture_output=True, check=False)


def main():
    mylos, repository = sys.argv[1], pathlib.Path(sys.argv[2])
    script = [repository / "perf/largest_network.py", "--mylos", mylos, "--device", "v100-16gb", "--width", "1024", "--most", "40"]
    printed = subprocess.run([sys.executable, *script], text=True, capture_output=True, check=True).stdout
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in printed.splitlines()[2:]]
    assert len(rows) == 11, printed
    for row, keys in ((rows[0], ["precision.compute=fp32", "memory.recompute=none"]), (rows[1], ["memory.recompute=none"])):
        layers = int(row[1])
        fits, does_not = plan(mylos, repository, layers, "data.micro_batch=8", *keys), plan(mylos, repository, layers + 1, "data.micro_batch=8", *keys)
        assert (fits.returncode, does_not.returncode) == (0, 3), (row, fits, does_not)
        found = json.loads(fits.stdout)
        assert row[2] == f"{found['parameters'] / 1e9:.2f}e9" and row[3] == f"{found['rank_bytes'] / 1e9:.1f} GB", (row, found)
    layers = [re.sub("at least ", "", row[1]) for row in rows]
    assert int(layers[1]) > int(layers[0]) and all(int(count) <= 40 for count in layers), layers
    assert any(row[1] == "at least 40" for row in rows[8:]), "with shards more fit than are tried"


if __name__ == "__main__":
    main()
