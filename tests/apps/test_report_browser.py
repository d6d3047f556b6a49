"""Pages of mylos report in a headless Chromium, by scripts/check-report: a small run, two of them, one of 100,000 steps with
everything there is, and one with hostile names.

usage: test_report_browser.py MYLOS SOURCES
"""
import pathlib
import subprocess
import sys
import tempfile

from small_problem import Command, prepare
from test_report import check_fields, check_hostile, check_long

CURVES = "loss,lr,scale,gradient-norm,rate"


def main():
    program, sources = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        command = Command(program, folder)
        prepare(command)
        for name, compute in (("one", "bf16"), ("other", "fp16")):
            command.must("train", "deck.toml", f"run.folder={name}", f"precision.compute={compute}")
        advice = command.must("advise", "deck.toml", "--steps", "4", "--rounds", "1", "--json", "--out", "advised.toml").stdout
        (command.folder / "one/advice.json").write_text(advice, encoding="utf-8")
        command.must("report", "one")
        command.must("report", "one", "other", "--out", "both.html")
        check_long(command)
        check_hostile(command)
        check_fields(command)
        for expected, pages in ((f"{CURVES},share,parts,time,memory,memory-steps", ["one/report.html"]),
                                (f"{CURVES},share,parts-compute_s,parts-communication_s,parts-data_wait_s,time,memory,memory-host_bytes,memory-host_peak_bytes", ["both.html"]),
                                ("loss,rollout-0-0-nrmse,rollout-0-0-spectrum,rollout-0-0-picture-0,samples-0-test-0,samples-0-test-1", ["fields/report.html"]),
                                (f"{CURVES},health-0,ratio-0,parts", ["long/report.html"]), ("loss", ["hostile/report.html", "old/report.html"])):
            line = [sources / "scripts/check-report", "--expect", expected, *(command.folder / page for page in pages)]
            code = subprocess.run(line, check=False).returncode
            if code != 0:
                sys.exit(code)


if __name__ == "__main__":
    main()
