# The front door. CMake and Ninja do the work (CMakePresets.json); this file only names it.
#
# BUILD   folder of the build trees, one a preset
# JOBS    parallel compilations; one more test
# PREFIX  where `make install` puts things
# BENCH   options of bench/run.sh for `make bench`: "--quick --only span"
# ROWS    rows that `make mutants` breaks, separated by commas; all of them when empty

BUILD ?= build
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
BENCH ?=
ROWS ?=
TEST_KILLS ?= 1000

export BUILD JOBS
.DEFAULT_GOAL := help
.PHONY: help demo test test-release asan tsan soak mutants fuzz fuzz-long bench fmt size install uninstall clean build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  (BUILD=$(BUILD) JOBS=$(JOBS) PREFIX=$(PREFIX); parts that were left out: see the end of cmake's output)"

demo: ## build, record a real text-to-video pipeline, show where its time went
	@tools/demo.sh

test: ## everything, in a plain and in an ASan+UBSan build; installs what it needs
	@tools/test.sh dev asan

test-release: ## the tests of the commands that read and compare, with the command as it is installed
	@TEST_TARGET=product CTEST_ARGS='-R ^cli\.(gate|ab$$|compare|history|counts|tables|step_lists)' tools/test.sh release-tests

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/test.sh asan

tsan: ## the tests under ThreadSanitizer
	@tools/test.sh tsan

soak: ## SEEDS (100000) seeds of each property, hosts with ROUNDS (25) times their rounds, 1000 kills, 200 gates
	@tools/soak.sh

mutants: ## breaks each row of docs/rows.md once, in a scratch copy: a test cited for it must fail
	@tools/deps.sh test
	@tools/mutants.py --build "$(BUILD)/mutants" --jobs "$(JOBS)" --only "$(ROWS)"

fuzz: ## every fuzz target with libFuzzer, FUZZ_SECONDS (60) each
	@tools/fuzz.sh

fuzz-long: ## 10 minutes a target, with libFuzzer and with AFL++; prints executions
	@tools/fuzz.sh --long

bench: ## every benchmark, figures in build/release/bench-results.json; 1000 kills of a traced process
	@tools/deps.sh build bench
	@tools/build.sh release
	@bench/run.sh $(BENCH) "$(BUILD)/release"
	@tools/build.sh dev --target test_runtime_trace_kill
	@TEST_KILLS=$(TEST_KILLS) "$(BUILD)/dev/run_test.sh" runtime.trace_kill "" "$(abspath $(BUILD))/dev/tests/bin/runtime.trace_kill"

build: ## the libraries and the command, as they are installed; no examples, benchmarks or tests
	@tools/deps.sh build
	@tools/build.sh release --target product

fmt: ## format all C and C++ files
	@tools/deps.sh fmt
	@tools/format.sh --fix

size: ## files and functions longer than the style's aims
	@tools/deps.sh size
	@tools/size_report.py

install: build ## release build, installed below PREFIX (/usr/local)
	@cmake --install "$(BUILD)/release" --prefix "$(PREFIX)"

uninstall: ## remove what `make install` has written
	@tools/uninstall.sh "$(BUILD)/release"

clean: ## remove the build trees
	rm -rf "$(BUILD)"
