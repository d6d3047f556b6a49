"""scripts/plot-history draws a run's history, and says in one line what it cannot draw.

usage: test_plot_history.py MYLOS REPOSITORY
"""
import pathlib
import subprocess
import sys
import tempfile

HEADER = "step,epoch,loss,lr,gradient_norm,scale,overflow,updates,overflow_rate\n"
ROWS = "1,0.1,2.5,0.001,1.25,1024,0,1,\n2,0.2,inf,0.001,nan,512,1,1,0.5\n3,0.3,2.25,0.001,1.5,512,0,2,0.33\n"


def main():
    script = pathlib.Path(sys.argv[2]) / "scripts/plot-history"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def plot(*arguments, python=None):
            line = [*(python or ["/usr/bin/python3"]), script, *arguments]
            return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120)

        def write(text):
            (folder / "run").mkdir(exist_ok=True)
            (folder / "run/history.csv").write_text(text, encoding="utf-8")

        def refuse(message, *arguments, code=2, **options):
            result = plot(*arguments, **options)
            assert result.returncode == code, result
            assert result.stderr.startswith(f"plot-history: {message}") and result.stderr.count("\n") == 1, result.stderr

        refuse("run: there is no such folder", "run", "out.svg")
        (folder / "run").mkdir()
        refuse("run/history.csv: there is no such file", "run", "out.svg")
        for text, message in (("", "run/history.csv: is no history of a run: it has no column step, "),
                              ("step,loss\n1,2\n", "run/history.csv: is no history of a run: it has no column lr, "),
                              (HEADER, "run/history.csv: has no step yet"),
                              (HEADER + "1,0.1,", "run/history.csv: has no step yet"),
                              (HEADER + ROWS + "4,0.4,x,0.001,1,512,0,3,\n", "run/history.csv:5: a number is missing"),
                              (HEADER + "4,0.4\n", "run/history.csv:2: a number is missing")):
            write(text)
            refuse(message, "run", "out.svg")
        write(HEADER + ROWS)
        refuse("out.pdf: end its name in .png or .svg", "run", "out.pdf")
        assert plot("run").returncode == 2 and "usage: " in plot("run").stderr
        assert not list(folder.glob("out.*"))
        # Without site packages there is no matplotlib.
        refuse("", "run", "out.svg", python=["/usr/bin/python3", "-S", "-E"])

        if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], capture_output=True).returncode != 0:
            print("matplotlib is not here")
            sys.exit(77)
        write(HEADER + ROWS + "4,0.4,2")  # a run is writing the last row
        for output, start in (("out.svg", b"<?xml"), ("out.png", b"\x89PNG")):
            result = plot("run", output)
            assert result.returncode == 0 and not result.stderr, result
            assert (folder / output).read_bytes().startswith(start), output
        refuse("none/out.svg: cannot be written: ", "run", "none/out.svg", code=1)


main()
