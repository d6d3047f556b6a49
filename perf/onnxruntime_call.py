"""A call of an ONNX file in ONNX Runtime, on the commands of call_bench.

usage: onnxruntime_call.py MODEL.onnx INPUTS --threads N

The session has N threads, runs its nodes one after the other, and optimises its graph as far as it can, which is its default. Names:
"N" calls session.run, "N-bound" run_with_iobinding with arrays that were bound before. Both are called from Python, as ONNX Runtime's
package from PyPI is.
"""
import argparse
import statistics
import sys
import time

import numpy
import onnxruntime

MEASUREMENT_S, MIN_CALLS = 0.02, 4  # call_bench's


def session_of(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Calls:
    def __init__(self, model, inputs, threads):
        self.session = session_of(model, threads)
        port, = self.session.get_inputs()
        self.name, shape = port.name, port.shape[1:]
        self.inputs = numpy.fromfile(inputs, numpy.float32).reshape(-1, *shape)
        self.output = self.session.get_outputs()[0].name
        self.calls = {}

    def plain(self, samples):
        x = self.inputs[:samples]
        return lambda: self.session.run([self.output], {self.name: x})

    def bound(self, samples):
        x = onnxruntime.OrtValue.ortvalue_from_numpy(self.inputs[:samples])
        y = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.empty_like(self.plain(samples)()[0]))
        binding = self.session.io_binding()
        binding.bind_ortvalue_input(self.name, x)
        binding.bind_ortvalue_output(self.output, y)
        return lambda: self.session.run_with_iobinding(binding)

    def call(self, name):
        if name not in self.calls:
            samples, _, how = name.partition("-")
            self.calls[name] = (self.bound if how == "bound" else self.plain)(int(samples))
        return self.calls[name]


def milliseconds(call):
    start, calls = time.perf_counter(), 0
    while calls < MIN_CALLS or time.perf_counter() - start < MEASUREMENT_S:
        call()
        calls += 1
    return 1e3 * (time.perf_counter() - start) / calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    calls = Calls(arguments.model, arguments.inputs, arguments.threads)
    for line in sys.stdin:
        command, name, rest = line.split()
        if command == "write":
            calls.plain(int(name))()[0].astype(numpy.float32).tofile(rest)
            print(flush=True)
            continue
        for _ in range(2):
            calls.call(name)()
        print(f"{statistics.median(milliseconds(calls.call(name)) for _ in range(int(rest))):.6f}\n", flush=True)


if __name__ == "__main__":
    main()
