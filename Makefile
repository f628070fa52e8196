# The two commands: `make demo` and `make test`. `make help` lists the rest.
# Everything that is made or kept lies in STATE, one folder for each checkout.

CHECKOUT := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
STATE ?= /srv/portal-$(shell printf %s "$(CHECKOUT:%/=%)" | sha256sum | cut -c1-8)
PYTHON := /usr/bin/python3
DEV := $(STATE)/dev/bin
NPM := $(PYTHON) -m cluster.prepare --state-root $(STATE) npm
CLUSTER := $(PYTHON) -m cluster --state $(STATE)/demo
export PYTHONDONTWRITEBYTECODE := 1

.PHONY: help demo up down status credentials prepare prepare-tests images test lint test-unit test-portal \
	test-cluster test-browser test-install test-compose test-all test-frontend bench api lock clean python wheel \
	screenshots pictures docs

help:            ## what can be made
	@sed -n 's/^\([a-z-]*\): .*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: prepare    ## raise the demo cluster and do the main job before your eyes
	@$(STATE)/venv/bin/python -m cluster.demo --state $(STATE)/demo

up: prepare      ## raise the demo cluster only
	@$(CLUSTER) up

down:            ## stop the demo cluster; nothing is left outside its state folder
	@$(CLUSTER) down

status:          ## what runs
	@$(CLUSTER) status

credentials:     ## address and accounts, as JSON
	@$(CLUSTER) credentials

prepare: python  ## packages, virtualenvs, Apptainer, image, pages
	@$(PYTHON) -m cluster.prepare --state-root $(STATE)

prepare-tests: python
	@$(PYTHON) -m cluster.prepare --state-root $(STATE) --tests

images: prepare  ## the images of every framework
	@$(PYTHON) -m deploy.images build --all --out $(STATE)/images

# Debian's smallest installations have no python3; everything else is installed by it.
python:
	@test -x $(PYTHON) || { apt-get update -q && apt-get install -q -y --no-install-recommends python3; }

test: prepare-tests lint docs test-frontend  ## all tests: lint, then unit, portal, cluster and browser
	@$(PYTHON) -m cluster.test --state-root $(STATE) --beside tests/unit --beside tests/portal \
		--second tests/browser -- tests/cluster

test-unit: prepare-tests     ## pure functions; seconds, needs no cluster
	@$(DEV)/python -m pytest tests/unit

test-portal: prepare-tests   ## the portal with a real slapd, hub and nginx, without Slurm
	@$(DEV)/python -m pytest tests/portal

test-cluster: prepare-tests  ## everything real, in a cluster of its own
	@$(PYTHON) -m cluster.test --state-root $(STATE) -- tests/cluster

test-browser: prepare-tests  ## Chromium against everything real
	@$(PYTHON) -m cluster.test --state-root $(STATE) -- tests/browser

test-install: prepare-tests wheel ## docs/install.md on a cluster without the portal
	@PORTAL_STATE_ROOT=$(STATE) $(DEV)/python -m pytest tests/install

test-compose: prepare-tests ## docker-compose.yml, built and run by a Docker of the tests' own
	@$(DEV)/python -m tests.compose --state-root $(STATE)

test-all: test test-install test-compose  ## everything there is to test

test-frontend: prepare-tests ## the pages' own tests
	@$(NPM) test

lint: prepare-tests          ## ruff, mypy, import-linter, Biome, tsc, freshness of generated files
	@$(DEV)/ruff check . && $(DEV)/ruff format --check .
	@$(DEV)/mypy
	@$(DEV)/lint-imports --no-cache
	@$(DEV)/python -m portal openapi | diff -u openapi.json - || { echo "openapi.json is stale: make api"; exit 1; }
	@$(NPM) run lint && $(NPM) run typecheck && $(NPM) run api:check

docs: prepare-tests          ## the documentation as a site; a link that leads nowhere is an error
	@$(STATE)/docs/bin/sphinx-build --quiet --fail-on-warning --keep-going -d $(STATE)/docs-cache \
		docs $(STATE)/site
	@echo "$(STATE)/site/index.html"

# The locks leave out rfc3987-syntax (and lark, which only it needs): a second of every start.
LOCK := pip compile -p 3.11 --universal --generate-hashes --no-header --quiet \
	--no-emit-index-url --no-emit-find-links \
	--no-emit-package rfc3987-syntax --no-emit-package lark

lock:            ## the locks of Python packages, from pyproject.toml; needs uv on the PATH
	uv $(LOCK) pyproject.toml -o requirements.lock
	uv $(LOCK) pyproject.toml --extra dev -o requirements-dev.lock
	uv $(LOCK) --group runtime -o requirements-runtime.lock
	uv $(LOCK) --group science -o requirements-science.lock
	uv $(LOCK) --group build -o requirements-build.lock
	uv $(LOCK) --group docs -o requirements-docs.lock

api: prepare-tests           ## openapi.json and the client generated from it
	@$(DEV)/python -m portal openapi > openapi.json && $(NPM) run api

wheel: prepare   ## the portal as one wheel, with its lock, in STATE/wheel
	@$(STATE)/build/bin/python -m deploy.wheel --out $(STATE)/wheel

screenshots: prepare-tests   ## every page of the running demo, in pictures
	@$(DEV)/python -m tests.browser.screenshots --cluster $(STATE)/demo --out $(STATE)/screenshots

pictures: prepare-tests      ## the documentation's pictures, of the running demo
	@$(DEV)/python -m tests.browser.pictures --cluster $(STATE)/demo

bench: prepare-tests         ## speed and memory, beside the alternatives
	@$(PYTHON) -m cluster.test --state-root $(STATE) --program bench

clean: down      ## also remove the state folder
	rm -rf $(STATE)
