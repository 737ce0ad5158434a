# make run    everything at scale laptop, to results/laptop/report.html
# make test   linters and the whole test suite
# make bench  speed of the stack against its peers, to results/bench/bench.csv
# make lint   ruff, snakefmt, snakemake --lint
# make format put the code into the form that lint asks for
# make sync   send the offline W&B runs of SCALE (asks for your key; the only target that uses the network)
# make lock   pin the versions of a fresh install into requirements.lock

PYTHON ?= python3
CORES ?= all
SCALE ?= laptop
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test bench lint format sync lock

run: $(READY)
	$(BIN)/snakemake --cores $(CORES) --quiet rules --config scale=$(SCALE)
	@cat results/$(SCALE)/ledger.md
	@echo "report: results/$(SCALE)/report.html"

test: lint
	$(BIN)/python -m pytest

bench: $(READY)
	$(BIN)/python -m learnability.bench

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

sync: $(READY)
	@for run in results/$(SCALE)/wandb/*/wandb/offline-run-*; do $(BIN)/wandb sync "$$run" || exit 1; done

lock:
	rm -rf .venv-lock
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet "torch==$$(sed -n 's/.*"torch==\(.*\)",/\1/p' pyproject.toml)"
	.venv-lock/bin/pip install --quiet ".[dev]"
	echo "# Every package at one version; made by 'make lock' from pyproject.toml." > requirements.lock
	.venv-lock/bin/pip freeze | sed -e 's/+cpu//' -e '/^learnability/d' >> requirements.lock
	rm -rf .venv-lock build

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name it with make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@
