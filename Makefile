# The two commands: `make run` and `make test`.  `make` alone lists all.
.DEFAULT_GOAL := help
.PHONY: help setup run demo test check lint types fmt lock docs bench
BIN := .venv/bin

help:            ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:           ## set up what is missing to run (the others call it)
	@./setup run

# The socket is for Postfix's group where root starts us, else for everybody: this is a trial, docs/install.md is not.
run: setup       ## start the daemon on its embedded stores; everything it keeps is in ./var
	@mkdir -p var/run
	@if [ "$$(id -u)" = 0 ] && getent group postfix >/dev/null; \
	 then who=socket_group=postfix; else who=socket_mode=0666; fi; \
	 exec $(BIN)/oborona --state var/state --set milter.listen=unix:$(CURDIR)/var/run/milter.sock --set milter.$$who serve

demo:            ## a private Postfix + Oborona + Dovecot: real mail sent through, and what happened to it
	@./setup test
	@$(BIN)/python -m tests.demo

test:            ## set up what tests need, run all of them
	@./setup test
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered

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

bench:           ## messages a second, CPU and memory of a scan (docs/performance.md)
	@./setup test
	$(BIN)/python benchmarks/scan.py

lock:            ## resolve again what the locks hold (needs uv)
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --upgrade pyproject.toml -o requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	    --group dev -c requirements.lock --upgrade pyproject.toml -o requirements-dev.lock
