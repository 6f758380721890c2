# Every target sets up what it needs, inside this folder, and a second run reuses it.
# Needed beforehand: make and Python 3.11 or newer. Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
INTEROP := .venv-interop

# What a surrounding virtual environment or a user's settings would change stays outside.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONSTARTUP PIP_PREFIX PIP_TARGET PIP_USER

# The framework wheels are large: a slow or broken connection is worth waiting for.
export PIP_DEFAULT_TIMEOUT ?= 180
export PIP_RETRIES ?= 10
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test test-busy check test-interop test-faults bench bench-kept bench-scaling bench-memory bench-identity bench-uploads bench-tf clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 24

demo: $(VENV)/.ready ## show the main job on a small data set
	@$(VENV)/bin/python examples/demo.py

test: $(VENV)/.ready ## run the tests; SLOW=1 adds the slow ones, ARGS='-k shuffle' reaches pytest
	@$(VENV)/bin/python -m pytest -n 2 --durations=20 $(if $(SLOW),-m "not interop") $(ARGS)

test-busy: $(VENV)/.ready ## run the tests TIMES (five) times in random orders, while other programs keep all cores busy
	@$(VENV)/bin/python tests/busy.py $(or $(TIMES),5) $(ARGS)

check: $(VENV)/.ready ## run the linter, the formatter (without writing) and the type checker
	@$(VENV)/bin/python -m ruff check .
	@$(VENV)/bin/python -m ruff format --check .
	@$(VENV)/bin/python -m mypy

test-interop: $(INTEROP)/.ready ## run the tests against TensorFlow, PyTorch and JAX
	@$(INTEROP)/bin/python -m pytest -m interop $(ARGS)

test-faults: $(VENV)/.ready ## kills, power cuts, schedules, forks and bad files, many of each; writes docs/reliability.md
	@rm -f build/tally.jsonl && mkdir -p build
	@KEEPSET_TALLY=$(CURDIR)/build/tally.jsonl KEEPSET_KILLS=$(or $(KILLS),1000) KEEPSET_FAULTS=full \
	  KEEPSET_SCHEDULES=$(or $(SCHEDULES),20000) KEEPSET_MUTATIONS=$(or $(MUTATIONS),30000) \
	  $(VENV)/bin/python -m pytest -m "not interop" --timeout=0 -s tests/faults tests/snapshot/test_faults.py \
	  tests/snapshot/test_failing_calls.py tests/snapshot/test_every_bit.py tests/snapshot/test_damaged_logs.py \
	  tests/format/test_chunk_file.py
	@$(VENV)/bin/python -m tests.faults.reliability build/tally.jsonl > docs/reliability.md
	@cat docs/reliability.md

bench: $(VENV)/.ready $(INTEROP)/.ready-bench ## measure against the peers, two hours; ONLY=W2 or ONLY=grain picks by name
	@$(VENV)/bin/python benchmarks/suite.py --pipeline-python=$(INTEROP)/bin/python $(if $(ONLY),--only="$(ONLY)") $(if $(QUICK),--quick)

bench-kept: $(VENV)/.ready ## measure kept data alone; makes the peers' environments, 8 GB
	@$(VENV)/bin/python benchmarks/snapshot.py $(if $(ONLY),--only="$(ONLY)")

bench-scaling: $(VENV)/.ready ## show what one element costs, by number, shards and size
	@$(VENV)/bin/python benchmarks/scaling.py $(if $(ONLY),--only="$(ONLY)")

bench-memory: $(VENV)/.ready ## write and read 10 GB, and show how much memory that takes
	@$(VENV)/bin/python benchmarks/memory.py $(if $(GIGABYTES),--gigabytes $(GIGABYTES))

bench-identity: $(INTEROP)/.ready ## show what knowing a pipeline costs: functions, arrays, files, workers
	@$(INTEROP)/bin/python benchmarks/identity.py $(if $(QUICK),--quick)

bench-uploads: $(VENV)/.ready ## show how fast arrays go into a bucket, beside obstore itself
	@$(VENV)/bin/python benchmarks/uploads.py

bench-tf: $(VENV)/.ready ## show what the names of keepset.tf cost, beside NumPy itself
	@$(VENV)/bin/python benchmarks/tf_names.py $(if $(QUICK),--quick)

clean: ## remove the environments and everything else that was generated
	rm -rf $(VENV) $(INTEROP) benchmarks/.environments benchmarks/.data build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find benchmarks examples src tests -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# An environment is made once, and again if making it was cut short.
define make_environment
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("error: $(PYTHON) is Python " \
	  + sys.version.split()[0] + "; Keepset needs 3.11 or newer: make PYTHON=python3.11")'
	@test ! -e $(@D)/.unfinished && $(@D)/bin/python -m pip --version >/dev/null 2>&1 \
	  || { echo '==> creating $(@D)' && $(PYTHON) -m venv --clear $(@D); }
	@touch $(@D)/.unfinished
endef
define environment_is_ready
	@rm $(@D)/.unfinished
	@touch $@
endef

$(VENV)/.ready: pyproject.toml
	$(make_environment)
	@echo '==> installing keepset with its test and check tools into $(@D)'
	@$(@D)/bin/python -m pip install -qq --editable '.[test,check]'
	$(environment_is_ready)

$(INTEROP)/.ready: pyproject.toml
	$(make_environment)
	@echo '==> installing keepset with its test tools into $(@D)'
	@$(@D)/bin/python -m pip install -qq --editable '.[test]'
	@echo '==> installing TensorFlow, PyTorch and JAX into $(@D): some minutes the first time'
	@$(@D)/bin/python -m pip install -qq --editable '.[test,interop]'
	$(environment_is_ready)

$(INTEROP)/.ready-bench: $(INTEROP)/.ready
	@echo '==> installing the peers to measure against into $(@D)'
	@$(@D)/bin/python -m pip install -qq --editable '.[bench]'
	@touch $@
