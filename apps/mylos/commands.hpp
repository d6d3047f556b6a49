// The subcommands of `mylos`. Each returns an exit code; errors are thrown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/comm/options.hpp"
#include "mylos/data/prepare/prepare_csv.hpp"
#include "mylos/data/prepare/prepare_fields.hpp"
#include "mylos/data/prepare/prepare_idx.hpp"
#include "mylos/data/prepare/prepare_images.hpp"
#include "mylos/data/prepare/prepare_text.hpp"
#include "mylos/data/prepare/prepare_tokens.hpp"
#include "mylos/inference/draw_options.hpp"
#include "mylos/train/start/stop_requests.hpp"

namespace mylos::app {

struct TrainArguments {
  std::string deck;
  std::vector<std::string> overrides;  // key=value
  std::string restart;                 // "", "auto", "latest" or a file
  long stop_after = 0;                 // steps of this start; 0 = to the end
  std::string plan;                    // "" or what `mylos plan --json` wrote
  std::string walltime;                // "" = the deck's
  long debug_tensors = 0;              // steps of which every tensor is shown
  bool check = false;                  // say what the run would be, and no more
};
ExitCode train_command(const TrainArguments& arguments, const StopSources& stop);

struct SweepArguments {
  std::string deck;
  std::vector<std::string> words;  // key=values
  std::string output;              // "" = runs/NAME-sweep; with `best`: of the decks, "" = print them
  std::int64_t trials = 0;         // 0 = the grid
  int ranks_per_trial = 1;
  std::string metric;  // "" = the first that is measured
  bool halving = false;
  std::int64_t first_steps = 0;  // 0 = by the deck's steps
  std::int64_t first_seconds = 0;
  int factor = 3;
  std::string budget = "steps";  // or "time"
  std::int64_t best = 0;         // decks to print; 0 = train. `deck` is then the sweep's folder
  std::int64_t seed = 1;
};
ExitCode sweep_command(const SweepArguments& arguments, const StopSources& stop);
/// Prints `count` decks of a sweep's folder, the best first. Each begins with a comment of its value and
/// member, is complete, and has a folder of its own (run.folder). With `output`, a folder, each is written to
/// a file of its own there, and its comment and name are printed.
ExitCode print_best_decks(const std::string& folder, std::int64_t count, const std::string& output);

struct PlanArguments {
  std::string deck;
  std::vector<std::string> overrides;  // key=value
  int ranks = 1;
  int ranks_per_node = 0;  // 0 = all ranks on one node
  bool json = false;
  bool products = false;  // name the engine of each
  std::string device;     // of known_devices.hpp, by whose peaks times are modelled; "" = this machine
};
ExitCode plan_command(const PlanArguments& arguments);

struct DataArguments {
  std::string deck;
  std::vector<std::string> overrides;  // key=value
  std::string picture;                 // FILE.svg or FILE.png; "" = none
  std::int64_t sample = 0;             // that the picture shows
};
ExitCode data_command(const DataArguments& arguments);

struct AdviseArguments {
  std::string deck;
  std::vector<std::string> overrides;  // key=value
  std::string output;                  // "" = DECK with ".advised.toml" in place of ".toml"
  std::int64_t steps = 20;             // whose losses are compared
  int rounds = 5;
  bool json = false;
};
ExitCode advise_command(const AdviseArguments& arguments);

/// The checkpoint argument of a command line.
struct NamedCheckpoint {
  std::string path;      // a file, or a run's folder or its checkpoints folder: the newest valid one in it
  bool best = false;     // of the folder, the one that it names the best
  bool average = false;  // use the moving average of its weights instead of them
};

/// Several predictions instead of one: networks of an ensemble, or dropout masks.
struct MemberArguments {
  bool ensemble = false;
  std::vector<std::string> more;   // words of the command line after those that it always has
  std::int64_t dropout_masks = 0;  // 0: no dropout
  std::int64_t seed = -1;          // of the masks; -1: the run's

