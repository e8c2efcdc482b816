# The front door. `make` alone prints what there is.
PORT ?= 8090
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
FAST := not slow and not integration and not e2e and not browser and not notebooks

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
setup: .venv/run.done ## make .venv with the `loadaware` command in it
run: setup ## start the demo on 127.0.0.1:8090 (PORT=... to change)
	@$(BIN)/loadaware demo --port $(PORT)
test: .venv/test.done ## run every test that needs Python alone
	@$(BIN)/python -m pytest -n 2 -m "$(FAST)" --cov --cov-report=term:skip-covered tests
test-slow: .venv/test.done ## run the slow tests: wheel in an empty environment, example plugin, placement gate
	@$(BIN)/python -m pytest -m slow tests
test-notebooks: .venv/notebooks.done ## run every notebook from top to bottom on generated data
	@$(BIN)/python -m pytest -n 2 -m notebooks tests
notebooks: .venv/notebooks.done ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab --notebook-dir notebooks
integration: .venv/test.done ## run the tests that need a real Prometheus (built from source once)
	@$(BIN)/python -m pytest -m integration tests/integration
e2e: .venv/test.done ## run the tests that need a real control plane (built from source once; KUBERNETES=1.34 for another)
	@LOADAWARE_KUBERNETES=$(KUBERNETES) $(BIN)/python -m pytest -n 2 --dist loadfile -m e2e tests/e2e
browser: .venv/test.done ## run the tests of the live page, which need a Chromium (apt-get install chromium, or CHROMIUM=path)
	@$(BIN)/python -m pytest -m browser tests/browser
pictures: .venv/test.done ## take the pictures of the live page for the docs (needs a Chromium)
	@$(BIN)/python -m tests.browser.take_pictures
benchmark-quality: .venv/test.done ## compare placements with every peer, for hours (TRACES=folder RUNS=10 JOBS=2 ONLY=data set); resumable
	@$(BIN)/python -m tests.benchmarks.measure_quality --traces "$(TRACES)" --runs $(or $(RUNS),10) $(if $(JOBS),--jobs $(JOBS)) $(if $(ONLY),--only $(ONLY))
benchmark-prototype: .venv/test.done ## measure again what EntropicRisk's prototype told, in its setting (TRACES=folder RUNS=10 JOBS=2); resumable
	@$(BIN)/python -m tests.benchmarks.measure_prototype --traces "$(TRACES)" --runs $(or $(RUNS),10) $(if $(JOBS),--jobs $(JOBS))
benchmark: .venv/test.done ## measure the wire against an extender in Go, write docs/benchmarks/wire.md (half an hour; QUICK=1: minutes)
	@$(BIN)/python -m tests.benchmarks.measure_wire $(if $(QUICK),--quick)
benchmark-cluster: .venv/test.done ## measure a real kube-scheduler with and without us, write docs/benchmarks/cluster.md (half an hour; QUICK=1)
	@$(BIN)/python -m tests.benchmarks.measure_cluster $(if $(QUICK),--quick)
chart: .venv/test.done ## make the chart's copies and schema, and the manifests from the chart (builds helm once)
	@$(BIN)/python -m deploy.make
benchmark-history: .venv/test.done ## measure what 14 days of a history cost, write docs/benchmarks/history.md (an hour; DAYS=0.25,1: minutes)
	@$(BIN)/python -m tests.benchmarks.measure_history $(if $(DAYS),--days $(DAYS))
benchmark-tuning: .venv/test.done ## search profiles on recorded days and measure workers, write docs/benchmarks/tuning.md (TRACES=folder)
	@$(BIN)/python -m tests.benchmarks.measure_tuning --traces "$(TRACES)"
baseline: .venv/test.done ## take the work that a request is now as the baseline of the tests
	@$(BIN)/python -m tests.benchmarks.hot_path_counts --write
check: .venv/test.done ## lint, format, types, import contracts
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
format: .venv/test.done ## mend what the linter can mend
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .
lock: ## pin every dependency anew (needs `uv` on the PATH)
	@$(UV) --group build pyproject.toml -o requirements/run.txt && $(UV) -c requirements/run.txt --extra tuning --extra tracing --group build --group test pyproject.toml -o requirements/test.txt && $(UV) -c requirements/test.txt --extra notebooks pyproject.toml -o requirements/notebooks.txt && echo pyarrow | $(UV) -c requirements/test.txt - -o requirements/history.txt
clean: ## remove what was made
	@rm -rf .venv dist build .coverage* .mypy_cache .ruff_cache .hypothesis
.PHONY: help setup run test test-slow test-notebooks notebooks integration e2e browser pictures benchmark-quality benchmark-prototype benchmark benchmark-cluster benchmark-history benchmark-tuning chart baseline check format lock clean

UV := uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-annotate --no-strip-extras --upgrade --custom-compile-command 'make lock'
.venv/bin/python:
	@$(PYTHON) -m venv .venv
.venv/run.done: .venv/bin/python requirements/run.txt pyproject.toml
	@echo "setting up .venv (once)" && $(PIP) install --require-hashes -r requirements/run.txt && $(PIP) install --no-deps --no-build-isolation --editable . && touch $@
.venv/test.done: .venv/run.done requirements/test.txt
	@echo "adding the test tools to .venv (once)" && $(PIP) install --require-hashes -r requirements/test.txt && touch $@
.venv/notebooks.done: .venv/test.done requirements/notebooks.txt
	@echo "adding JupyterLab to .venv (once)" && $(PIP) install --require-hashes -r requirements/notebooks.txt && touch $@
