# The two commands: `make demo` and `make test`. `make help` lists the rest.
# All generated files and data are in STATE, one folder per checkout; the frontend's are in MADE.
# Debian's packages are installed on the machine, and remain installed.
# lint, docs, test-unit and test-frontend also work without root; STATE is then in the user's cache.

CHECKOUT := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
HASH := $(shell printf %s "$(CHECKOUT:%/=%)" | sha256sum | cut -c1-8)
AS_ROOT := $(filter 0,$(shell id -u))
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
STATE ?= $(if $(AS_ROOT),/srv/portal-$(HASH),$(CACHE)/data-scientist-portal/$(HASH))
MADE := frontend/node_modules frontend/dist frontend/lab/dist
PYTHON := /usr/bin/python3
DEV := $(STATE)/dev/bin
PREPARE := $(PYTHON) -m cluster.prepare --state-root $(STATE)
NPM := $(PREPARE) npm
CLUSTER := $(PYTHON) -m cluster --state $(STATE)/demo
# the release whose Slurm `make test-slurm` uses
SUITE ?= trixie
# pytest on all cores; the tests of a file share servers
SPREAD := -n auto --maxprocesses 8 --dist loadfile
export PYTHONDONTWRITEBYTECODE := 1
export PORTAL_TEST_SKIPS ?= fail

.PHONY: help demo up down status credentials state prepare prepare-checks prepare-docs prepare-npm \
	prepare-unit prepare-parts prepare-tests images image-desktop test lint lint-python lint-pages lint-quick \
	test-unit test-portal test-portal-postgresql test-cluster test-slurm test-browser test-install \
	test-compose test-vm test-more test-faults \
	test-all test-frontend bench load api lock clean python wheel screenshots pictures docs dev hooks

help:            ## what can be made
	@sed -n 's/^\([a-z-]*\): .*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 24

demo: prepare    ## raise the demo cluster and do the main job before your eyes
	@$(STATE)/venv/bin/python -m cluster.demo --state $(STATE)/demo

up: prepare      ## raise the demo cluster only
	@$(CLUSTER) up

dev: up          ## develop on the demo cluster: changes take effect as they are saved
	@$(PYTHON) -m cluster.dev --state-root $(STATE)

hooks:           ## git hooks that check commits: quick lint, and the subject
	@git config core.hooksPath .githooks

down:            ## stop the demo cluster; what it had outside its state folder is gone
	@$(CLUSTER) down

status:          ## what runs
	@$(CLUSTER) status

credentials:     ## address and accounts, as JSON
	@$(CLUSTER) credentials

state:           ## the state folder's path
	@echo $(STATE)

prepare: python  ## packages, virtualenvs, Apptainer, image, pages
	@$(PREPARE)

prepare-checks: python  # for lint and the git hooks
	@$(PREPARE) --tests --only dev --only npm

prepare-docs: python    # for the documentation's site
	@$(PREPARE) --tests --only docs

prepare-npm: python     # for the pages' own tests
	@$(PREPARE) --only npm

prepare-unit: python    # without root, tests that need Debian's packages are skipped
	@$(PREPARE) --tests --only dev $(if $(AS_ROOT),--only packages)

prepare-parts: python   # for tests with parts of a cluster, or with the python3 image
	@$(PREPARE) --tests

prepare-tests: python   # for tests with every framework
	@$(PREPARE) --tests --images

images: prepare  ## the images of every framework
	@$(PYTHON) -m deploy.images build --all --out $(STATE)/images

image-desktop: prepare  ## the image of the remote desktop, which `make images` leaves out
	@$(PYTHON) -m deploy.images build desktop --out $(STATE)/images

# Minimal Debian installations have no python3; it installs everything else.
python:
	@test -x $(PYTHON) || test "$(AS_ROOT)" || \
		{ echo "python3 is missing. Install it as root: apt-get install python3-venv"; exit 1; }
	@test -x $(PYTHON) || { apt-get update -q && apt-get install -q -y --no-install-recommends python3; }

test: prepare-tests lint  ## lint, then docs and the tests of pages, units, portal, cluster and browser
	@$(PYTHON) -m cluster.test --state-root $(STATE) --second tests/browser \
		--background "$(MAKE) --no-print-directory docs test-frontend test-unit" \
		--beside "$(SPREAD) tests/portal/services" \
		--beside "$(SPREAD) tests/portal --ignore tests/portal/services --ignore tests/portal/api" \
		--beside "$(SPREAD) tests/portal/api" -- tests/cluster

test-unit: prepare-unit       ## pure functions; a minute, needs neither a cluster nor root
	@$(DEV)/python -m pytest -rs $(SPREAD) tests/unit

test-portal: prepare-parts   ## the portal with a real slapd, hub and nginx, without Slurm
	@$(DEV)/python -m pytest $(SPREAD) tests/portal

test-portal-postgresql: prepare-parts  ## the same on PostgreSQL instead of SQLite
	@PORTAL_TEST_DATABASE=postgresql $(DEV)/python -m pytest $(SPREAD) tests/portal

test-cluster: prepare-tests  ## everything real, in a cluster of its own
	@$(PYTHON) -m cluster.test --state-root $(STATE) -- tests/cluster

