# make demo    from a clean clone to tables, tests and docs
# make check   an answer to a change in less than three minutes
# make test    everything that CI runs
# make help    the rest
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
NEWEST := .spark-newest
OLDEST := .spark-oldest
PY_FILES := python_udfs tests scripts
SQL_FILES := $(wildcard models tests/consumer/models tests/benchmark/models tests/units/models tests/formats/*/models)
# A process for each of two cores; tests of one group run in one process.
PYTEST := pytest -n 2 --dist loadgroup --no-loadscope-reorder
# `make test` has another seed.
SEEDS := 1 2 3 4 5 6 7 8 9
# The tests of generated databases.
SEEDED = $(sort $(shell grep -rlE 'environ.*SPARK_CDC_SEED|import SEED' tests --include='test_*.py'))

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export DBT_PROFILES_DIR := $(CURDIR)/profiles
export DBT_SEND_ANONYMOUS_USAGE_STATS := false

.PHONY: help env demo docs check test test-all bench soak lint lint-python lint-sql clean lock reference release

help:
	@echo "make demo     build and test the sample project on a Thrift server of its own, and show its tables;"
	@echo "              FORMAT=iceberg or FORMAT=delta: in tables of that format"
	@echo "make docs     serve the documentation that the demo generated, on http://127.0.0.1:8080"
	@echo "make check    an answer to a change in three minutes: lint of changed files, types, tests without Spark,"
	@echo "              dbt unit tests; ONLY=qlik_change_table (a decoder, a folder of macros, a model, a path): only this"
	@echo "make test     everything that CI runs: lint, types, unit and end-to-end tests"
	@echo "make test-all more of it: ten seeds, many kills, code generation, the newest and oldest Spark, a metastore in PostgreSQL"
	@echo "make bench    measure the costs, as ratios: target/benchmark; options as BENCH='--rows 5000000 --repeats 3'"
	@echo "make soak     runs killed many times, on a table format: KILLS=20 FORMAT=parquet"
	@echo "make env      the Python environment .venv, from requirements.lock"
	@echo "make lock     write requirements.lock again, from pyproject.toml"
	@echo "make reference  docs/reference.md and the tables of columns, from the YAML files and models/docs.md"
	@echo "make release  a new version: VERSION=x.y.z; refuses unless make test-all was green on this commit"
	@echo "make clean    stop the server and remove everything that was created"

env:
	@PYTHON='$(PYTHON)' scripts/env

# Not environments of their own: everything except Spark comes from .venv.
.spark-%/.made: requirements-%.lock | env
	@echo "== fetching the $* Spark to test on (about 450 MB, once)"
	@rm -rf .spark-$*
	@pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target .spark-$* -r $<
	@touch $@

demo:
	@PYTHON='$(PYTHON)' FORMAT=$(FORMAT) scripts/demo

docs: env
	@test -f target/docs/catalog.json || { echo "no documentation yet: run make demo first"; exit 1; }
	dbt docs serve --target-path target/docs --host 127.0.0.1 --port 8080

check: env
	@scripts/java
	@python scripts/check.py $(ONLY)

test: env
	@scripts/java
	@scripts/chromium
	@$(MAKE) --no-print-directory -j 2 lint-python lint-sql
	$(PYTEST) -m "not slow" --hypothesis-profile test

# At the end it stores the hash of the green commit, if there are no other changes: `make release` needs it.
test-all: $(NEWEST)/.made $(OLDEST)/.made
	@git rev-parse HEAD >.spark-cdc-test-all.begun && rm -f .spark-cdc-test-all
	@scripts/java
	@scripts/chromium
	@scripts/postgresql
	@$(MAKE) --no-print-directory -j 2 lint-python lint-sql
	SPARK_CDC_TEST_ALL=yes $(PYTEST) --hypothesis-profile all
	@for seed in $(SEEDS); do \
	  echo "== generated databases with the seed $$seed"; \
	  SPARK_CDC_SEED=$$seed $(PYTEST) -m "not slow and not unit" -k "not table_format" $(SEEDED) || exit 1; \
	done
	@if [ -z "$$(git status --porcelain)" ] && git rev-parse HEAD | cmp -s - .spark-cdc-test-all.begun; then \
	  mv .spark-cdc-test-all.begun .spark-cdc-test-all; \
	else echo "the tree was changed meanwhile: make release will not accept this commit"; fi

bench: env
	@scripts/java
	python tests/benchmark/benchmark.py $(BENCH)

soak: env
	@scripts/java
	SPARK_CDC_KILLS=$(or $(KILLS),20) SPARK_CDC_KILLS_FORMAT=$(or $(FORMAT),parquet) pytest -s -m slow tests/incremental/test_crashes.py

lint: lint-python lint-sql

lint-python: env
	ruff check $(PY_FILES)
	ruff format --check $(PY_FILES)
	mypy

lint-sql: env
	sqlfluff lint $(SQL_FILES)

clean:
	@if $(VENV)/bin/spark-cdc-server --version >/dev/null 2>&1; then \
	  $(VENV)/bin/spark-cdc-server stop || exit 1; \
	  if [ -e .spark-cdc-check ]; then $(VENV)/bin/spark-cdc-server stop --dir .spark-cdc-check/parquet/server; fi; \
	elif [ -e .spark-cdc ] || [ -e .spark-cdc-check ]; then \
	  echo "spark-cdc-server does not run here: a server that still runs is not stopped"; fi
	rm -rf $(VENV) $(NEWEST) $(OLDEST) .spark-cdc .spark-cdc-check .spark-cdc-session .spark-cdc-lock .spark-cdc-test-all* target logs dbt_packages
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf python_udfs/*.egg-info tests/*/dbt_packages tests/*/package-lock.yml tests/consumer/target tests/consumer/logs
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

reference: env
	@python scripts/reference.py

release: env
	@python scripts/release.py $(VERSION)

lock:
	uvx uv pip compile --universal --no-strip-extras --python-version 3.10 --generate-hashes \
	  --group pyproject.toml:dev -o requirements.lock
	sed -nE 's/^([a-z0-9._-]+)(\[[A-Za-z0-9, -]+\])?(==[^\\]*[^\\ ]) *\\?$$/\1\3/p' requirements.lock >python_udfs/constraints.txt
