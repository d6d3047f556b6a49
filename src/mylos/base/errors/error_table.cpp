#include "mylos/base/errors/error_table.hpp"

#include <fmt/format.h>

#include <array>

#include "mylos/base/error_ids.hpp"

namespace mylos {
namespace {

constexpr std::array of_command_line{
    ErrorEntry{errors::unknown_command, "The first word of the command line is no command of `mylos`.",
               "The message names the most similar command; `mylos --help` lists all."},
    ErrorEntry{errors::unknown_option, "The command has no such option.",
               "The message names the most similar option; `mylos COMMAND --help` lists all."},
    ErrorEntry{errors::missing_argument, "The command needs an argument or a command that is not given.",
               "Give it; `mylos COMMAND --help` shows the order."},
    ErrorEntry{errors::extra_argument, "The command line has more arguments than the command takes.",
               "Remove it, or quote a name that has blanks."},
    ErrorEntry{errors::bad_argument,
               "The value of an argument, option or environment variable is not of the form or in the range "
               "that the message states.",
               "Give a value of that form."},
    ErrorEntry{errors::arguments_conflict,
               "Two arguments exclude each other, or one needs another that is missing; or an option does "
               "not apply to the kind of the file or to a key of the deck.",
               "Leave one out, or add the other, as the message says."},
    ErrorEntry{errors::wrong_rank_count,
               "The command runs on one rank, or on several, and was started otherwise; or the number of "
               "ranks does not divide the work, or exceeds it.",
               "Start it with the number of ranks that the message states."},
    ErrorEntry{errors::ranks_disagree,
               "The ranks were started with different command lines, decks, programs, folders or data.",
               "Start all ranks alike: the same program, files and environment on every node."},
};

constexpr std::array of_deck{
    ErrorEntry{errors::deck_syntax, "The deck is not TOML or not UTF-8 text.",
               "Correct the line; text needs quotes."},
    ErrorEntry{errors::deck_size, "The deck is empty, too large or nested too deeply.",
               "Name the right file: a deck is a text file of a few lines."},
    ErrorEntry{errors::unknown_key, "The section, or the table of a list, has no such key.",
               "The message names the most similar key; [deck.md](deck.md) lists all."},
    ErrorEntry{errors::unknown_section, "A deck has no such section.",
               "The message names the most similar section; [deck.md](deck.md) lists all."},
    ErrorEntry{errors::duplicate_key, "A key or a name is given twice.",
               "Remove one of the two; the message has the line of the first."},
    ErrorEntry{errors::missing_key, "A key that this deck needs is not given.",
               "Add it; the message says where."},
    ErrorEntry{errors::bad_value, "A key's value has the wrong type or is outside its limits.",
               "Give a value of the kind that the message states."},
    ErrorEntry{errors::key_without_effect,
               "The key has no effect with the other keys of this deck, with its data, or in a program that "
               "provides the samples.",
               "Leave it out, or set the key that makes it effective."},
    ErrorEntry{errors::unknown_name,
               "A name or pattern in the deck or on the command line matches nothing: no layer, parameter, "
               "tensor or metric.",
               "Use one of the names that the message lists; `mylos plan DECK` shows those of the layers."},
};

constexpr std::array of_combinations{
    ErrorEntry{errors::keys_conflict, "Two keys, each of them valid, cannot be combined.",
               "Change one of the two; the message says which combinations are possible."},
    ErrorEntry{
        errors::bad_layer,
        "A layer cannot take its input, the network does not fit the samples (channels, grid or sizes do "
        "not agree), or it has no weights.",
        "Change the layer that the message names, or the one before it."},
};

constexpr std::array of_files{
    ErrorEntry{errors::no_such_file, "There is no file of this name.",
               "Check the name; relative names start at the current folder, which the message shows."},
    ErrorEntry{errors::no_such_folder, "There is no folder of this name.",
               "Check the name, or make the folder."},
    ErrorEntry{
        errors::not_a_file,
        "The name is that of a folder, a pipe or a device, or, in the folder of a run or a sweep, of a link, "
        "where a regular file is needed.",
        "Name a regular file; remove the link or pipe."},
    ErrorEntry{errors::not_a_folder, "The name is that of a file, where a folder is needed.",
               "Name a folder."},
    ErrorEntry{errors::cannot_read,
               "The file or folder cannot be opened or read: permissions, or an error of the file system.",
               "See the system's reason in the message; check permissions and the disk."},
    ErrorEntry{
        errors::cannot_write,
        "The file or folder cannot be made or written: permissions, a full disk, a limit of the system, or "
        "an error of the file system.",
        "See the system's reason in the message; free space or name another place. Files that existed "
        "are unchanged."},
    ErrorEntry{
        errors::already_exists,
        "A file of this name exists and would be replaced; of some commands only if it is of another kind "
        "than what they write.",
        "Remove it, or name another file."},
};

constexpr std::array of_contents{
    ErrorEntry{
        errors::wrong_format, "The file or folder is of another kind than the command reads.",
        "Name a file of that kind; `mylos prepare` and `mylos convert` make files of other kinds readable."},
    ErrorEntry{
        errors::unknown_version,
        "The file was written in another version of its format than this program reads, or a program was "
        "compiled with another version of the C interface than it loads.",
        "Use a newer Mylos, or the one that wrote the file; compile the program again."},
    ErrorEntry{errors::damaged,
               "The contents differ from the checksum or digest that was written with them, or contradict "
               "themselves.",
               "Get the file again, or use an older checkpoint; `mylos prepare stamp FILE` accepts data that "
               "were changed on purpose."},
    ErrorEntry{errors::truncated, "The file ends before its contents do.",
               "Get the file again: a copy or download was cut short."},
    ErrorEntry{errors::file_changed,
               "The file was changed while it was read, or since a digest of it was stored.",
               "Leave files of a run unchanged; prepare changed data anew."},
};

constexpr std::array of_datasets{
    ErrorEntry{
        errors::missing_dataset, "The file lacks a dataset, tensor, group or attribute that is needed.",
        "The message names it; `mylos prepare` writes complete files, and `mylos export --input-statistics` "
        "or `mylos calibrate` what a program asks of a model."},
    ErrorEntry{errors::bad_dataset,
               "A dataset, tensor or attribute has another type, shape or value than is needed, or excludes "
               "another.",
               "Write it as the message states."},
    ErrorEntry{
        errors::unsupported_feature,
        "The file uses a feature of its format that Mylos does not read: a filter, an external file, a type.",
        "Write the file without it, for example with `h5repack`."},
    ErrorEntry{errors::too_large, "The contents, or a size that is stated, are beyond a limit.",
               "See the limit in the message."},
};

constexpr std::array of_data{
    ErrorEntry{errors::bad_row, "A row of a table is not like the others, or a cell is not a number.",
               "Correct the line that the message names, or give the option that it proposes."},
    ErrorEntry{errors::bad_label, "A label is not a number in the range of the classes.",
               "Correct the labels, or the number of classes."},
    ErrorEntry{errors::bad_image,
               "An image cannot be decoded, or its size or channels differ from the others'.",
               "Correct or remove the file that the message names."},
    ErrorEntry{errors::bad_encoding, "A text is not UTF-8.", "Convert it: `iconv -f LATIN1 -t UTF-8`."},
    ErrorEntry{
        errors::bad_names,
        "Names of columns, classes or targets are missing, too many, repeated or different from those of "
        "the other file.",
        "Give each its own name, the same in all files."},
    ErrorEntry{errors::not_finite, "A number is NaN or infinite, or too large for the type that holds it.",
               "Mend the value that the message names, or the network that computed it."},
    ErrorEntry{errors::unknown_column, "The table has no such column.",
               "Name one of the columns that the message lists."},
    ErrorEntry{errors::unknown_token, "A character or token is not in the vocabulary.",
               "Correct the data, or use the vocabulary that the network was trained with."},
};

constexpr std::array of_samples{
    ErrorEntry{errors::data_mismatch,
               "A file of data does not fit the deck, the network or another file: features, targets, "
               "classes or grid differ.",
               "Change the deck as the message says, or prepare both files in the same way."},
    ErrorEntry{errors::too_little_data,
               "There are no samples, or fewer than the batch, the context, the ranks, the split or a "
               "normalisation layer need.",
               "Add samples, or change what the message names: `data.batch`, `data.micro_batch`, "
               "`model.context`, the number of ranks or "
               "`data.validation`."},
};

constexpr std::array of_runs{
    ErrorEntry{errors::no_checkpoint, "There is no valid checkpoint where one is needed.",
               "Name a checkpoint, or a run's folder that has one; `--restart auto` starts afresh if there "
               "is none."},
    ErrorEntry{errors::folder_has_checkpoints, "The run's folder has checkpoints of an earlier run.",
               "Resume it with `--restart latest`, or name another `run.folder`."},
    ErrorEntry{errors::folder_in_use, "Another process works in the run's folder.",
               "Wait for its end, or name another `run.folder`."},
    ErrorEntry{errors::weights_only,
               "The checkpoint, or model file, holds weights without the state of an optimizer.",
               "Use a checkpoint of a run. Checkpoints without an optimizer are for `[initial]`, model files "
               "for inference."},
    ErrorEntry{errors::no_average, "The file of weights has no moving average of them.",
               "Train with `optimizer.average`, or use the weights themselves."},
    ErrorEntry{errors::restart_mismatch,
               "The deck or the data are not those with which the run began, in something that a restart "
               "cannot change.",
               "Restore what the message names, or begin another run in another folder."},
    ErrorEntry{errors::model_mismatch,
               "The weights are those of another network, or networks of an ensemble differ.",
               "Change the model, or select, rename or exclude tensors under `[initial]` "
               "([initial.md](../how-to/initial.md))."},
    ErrorEntry{errors::plan_mismatch,
               "A stored memory plan is that of another network, micro-batch or machine, or is not a plan.",
               "Make a new plan with `mylos plan`."},
    ErrorEntry{errors::not_measured, "The metric or quantity is not measured in this run.",
               "Leave it out, use one that the message names, or switch on its measurement."},
    ErrorEntry{errors::not_reproducible,
               "`run.reproducible` cannot be kept with these options or this number of ranks.",
               "Change what the message names, or leave out `run.reproducible`."},
    ErrorEntry{
        errors::replicas_differ,
        "Ranks that must hold the same weights hold different ones: a fault of memory or of a processor, "
        "or different programs on the ranks.",
        "Check the nodes of the ranks that the message names; resume with `--restart latest`."},
    ErrorEntry{errors::diverged,
               "The loss or the gradients are no longer finite, or the loss scale reached its minimum.",
               "Lower the learning rate, or compute in bf16 or fp32; [health.md](../explanation/health.md) "
               "shows how to "
               "find the layer."},
    ErrorEntry{errors::stopped, "The command was asked to stop before its end; a run has saved its state.",
               "Submit a run again with `--restart auto`; start other commands again."},
};

constexpr std::array of_memory{
    ErrorEntry{
        errors::does_not_fit,
        "The run or command needs more memory than its budget or the machine has, also with recomputation.",
        "Use what the message proposes: a smaller `data.micro_batch`, sharding, more ranks or a "
        "larger `memory.budget`."},
    ErrorEntry{errors::out_of_memory, "The system gave no more memory.",
               "Use a smaller `data.micro_batch` or more ranks; state the true `memory.budget`."},
};

constexpr std::array of_machine{
    ErrorEntry{errors::no_device, "This build is for devices, and the node shows none.",
               "Start it on a node with a device, or use a build for hosts."},
    ErrorEntry{errors::device_too_old,
               "The device is of an older architecture than the build, or of another one (AMD).",
               "Build for its architecture ([install.md](../how-to/install.md)), if the CUDA toolkit still "
               "compiles for it."},
    ErrorEntry{errors::device_shared,
               "Several ranks share a device or a GPU (MIG) and cannot exchange over NCCL.",
               "Start one rank per device, or use `communication.backend = \"mpi\"`."},
    ErrorEntry{errors::device_failed, "A call of the device's runtime failed.",
               "See the runtime's reason in the message; check the device with `scripts/gpu-check`."},
    ErrorEntry{errors::not_in_build, "The program was built without the library or feature.",
               "Choose one that it has, or build with it ([install.md](../how-to/install.md))."},
    ErrorEntry{errors::no_instructions,
               "The processor, the build or oneDNN lacks instructions that the deck or the build asks for.",
               "Choose instructions that all nodes have, or what the message proposes, or build for this "
               "processor."},
    ErrorEntry{errors::kokkos_mismatch,
               "The process has two copies of Kokkos, the program's and that of Mylos, or the program was "
               "compiled with another version of Kokkos than Mylos.",
               "Let the program and Mylos use one target Kokkos::kokkos, or a shared Kokkos "
               "([library.md](library.md#one-kokkos)); the C interface has a separate one."},
    ErrorEntry{errors::library_failed,
               "A library (HDF5, oneDNN, cuBLASLt, cuDNN) failed or has no routine for this case.",
               "See the library's reason in the message; another `kernels.gemm` may avoid it."},
    ErrorEntry{errors::communication_failed,
               "An exchange between ranks failed: MPI or NCCL reported an error, a rank did not answer, or a "
               "sum is wrong.",
               "Look for the first rank that failed; check the network and the launcher."},
    ErrorEntry{errors::system_failed, "A call of the operating system failed.",
               "See the system's reason in the message: limits of processes, files or memory."},
};

constexpr std::array of_calls{
    ErrorEntry{errors::bad_call,
               "A program called the library with arguments or in an order that it does not allow.",
               "Correct the call; the header documents what is allowed."},
};

constexpr std::array of_internal{
    ErrorEntry{errors::internal, "A check inside Mylos failed, or numbers that must agree do not.",
               "Please report it, with the deck and the message."},
};

constexpr std::array topics{
    ErrorTopic{"The command line", of_command_line},
    ErrorTopic{"The deck", of_deck},
    ErrorTopic{"Combinations of keys and layers", of_combinations},
    ErrorTopic{"Files and folders", of_files},
    ErrorTopic{"The contents of files", of_contents},
    ErrorTopic{"Datasets in files", of_datasets},
    ErrorTopic{"Data", of_data},
    ErrorTopic{"Samples", of_samples},
    ErrorTopic{"Runs and checkpoints", of_runs},
    ErrorTopic{"Memory", of_memory},
    ErrorTopic{"The machine and the build", of_machine},
    ErrorTopic{"Calls of the library", of_calls},
    ErrorTopic{"Errors of Mylos itself", of_internal},
};

}  // namespace

std::span<const ErrorTopic> error_topics() {
  return topics;
}

std::optional<ErrorId> error_named(std::string_view name) {
  for (const ErrorTopic& topic : topics) {
    for (const ErrorEntry& entry : topic.entries) {
      if (name_of(entry.id) == name) return entry.id;
    }
  }
  return std::nullopt;
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
      page += fmt::format("| `{}` | {} | {} |\n", name_of(entry.id), entry.cause, entry.cure);
  }
  page +=
      "\nThis page is the output of `mylos manual --errors`, generated from "
      "`src/mylos/base/errors/error_table.cpp`.\n";
  return page;
}

}  // namespace mylos
