# Two commands do everything on a machine that has Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test chromium lint docs wheel bench sb3 sb3-field constraints clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("emuq needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.12 ..." % sys.version_info[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	@# The arm's files are all that emuq takes from dm_control, whose labmaze has no wheel for Python 3.13.
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt dm_control
	@touch $(STAMP)

demo: setup
	$(BIN)/emuq demo

test: setup chromium
	$(BIN)/python -m pytest -n 2 --dist worksteal

# The live page is tested in Debian's Chromium. Without one these tests are skipped, and say so.
chromium:
	@command -v chromium >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null; fi || true
	@command -v chromium >/dev/null || echo "no chromium, so no tests of the live page: sudo apt-get install chromium"

lint: setup
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/pyright

# The site, in site/: any warning, broken link or missing anchor is an error.
$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

# dist/*.whl and dist/*.tar.gz; then the wheel is installed in a new environment without extras, and used.
wheel: setup
	@rm -rf dist
	$(BIN)/python -m build --outdir dist > /dev/null
	$(BIN)/python .ci/check_wheel.py dist

bench: setup
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Stable-Baselines3's SAC and PPO beside EMU-Q. Torch is no dependency of emuq: it has an environment of its own.
SB3 := .venv-sb3
$(SB3)/.installed: pyproject.toml constraints.txt benchmarks/sb3/requirements.txt
	@test -x $(SB3)/bin/python || $(PYTHON) -m venv $(SB3)
	$(SB3)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r benchmarks/sb3/requirements.txt
	@touch $@

sb3: $(SB3)/.installed
	$(SB3)/bin/python benchmarks/sb3/evaluate_policy.py
	OMP_NUM_THREADS=1 $(SB3)/bin/python benchmarks/sb3/compare.py $(SB3_OPTIONS)

sb3-field: $(SB3)/.installed
	OMP_NUM_THREADS=1 $(SB3)/bin/python benchmarks/sb3/field.py $(SB3_OPTIONS)

# The versions every test ran with; installs use them, so that next year's install is today's.
constraints: setup
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean:
	rm -rf $(VENV) $(SB3) build dist site
