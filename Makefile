# Every target works as the first command in a fresh clone of a machine with Rust, Python 3.11, Node and gcc.
PYTHON ?= $(or $(shell command -v python3.11),python3)
VENV   := .venv
BIN    := $(VENV)/bin
CRATES := $(shell find crates -name '*.rs' -o -name '*.policy' -o -path 'crates/*/pages/*.toml' -o -name 'Cargo.toml' -path 'crates/*')
PAGE   := python/ackclock/web/lab.html
PAGES  := $(shell find web/src web/lessons -type f) web/index.html web/vite.config.ts web/package-lock.json $(wildcard scenarios/*.toml scenarios/traces/* python/ackclock/apps/satellites/data/*.json)

# The kernel bridge is part of the core where the headers that it needs are there.
KERNEL := $(if $(and $(wildcard /usr/include/libelf.h),$(wildcard /usr/include/zlib.h)),--features kernel)

# A profile of the core (make pgo). It applies to one compiler, one set of libraries and one target, so their hash is its name.
# Builds of the core use it if it is there.
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
PGO  := target/pgo/$(shell { rustc -vV; cat Cargo.lock; echo $(KERNEL); } 2>/dev/null | cksum | cut -d ' ' -f 1).profdata
# The compiler's flags: those of the user, and one more.
FLAGS = unset LLVM_PROFILE_FILE; export CARGO_ENCODED_RUSTFLAGS="$${RUSTFLAGS:+$$(printf '%s\037' $$RUSTFLAGS)}$(1)"
USE_PGO = if [ -f $(PGO) ]; then export ACKCLOCK_PGO=1 CARGO_BUILD_TARGET=$(HOST); \
    $(call FLAGS,-Cprofile-use=$(CURDIR)/$(PGO)); fi
# What .built says of the core that was built last.
USED_PGO = [ ! -f $(PGO) ] || echo $(PGO)
$(shell [ "$$(cat $(VENV)/.built 2>/dev/null)" = "$$($(USED_PGO))" ] || rm -f $(VENV)/.built)

.PHONY: build capi kernel pgo bpf web page run test test-times test-install test-rust-build test-rust test-wheel test-python \
        test-page test-publish test-count-build test-instructions nightly clippy lint format bench peers validate live fuzz docs site reference \
        interface baselines scoreboard wheel locks clean

build: $(VENV)/.built
	@echo "built: $(BIN)/ackclock, with the Python package of this folder; next: make run, or $(BIN)/ackclock --help"
	@test -f "$(PGO)" || echo "it lacks a profile of the core: make pgo makes runs 1.2 times as fast"
	@test -n "$(KERNEL)" || echo "it lacks the kernel bridge (ackclock run FILE --on kernel): install libelf-dev and zlib1g-dev, then make kernel"

# What a build and a run need, pinned with hashes.
$(VENV)/.installed: requirements.lock
	@echo "installing the pinned Python packages into $(VENV): about a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --require-hashes -r requirements.lock
	@touch $@

# What tests, lints and the site need as well.
$(VENV)/.dev: requirements-dev.lock $(VENV)/.installed
	@echo "installing the pinned Python packages of tests and documentation into $(VENV): about a minute"
	@$(BIN)/python -m pip install -q --require-hashes -r requirements-dev.lock
	@touch $@

# Pins newer versions; needs uv.
locks:
	uv pip compile --quiet --upgrade pyproject.toml --extra arima --group dev --python-version 3.11 --generate-hashes \
	    --custom-compile-command "make locks" -o requirements-dev.lock
	uv pip compile --quiet pyproject.toml --extra arima --group build --python-version 3.11 --generate-hashes \
	    --custom-compile-command "make locks" --constraint requirements-dev.lock -o requirements.lock
	uv pip compile --quiet --upgrade --group wheel --python-version 3.11 --generate-hashes --no-annotate --constraint requirements-dev.lock \
	    --custom-compile-command "make locks" -o requirements-wheel.lock

$(VENV)/.built: $(VENV)/.installed $(CRATES) Cargo.toml Cargo.lock pyproject.toml $(wildcard $(PGO))
	@echo "building the core (release) and installing the package into $(VENV), editable: two to five minutes on two cores"
	@$(USE_PGO); PATH="$(abspath $(BIN)):$$PATH" MATURIN_PEP517_ARGS="$(KERNEL)" \
	    $(BIN)/python -m pip install -q --no-deps --no-build-isolation --editable .
	@{ $(USED_PGO); } >$@

# The core with the kernel bridge (ackclock run FILE --on kernel), after its headers were installed.
kernel:
	@test -n "$(KERNEL)" || { echo "error: no headers of libelf and zlib; install libelf-dev and zlib1g-dev" >&2; exit 2; }
	@rm -f $(VENV)/.built
	@$(MAKE) --no-print-directory build

# The core with profile-guided optimisation: a run over many networks counts how often each branch is taken, and the core is
# compiled for these counts. 1.2 times as fast, with equal results. Needs rustup. To go back: rm -r target/pgo; make build.
pgo: $(PGO)
	@$(MAKE) --no-print-directory build
	@$(BIN)/python benches/pgo.py $(PGO) python/ackclock/_core.abi3.so

SOURCES := $(filter-out $(wildcard crates/*/tests/*.rs crates/*/benches/*.rs),$(CRATES))
$(PGO): $(VENV)/.installed $(SOURCES) benches/train.py $(wildcard scenarios/*.toml scenarios/traces/* crates/lab/tests/fingerprints/*.toml)
	@command -v rustup >/dev/null || { echo "error: no rustup, which installs llvm-profdata; see https://rustup.rs" >&2; exit 2; }
	@echo "building the core with counters, and counting: four minutes on two cores"
	@rustup --quiet component add llvm-tools
	@rm -rf $(@D)/build $(@D)/counts && mkdir -p $(@D)
	@$(call FLAGS,-Cprofile-generate=$(CURDIR)/$(@D)/counts); export PYO3_BUILD_EXTENSION_MODULE=1; \
	    cargo build --locked --quiet --release --target $(HOST) --target-dir $(@D)/build -p ackclock-py $(KERNEL)
	@mkdir $(@D)/build/package && cp -r python/ackclock $(@D)/build/package && \
	    cp $(@D)/build/$(HOST)/release/lib_core.so $(@D)/build/package/ackclock/_core.abi3.so
	@PYTHONPATH=$(@D)/build/package $(BIN)/python benches/train.py
	@$(shell rustc --print target-libdir)/../bin/llvm-profdata merge -o $@ $(@D)/counts
	@rm -rf $(@D)/build $(@D)/counts

# The BPF program of the kernel bridge, which is committed: needs clang, llvm and the headers of libbpf.
BPF_OBJECT ?= crates/reach/bpf/ccbridge.bpf.o
bpf:
	clang -O2 -g -Wall -target bpf -I/usr/include/$(shell uname -m)-linux-gnu -c crates/reach/bpf/ccbridge.bpf.c -o $(BPF_OBJECT)
	llvm-strip -g $(BPF_OBJECT)

# The main job, the quick form: the laboratory's page, all papers, every controller over their networks, one index.
run:
	@$(MAKE) --no-print-directory --jobs 2 --keep-going build page || { $(MAKE) --no-print-directory build && \
	    echo "the laboratory's page could not be built (see above): papers have no links to runs"; }
	@echo "reproducing the papers, quick form, into out: two to three minutes on two cores; can be interrupted and repeated"
	@$(BIN)/ackclock paper all --out out --quick

# Everything that must hold, in parts (tests/run.py): formats, lints, types, Rust tests, the page, Python tests with the
# validation, instruction counts. It prints the time of each part, and the tests that were skipped.
test:
	@$(PYTHON) tests/run.py

# The same in a fresh clone of HEAD; writes the times into CONTRIBUTING.md.
test-times:
	@$(PYTHON) tests/run.py --fresh

test-install: $(VENV)/.dev web/node_modules/.installed

test-rust-build:
	cargo test --locked --quiet --features ackclock-quic/tls,ackclock/conform --no-run
	cargo build --locked --quiet -p ackclock-capi

test-rust:
	cargo test --locked --features ackclock-quic/tls,ackclock/conform

# The wheel of this machine, in which tests/test_readme.py runs what the first pages say.
test-wheel: build page
	@rm -rf out/test/wheel
	@$(USE_PGO); PATH="$(abspath $(BIN)):$$PATH" MATURIN_PEP517_ARGS="$(KERNEL)" \
	    $(BIN)/python -m pip wheel -q --no-deps --no-build-isolation -w out/test/wheel .

test-python: build page $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --junitxml=out/test/python.xml

test-page: page
	cd web && npm run --silent types && npm run --silent unit && npm run --silent page

# The crates that `ackclock` needs: documentation without a warning, packages, no features; `make nightly` builds a program
# with the packages (tests/test_publish.py).
PRIVATE = --exclude ackclock-capi --exclude ackclock-py --exclude ackclock-web --exclude ackclock-reach
test-publish:
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --quiet --no-deps --workspace $(PRIVATE)
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --quiet --no-deps --package ackclock --features conform
	cargo check --locked --quiet --package ackclock --no-default-features
	cargo package --locked --offline --quiet --no-verify --allow-dirty --workspace $(PRIVATE)

# The programs whose instructions are counted.
test-count-build: $(VENV)/.dev
	$(BIN)/python benches/instructions.py --build

test-instructions: build $(VENV)/.dev
	$(BIN)/python benches/instructions.py

# libackclock for programs in C, with its header and the files of pkg-config and CMake, in out/capi; the library without its
# debug information. `CAPI_PROFILE=dev` is faster to build, and slow.
CAPI = out/capi
CAPI_PROFILE ?= release
CAPI_BUILT = target/$(if $(filter dev,$(CAPI_PROFILE)),debug,$(CAPI_PROFILE))
capi:
	cargo build --locked --quiet --profile $(CAPI_PROFILE) -p ackclock-capi
	@rm -rf $(CAPI) && mkdir -p $(CAPI)/include $(CAPI)/lib/pkgconfig $(CAPI)/lib/cmake/ackclock
	@cp crates/capi/include/ackclock_network.h python/ackclock/include/*.h $(CAPI)/include
	@cp $(CAPI_BUILT)/libackclock.a $(CAPI)/lib && strip --strip-debug $(CAPI)/lib/libackclock.a
	@cp $(CAPI_BUILT)/libackclock.so $(CAPI)/lib/libackclock.so.1 && strip $(CAPI)/lib/libackclock.so.1
	@ln -s libackclock.so.1 $(CAPI)/lib/libackclock.so
	@sed 's/@VERSION@/1.0/' crates/capi/pkg/ackclock.pc.in > $(CAPI)/lib/pkgconfig/ackclock.pc
	@cp crates/capi/pkg/*.cmake $(CAPI)/lib/cmake/ackclock
	@cp LICENSE-APACHE LICENSE-MIT $(CAPI)
	@echo "libackclock: $(abspath $(CAPI)); next: PKG_CONFIG_PATH=$(abspath $(CAPI))/lib/pkgconfig cc toy.c $$(echo '$$(pkg-config --cflags --libs ackclock)')"

# What takes long and guards little: long forms of tests, mutants, fuzzers. Can be interrupted and repeated.
nightly: build page test-wheel $(VENV)/.dev $(VENV)/.wheel
	@$(BIN)/python tests/nightly.py

# The laboratory in one HTML file, which the wheel ships. Needs Node.
web page: $(PAGE)
	@echo "the laboratory's page: $(abspath $(PAGE)); next: $(BIN)/ackclock view @dumbbell"

web/node_modules/.installed: web/package-lock.json
	@echo "installing the pinned Node packages into web/node_modules"
	cd web && npm ci --ignore-scripts --silent
	@touch $@

$(PAGE): web/ackclock.wasm web/node_modules/.installed $(PAGES)
	@echo "building the laboratory's page: half a minute"
	@cd web && npm run --silent build

# The simulator as WebAssembly, for browsers.
web/ackclock.wasm: $(CRATES) Cargo.toml Cargo.lock web/wasm.sh
	@echo "building the core as WebAssembly: two to five minutes on two cores"
	web/wasm.sh $@

lint: build $(VENV)/.dev web/node_modules/.installed
	cargo fmt --all --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	cd web && npm run --silent style

clippy:
	cargo clippy --locked --quiet --workspace --all-targets -- --deny warnings

format: build $(VENV)/.dev web/node_modules/.installed
	cargo fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	cd web && npm run --silent format

bench: build
	$(BIN)/ackclock bench
	cargo bench --locked --quiet -p ackclock-engine --bench order
	cargo bench --locked --quiet -p ackclock-cc --bench per_ack

# The dumbbell beside ns-2, htsim and ns-3, as far as they are there: five minutes. HTSIM is a checkout of htsim.
peers: build
	$(BIN)/python benches/peers.py $(if $(HTSIM),--htsim "$(HTSIM)")

# Beside ns-2 itself, where it is installed (Debian: ns2).
validate: build
	$(BIN)/python validation/ns2/live.py

# Records scripts on this machine's kernel and compares; needs root.
live: build
	$(BIN)/python validation/linux/linux_live.py

# Needs `cargo install cargo-fuzz`; FUZZ is a file of fuzz/fuzz_targets.
FUZZ ?= scenario
fuzz:
	cargo fuzz run --sanitizer none $(FUZZ) -- -max_total_time=60 -max_len=4096

# The site: guides, tutorials and a gallery with their outputs, the reference from the docstrings, into out/site. A
# warning fails it. What the tutorials and the gallery run is kept in out/site-cache.
docs: build $(PAGE) $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir $(abspath out/site)
	@echo "The site: $(abspath out/site/index.html)"

# The same as a folder that any web server serves, with the laboratory in it: links (ackclock link --at ADDRESS) open there.
site: docs
	@test -f out/site/lab.html
	$(BIN)/ackclock scoreboard validation/scoreboard --out out/site/scoreboard
	@echo "next: copy $(abspath out/site) to a web server; links: $(BIN)/ackclock link @dumbbell --at https://SERVER/FOLDER"

# The files that are made from descriptions in the code: schemas, types, tables of the page, reference pages.
reference: interface build
	$(BIN)/python tools/reference/write.py
	$(BIN)/python validation/rfc/standards_page.py
	$(BIN)/python tests/structure.py --write
	$(BIN)/python tools/drawings.py

# The interface of controllers outside Rust, from the trait `Controller`.
interface:
	ACKCLOCK_INTERFACE=write cargo test --locked --quiet --package ackclock-cc --test interface

# The results of well-known controllers in the quick suite, with which pages of suites compare: six minutes.
baselines: build
	$(BIN)/python tools/reference/ship.py

# The results of the scoreboard (ackclock scoreboard validation/scoreboard): two minutes.
scoreboard: build
	$(BIN)/python tools/reference/scoreboard.py

# Wheels for Python 3.11 and later (abi3) and every system of tools/wheels.py, into out/wheels; TARGET chooses one. The one
# of this machine is tried in an empty environment without a compiler, with each Python in PYTHONS.
TARGET  ?=
PYTHONS ?= $(foreach version,3.11 3.12 3.13 3.14 3.15,$(shell command -v python$(version)))
wheel: build $(PAGE) $(VENV)/.wheel
	rm -rf out/wheels
	$(BIN)/python tools/wheels.py out/wheels $(TARGET)
	@for wheel in out/wheels/ackclock-*manylinux*_$(shell uname -m).whl; do \
	    [ ! -f $$wheel ] || validation/wheel.sh $$wheel $(PYTHONS) || exit 1; done

# The linker of the wheels.
$(VENV)/.wheel: requirements-wheel.lock $(VENV)/.installed
	@echo "installing the linker for wheels (90 MB)"
	@$(BIN)/python -m pip install -q --require-hashes -r requirements-wheel.lock
	@touch $@

# Removes everything that make made; the compiler for WebAssembly stays in the cache folder (web/wasm.sh).
clean:
	rm -rf $(VENV) target fuzz/target out web/node_modules web/ackclock.wasm \
	    python/ackclock/web python/ackclock/scenarios python/ackclock/examples python/ackclock/paper_folders python/ackclock/_core*.so
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis callgrind.out.* fuzz/artifacts
	find . -name __pycache__ -prune -exec rm -rf {} +
	@du -sh "$${XDG_CACHE_HOME:-$$HOME/.cache}/ackclock" 2>/dev/null | sed 's/^/kept for the next build: /' || true
