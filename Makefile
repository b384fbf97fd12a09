# Two commands to begin with: `make demo` and `make test`. Both create .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOURCES := pyproject.toml setup.py $(wildcard src/cumulticast/libcuda/*.[cht]* src/cumulticast/libcuda/build_*.py src/cumulticast/libcuda/table.py $(wildcard src/cumulticast/libnvml/build_*.py src/cumulticast/libnvml/*.t[xs]*) src/cumulticast/sim/native/*.[ch] src/cumulticast/sim/native/build_*.py src/cumulticast/ptx/layout.py src/cumulticast/ptx/native/*.[ch] src/cumulticast/ptx/native/build_*.py src/cumulticast/team/native/*.[ch] src/cumulticast/team/native/build_*.py)

# Tests start hundreds of interpreters; without compiled files each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check unit slow bench docs clean

demo: $(STAMP)
	$(BIN)/cumulticast demo

test: check unit

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

unit: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "not slow"

slow: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m slow
	$(BIN)/python -m pytest -n 2 tests/conformance --ranks-apart

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

docs: $(STAMP)
	$(BIN)/python docs/generate.py

$(STAMP): $(SOURCES)
	@$(PYTHON) -c 'import sys; v = sys.version_info; (3, 11) <= v < (3, 15) or sys.exit("cumulticast needs Python 3.11 to 3.14, and $(PYTHON) is %d.%d: make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/cumulticast/libcuda/libcuda.so.1 src/cumulticast/libcuda/entries.inc src/cumulticast/libnvml/libnvidia-ml.so.1 src/cumulticast/libnvml/entries.inc
	find src -name '*.so' -delete -o -name '_native.c' -delete -o -name '_door.c' -delete
