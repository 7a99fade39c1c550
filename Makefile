# `make demo` shows it, `make check` tests what changed, `make test` tests everything. Each sets up what it needs first.
VENV := .venv
BIN := $(VENV)/bin
BROWSER := clients/browser
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

# Tests start some hundred processes, which read what was compiled before.
unexport PYTHONDONTWRITEBYTECODE

# Many tests wait: for rounds, for locks, for processes that they killed. So there is one worker more than cores.
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: demo test check browser chromium nginx node java bench figures screenshots vectors lock dist site clean

# While Python is loaded, Ctrl-C is held back where the system can do that: Python would show a traceback.
HOLD := $(shell env --block-signal=INT true 2>/dev/null && echo env --block-signal=INT)
demo: $(VENV)/.ready
	@trap : INT; $(HOLD) $(BIN)/untrackable demo || [ $$? -eq 130 ]

test: $(VENV)/.ready-dev chromium nginx java $(BROWSER)/node_modules/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup

# Before every commit: within a minute on two cores where little has changed.
check: $(VENV)/.ready-dev $(BROWSER)/node_modules/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.changed

# The pages are tested in a real browser.
chromium:
	@command -v chromium-headless-shell >/dev/null || { echo "installing Chromium"; apt-get update -qq \
		&& { apt-get install --yes -qq chromium-headless-shell >/dev/null || apt-get install --yes -qq chromium >/dev/null; }; }

# The documented proxy is tested with a real nginx.
nginx:
	@PATH="$$PATH:/usr/sbin"; command -v nginx >/dev/null && command -v openssl >/dev/null \
		|| { echo "installing nginx"; apt-get update -qq && apt-get install --yes -qq nginx-light openssl >/dev/null \
			&& { systemctl disable --now nginx >/dev/null 2>&1 || true; }; }

# Estimates on Spark are tested with a small cluster on this machine.
java:
	@command -v java >/dev/null || { echo "installing Java"; apt-get update -qq \
		&& apt-get install --yes -qq default-jre-headless >/dev/null; }

# The client for web pages is built and tested with Node.js.
node:
	@command -v node >/dev/null && command -v npm >/dev/null \
		|| { echo "installing Node.js"; apt-get update -qq && apt-get install --yes -qq nodejs npm >/dev/null; }

$(BROWSER)/node_modules/.ready: $(BROWSER)/package-lock.json | node
	@echo "installing the locked tools of the client for web pages"
	@cd $(BROWSER) && npm ci --silent --ignore-scripts
	@touch $@

# Builds the client for web pages, as it ships in the package.
browser: $(BROWSER)/node_modules/.ready
	@cd $(BROWSER) && node build.mjs

# Runs all benchmarks, or those of ONLY="planning files", stores their rows and writes the tables of the documents.
bench: $(VENV)/.ready-dev
	@$(BIN)/python -m benchmarks $(ONLY) --store

# Regenerates what is committed: the pictures and the golden vectors.
figures: $(VENV)/.ready
	$(BIN)/untrackable demo --once --force --plot docs/figures/demo.png
	$(BIN)/untrackable paper --force --plot docs/figures/rappor.png
	$(BIN)/untrackable compare --floor --force --plot docs/figures/floor.png

screenshots: $(VENV)/.ready-dev chromium
	$(BIN)/python -m tests.browser.screenshots

vectors: $(VENV)/.ready-dev
	$(BIN)/python tests/vectors/make.py
	$(BIN)/python -m tests.client.vectors

# requirements.lock has what both distributions need with all extras, requirements-dev.lock what their tests need too.
COMPILE := pip compile - --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header \
	--no-annotate --no-emit-package untrackable --no-emit-package untrackable-engine --upgrade --quiet
lock: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet uv
	printf ".[all]\n./engine\n" | $(BIN)/uv $(COMPILE) --group dev --output-file requirements-dev.lock
	printf ".[all]\n./engine\n" | $(BIN)/uv $(COMPILE) --group build --constraint requirements-dev.lock --output-file requirements.lock

# The documents as a site, in build/site.
site: $(VENV)/.ready-dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open build/site/index.html; search needs a server: $(BIN)/python -m http.server 8080 --directory build/site"

# A release: builds it, compares it with the checkout, installs it into an empty environment, and tries it out.
dist: $(VENV)/.ready-dev
	@$(BIN)/python -m tests.distribution dist

clean:
	rm -rf $(VENV) build dist $(BROWSER)/node_modules $(BROWSER)/dist clients/node/dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
$(VENV)/.ready: requirements.lock pyproject.toml engine/pyproject.toml
	@test -n "$(PYTHON)" || { echo "untrackable needs Python 3.11 or newer as python3" >&2; exit 1; }
	@rm -f $@
	@$(PYTHON) -m venv --clear $(VENV) 2>/dev/null || { apt-get update && apt-get install --yes python3-venv \
		&& $(PYTHON) -m venv --clear $(VENV); }
	@echo "installing the locked dependencies into $(VENV)"
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-build-isolation --no-deps -e . -e ./engine
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready requirements-dev.lock
	@echo "installing the locked tools of the tests into $(VENV)"
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@
