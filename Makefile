# Everything a person does here, by name. CI runs the same targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := sample_logs/moe-decoder-h200
BENCH ?= --write
SECONDS ?= 60
KILLS ?= 200
FUZZED := $(FAMILY)
FAMILY ?= $(basename $(notdir $(wildcard tests/live/requirements/*.txt)))

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit fuzz fault-drill test-compilers test-browser test-fleet docs said pieces bench branches mutants mutants-report site translation test-action test-lowest lock audit release clean

help: ## Show what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.developed: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(VENV)/compilers/%/.installed: tests/live/requirements/%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(VENV)/.documented: $(VENV)/.developed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

$(VENV)/.fuzzing: $(VENV)/.developed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	@touch $@

$(VENV)/.browser: $(VENV)/.developed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[browser]'
	@command -v chromium chromium-browser google-chrome >/dev/null || $(BIN)/playwright install chromium
	@touch $@

$(VENV)/.fleet: $(VENV)/.developed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fleet]'
	@touch $@

$(VENV)/.benched: $(VENV)/.developed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

demo: $(VENV)/.installed ## Set up, and see a real log blocked
	@echo '$$ fallback-gate check $(DEMO)/disabled.debug.log.gz --policy builtin:moe-serving'
	@$(BIN)/fallback-gate check $(DEMO)/disabled.debug.log.gz --policy builtin:moe-serving; code=$$?; \
	if [ $$code -ne 1 ]; then echo "demo: exit code $$code, and 1 (blocked) was expected" >&2; exit 1; fi; \
	echo "demo: exit code 1 (blocked), as expected: a release job would stop here"

test: lint types unit ## Set up, and run lint, types and the core tests

lint: $(VENV)/.developed ## Lint, format and the one-way flow
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.developed ## Type check
	$(BIN)/mypy

unit: $(VENV)/.developed ## The core tests
	$(BIN)/python -m pytest

test-compilers: $(VENV)/.developed $(FAMILY:%=$(VENV)/compilers/%/.installed) ## Run real compilers and judge what they print; FAMILY=tvm runs one
	FALLBACK_GATE_FAMILY="$(FAMILY)" $(BIN)/python -m pytest tests/live

test-browser: $(VENV)/.browser ## Look at the HTML report in a real Chromium
	$(BIN)/python -m pytest tests/browser

test-fleet: $(VENV)/.fleet ## Read logs from a web server and an S3 on this machine, and on a Dask cluster
	$(BIN)/python -m pytest tests/fleet

fuzz: $(VENV)/.fuzzing ## Fuzz the readers for SECONDS each; FAMILY="torch policy" runs these
	$(BIN)/python -m tests.fuzz $(FUZZED) --seconds $(SECONDS)

fault-drill: $(VENV)/.developed ## Kill the gate KILLS times while it writes: no file is torn or lost
	$(BIN)/python -m tests.fault_drill $(KILLS)

docs: $(VENV)/.developed ## Write what the pages and the index of readers take from the code
	$(BIN)/python scripts/index_readers.py
	$(BIN)/python docs/generate.py

said: $(VENV)/.developed ## Write what the readers make of their examples and of the sample logs, for you to read
	$(BIN)/python -m tests.compilers.saying
	$(BIN)/python -m tests.policy.saying

pieces: $(VENV)/.developed ## Choose anew what the scan looks for
	$(BIN)/python benchmarks/choose_pieces.py

bench: $(VENV)/.benched ## Measure speed and memory beside peers, for docs/speed.md; BENCH=--quick for a first look
	$(BIN)/python -m benchmarks $(BENCH)

$(VENV)/.mutants: $(VENV)/.developed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mutants]'
	@touch $@

branches: $(VENV)/.mutants ## Which branches of the rooms no test takes
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest
	$(BIN)/python -m coverage combine --quiet
	for room in scan compilers policy verdict reports; do \
		$(BIN)/python -m coverage report --include="fallback_gate/$$room/*" --skip-covered --sort=miss || exit 1; \
	done

mutants: $(VENV)/.mutants ## Change the code of ROOM in small ways: do its tests notice? SAMPLE=500 SEED=1 tries some
	$(BIN)/python scripts/mutants $(ROOM) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(MORE)

mutants-report: $(VENV)/.mutants ## Write tests/mutants.md from the last runs of `make mutants`
	$(BIN)/python scripts/mutants --report

site: $(VENV)/.documented ## Build the documentation as a site, in build/site
	$(BIN)/mkdocs build --strict --site-dir build/site

docs: translation
translation: $(VENV)/.developed ## Bring the code blocks of README.md into README.zh-CN.md
	$(BIN)/python docs/translation.py

test-action: $(VENV)/.developed ## Run the Action and the hooks whole, each with an environment of its own
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python -m pytest tests/action/live

lock: $(VENV)/.developed ## Write the Action's locked dependencies anew
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	echo 'hatchling>=1.24' | $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes \
		--upgrade --no-emit-index-url --custom-compile-command 'make lock' \
		--output-file requirements/action.txt pyproject.toml -
	printf 'cyclonedx-bom>=7\nhatchling>=1.24\npip-audit>=2.9\n' | $(BIN)/uv pip compile --quiet --universal \
		--python-version 3.10 --generate-hashes --upgrade --no-emit-index-url --custom-compile-command 'make lock' \
		--output-file requirements/release.txt -

$(VENV)/release/.installed: requirements/release.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: --require-hashes -r $<
	@touch $@

audit: $(VENV)/release/.installed ## Ask for known vulnerabilities of all that is locked; what can't be asked for fails
	for file in requirements/*.txt; do \
		$(VENV)/release/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off -r "$$file" || exit 1; \
	done

release: $(VENV)/release/.installed ## Build wheel, source archive and bill of materials in dist, twice, and compare
	rm -rf dist
	$(VENV)/release/bin/python scripts/build_twice.py dist
	$(VENV)/release/bin/cyclonedx-py requirements requirements/action.txt --pyproject pyproject.toml \
		--output-reproducible --of JSON -o dist/fallback-gate.cdx.json
	cd dist && sha256sum * > SHA256SUMS

test-lowest: $(VENV)/.developed ## The core tests with the lowest allowed dependencies
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python -m venv $(VENV)/lowest
	$(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(BIN)/uv pip compile --quiet --resolution lowest-direct pyproject.toml --python $(VENV)/lowest/bin/python \
		-o $(VENV)/lowest/requirements.txt
	$(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $(VENV)/lowest/requirements.txt
	$(VENV)/lowest/bin/python -m pytest --deselect tests/action/test_declared.py::test_published_schemas_hold  # its tool needs a newer click

clean: ## Remove what these targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build
