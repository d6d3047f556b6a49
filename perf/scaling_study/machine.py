"""The machine of a study."""
import hashlib
import os
import pathlib
import platform
import subprocess

from .table import Trouble


def output_of(*command):
    """The output of a command, "" if it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def processor():
    """The processor's name from lscpu."""
    for line in output_of("lscpu").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "Model name":
            return value.strip()
    return platform.machine()


def cores():
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def commit(folder):
    return output_of("git", "-C", str(folder), "rev-parse", "--short", "HEAD").strip()


def sha256(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise Trouble(f"{path}: the deck cannot be read: {error.strerror}") from None