test-slurm: prepare-tests    ## the same with the Slurm of another Debian release, SUITE
	@$(DEV)/python -m tests.recording.programs --suite $(SUITE) --folder $(STATE)/debian-$(SUITE)
	@$(PYTHON) -m cluster.test --state-root $(STATE) --name slurm-$(SUITE) \
		--slurm $(STATE)/debian-$(SUITE)/root -- tests/cluster

test-browser: prepare-tests  ## Chromium against everything real
	@$(PYTHON) -m cluster.test --state-root $(STATE) -- tests/browser

test-install: prepare-parts wheel ## docs/install.md on a cluster without the portal
	@PORTAL_STATE_ROOT=$(STATE) $(DEV)/python -m pytest tests/install

test-compose: prepare-parts ## docker-compose.yml, built and run by a Docker of the tests' own
	@$(DEV)/python -m tests.compose --state-root $(STATE)

test-vm: prepare-parts wheel ## a stock Debian 12 with systemd and cgroup v2, in a virtual machine
	@$(PYTHON) -m cluster.install --vm
	@PORTAL_STATE_ROOT=$(STATE) $(DEV)/python -m pytest tests/vm

test-more: prepare-tests     ## what takes too long for `make test`, in a cluster of its own
	@$(PYTHON) -m cluster.test --state-root $(STATE) -- tests/more

test-faults: prepare-tests   ## kill, stop and slow each part while users work; writes docs/reliability.md
	@$(PYTHON) -m cluster.test --state-root $(STATE) --name faults -- tests/faults; code=$$?; \
		$(DEV)/python -m tests.faults.results --state $(STATE)/faults && exit $$code

test-all: test test-portal-postgresql test-slurm test-more test-install test-compose test-vm  ## all tests but the matrix of faults

test-frontend: prepare-npm    ## the pages' own tests
	@$(NPM) test

lint: prepare-checks          ## ruff, mypy, import-linter, wording, Biome, tsc, generated files
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint-python lint-pages

lint-python:
	@$(DEV)/ruff check . && $(DEV)/ruff format --check .
	@$(DEV)/mypy && $(DEV)/mypy --python-version 3.10 -p client
	@$(DEV)/lint-imports --no-cache
	@$(DEV)/python -m tests.readability
	@$(DEV)/python -m portal openapi | diff -u openapi.json - || { echo "openapi.json is stale: make api"; exit 1; }

lint-pages:
	@$(NPM) run lint && $(NPM) run typecheck && $(NPM) run api:check

lint-quick:      # the pre-commit hook: seconds, needs only what prepare-checks made
	@$(DEV)/ruff check -q . && $(DEV)/ruff format -q --check .
	@$(DEV)/python -m tests.readability
	@$(NPM) run -s lint:quick

docs: prepare-docs            ## the documentation as a site; a link that leads nowhere is an error
	@$(STATE)/docs/bin/sphinx-build --quiet --fail-on-warning --keep-going -d $(STATE)/docs-cache \
		docs $(STATE)/site
	@echo "$(STATE)/site/index.html"

# The locks omit rfc3987-syntax (and lark, which only it needs): importing it takes a second at start.
LOCK := pip compile -p 3.11 --universal --generate-hashes --no-header --quiet \
	--no-emit-index-url --no-emit-find-links \
	--no-emit-package rfc3987-syntax --no-emit-package lark

lock:            ## the locks of Python packages, from pyproject.toml; needs uv on the PATH
	uv $(LOCK) pyproject.toml -o requirements.lock
	uv $(LOCK) pyproject.toml --extra dev -o requirements-dev.lock
	uv $(LOCK) --group runtime -o requirements-runtime.lock
	uv $(LOCK) --group science -o requirements-science.lock
	uv $(LOCK) --group build -o requirements-build.lock
	uv $(LOCK) --group apps -o requirements-apps.lock
	uv $(LOCK) --group docs -o requirements-docs.lock

api: prepare-checks           ## openapi.json and the client generated from it
	@$(DEV)/python -m portal openapi > openapi.json && $(NPM) run api

wheel: prepare   ## the portal as one wheel, with its lock, and the client as another, in STATE/wheel
	@$(STATE)/build/bin/python -m deploy.wheel --out $(STATE)/wheel

screenshots: prepare-parts   ## every page of the running demo, in pictures
	@$(DEV)/python -m tests.browser.screenshots --cluster $(STATE)/demo --out $(STATE)/screenshots

pictures: prepare-parts      ## the documentation's pictures, of the running demo
	@$(DEV)/python -m tests.browser.pictures --cluster $(STATE)/demo

bench: prepare-tests         ## speed and memory, beside the alternatives
	@$(PYTHON) -m cluster.test --state-root $(STATE) --program bench

load: prepare-parts          ## the portal at scale, each amount beside a tenth of it; no cluster
	@PORTAL_STATE_ROOT=$(STATE) $(DEV)/python -m bench load

clean:           ## also remove the state folder, and what the pages' build made in the checkout
	@test ! -e $(STATE)/demo || $(CLUSTER) down
	rm -rf $(STATE) $(MADE)