  [[nodiscard]] bool any() const { return ensemble || dropout_masks > 0; }
};

struct EvaluateArguments {
  NamedCheckpoint checkpoint;
  MemberArguments members;
  std::string data;                  // "" = the deck's
  std::string split = "test";        // "test", "train", "validation"
  std::vector<std::string> metrics;  // besides the loss: names of measures
  bool variables = false;            // errors of each variable
  MeshOptions mesh = {};             // how ranks share each sample
};
ExitCode evaluate_command(const EvaluateArguments& arguments);
/// Of the mean over several networks, or dropout masks.
ExitCode evaluate_members(const EvaluateArguments& arguments);

struct PredictArguments {
  NamedCheckpoint checkpoint;
  std::string input;
  std::string output;
  bool allow_nonfinite = false;  // write outputs that are inf or NaN
  MemberArguments members;
  bool writes_members = false;  // each, beside their mean
  std::string flags;            // file that says which samples are unlike those of the training; "" = none
  MeshOptions mesh = {};        // how ranks share each sample
};
ExitCode predict_command(const PredictArguments& arguments);
/// Of several networks, or dropout masks.
ExitCode predict_members(const PredictArguments& arguments);

/// What --climatology says of the mean of the training files.
inline constexpr const char* training_climatology = "training";
/// The same by day of the year.
inline constexpr const char* training_day_climatology = "training-day";

struct RolloutArguments {
  NamedCheckpoint run;
  bool ensemble = false;
  std::vector<std::string> more;   // words of the command line after the first two
  std::string start;               // file of arrays
  std::string output;              // file of the levels; tables have its name with other endings
  std::string truth;               // file of arrays; "" = none
  std::string climatology;         // file of arrays, or one of these two words; "" = none
  double perturb = 0;              // standard deviation of the noise of starts, in normalised units
  std::int64_t members = 1;        // that each network predicts, from starts with noise
  std::int64_t dropout_masks = 0;  // that one network predicts with; 0: no dropout
  std::int64_t seed = -1;          // of the noise or the masks; -1: the run's
  std::int64_t steps = 1;
  std::string samples = "all";  // of the axis "sample" of `start`: "3", "0:8", "0,2,5"
  std::string starts = "0";     // first levels, likewise
  MeshOptions mesh = {};        // how ranks share each state
};
ExitCode rollout_command(const RolloutArguments& arguments);

struct SampleArguments {
  NamedCheckpoint checkpoint;
  std::string prompt;
  std::int64_t tokens = 500;
  DrawOptions draw;
};
ExitCode sample_command(const SampleArguments& arguments);

ExitCode prepare_idx_command(const PrepareIdx& job);
/// `job.targets`: words of the command line, each with one or more names, a,b.
ExitCode prepare_csv_command(PrepareCsv job);
ExitCode prepare_fields_command(const PrepareFields& job);
/// `size`: "" = as the images are, or "HxW".
ExitCode prepare_images_command(PrepareImages job, const std::string& size);
ExitCode prepare_text_command(const PrepareText& job);
ExitCode prepare_tokens_command(const PrepareTokens& job);
ExitCode prepare_stamp_command(const std::string& file);

struct ConvertArguments {
  NamedCheckpoint input;            // or a safetensors file
  std::string output;               // the other of the two kinds of file
  std::int64_t heads = 0;           // 0: config.json says
  std::int64_t pad_vocabulary = 1;  // to a multiple of this
  std::string type;                 // "" = fp32
  std::string names;                // out of a checkpoint: "gpt2", "own"; "" = gpt2 of a GPT, else own
  std::string deck;                 // into a checkpoint: of the network; "" = GPT-2
  std::string map;                  // with a deck: which tensor is which parameter; "" = by names and order
};
ExitCode convert_command(const ConvertArguments& arguments);

struct ExportArguments {
  NamedCheckpoint run;
  std::string output;      // the model file; ONNX or source if its name ends in .onnx, .hpp, .c or .f90
  std::string type;        // of the weights: "fp32", "bf16", "fp16"; "" = the run's, of ONNX fp32
  std::int64_t opset = 0;  // of ONNX; 0 = the default
  bool input_statistics = false;
  // Of source:
  std::string real;        // "float", "double"; "" = float
  std::string name;        // of the network in it; "" = that of the file
  std::string derivative;  // "none", "jvp", "vjp", "jacobian"; "" = none
};
ExitCode export_command(const ExportArguments& arguments);

struct CalibrateArguments {
  NamedCheckpoint run;
  bool ensemble = false;             // of the mean of several networks
  std::vector<std::string> more;     // words of the command line after the first
  std::string split = "validation";  // or "test"
  std::string data;                  // a file in place of the split; "" = none
  double coverage = 0.9;
  std::int64_t rollout = 0;  // lead times of rollouts, in steps; 0: of single predictions alone
  std::string output;  // the model file; "" = calibrated.h5 in the run's folder. Of an ensemble: a folder
  bool input_statistics = false;
};
ExitCode calibrate_command(const CalibrateArguments& arguments);
/// Of the mean over several networks.
ExitCode calibrate_members(const CalibrateArguments& arguments);

struct InitArguments {
  std::string deck;
  std::string output;                  // the checkpoint
  std::vector<std::string> overrides;  // key=value
  std::string from;                    // takes the place of the deck's run.initial; "" = as the deck says
};
ExitCode init_command(const InitArguments& arguments);

/// Prints the table of number types.
ExitCode types_command();

struct CheckPrecisionArguments {
  std::string file;        // dataset, token file, checkpoint, or a run's folder
  std::string deck;        // by whose data.normalize a dataset's numbers are scaled; "" = they stay as stored
  bool json = false;       // for programs
  bool histogram = false;  // by binary exponent
};
ExitCode check_precision_command(const CheckPrecisionArguments& arguments);

ExitCode info_command(const NamedCheckpoint& checkpoint);

/// Checks in a separate process whether a complete checkpoint is valid; of a folder, the newest one.
ExitCode verify_command(const NamedCheckpoint& checkpoint);
/// The work of that process. Throws Error (bad_input) with the first problem.
void verify_as_child(const std::string& file);

struct ReportArguments {
  std::vector<std::string> runs;  // their folders
  std::string output;             // "" = report.html in the folder of the only run, or here
  std::int64_t watch_s = 0;       // seconds until it is written again while a run continues; 0 = once
};
ExitCode report_command(const ReportArguments& arguments);
/// Prints the history in a checkpoint as CSV; runs in a separate process, as above.
void history_as_child(const std::string& file);

struct BenchAllreduceArguments {
  std::vector<std::string> sizes;  // byte counts
  std::vector<std::string> types;  // "fp32", "bf16", "fp16"
  std::string backend = "auto";    // as communication.backend
  int rounds = 7;
  std::string csv;  // "" = none
};
ExitCode bench_allreduce_command(const BenchAllreduceArguments& arguments);

struct BenchGemmArguments {
  std::vector<std::string> shapes;   // SAMPLESxINPUTSxOUTPUTS; none: squares and typical layers
  std::vector<std::string> types;    // "fp32", "bf16", "fp16"
  std::vector<std::string> engines;  // none: all of this build
  std::string instructions;          // "" = the processor's best
  int rounds = 5;
  std::string csv;  // "" = none
};
ExitCode bench_gemm_command(const BenchGemmArguments& arguments);

struct BenchCheckpointArguments {
  std::string folder;
  std::string size = "1 GiB";
  bool sharded = false;  // each rank holds its slice, else the whole state
  int rounds = 3;
  std::string csv;  // "" = none
};
ExitCode bench_checkpoint_command(const BenchCheckpointArguments& arguments);

/// Version, commit and the libraries of this build.
std::string version_text();

}  // namespace mylos::app
