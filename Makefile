# Two commands do everything: `make demo` and `make test`. Each sets up what it needs first.
VENV := .venv
BIN := $(VENV)/bin
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

.PHONY: demo test chromium bench figures vectors lock clean

demo: $(VENV)/.ready
	@$(BIN)/untrackable demo

test: $(VENV)/.ready chromium
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist loadgroup

# The pages are tested in a real browser.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| { echo "installing Chromium"; apt-get update -qq && apt-get install --yes -qq chromium >/dev/null; }

bench: $(VENV)/.ready
	@for b in benchmarks/*.py; do $(BIN)/python $$b || exit 1; done

# Regenerates what is committed: the pictures and the golden vectors.
figures: $(VENV)/.ready
	$(BIN)/untrackable demo --once --plot docs/figures/demo.png
	$(BIN)/untrackable paper --plots docs/figures

vectors: $(VENV)/.ready
	$(BIN)/python tests/vectors/make.py
	$(BIN)/python -m tests.client.vectors

lock: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--group dev pyproject.toml --upgrade --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/.ready: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "untrackable needs Python 3.11 or newer as python3" >&2; exit 1; }
	@rm -f $@
	@$(PYTHON) -m venv --clear $(VENV) 2>/dev/null || { apt-get update && apt-get install --yes python3-venv \
		&& $(PYTHON) -m venv --clear $(VENV); }
	@echo "installing the locked dependencies into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@
