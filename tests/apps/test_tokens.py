"""Token files as a user makes them, and what is said of bad input."""
import os

import h5py
import numpy

from small_problem import DECK
from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text

GPT = deck_text(run=dict(name="gpt", steps=2), data=dict(train="ours.h5", batch=2),
                model=dict(type="gpt", layers=1, heads=1, width=8, context=4))


def llmc_header(magic, version, tokens):
    header = numpy.zeros(256, "<i4")
    header[:3] = magic, version, tokens
    return header.tobytes()


def check_text(command, repository):
    text = f"{repository}/inputs/data/tinyshakespeare.txt"
    said = command.must("prepare", "text", text, "--out", "characters.h5").stdout
    assert said == "characters.h5: 1115394 tokens (uint8), a vocabulary of 65 characters\n", said
    said = command.must("prepare", "text", text, "--level", "bytes", "--out", "bytes.h5").stdout
    assert said == "bytes.h5: 1115394 tokens (uint8), a vocabulary of 256 bytes\n", said
    command.must("prepare", "text", text, "--out", "new/folders/characters.h5")
    made = command.folder / "new/folders/characters.h5"
    assert made.read_bytes() == (command.folder / "characters.h5").read_bytes()
    with open(text, "rb") as file, h5py.File(command.folder / "bytes.h5") as tokens:
        assert tokens["tokens"][:].tobytes() == file.read()


def check_streams(command):
    tokens = numpy.arange(1000) * 50
    (command.folder / "plain.bin").write_bytes(tokens.astype("<u2").tobytes())
    (command.folder / "llama.bin").write_bytes(llmc_header(20240801, 7, 1000) + tokens.astype("<u4").tobytes())
    for name, stored in (("plain", "uint16"), ("llama", "uint32")):
        said = command.must("prepare", "tokens", f"{name}.bin", "--vocabulary", 50257, "--out", "t.h5").stdout
        assert said == f"t.h5: 1000 tokens ({stored}), a vocabulary of 50257 tokens\n", said
        with h5py.File(command.folder / "t.h5") as file:
            assert (file["tokens"][:] == tokens).all() and file["tokens"].dtype == stored


def refuse(command, arguments, message):
    """Also leaves no file."""
    command.must_say_once(message, *arguments)
    assert not list(command.folder.glob("no.h5*")), f"{arguments} wrote something"


def check_bad_input(command):
    (command.folder / "latin1.txt").write_bytes("na\u00efve".encode("latin-1"))
    (command.folder / "empty.txt").write_bytes(b"")
    (command.folder / "cut.bin").write_bytes(llmc_header(20240520, 1, 9) + bytes(16))
    (command.folder / "cut-header.bin").write_bytes(llmc_header(20240520, 1, 9)[:512])
    out = ["--out", "no.h5"]
    refuse(command, ["prepare", "text", "latin1.txt", *out], r"latin1\.txt: byte 0xef .* offset 2 .*--level bytes.* \[bad-encoding\]\n")
    refuse(command, ["prepare", "text", "empty.txt", *out], r"empty\.txt: .* \[too-little-data\]\n")
    refuse(command, ["prepare", "text", "latin1.txt", "--level", "words", *out], r"characters.*bytes")
    refuse(command, ["prepare", "tokens", "plain.bin", "--vocabulary", 1000, *out],
           r"plain\.bin: token 20 \(counted from 0, at byte 40\) is 1000, expected 0 to 999 \[unknown-token\]\n")
    refuse(command, ["prepare", "tokens", "cut.bin", *out], r"cut\.bin: its header states 9 tokens .* 1042 bytes.* \[truncated\]\n")
    refuse(command, ["prepare", "tokens", "cut-header.bin", *out], r"cut-header\.bin: .* header of 1024 bytes.* \[truncated\]\n")
    command.write("deck.toml", DECK)
    refuse(command, ["train", "deck.toml", "data.train=t.h5", "data.test=t.h5"],
           r't\.h5 holds tokens, .* "mlp" .* \[data-mismatch\]\n')
    write_data(command.folder / "other.h5", format="mylos-checkpoint")
    refuse(command, ["train", "deck.toml", "data.train=other.h5"], r"other\.h5: is a mylos-checkpoint file, .* \[wrong-format\]\n")


def check_outputs_that_are_no_new_file(command):
    command.write("same.txt", "to be or not to be")
    refuse(command, ["prepare", "text", "same.txt", "--out", "same.txt"], r"same\.txt: .* \[arguments-conflict\]$")
    assert command.text("same.txt") == "to be or not to be"
    command.write("words.tmp", "or not")
    refuse(command, ["prepare", "text", "words.tmp", "--out", "words"],
           r"words\.tmp: .* words .* \[arguments-conflict\]$")
    assert command.text("words.tmp") == "or not" and not (command.folder / "words").exists()
    refuse(command, ["prepare", "text", "same.txt", "--out", "no/"], r"no/: .* \[not-a-file\]$")
    assert not (command.folder / "no").exists()
    os.mkfifo(command.folder / "pipe")
    refuse(command, ["prepare", "text", "same.txt", "--out", "pipe"], r"pipe: .* \[not-a-file\]$")
    refuse(command, ["prepare", "text", "same.txt", "--out", ""], r"--out: is empty")


def check_judging_by_other_data(command):
    """A checkpoint knows its characters: no other text's numbers are taken for them."""
    for name, text in {"ours": "abcdefgh", "others": "stuvwxyz", "fewer": "abc"}.items():
        command.write(f"{name}.txt", text * 40)
        command.must("prepare", "text", f"{name}.txt", "--out", f"{name}.h5")
    command.write("gpt.toml", GPT)
    command.must("train", "gpt.toml")
    refuse(command, ["train", "gpt.toml", "--restart", "latest", "data.window=sequential"],
           r"data\.window was \"random\".*\"sequential\".* \[restart-mismatch\]")
    assert "perplexity" in command.must("eval", "runs/gpt", "--data", "ours.h5").stdout
    refuse(command, ["eval", "runs/gpt", "--data", "others.h5"], r"others\.h5: has 8 characters, .* that are others")
    refuse(command, ["eval", "runs/gpt", "--data", "fewer.h5"], r"fewer\.h5: has 3 characters, but .* on 8 characters")
    # A text that lacks some of the characters is judged with the numbers that the training text has for them.
    said = command.must("prepare", "text", "fewer.txt", "--vocabulary", "ours.h5", "--out", "fewer.h5").stdout
    assert said == "fewer.h5: 120 tokens (uint8), a vocabulary of 8 characters\n", said
    assert "perplexity" in command.must("eval", "runs/gpt", "--data", "fewer.h5").stdout
    refuse(command, ["prepare", "text", "others.txt", "--vocabulary", "ours.h5", "--out", "no.h5"],
           r"others\.txt:1: character 's' \(U\+0073\) at byte offset 0 \(counted from 0\) is not one of the 8 of ours\.h5 \[unknown-token\]\n")
    refuse(command, ["prepare", "text", "ours.txt", "--vocabulary", "", "--out", "no.h5"], r"--vocabulary: is empty")
    refuse(command, ["prepare", "text", "ours.txt", "--vocabulary", "ours.h5", "--out", "ours.h5"], r"ours\.h5: .* \[arguments-conflict\]$")
    refuse(command, ["plan", "gpt.toml", "data.train=none.h5", "model.vocabulary=8", "data.batch=2147483647"],
           r"more than 2147483647 rows")


run_cases(check_text, check_streams, check_bad_input, check_outputs_that_are_no_new_file, check_judging_by_other_data,
          arguments=["repository"])
