# Podium: every target works without a prompt and without a terminal. `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON := .venv/bin/python
CHECK ?=
DEMO ?=
PORT ?=
TEAMS ?=
SUITES ?=
# Dozens of Python processes start here: each would compile the whole site again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo docs mutants soak pictures test test-unit lint import-graph derived bench system venv images runtime-torch secret secrets production wheels clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## A running site with a small competition; CHECK=1: exit 0 once every baseline is scored as expected; DEMO=ogb-lsc: another; TEAMS=0: no simulated teams; PORT=9000
	@scripts/demo.sh $(if $(filter-out 0 no false,$(CHECK)),--check) $(if $(DEMO),--content $(DEMO)) $(if $(TEAMS),--teams $(TEAMS)) $(if $(PORT),--port $(PORT))

test: ## Everything on real parts; SUITES="lint unit" for some of the suites that scripts/suites.py names
	@scripts/test.sh $(SUITES)

test-unit: ## Unit tests and doctests alone: no services, no Docker
	@scripts/test.sh unit

soak: venv ## The fault, cluster and hostile suites for longer and in all variants, the last on each engine, every demo, and examples in images of their own: each fault TRIALS times (default 5), at most MINUTES (default 60)
	@scripts/machine.sh
	@PODIUM_SOAK=1 PODIUM_FAULT_TRIALS=$(or $(TRIALS),5) timeout --signal=INT $(or $(MINUTES),60)m $(PYTHON) -m pytest -q tests/faults tests/cluster
	@PODIUM_SOAK=1 timeout --signal=INT 30m $(PYTHON) -m pytest -q tests/hostile tests/integration/examples
	@PODIUM_SOAK=1 timeout --signal=INT 30m $(PYTHON) -m pytest -q tests/integration/site/test_upgrades.py tests/integration/site/test_heavy_uploads.py tests/deployment/test_slow_clients.py tests/deployment/test_compose.py tests/client/test_documented_install.py tests/client/test_faults.py
	@PODIUM_SOAK=1 timeout --signal=INT 30m $(PYTHON) -m pytest -q tests/browser/test_every_page.py tests/browser/test_logs.py tests/browser/test_styleguide.py
	@PODIUM_SOAK=1 timeout --signal=INT 30m $(PYTHON) -m pytest -q --no-migrations tests/functional/disclosure tests/functional/examples tests/functional/test_numbers.py
	@for engine in podman gvisor; do PODIUM_SOAK=1 PODIUM_TEST_ENGINE=$$engine timeout --signal=INT 30m $(PYTHON) -m pytest -q tests/hostile || exit 1; done
	@PODIUM_SOAK=1 PODIUM_TEST_ENGINE=podman-rootless timeout --signal=INT 60m scripts/without_root.sh $(PYTHON) -m pytest -q -p no:cacheprovider tests/hostile tests/contract/engines

lint: ## ruff (rules and format), mypy, import-linter, djlint, migrations, lengths of functions
	@scripts/test.sh lint

import-graph: venv ## All imports between the domain's packages, as a graph in DOT
	@PYTHONPATH=platform:client:. .venv/bin/import-linter drawgraph competitions

derived: venv ## Write what follows from the code: the schema of bundles, docs/settings.md and docs/wiring.md
	@$(PYTHON) manage.py derive

docs: ## Build the docs as a site, which each site serves at /docs/; strict, and nothing to do where they are up to date
	@scripts/docs.sh

mutants: venv ## Change the core in small ways and see that a test fails each time; ONLY='competitions.runs.dispatch.*' for some
	@scripts/mutants.sh $(ONLY)

bench: venv ## Speed, by hand: prints ratios; ONLY=path for one file
	@scripts/system.sh test
	@$(PYTHON) -m pytest -q -s --timeout=3600 $(or $(ONLY),tests/benchmarks)

pictures: venv ## Take the pictures of README and docs anew, of the demo with its simulated teams; two minutes
	@scripts/system.sh test
	@$(PYTHON) -m tests.browser.pictures

system: ## Install the Debian packages that the tests need and this machine lacks
	@scripts/system.sh test

venv: ## Prepare .venv with everything for development
	@scripts/venv.sh dev

runtime-torch: venv ## The runtime image with PyTorch and PyTorch Geometric
	@$(PYTHON) -m workers.images torch

images: venv ## A Docker Engine, the base image and the runtime image
	@$(PYTHON) -m workers.images ensure

secret: ## Print a new random key, for PODIUM_SECRET_KEY
	@python3 -c 'import secrets; print(secrets.token_urlsafe(48))'

secrets: ## Make the secret files of docker-compose.yml in secrets/, those that are not there yet
	@scripts/secrets.sh

production: venv secrets ## What `docker compose up` needs on this host: secrets, images, the worker's folder
	@scripts/production.sh

wheels: ## Python packages for image builds that cannot reach the package index
	@scripts/wheels.sh

clean: ## Remove what tests and tools leave behind; demo data and .venv stay
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist *.egg-info
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
