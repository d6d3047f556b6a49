#include "mylos/base/errors/error_table.hpp"

#include <fmt/format.h>

#include <array>

namespace mylos {
namespace {

constexpr std::array of_command_line{
    ErrorEntry{ErrorId::unknown_command, "unknown-command",
               "The first word of the command line is no command of `mylos`.",
               "The message names the most similar command; `mylos --help` lists all."},
    ErrorEntry{ErrorId::unknown_option, "unknown-option", "The command has no such option.",
               "The message names the most similar option; `mylos COMMAND --help` lists all."},
    ErrorEntry{ErrorId::missing_argument, "missing-argument",
               "The command needs an argument or a command that is not given.",
               "Give it; `mylos COMMAND --help` shows the order."},
    ErrorEntry{ErrorId::extra_argument, "extra-argument",
               "The command line has more arguments than the command takes.",
               "Remove it, or quote a name that has blanks."},
    ErrorEntry{ErrorId::bad_argument, "bad-argument",
               "The value of an argument, option or environment variable is not of the form or in the range "
               "that the message states.",
               "Give a value of that form."},
    ErrorEntry{ErrorId::arguments_conflict, "arguments-conflict",
               "Two arguments exclude each other, or one needs another that is missing; or an option does "
               "not apply to the kind of the file or to a key of the deck.",
               "Leave one out, or add the other, as the message says."},
    ErrorEntry{ErrorId::wrong_rank_count, "wrong-rank-count",
               "The command runs on one rank, or on several, and was started otherwise; or the number of "
               "ranks does not divide the work, or exceeds it.",
               "Start it with the number of ranks that the message states."},
    ErrorEntry{ErrorId::ranks_disagree, "ranks-disagree",
               "The ranks were started with different command lines, decks, programs, folders or data.",
               "Start all ranks alike: the same program, files and environment on every node."},
};

constexpr std::array of_deck{
    ErrorEntry{ErrorId::deck_syntax, "deck-syntax", "The deck is not TOML or not UTF-8 text.",
               "Correct the line; text needs quotes."},
    ErrorEntry{ErrorId::deck_size, "deck-size", "The deck is empty, too large or nested too deeply.",
               "Name the right file: a deck is a text file of a few lines."},
    ErrorEntry{ErrorId::unknown_key, "unknown-key", "The section, or the table of a list, has no such key.",
               "The message names the most similar key; [deck.md](deck.md) lists all."},
    ErrorEntry{ErrorId::unknown_section, "unknown-section", "A deck has no such section.",
               "The message names the most similar section; [deck.md](deck.md) lists all."},
    ErrorEntry{ErrorId::duplicate_key, "duplicate-key", "A key or a name is given twice.",
               "Remove one of the two; the message has the line of the first."},
    ErrorEntry{ErrorId::missing_key, "missing-key", "A key that this deck needs is not given.",
               "Add it; the message says where."},
    ErrorEntry{ErrorId::bad_value, "bad-value", "A key's value has the wrong type or is outside its limits.",
               "Give a value of the kind that the message states."},
    ErrorEntry{ErrorId::keys_conflict, "keys-conflict", "Two keys, each of them valid, cannot be combined.",
               "Change one of the two; the message says which combinations are possible."},
    ErrorEntry{ErrorId::key_without_effect, "key-without-effect",
               "The key has no effect with the other keys of this deck, with its data, or in a program that "
               "provides the samples.",
               "Leave it out, or set the key that makes it effective."},
    ErrorEntry{ErrorId::unknown_name, "unknown-name",
               "A name or pattern in the deck or on the command line matches nothing: no layer, parameter, "
               "tensor or metric.",
               "Use one of the names that the message lists; `mylos plan DECK` shows those of the layers."},
    ErrorEntry{
        ErrorId::bad_layer, "bad-layer",
        "A layer cannot take its input, the network does not fit the samples (channels, grid or sizes do "
        "not agree), or it has no weights.",
        "Change the layer that the message names, or the one before it."},
};

constexpr std::array of_files{
    ErrorEntry{ErrorId::no_such_file, "no-such-file", "There is no file of this name.",
               "Check the name; relative names start at the current folder, which the message shows."},
    ErrorEntry{ErrorId::no_such_folder, "no-such-folder", "There is no folder of this name.",
               "Check the name, or make the folder."},
    ErrorEntry{
        ErrorId::not_a_file, "not-a-file",
        "The name is that of a folder, a pipe or a device, or, in the folder of a run or a sweep, of a link, "
        "where a regular file is needed.",
        "Name a regular file; remove the link or pipe."},
    ErrorEntry{ErrorId::not_a_folder, "not-a-folder", "The name is that of a file, where a folder is needed.",
               "Name a folder."},
    ErrorEntry{ErrorId::cannot_read, "cannot-read",
               "The file or folder cannot be opened or read: permissions, or an error of the file system.",
               "See the system's reason in the message; check permissions and the disk."},
    ErrorEntry{
        ErrorId::cannot_write, "cannot-write",
        "The file or folder cannot be made or written: permissions, a full disk, a limit of the system, or "
        "an error of the file system.",
        "See the system's reason in the message; free space or name another place. Files that existed "
        "are unchanged."},
    ErrorEntry{
        ErrorId::already_exists, "already-exists",
        "A file of this name exists and would be replaced; of some commands only if it is of another kind "
        "than what they write.",
        "Remove it, or name another file."},
    ErrorEntry{
        ErrorId::wrong_format, "wrong-format",
        "The file or folder is of another kind than the command reads.",
        "Name a file of that kind; `mylos prepare` and `mylos convert` make files of other kinds readable."},
    ErrorEntry{
        ErrorId::unknown_version, "unknown-version",
        "The file was written in another version of its format than this program reads, or a program was "
        "compiled with another version of the C interface than it loads.",
        "Use a newer Mylos, or the one that wrote the file; compile the program again."},
    ErrorEntry{ErrorId::damaged, "damaged",
               "The contents differ from the checksum or digest that was written with them, or contradict "
               "themselves.",
               "Get the file again, or use an older checkpoint; `mylos prepare stamp FILE` accepts data that "
               "were changed on purpose."},
    ErrorEntry{ErrorId::truncated, "truncated", "The file ends before its contents do.",
               "Get the file again: a copy or download was cut short."},
    ErrorEntry{ErrorId::file_changed, "file-changed",
               "The file was changed while it was read, or since a digest of it was stored.",
               "Leave files of a run unchanged; prepare changed data anew."},
    ErrorEntry{
        ErrorId::missing_dataset, "missing-dataset",
        "The file lacks a dataset, tensor, group or attribute that is needed.",
        "The message names it; `mylos prepare` writes complete files, and `mylos export --input-statistics` "
        "or `mylos calibrate` what a program asks of a model."},
    ErrorEntry{ErrorId::bad_dataset, "bad-dataset",
               "A dataset, tensor or attribute has another type, shape or value than is needed, or excludes "
               "another.",
               "Write it as the message states."},
    ErrorEntry{
        ErrorId::unsupported_feature, "unsupported-feature",
        "The file uses a feature of its format that Mylos does not read: a filter, an external file, a type.",
        "Write the file without it, for example with `h5repack`."},
    ErrorEntry{ErrorId::too_large, "too-large", "The contents, or a size that is stated, are beyond a limit.",
               "See the limit in the message."},
};

constexpr std::array of_data{
    ErrorEntry{ErrorId::bad_row, "bad-row",
               "A row of a table is not like the others, or a cell is not a number.",
               "Correct the line that the message names, or give the option that it proposes."},
    ErrorEntry{ErrorId::bad_label, "bad-label", "A label is not a number in the range of the classes.",
               "Correct the labels, or the number of classes."},
    ErrorEntry{ErrorId::bad_image, "bad-image",
               "An image cannot be decoded, or its size or channels differ from the others'.",
               "Correct or remove the file that the message names."},
    ErrorEntry{ErrorId::bad_encoding, "bad-encoding", "A text is not UTF-8.",
               "Convert it: `iconv -f LATIN1 -t UTF-8`."},
    ErrorEntry{
        ErrorId::bad_names, "bad-names",
        "Names of columns, classes or targets are missing, too many, repeated or different from those of "
        "the other file.",
        "Give each its own name, the same in all files."},
    ErrorEntry{ErrorId::not_finite, "not-finite",
               "A number is NaN or infinite, or too large for the type that holds it.",
               "Mend the value that the message names, or the network that computed it."},
    ErrorEntry{ErrorId::unknown_column, "unknown-column", "The table has no such column.",
               "Name one of the columns that the message lists."},
    ErrorEntry{ErrorId::unknown_token, "unknown-token", "A character or token is not in the vocabulary.",
               "Correct the data, or use the vocabulary that the network was trained with."},
    ErrorEntry{ErrorId::data_mismatch, "data-mismatch",
               "A file of data does not fit the deck, the network or another file: features, targets, "
               "classes or grid differ.",
               "Change the deck as the message says, or prepare both files in the same way."},
    ErrorEntry{ErrorId::too_little_data, "too-little-data",
               "There are no samples, or fewer than the batch, the context, the ranks, the split or a "
               "normalisation layer need.",
               "Add samples, or change what the message names: `data.batch`, `data.micro_batch`, "
               "`model.context`, the number of ranks or "
               "`data.validation`."},
};

constexpr std::array of_runs{
    ErrorEntry{ErrorId::no_checkpoint, "no-checkpoint", "There is no valid checkpoint where one is needed.",
               "Name a checkpoint, or a run's folder that has one; `--restart auto` starts afresh if there "
               "is none."},
    ErrorEntry{ErrorId::folder_has_checkpoints, "folder-has-checkpoints",
               "The run's folder has checkpoints of an earlier run.",
               "Resume it with `--restart latest`, or name another `run.folder`."},
    ErrorEntry{ErrorId::folder_in_use, "folder-in-use", "Another process works in the run's folder.",
               "Wait for its end, or name another `run.folder`."},
    ErrorEntry{ErrorId::weights_only, "weights-only",
               "The checkpoint, or model file, holds weights without the state of an optimizer.",
               "Use a checkpoint of a run. Checkpoints without an optimizer are for `[initial]`, model files "
               "for inference."},
    ErrorEntry{ErrorId::no_average, "no-average", "The file of weights has no moving average of them.",
               "Train with `optimizer.average`, or use the weights themselves."},
    ErrorEntry{ErrorId::restart_mismatch, "restart-mismatch",
               "The deck or the data are not those with which the run began, in something that a restart "
               "cannot change.",
               "Restore what the message names, or begin another run in another folder."},
    ErrorEntry{ErrorId::model_mismatch, "model-mismatch",
               "The weights are those of another network, or networks of an ensemble differ.",
               "Change the model, or select, rename or exclude tensors under `[initial]` "
               "([initial.md](../how-to/initial.md))."},
    ErrorEntry{ErrorId::plan_mismatch, "plan-mismatch",
               "A stored memory plan is that of another network, micro-batch or machine, or is not a plan.",
               "Make a new plan with `mylos plan`."},
    ErrorEntry{ErrorId::not_measured, "not-measured", "The metric or quantity is not measured in this run.",
               "Leave it out, use one that the message names, or switch on its measurement."},
    ErrorEntry{ErrorId::not_reproducible, "not-reproducible",
               "`run.reproducible` cannot be kept with these options or this number of ranks.",
               "Change what the message names, or leave out `run.reproducible`."},
    ErrorEntry{
        ErrorId::replicas_differ, "replicas-differ",
        "Ranks that must hold the same weights hold different ones: a fault of memory or of a processor, "
        "or different programs on the ranks.",
        "Check the nodes of the ranks that the message names; resume with `--restart latest`."},
    ErrorEntry{ErrorId::diverged, "diverged",
               "The loss or the gradients are no longer finite, or the loss scale reached its minimum.",
               "Lower the learning rate, or compute in bf16 or fp32; [health.md](../explanation/health.md) "
               "shows how to "
               "find the layer."},
    ErrorEntry{ErrorId::stopped, "stopped",
               "The command was asked to stop before its end; a run has saved its state.",
               "Submit a run again with `--restart auto`; start other commands again."},
};

constexpr std::array of_memory{
    ErrorEntry{
        ErrorId::does_not_fit, "does-not-fit",
        "The run or command needs more memory than its budget or the machine has, also with recomputation.",
        "Use what the message proposes: a smaller `data.micro_batch`, sharding, more ranks or a "
        "larger `memory.budget`."},
    ErrorEntry{ErrorId::out_of_memory, "out-of-memory", "The system gave no more memory.",
               "Use a smaller `data.micro_batch` or more ranks; state the true `memory.budget`."},
};

constexpr std::array of_machine{
    ErrorEntry{ErrorId::no_device, "no-device", "This build is for devices, and the node shows none.",
               "Start it on a node with a device, or use a build for hosts."},
    ErrorEntry{ErrorId::device_too_old, "device-too-old",
               "The device is of an older architecture than the build, or of another one (AMD).",
               "Build for its architecture ([install.md](../how-to/install.md)), if the CUDA toolkit still "
               "compiles for it."},
    ErrorEntry{ErrorId::device_shared, "device-shared",
               "Several ranks share a device or a GPU (MIG) and cannot exchange over NCCL.",
               "Start one rank per device, or use `communication.backend = \"mpi\"`."},
    ErrorEntry{ErrorId::device_failed, "device-failed", "A call of the device's runtime failed.",
               "See the runtime's reason in the message; check the device with `scripts/gpu-check`."},
    ErrorEntry{ErrorId::not_in_build, "not-in-build", "The program was built without the library or feature.",
               "Choose one that it has, or build with it ([install.md](../how-to/install.md))."},
    ErrorEntry{ErrorId::no_instructions, "no-instructions",
               "The processor, the build or oneDNN lacks instructions that the deck or the build asks for.",
               "Choose instructions that all nodes have, or what the message proposes, or build for this "
               "processor."},
    ErrorEntry{ErrorId::library_failed, "library-failed",
               "A library (HDF5, oneDNN, cuBLASLt, cuDNN) failed or has no routine for this case.",
               "See the library's reason in the message; another `kernels.gemm` may avoid it."},
    ErrorEntry{ErrorId::communication_failed, "communication-failed",
               "An exchange between ranks failed: MPI or NCCL reported an error, a rank did not answer, or a "
               "sum is wrong.",
               "Look for the first rank that failed; check the network and the launcher."},
    ErrorEntry{ErrorId::system_failed, "system-failed", "A call of the operating system failed.",
               "See the system's reason in the message: limits of processes, files or memory."},
};

constexpr std::array of_library{
    ErrorEntry{ErrorId::bad_call, "bad-call",
               "A program called the library with arguments or in an order that it does not allow.",
               "Correct the call; the header documents what is allowed."},
    ErrorEntry{ErrorId::internal, "internal",
               "A check inside Mylos failed, or numbers that must agree do not.",
               "Please report it, with the deck and the message."},
};

constexpr std::array topics{
    ErrorTopic{"The command line", of_command_line},
    ErrorTopic{"The deck", of_deck},
    ErrorTopic{"Files and folders", of_files},
    ErrorTopic{"Data", of_data},
    ErrorTopic{"Runs and checkpoints", of_runs},
    ErrorTopic{"Memory", of_memory},
    ErrorTopic{"The machine and the build", of_machine},
    ErrorTopic{"The library, and errors of Mylos itself", of_library},
};

}  // namespace

std::span<const ErrorTopic> error_topics() {
  return topics;
}

std::string error_manual() {
  std::string page =
      "# Errors\n\n"
      "With this page you find the cause and the cure of an error by its name.\n\n"
      "Every refusal ends with the name of its cause in brackets. The message says what is wrong and where; "
      "this page\n"
      "explains each cause and its cure. Names stay the same between versions, the messages may change: "
      "scripts should\n"
      "compare the exit code and the name.\n";
  for (const ErrorTopic& topic : topics) {
    page += fmt::format("\n## {}\n\n| name | cause | cure |\n|---|---|---|\n", topic.title);
    for (const ErrorEntry& entry : topic.entries)
      page += fmt::format("| `{}` | {} | {} |\n", entry.name, entry.cause, entry.cure);
  }
  page +=
      "\nThis page is the output of `mylos manual --errors`, generated from "
      "`src/mylos/base/errors/error_table.cpp`.\n";
  return page;
}

}  // namespace mylos
