# The two commands: `make run` and `make test`.  `make` alone lists all.
.DEFAULT_GOAL := help
.PHONY: help setup run demo test cover check lint types fmt lock docs bench
BIN := .venv/bin
VAR ?= var
# Many tests wait for a mail server: more of them at once than cores.
TESTS := $(BIN)/python -m pytest -n 3 --dist worksteal
# Tests that kill and time out real servers can fail on a machine that is busy with other tests.  The few that did are tried once more, with
# nothing beside them: one that fails again has failed, and the first run's report stays above for who wants to know which they were.
ALONE := $(BIN)/python -m pytest --last-failed --last-failed-no-failures none --maxfail 3

help:            ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:           ## set up what is missing to run (the others call it)
	@./setup run

run: setup $(VAR)/oborona.toml  ## start the daemon on its embedded stores; settings, counters and journal are in ./var
	@mkdir -p $(VAR)/run
	@exec $(BIN)/oborona --config $(VAR)/oborona.toml serve

# Made once; yours to edit.
$(VAR)/oborona.toml:
	@mkdir -p $(VAR)
	@if [ "$$(id -u)" = 0 ] && getent group postfix >/dev/null; \
	 then who='socket_group = "postfix"  # of all users, the mail server alone may ask'; \
	 else who='socket_mode = "0666"  # it can't be given to Postfix's group from here: everybody may ask'; fi; \
	 printf '%s\n' '# Settings of a trial, made by "make run"; etc/oborona.toml lists all there are.' \
	    '[paths]' 'state = "state"' 'policy = "$(CURDIR)/etc/policy.d"' '' \
	    '[doors.milter]' 'listen = "unix:$(abspath $(VAR))/run/milter.sock"' "$$who" >$@

demo:            ## a private Postfix + Oborona + Dovecot: real mail sent through, and what happened to it
	@./setup test
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

docs:            ## write again what is generated from code: settings, facts, shingle types
	$(BIN)/python -m oborona.cli.document

bench:           ## messages a second, CPU and memory of a scan (docs/performance.md), and what counting costs (docs/scaling.md)
	@./setup test
	$(BIN)/python benchmarks/scan.py
	$(BIN)/python benchmarks/message.py
	$(BIN)/python benchmarks/counters.py
	$(BIN)/python benchmarks/authentication.py
	$(BIN)/python benchmarks/resolver.py
	$(BIN)/python benchmarks/connect.py
	$(BIN)/python benchmarks/doors.py
	$(BIN)/python benchmarks/lists.py

lock:            ## resolve again what the locks hold (needs uv)
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --upgrade pyproject.toml -o requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --extra ml -c requirements.lock --upgrade pyproject.toml -o requirements-ml.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --extra ml --group dev -c requirements-ml.lock --upgrade pyproject.toml -o requirements-dev.lock
