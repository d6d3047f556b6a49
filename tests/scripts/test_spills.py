"""scripts/spills.py finds the kernels that spill in ptxas' own lines, and takes a log without such lines for no answer; and
what ptxas_log.py reads there beside.

usage: test_spills.py REPOSITORY
"""

import pathlib
import subprocess
import sys
import tempfile

# Of nvcc 13.0 (-Xptxas=-v).
LOG = """[1/2] Building CXX object a.o
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4calmPf' for 'sm_90'
ptxas info    : Function properties for _Z4calmPf
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers, 16 bytes smem, 560 bytes cmem[0]
ptxas info    : Compiling entry function '_Z4busyPf' for 'sm_90'
ptxas info    : Function properties for _Z4busyPf
    96 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers
"""


def main():
    script = pathlib.Path(sys.argv[1]) / "scripts/spills.py"
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        for text, most, code, words in ((LOG, 0, 1, "40 bytes  _Z4busyPf"), (LOG, 39, 1, "2 kernels, 1 of them spill"),
                                        (LOG, 40, 0, "0 more than 40 bytes"),
                                        (LOG.replace("busy", "cross_entropy9read_once"), 0, 0, "0 more than 0 bytes"),
                                        ("ninja: no work to do.", 0, 2, "no lines about kernels")):
            log.write_text(text)
            done = subprocess.run([sys.executable, script, log, str(most)], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            if done.returncode != code or words not in done.stdout or "calm" in done.stdout:
                sys.exit(f"FAILED: at most {most}: code {done.returncode}, not {code}\n{done.stdout}")
        log.write_text(LOG)
        sys.path.insert(0, str(script.parent))
        from ptxas_log import Kernel, kernels_of
        found = kernels_of(log)
        if found != {"_Z4calmPf": Kernel(0, 4, 16), "_Z4busyPf": Kernel(40, 255, 0)}:
            sys.exit(f"FAILED: {found}")


if __name__ == "__main__":
    main()
