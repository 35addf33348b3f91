# Weft's front door. The build itself is CMake's (CMakeLists.txt, CMakePresets.json); this file gives it short names.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export JOBS ?= $(shell nproc)

started := $(shell date +%s)
say = @s=$$(($$(date +%s) - $(started))); printf '==> %d:%02d %s\n' $$((s / 60)) $$((s % 60)) "$(1)"
comma := ,
build = cmake --preset $(1) $(options) --log-level=WARNING >/dev/null && cmake --build --preset $(1) -j $(JOBS)

.PHONY: help setup demo test parity fuzz mutants bench gpu compare docs format lint asan tsan clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-8s %s\n", $$1, $$2}'

setup:  ## install everything that any of these needs (the others call the part they need)
	@tools/setup.sh

demo: options = -DWEFT_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python
demo: export MPLCONFIGDIR = $(CURDIR)/build/matplotlib
demo:  ## set up, build, and train a small network on MNIST in Python; draws build/demo.png, and build/demo.html shows where the time went (DEVICE=cuda)
	$(call say,setting up)
	@tools/setup.sh build
	$(call say,building the library$(comma) while Python's packages are installed)
	@{ tools/setup.sh python && { tools/setup.sh demo; .venv/bin/python -c 'import matplotlib.font_manager' 2>/dev/null || true; }; } & packages=$$!; \
	cmake --preset release --log-level=WARNING >/dev/null && cmake --build --preset release -j $(JOBS) --target weft && wait $$packages
	$(call say,building the Python package)
	@$(call build,release) --target weft_python weft_package
	$(call say,running examples/python/mnist_mlp.py)
	@PYTHONPATH=build/release/python .venv/bin/python examples/python/mnist_mlp.py --device $(or $(DEVICE),cpu) --picture build/demo.png --page build/demo.html

test: options = -DWEFT_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python
test:  ## set up, build, and run all tests (C++, Python, documentation, the profile page in a browser, install, wheels for each Python that is here)
	$(call say,setting up)
	@tools/setup.sh build python wheels docs page ptx
	$(call say,building (release))
	@$(call build,release)
	$(call say,testing)
	@WEFT_FUZZ_SEED=$$((0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 1))) WEFT_FUZZ_COUNT=5000 ctest --preset release -j $(JOBS)
	$(call say,done)

parity: options = -DWEFT_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python
parity:  ## set up with PyTorch (in .venv-parity), build, and compare the Python package with it (ARGS="-k adam")
	$(call say,setting up)
	@tools/setup.sh build python parity
	$(call say,building (release))
	@$(call build,release) --target weft_python weft_python_fuzz weft_package
	$(call say,comparing with PyTorch)
	@PYTHONPATH=build/release/python .venv-parity/bin/python -m pytest -q -p no:cacheprovider python/parity $(ARGS)

fuzz: options = -DWEFT_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python
fuzz: MINUTES ?= 2
fuzz:  ## random programs against an oracle (C++) and PyTorch (Python), fresh ones each time (MINUTES=60 SEED=n)
	$(call say,setting up)
	@tools/setup.sh build python parity
	$(call say,building (release))
	@$(call build,release) --target weft_test_fuzz weft_python_fuzz weft_package
	$(call say,random programs against the oracle)
	@WEFT_FUZZ_SECONDS=$$(($(MINUTES) * 30)) WEFT_SEED=$(SEED) build/release/bin/weft_test_fuzz
	$(call say,random training programs against PyTorch)
	@.venv-parity/bin/python python/fuzz/fuzz.py --seconds $$(($(MINUTES) * 30)) $(if $(SEED),--seed $(SEED))

asan:  ## the tests with the address, leak and undefined behaviour sanitizers
tsan:  ## the tests with the thread sanitizer
asan tsan:
	@tools/setup.sh build
	$(call say,building ($@))
	@$(call build,$@)
	$(call say,testing ($@))
	@ctest --preset $@ -j $(JOBS)

mutants:  ## remove one condition of the compiler at a time: a test must notice (ARGS="plan_donatable kernel_copy")
	@tools/setup.sh build
	@tools/mutants.py $(ARGS)

bench:  ## set up, build, and run all benchmarks (ARGS="--only matmul --json FILE")
	@tools/setup.sh build bench
	$(call say,building (release))
	@$(call build,release) --target weft_bench
	@for b in $(patsubst bench/%.cpp,%,$(wildcard bench/*.cpp)); do echo "==> bench_$$b"; build/release/bin/bench_$$b $(ARGS); done

gpu_suites = tensor nn grad optim semantics
gpu: options = -DWEFT_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python
gpu:  ## on a machine with an NVIDIA GPU: suites of the engine and the Python tests on it, then bench/gpu.py
	$(call say,setting up)
	@tools/setup.sh build python
	$(call say,building (release))
	@$(call build,release) --target weft_python weft_package weft_test_fuzz $(gpu_suites:%=weft_test_%)
	@PYTHONPATH=build/release/python .venv/bin/python -c 'import weft; weft.cuda.init(); print(weft.cuda.get_device_properties())'
	$(call say,testing)
	@for suite in $(gpu_suites); do echo "==> $$suite"; WEFT_TEST_DEVICE=cuda build/release/bin/weft_test_$$suite; done
	@WEFT_FUZZ_DEVICE=cuda WEFT_FUZZ_COUNT=400 build/release/bin/weft_test_fuzz
	@PYTHONPATH=build/release/python .venv/bin/python -m pytest -q -p no:cacheprovider python/tests/test_cuda.py
	@PYTHONPATH=build/release/python .venv/bin/python bench/gpu.py --bits
	$(call say,measuring)
	@PYTHONPATH=build/release/python .venv/bin/python bench/gpu.py $(ARGS)

compare: options = -DWEFT_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python
compare:  ## set up PyTorch and JAX (in .venv-peers), build, and measure Weft beside them (ARGS="--only matmul --json FILE")
	$(call say,setting up)
	@tools/setup.sh build python compare
	$(call say,building (release))
	@$(call build,release) --target weft_python weft_package
	$(call say,measuring: do nothing else on this machine)
	@.venv/bin/python bench/compare.py $(ARGS)

docs: options = -DWEFT_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python
docs:  ## set up Sphinx and Doxygen (in .venv-docs), build, and make the documentation site: build/site/index.html
	$(call say,setting up)
	@tools/setup.sh build python docs
	$(call say,building the Python package)
	@$(call build,release) --target weft_python weft_package
	$(call say,making the site)
	@PYTHONPATH=build/release/python .venv-docs/bin/python -m sphinx -q -W --keep-going -b html -d build/docs/doctrees docs build/site
	$(call say,done: open build/site/index.html)

format:  ## format all C++ files in place
	@tools/setup.sh build lint
	@tools/lint.sh --format

lint:  ## check formatting, and clang-tidy on changed files (ALL=1: every file)
	@tools/setup.sh build lint
	@cmake --preset release --log-level=WARNING >/dev/null
	@tools/lint.sh

clean:  ## remove build/
	@rm -rf build
