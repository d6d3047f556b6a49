#include "options/options.hpp"

#include <limits>

#include "launch/usage.hpp"
#include "mylos/data/files/dataset_format.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t max_prepared = std::numeric_limits<std::int32_t>::max();

void add_prepare_tokens(CLI::App& prepare, PrepareArguments& arguments, Command& command) {
  CLI::App* text = prepare.add_subcommand("text", "A text, one token per character or byte");
  text->add_option("file", arguments.text.file, "The text")->required();
  text->add_option_function<std::string>(
          "--level",
          [&](const std::string& level) {
            arguments.text.level = level == "bytes" ? TokenKind::bytes : TokenKind::characters;
          },
          "characters (of UTF-8 text; the file keeps the vocabulary) or bytes (of any file)")
      ->check(CLI::IsMember({"characters", "bytes"}))
      ->default_str("characters");
  text->add_option(
      "--vocabulary", arguments.text.vocabulary,
      "Token file (of the training text) with the vocabulary; default: the text's own characters");
  text->add_option("--out", arguments.text.out, "Token file to write")->required();
  text->callback([&] { command = [&] { return prepare_text_command(arguments.text); }; });

  CLI::App* tokens = prepare.add_subcommand(
      "tokens", "Streams of token numbers from a tokenizer (.bin), with llm.c's header or without one");
  tokens->add_option("files", arguments.tokens.files, "Concatenated in this order")->required();
  tokens
      ->add_option_function<std::string>(
          "--type",
          [&](const std::string& type) {
            arguments.tokens.type = type == "uint32" ? DType::uint32 : DType::uint16;
          },
          "uint16 or uint32, little-endian (default: the header's, without header uint16)")
      ->check(CLI::IsMember({"uint16", "uint32"}));
  tokens
      ->add_option("--vocabulary", arguments.tokens.vocabulary,
                   "Tokens must be below this (default: the largest token + 1)")
      ->check(integer_from(1, max_prepared));
  tokens->add_option("--out", arguments.tokens.out, "Token file to write")->required();
  tokens->callback([&] { command = [&] { return prepare_tokens_command(arguments.tokens); }; });
}

void add_prepare_images(CLI::App& prepare, PrepareArguments& arguments, Command& command) {
  CLI::App* images = prepare.add_subcommand("images", "Folders of PNG and JPEG images, one folder per class");
  images
      ->add_option("folder", arguments.images.folder,
                   "Contains a folder per class; sorted by name: 0, 1, 2 ...")
      ->required();
  images
      ->add_option("--channels", arguments.images.channels,
                   "1 (grey) or 3 (colours); default: those of the first image, and others are refused")
      ->check(CLI::IsMember({1, 3}));
  images->add_option(
      "--size", arguments.image_size,
      "Height x width in pixels to which all are resized, 64x64 (default: no resizing, all must be equal)");
  images
      ->add_option_function<std::string>(
          "--on-corrupt",
          [&](const std::string& action) {
            arguments.images.on_corrupt = action == "skip" ? OnCorrupt::skip : OnCorrupt::fail;
          },
          "When a file cannot be decoded: fail, or skip it (all are decoded twice then)")
      ->check(CLI::IsMember({"fail", "skip"}))
      ->default_str("fail");
  auto* unlabelled = images->add_flag_callback(
      "--unlabelled", [&] { arguments.images.labelled = false; },
      "The folder contains images: only inputs, for `mylos predict`");
  images
      ->add_option("--classes-of", arguments.images.classes_of,
                   "Dataset file (of the training images) with the classes")
      ->excludes(unlabelled);
  images->add_option("--out", arguments.images.out, "Dataset file to write")->required();
  images->callback(
      [&] { command = [&] { return prepare_images_command(arguments.images, arguments.image_size); }; });
}

