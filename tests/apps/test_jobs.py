"""scripts/resubmit and the templates in scripts/jobs: what starts again, what does not, and how a chain is ended.

usage: test_jobs.py MYLOS SOURCES
Launchers and batch systems are stubs, found before the machine's own; a queue starts what they were given to submit.
Most starts are of a stand-in for mylos that does what its line of the file `starts` says.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from small_problem import DECK, prepare
from support.command import Command, environment
from support.processes import HANGS_AFTER_S, wait_until
from support.run_folders import last_checkpoint

STOPPED = 85
LONG = DECK.replace("epochs = 3\nlog_every = 4", "epochs = 1000000\nlog_every = 100\nevaluate_every = 1000000")
LONG = LONG.replace("every = 9", "every = 0")

# Without their own options: the command begins at mylos.
LAUNCH = 'echo $$ >"$QUEUE.launched"\necho "${0##*/} $* with $OMP_NUM_THREADS" >"$QUEUE.line"\nwhile [ "$1" != mylos ]; do shift; done\nexec "$@"\n'
SUBMIT = 'printf "%s\\n" "$*" >>"$QUEUE"\n'
STUBS = {
    "srun": LAUNCH,
    "mpirun": LAUNCH,
    "sbatch": SUBMIT,
    "qsub": SUBMIT,
    "flux": f'if [ "$1" = run ]; then\n{LAUNCH}fi\n{SUBMIT}',
}
# A start: `OPENED STEP END`. It opens the folder or not, writes the checkpoint of STEP or none (-), and ends so.
STAND_IN = """
read -r opened step end <starts && sed -i 1d starts
folder=run
[ "$opened" = no ] || { mkdir -p $folder/checkpoints; rm -f $folder/requeue; }
[ "$step" = - ] || echo "step-$step.h5" >$folder/checkpoints/latest
case $end in
  stop) touch $folder/requeue; exit 85 ;;
  lost) touch $folder/requeue; exit 0 ;;  # a launcher that loses the code
  kill) kill -KILL $$ ;;
  *) exit "$end" ;;
esac
"""

#        starts that are there                                         started  code
CHAINS = {
    "a typo after a stop":         (["yes 10 stop", "no - 2"] + 9 * ["no - 2"], 2, 2),
    "a start that cannot begin":   (["yes 10 stop"] + 9 * ["no - 1"], 2, 1),
    "crashes that get further":    (["yes 10 kill", "yes 20 kill", "yes 30 0"], 3, 0),
    "a crash on the spot":         (["yes 10 kill"] + 9 * ["yes - kill"], 2, 137),
    "a crash before anything":     (9 * ["yes - kill"], 1, 137),
    "divergence":                  (9 * ["yes 10 4"], 1, 4),
    "no room":                     (9 * ["no - 3"], 1, 3),
    "stops that get no further":   (["yes 10 stop"] + 9 * ["yes - stop"], 2, 85),
    "a code that got lost":        (["yes 10 lost", "yes 20 lost", "yes 30 0"], 3, 0),
    "lost, and no further":        (9 * ["yes - lost"], 1, 85),
}


def write_program(path, text):
    path.write_text("#!/usr/bin/env bash\n" + text, encoding="utf-8")
    path.chmod(0o755)


class Site:
    """A folder with stubs, a queue, and the template of one batch system."""

    def __init__(self, folder, sources, mylos=None):
        self.folder, self.sources = pathlib.Path(folder), pathlib.Path(sources)
        self.programs = self.folder / "programs"
        self.programs.mkdir(parents=True)
        for name, text in STUBS.items():
            write_program(self.programs / name, text)
        write_program(self.programs / "mylos", f'exec "{mylos}" "$@"\n' if mylos else STAND_IN)
        self.queue = self.folder / "queue"
        self.environment = environment() | {
            "PATH": f"{self.programs}:{os.environ['PATH']}", "QUEUE": str(self.queue), "SLURM_CPUS_PER_TASK": "1",
            "PBS_O_WORKDIR": str(self.folder), "DECK": "deck.toml", "FOLDER": "run"}

    def line(self, system):
        """The job as its batch system starts it: a copy of the script, under another name."""
        if system == "resubmit":
            return [self.sources / "scripts/resubmit", "run", "--", "mylos", "train"]
        script = self.sources / "scripts/jobs" / f"{system}.sh"
        shutil.copy(script, self.folder / f"{system}.sh")  # as a user has it
        spooled = self.folder / "spooled"
        shutil.copy(script, spooled)
        return [spooled] if system == "pbs" else [spooled, "deck.toml", "run"]

    def submissions(self):
        return self.queue.read_text(encoding="utf-8").splitlines() if self.queue.exists() else []

    def start(self, line):
        return subprocess.Popen(line, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def chain(self, system):
        """Runs job after job as they are submitted, eight at most; the last one's code and all the output."""
        output = ""
        for job in range(8):
            with self.start(self.line(system)) as process:
                output += process.communicate(timeout=HANGS_AFTER_S)[0]
            if len(self.submissions()) == job:
                break
        return process.returncode, output


