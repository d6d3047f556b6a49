"""Which shared libraries a program names, and which of them it calls: by readelf and ldd."""
import re
import subprocess


def output(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def named(program):
    """The libraries that the program itself asks for."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", "--wide", program))


def loaded(program):
    """Name -> path of all that the loader brings, for those too."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", program), re.M))


def symbols(file, *, defined):
    """Names without versions of what the file defines for others, or wants from them."""
    found = set()
    for line in output("readelf", "--dyn-syms", "--wide", file).splitlines():
        words = line.split()
        if len(words) >= 8 and words[4] in ("GLOBAL", "WEAK", "UNIQUE") and (words[6] != "UND") == defined:
            found.add(words[7].partition("@")[0])
    return found


def not_called(program):
    """The libraries that the program names without calling them."""
    wanted, paths = symbols(program, defined=False), loaded(program)
    return [name for name in named(program) if name in paths and not wanted & symbols(paths[name], defined=True)]