void add_prepare_fields(CLI::App& prepare, PrepareArguments& arguments, Command& command) {
  CLI::App* fields = prepare.add_subcommand(
      "fields", "Generated sources on a periodic square and the solutions of -Laplace u = f, for a U-Net");
  const auto number = [fields](const char* name, auto& value, std::int64_t least, const char* meaning) {
    fields->add_option(name, value, meaning)->check(integer_from(least, max_prepared))->capture_default_str();
  };
  number("--samples", arguments.fields.samples, 1, "Number of samples");
  number("--size", arguments.fields.size, 4, "Points along both axes");
  number("--modes", arguments.fields.modes, 1, "Periods of the finest waves of the sources along an axis");
  number("--seed", arguments.fields.seed, 0, "Seed of the random numbers");
  fields->add_option("--out", arguments.fields.out, "Dataset file to write")->required();
  fields->callback([&] { command = [&] { return prepare_fields_command(arguments.fields); }; });
}

}  // namespace

void add_prepare(CLI::App& app, PrepareArguments& arguments, Command& command) {
  CLI::App* prepare =
      app.add_subcommand("prepare", "Check raw data and write a dataset or token file (HDF5)");
  prepare->require_subcommand(1);
  CLI::App* idx = prepare->add_subcommand("idx", "IDX images and labels (MNIST's format), plain or gzip");
  idx->add_option("images", arguments.idx.images, "File of the images, plain or gzip")->required();
  auto* labels =
      idx->add_option("labels", arguments.idx.labels, "Without them the file is only for `mylos predict`");
  idx->add_option("--classes", arguments.idx.classes, "Number of classes (default: the largest label + 1)")
      ->check(integer_from(1, max_classes))
      ->needs(labels);
  idx->add_option("--out", arguments.idx.out, "Dataset file to write")->required();
  idx->callback([&] { command = [&] { return prepare_idx_command(arguments.idx); }; });

  CLI::App* csv = prepare->add_subcommand(
      "csv",
      "A table of numbers, optionally with a header line; without --targets and --label, for predictions");
  csv->add_option("file", arguments.csv.file, "The table: .csv, .tsv or another text")->required();
  csv->add_option("--inputs", arguments.csv.inputs,
                  "Columns that are inputs, a,b,c as for --targets; others are not read (default: all "
                  "that are neither target nor label)");
  auto* targets =
      csv->add_option("--targets", arguments.csv.targets,
                      "Columns to predict (regression), a,b,c: names, or else numbers from 1 on; a name "
                      "with a comma in double quotes");
  auto* label =
      csv->add_option("--label", arguments.csv.label, "Column of class numbers 0, 1, ... (classification)");
  label->excludes(targets);
  csv->add_option("--classes", arguments.csv.classes, "Number of classes (default: the largest label + 1)")
      ->check(integer_from(1, max_classes))
      ->needs(label);
  auto* header = csv->add_flag_callback(
      "--header", [&] { arguments.csv.has_header = true; },
      "The first line names the columns (default: if it has no numbers)");
  csv->add_flag_callback(
         "--no-header", [&] { arguments.csv.has_header = false; },
         "The first line is a sample (default: if it has only numbers)")
      ->excludes(header);
  csv->add_option_function<std::string>(
         "--separator",
         [&](const std::string& name) {
           arguments.csv.separator = name == "comma" ? ',' : name == "semicolon" ? ';' : '\t';
         },
         "Separator of columns: comma, semicolon or tab (default: that of the first line)")
      ->check(CLI::IsMember({"comma", "semicolon", "tab"}));
  csv->add_option_function<std::string>(
         "--on-missing",
         [&](const std::string& action) {
           arguments.csv.on_missing = action == "skip" ? OnMissing::skip : OnMissing::fail;
         },
         "When a cell is missing (empty, NaN, NA, N/A, #N/A, none, null): fail, or skip its row")
      ->check(CLI::IsMember({"fail", "skip"}))
      ->default_str("fail");
  csv->add_option("--out", arguments.csv.out, "Dataset file to write")->required();
  csv->callback([&] { command = [&] { return prepare_csv_command(arguments.csv); }; });
  add_prepare_images(*prepare, arguments, command);
  add_prepare_fields(*prepare, arguments, command);
  add_prepare_tokens(*prepare, arguments, command);

  CLI::App* stamp = prepare->add_subcommand(
      "stamp",
      "Check a data file that was edited, or made by other programs; rewrite its statistics and digests");
  stamp->add_option("file", arguments.stamp, "Dataset or token file")->required();
  stamp->callback([&] { command = [&] { return prepare_stamp_command(arguments.stamp); }; });
}

}  // namespace mylos::app