def check_chains(folder, sources):
    for number, (what, (starts, started, code)) in enumerate(CHAINS.items()):
        for system in ("resubmit", "slurm", "pbs", "flux"):
            site = Site(folder / f"{system}-{number}", sources)
            (site.folder / "starts").write_text("\n".join(starts) + "\n", encoding="utf-8")
            returned, output = site.chain(system)
            left = (site.folder / "starts").read_text(encoding="utf-8").splitlines()
            assert len(starts) - len(left) == started, f"{system}, {what}: {len(starts) - len(left)} starts\n{output}"
            assert returned == code, f"{system}, {what}: code {returned}\n{output}"
            assert code == 0 or re.search("not (started|submitted) again: ", output), f"{system}, {what}:\n{output}"
    print(f"{len(CHAINS)} chains by scripts/resubmit and three templates")


def check_file_to_submit(folder, sources):
    """PBS does not tell a job where its script was: it must be found before the training, not after."""
    again = "-v DECK=deck.toml,FOLDER=run,SCRIPT=elsewhere/pbs.sh elsewhere/pbs.sh"
    for script, code, expected in (("nowhere.sh", 2, []), ("elsewhere/pbs.sh", 0, [again])):
        site = Site(folder / script.replace("/", "-"), sources)
        (site.folder / "starts").write_text("yes 10 stop\nyes - stop\n", encoding="utf-8")
        line = site.line("pbs")
        (site.folder / "elsewhere").mkdir()
        (site.folder / "pbs.sh").rename(site.folder / "elsewhere/pbs.sh")
        site.environment["SCRIPT"] = script
        with site.start(line) as process:
            output = process.communicate(timeout=HANGS_AFTER_S)[0]
        assert (process.returncode, site.submissions()) == (code, expected), (site.submissions(), output)


def wait_for_steps(process, run):
    history = run / "history.csv"
    wait_until(lambda: process.poll() is not None or history.exists() and history.stat().st_size > 2000, "no steps")
    assert process.poll() is None, process.communicate()


def written(site):
    steps = (site.folder / "run/history.csv").read_text().splitlines()[-1].split(",")[0]
    return last_checkpoint(site, "run").name == f"step-{int(steps):010d}.h5"


def check_signals(folder, sources, mylos):
    """A job that is asked to stop writes its checkpoint; only one whose time is over has a successor."""
    again = ["--parent batch spooled deck.toml run"]
    cases = [("slurm", signal.SIGUSR1, {"script"}, ["spooled deck.toml run"]),
             ("slurm", signal.SIGTERM, {"script"}, []),
             ("pbs", signal.SIGTERM, {"script"}, []),
             ("flux", signal.SIGUSR1, {"ranks"}, again),
             ("flux", signal.SIGUSR1, {"script", "ranks"}, again),
             ("flux", signal.SIGHUP, {"script"}, [])]
    for number, (system, sent, targets, expected) in enumerate(cases):
        site = Site(folder / f"signal-{number}", sources, mylos)
        shutil.copytree(folder / "data", site.folder, dirs_exist_ok=True)
        with site.start(site.line(system)) as process:
            wait_for_steps(process, site.folder / "run")
            if "script" in targets:
                os.kill(process.pid, sent)
            if "ranks" in targets:
                os.kill(int(pathlib.Path(f"{site.queue}.launched").read_text(encoding="utf-8")), sent)
            output = process.communicate(timeout=HANGS_AFTER_S)[0]
        what = f"{system}, {sent.name}: code {process.returncode}\n{output[-2000:]}"
        assert written(site) and (site.folder / "run/requeue").exists(), what
        submissions = [line.replace(f"{site.folder}/", "") for line in site.submissions()]
        assert submissions == expected, (submissions, what)
        assert process.returncode == (0 if expected else STOPPED), what
    print(f"{len(cases)} signals to the jobs")


def check_end_of_loop(folder, sources, mylos):
    """Ctrl-C and SIGTERM end scripts/resubmit with the run's checkpoint, by way of the real mpirun too."""
    mpirun = shutil.which("mpirun")
    assert mpirun, "mpirun is not to be found"
    launcher = [mpirun, "--quiet", "--oversubscribe", "--bind-to", "none", "-n", "2", mylos]
    for name, command, sent in (("mylos", [mylos], signal.SIGTERM), ("mpirun", launcher, signal.SIGINT)):
        site = Site(folder / f"loop-{name}", sources, mylos)
        shutil.copytree(folder / "data", site.folder, dirs_exist_ok=True)
        line = [pathlib.Path(sources) / "scripts/resubmit", "run", "--", *command, "train", "deck.toml",
                "run.folder=run", "--restart", "auto"]
        with site.start(line) as process:
            wait_for_steps(process, site.folder / "run")
            os.killpg(process.pid, sent)  # as the terminal does it
            try:
                output = process.communicate(timeout=HANGS_AFTER_S)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        what = f"{name}, {sent.name}: code {process.returncode}\n{output[-2000:]}"
        assert process.returncode == STOPPED, what
        assert "; again" not in output, what
        assert written(site) and not (site.folder / "run/stop").exists(), what
    print("Ctrl-C and SIGTERM end scripts/resubmit with a checkpoint")


