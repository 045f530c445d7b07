PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA := $(if $(FILM_DATA),--data $(FILM_DATA)/quora)
JOBS ?= 2
# Tests run in JOBS processes: with as many threads in each as there are cores, they would wait for
# each other.
export OMP_NUM_THREADS ?= 1
# Without compiled files, every process that a test starts would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all docs trust release-check compatibility coverage mutants gpu gpu-weights clean

define install
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(1)]"
	touch $@
endef

# The demo waits for no package that it does not use, such as torch.
$(VENV)/demo: pyproject.toml constraints.txt
	$(call install,plot)

$(VENV)/ready: pyproject.toml constraints.txt
	$(call install,dev)
	touch $(VENV)/demo

demo: $(VENV)/demo
	$(BIN)/python -m benchmarks.quora $(DATA) --out out/demo

test: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --threads $(JOBS) --pythonpath $(BIN)/python
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q

# The slow tests too.
test-all: $(VENV)/ready
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q -m "slow or not slow"

# Pages in out/docs; a warning, such as a link that leads nowhere, is an error.
docs: $(VENV)/ready
	HF_HUB_OFFLINE=1 $(BIN)/python -m sphinx -E -W --keep-going -n -q -j $(JOBS) -b html docs out/docs
	$(BIN)/python docs/dead_links.py out/docs

# The fuzzer is large, and there for Linux alone: only who asks for it waits for it.
$(VENV)/fuzz: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[fuzz]"
	touch $@

# Damaged files, inputs of a fuzzer, odd texts and killed jobs, counted; half an hour.
trust: $(VENV)/fuzz
	$(BIN)/python -m benchmarks.trust $(if $(OUT),--out $(OUT))

# Wheel and source distribution in empty environments, without this repository; some minutes.
release-check: $(VENV)/ready
	$(BIN)/python -m benchmarks.release $(if $(OUT),--out $(OUT))

# The tests with the lowest and with the newest versions that pyproject.toml allows, in environments
# of their own; ARGS="--pin torch==2.13.0" keeps one of the newest.
compatibility: $(VENV)/ready
	$(BIN)/python -m benchmarks.compatibility $(if $(OUT),--out $(OUT)) $(ARGS)

# The whole test suite once more, and which lines and branches it runs.
coverage: $(VENV)/ready
	mkdir -p out
	$(BIN)/coverage run -m pytest -n $(JOBS) --dist worksteal -q -p no:cacheprovider
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --include "film/*" --fail-under 95
	$(BIN)/coverage report --include "estimators/*" --fail-under 90

# Changes of formulas that a test has to notice; kept in out/mutants.jsonl, so that it goes on.
mutants: $(VENV)/ready
	$(BIN)/python -m benchmarks.mutants $(if $(OUT),--out $(OUT))

# On a machine with a GPU and torch of its own, which has no environment of ours: its Python.
gpu:
	$(or $(wildcard $(BIN)/python),$(PYTHON)) -m benchmarks.gpu $(if $(OUT),--out $(OUT))

gpu-weights: $(VENV)/ready
	$(BIN)/python -m benchmarks.gpu --prepare

clean:
	rm -rf $(VENV) out
