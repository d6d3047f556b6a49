"""scripts/profile-device on the host build: a sample of what a host can run passes, each result is in the table, and what a
trace says is added up as it should be.

usage: test_profile_device.py REPOSITORY BUILD
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPOSITORY, BUILD = map(pathlib.Path, sys.argv[1:3])
sys.dont_write_bytecode = True
sys.path[:0] = [str(REPOSITORY / "scripts"), str(REPOSITORY / "perf")]

from profile_device import steps, trace  # noqa: E402

# Three steps of 100 ns: "check" is in each once, "product" twice, and side by side with "copy" for 10 ns.
STEP = [(0, 20, "void check<float>(int)"), (20, 50, "product"), (40, 55, "copy"), (60, 90, "product")]


class Trace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name) / "trace.tsv"
        lines = [f"{1000 + 100 * step + begin}\t{1000 + 100 * step + end}\t7\t0\t0\t0\t0\t{name}\n"
                 for step in range(3) for begin, end, name in STEP]
        path.write_text("damaged\tline\n900\t910\t7\t0\t0\t0\t0\tstart\n" + "".join(reversed(lines)))
        self.kernels = trace.read(path)

    def tearDown(self):
        self.folder.cleanup()

    def test_kernels_are_in_order(self):
        self.assertEqual([kernel.begin for kernel in self.kernels][:3], [900, 1000, 1020])
        self.assertEqual(len(self.kernels), 13)

    def test_steps_are_found_by_what_each_has_once(self):
        found, elapsed = trace.last_steps(self.kernels, 3, 2)
        self.assertEqual(elapsed, 200)
        self.assertEqual(len(found), 8)
        self.assertEqual(trace.last_steps(self.kernels, 5, 2), ([], 0))

    def test_time_is_counted_once_where_kernels_run_side_by_side(self):
        self.assertEqual(trace.busy(self.kernels), 10 + 3 * (20 + 35 + 30))

    def test_the_table_is_per_step_and_by_time(self):
        found, _ = trace.last_steps(self.kernels, 3, 2)
        rows = trace.table(found, 2)
        self.assertEqual([row[2] for row in rows], ["product", "check", "copy"])
        self.assertAlmostEqual(rows[0][0], 60e-6)
        self.assertEqual(rows[0][1], 2)


class Report:
    """Keeps the speeds that it is told."""

    def __init__(self):
        self.speeds = {}

    def speed(self, name, value, unit):
        self.speeds[name] = value


class Shown(unittest.TestCase):
    def test_the_longest_kernels_of_a_step_and_the_sum_of_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "deck-step.tsv"
            path.write_text("".join(f"{1000 + 100 * step + begin}\t{1000 + 100 * step + end}\t7\t0\t0\t0\t0\t{name}\n"
                                    for step in range(6) for begin, end, name in STEP))
            report = Report()
            steps.show(None, report, path, 6, "deck", shown=2)
            self.assertAlmostEqual(report.speeds["deck: product (2 launches)"], 60e-6, places=12)
            self.assertAlmostEqual(report.speeds["deck: check (1 launches)"], 20e-6, places=12)
            self.assertAlmostEqual(report.speeds["deck: 1 other kernels"], 15e-6, places=12)
            self.assertAlmostEqual(report.speeds["deck: a step under the trace"], 100e-6, places=12)
            # Steps are counted from one "copy" to the next: the last "product" ends 10 ns after the third of them.
            self.assertAlmostEqual(report.speeds["deck: of it no kernel runs"], (100 - (3 * 85 + 10) / 3) * 1e-6, places=12)
            self.assertTrue(path.with_suffix(".by-kernel.tsv").exists())
            self.assertFalse(path.exists())


class Script(unittest.TestCase):
    def profile(self, *arguments):
        return subprocess.run([sys.executable, REPOSITORY / "scripts/profile-device", *map(str, arguments)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=280, check=False)

    def test_a_sample_of_what_a_host_can_run(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder) / "results"
            process = self.profile("--host", "--build", BUILD, "--sample", "--results", results, "--budget", 600)
            self.assertEqual(process.returncode, 0, process.stdout)
            document = json.loads((results / "results.json").read_text())
            by_name = {check["name"]: check["result"] for check in document["checks"]}
            self.assertEqual(by_name["overflows in half"], "PASS")
            self.assertEqual(by_name["fashion_mlp in three types"], "PASS")
            self.assertEqual(by_name["our step, kernel by kernel"], "SKIP")
            self.assertEqual(by_name["fashion_resnet beside PyTorch"], "SKIP")
            if (BUILD / "bin/step_pieces").exists():
                pieces = ("products by algorithm", "attention", "classifier and loss", "memory-bound kernels")
                self.assertEqual({by_name[name] for name in pieces}, {"PASS"})
            table = (results / "table.tsv").read_text().splitlines()
            rates = [line.split("\t") for line in table if line.startswith("speed\tfashion_mlp, bf16\t")]
            self.assertGreater(float(rates[0][2]), 0)

    def test_what_it_cannot_do_is_refused(self):
        self.assertEqual(self.profile("--host", "--build", BUILD, "--only", "kernles").returncode, 2)
        self.assertEqual(self.profile("--host", "--build", BUILD / "nowhere").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