def check_templates_agree(sources):
    """The lines that are to be the same in all of them."""
    found = set()
    for name in ("resubmit", "jobs/slurm.sh", "jobs/pbs.sh", "jobs/flux.sh"):
        text = (pathlib.Path(sources) / "scripts" / name).read_text(encoding="utf-8")
        found.add(re.search(r"\n# The lines up to the next empty one.*?\n\n", text, re.S).group())
    assert len(found) == 1, "scripts/resubmit and scripts/jobs/*.sh decide by different lines"


def check_lines_of_templates(folder, sources):
    """What the system gives a rank is what its launcher and its threads take; time is left for the last checkpoint."""
    launched = {
        "slurm": "srun --cpus-per-task=8 --cpu-bind=cores --kill-on-bad-exit=1 mylos train deck.toml run.folder=run --restart "
                 "auto with 8",
        "flux": "flux run --ntasks=4 --cores-per-task=8 -o cpu-affinity=per-task mylos train deck.toml run.folder=run "
                "--restart auto with 8",
        "pbs": "mpirun --bind-to none mylos train deck.toml run.folder=run --restart auto --walltime 03:55:00 with 8"}
    asked = {"slurm": ("#SBATCH --ntasks-per-node=4", "#SBATCH --cpus-per-task=8", "#SBATCH --signal=B:USR1@300"),
             "flux": ("#flux: --nslots=4", "#flux: --cores-per-slot=8", "#flux: --signal=SIGUSR1@5m"),
             "pbs": ("#PBS -l select=1:ncpus=32:mpiprocs=4:ompthreads=8", "#PBS -l walltime=04:00:00")}
    given = {"slurm": {"SLURM_CPUS_PER_TASK": "8"}, "pbs": {"OMP_NUM_THREADS": "8"}, "flux": {}}  # by the systems
    for script in [*(pathlib.Path(sources) / "scripts/jobs").glob("*.sh"), pathlib.Path(sources) / "scripts/resubmit"]:
        subprocess.run(["bash", "-n", script], check=True)
    for system, line in launched.items():
        text = (pathlib.Path(sources) / "scripts/jobs" / f"{system}.sh").read_text(encoding="utf-8").splitlines()
        assert all(directive in text for directive in asked[system]), f"{system}: not all of {asked[system]}"
        site = Site(folder / system, sources)
        (site.folder / "starts").write_text("yes 10 0\n", encoding="utf-8")
        site.environment.update(given[system])
        with site.start(site.line(system)) as process:
            output = process.communicate(timeout=HANGS_AFTER_S)[0]
        found = pathlib.Path(f"{site.queue}.line").read_text(encoding="utf-8").strip()
        assert found == line, f"{system} starts\n{found}\nand not\n{line}\n{output}"


def check_demo_folder(folder, sources):
    """A relative FOLDER of scripts/demo is the caller's: seen at the first step that fails."""
    root = folder / "root"
    (root / "scripts").mkdir(parents=True)
    for name in ("demo", "progress.sh"):
        shutil.copy(pathlib.Path(sources) / "scripts" / name, root / "scripts" / name)
    write_program(root / "scripts/setup", "exit 0\n")
    (folder / "programs").mkdir(parents=True)
    write_program(folder / "programs/cmake", "exit 1\n")
    caller = folder / "caller"
    (caller / "mine").mkdir(parents=True)
    settings = environment() | {"PATH": f"{folder}/programs:{os.environ['PATH']}"}
    for name, words in (("new", "FAILED: configure"), ("mine", "was not made by scripts/demo")):
        result = subprocess.run([root / "scripts/demo", name], cwd=caller, env=settings, capture_output=True, text=True,
                                timeout=HANGS_AFTER_S)
        assert result.returncode == 1 and words in result.stdout, result.stdout + result.stderr
        assert not (root / name).exists(), f"{name} was made in the sources"
    assert (caller / "new/demo.log").exists() and not list((caller / "mine").iterdir())


def main():
    mylos, sources = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_templates_agree(sources)
        check_lines_of_templates(folder / "lines", sources)
        check_chains(folder, sources)
        check_file_to_submit(folder / "pbs", sources)
        (folder / "data").mkdir()
        prepare(Command(mylos, folder / "data"), LONG)
        check_signals(folder, sources, mylos)
        check_end_of_loop(folder, sources, mylos)
        check_demo_folder(folder / "demo", sources)


main()
