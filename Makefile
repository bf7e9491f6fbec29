# All tasks on Guise's sources. Each target first installs the Debian packages that it lacks, and prints their names.
#   ARGS='...' is passed to the program: make run ARGS='--mask cat'
SHELL := /bin/bash
PREFIX ?= $(HOME)/.local
ARGS ?=
# What installs missing packages; `:` for builds that must not, such as the Debian package's.
SETUP ?= ./setup

guise := .build/release/guise
share := $(DESTDIR)$(PREFIX)/share/guise
# What is installed there. In ~/.local the folder also has what the user has taught, which stays.
shared := Cascades Masks Page config.json samples systemd
launcher := $(DESTDIR)$(PREFIX)/share/applications/guise.desktop
icon := $(DESTDIR)$(PREFIX)/share/icons/hicolor/scalable/apps/guise.svg
metainfo := $(DESTDIR)$(PREFIX)/share/metainfo/guise.metainfo.xml
sources := Sources Tests Package.swift

.PHONY: run build build-packages test accuracy verifier-evidence outline-mattes test-vm test-deb sanitize soak bench \
    fuzz sample outline readme-pictures reference lint format install uninstall manual deb tarball clean

run: build sample outline
	@exec $(guise) run $(ARGS)

# Swift's own libraries are linked statically: the program starts in three quarters of the time, takes 8 MB less memory,
# and runs on machines without Swift.
#
# `guise --version` names the commit, unless the sources are not a git checkout.
commit := $(or $(GUISE_COMMIT),$(shell git describe --always --abbrev=10 --exclude='*' --dirty=+ 2>/dev/null))

# Exists if everything that it depends on was built, for this commit. The package manager takes 9 s to find that nothing
# has changed.
built := .build/release/built-$(commit)
build: $(built)
$(built): export GUISE_COMMIT := $(commit)
$(built): $(shell find Sources Package.swift Package.resolved) $(realpath $(shell command -v swift)) | build-packages
	@rm -f .build/release/built-*
	swift build -c release --product guise --static-swift-stdlib
	swift build -c release --product guise-art --static-swift-stdlib
	swift build -c release --product guise-camera --static-swift-stdlib
	swift build -c release --product guise-objects --static-swift-stdlib
	@touch $@

build-packages:
	@$(SETUP) build run

# The tests are built in debug mode, with the compiler's checks and with warnings as errors; the program under test is
# the release build. No test depends on timing, so that a busy machine fails none; the hour's limit only ends a hang.
export GUISE_BINARY ?= $(CURDIR)/$(guise)
run_tests = set -o pipefail; export GUISE_STRICT=1; GUISE_BENCHMARKS=1 swift build --build-tests || exit 1; code=0; \
    timeout 3600 stdbuf -oL swift test --disable-xctest --skip-build $(1) $(ARGS) 2>&1 | \
    tee .build/$@.log | grep --line-buffered -v -e '^◇' -e '^✔ Test case' -e '^↳' || code=$$?; \
    Tests/report .build/$@.log && exit $$code

test: build sample outline lint
	@$(SETUP) test
	@$(SETUP) axe || true
	@$(call run_tests,--skip AccuracyTests --skip SoakTests --skip Benchmarks)

# The accuracy of face detection and masks on labelled photos and clips outside the package ($$GUISE_DATA). Takes
# minutes.
accuracy: build sample outline
	@$(SETUP) test
	@$(call run_tests,--filter AccuracyTests)

# What Benchmarks/verifier.py and outline.py judge: what the verifiers say about detections, and the outline of people.
verifier-evidence outline-mattes:
	@$(SETUP) build
	GUISE_BENCHMARKS=1 swift build -c release --product $@ --scratch-path .build-benchmarks

# The tests with real drivers, in a virtual machine.
test-vm: build sample
	@$(SETUP) test
	GUISE_STRICT=1 Tests/VM/run $(ARGS)

# Unit tests under the address sanitizer, and those that start threads under the thread sanitizer.
sanitize: sample
	@$(SETUP) build run test
	@Tests/sanitize/run $(ARGS)

# Tests and benchmarks that need real time and a quiet machine. The results are shown beside the committed ones;
# ARGS=--commit replaces the committed ones. GUISE_SOAK=1800 makes the soak test last half an hour.
soak bench: build sample outline
	@$(SETUP) test
	@Benchmarks/figures $@ $(ARGS)

# Mutates mask packs and requests to the control socket until something breaks or the time is over. MINUTES=... sets the
# time. KEEP=1 adds the inputs that reached new code to Tests/Fuzz/corpus. Inputs that failed are in .build-fuzz/.
MINUTES ?= 5
fuzzer := .build-fuzz/release/PackFuzzer
fuzz:
	@$(SETUP) build
	GUISE_FUZZ=1 swift build -c release --product PackFuzzer --scratch-path .build-fuzz
	GUISE_FUZZ=1 swift build -c release --product RequestFuzzer --scratch-path .build-fuzz
	GUISE_FUZZ=1 swift build -c release --product guise-art --scratch-path .build-fuzz
	@mkdir -p .build-fuzz/corpus .build-fuzz/seeds .build-fuzz/requests
	@{ cat Tests/Fuzz/keys.dict; grep -oE '"[A-Za-z0-9$$_ -]+"' Masks/mask.schema.json | sort -u \
	    | sed 's/"\(.*\)"/"\\"\1\\""/'; } > .build-fuzz/keys.dict
	@for mask in Masks/*/; do cp $$mask/mask.json .build-fuzz/seeds/$$(basename $$mask).json; done
	.build-fuzz/release/RequestFuzzer -max_total_time=$$(($(MINUTES) * 60)) -timeout=10 -max_len=4096 \
	    -print_final_stats=1 -artifact_prefix=.build-fuzz/request- .build-fuzz/requests Tests/Fuzz/requests
	$(fuzzer) -max_total_time=$$(($(MINUTES) * 60)) -timeout=60 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
	    -dict=.build-fuzz/keys.dict -artifact_prefix=.build-fuzz/ .build-fuzz/corpus Tests/Fuzz/corpus .build-fuzz/seeds
	@rm -rf /dev/shm/guise-fuzz-*
	$(if $(KEEP),$(fuzzer) -merge=1 -max_len=1024 -timeout=60 Tests/Fuzz/corpus .build-fuzz/corpus)

sample:
	@$(SETUP) sample

# The model of the person's outline, which backgrounds need. Everything else works without, so a failed download stops
# nothing.
outline:
	@$(SETUP) outline || true

# Renders the moving picture and the picture of the page in README.md from the sample portrait.
readme-pictures: build sample
	@$(SETUP) run test
	@docs/pictures/render $(guise)

# Writes the parts of the documentation that are made from code and schema; `make test` compares them.
reference:
	@$(SETUP) test
	GUISE_WRITE_REFERENCE=1 swift test --disable-xctest --filter '(Request|Schema|Spec)Tests'

lint: .build/lint
	@Tests/circles
	@find Sources Tests Page Benchmarks -name '*.swift' -o -name '*.[ch]' -o -name '*.cpp' -o -name '*.js' \
	    -o -name '*.py' | xargs awk 'length > 120 && /^ *(\/\/|# )/ { \
	        print FILENAME ":" FNR ": this comment has more than 120 columns"; failed = 1 } END { exit failed }'

# Runs only if a source has changed since the last run.
.build/lint: $(shell find $(sources) -name '*.swift') .swift-format
	swift format lint --strict --recursive --parallel $(sources)
	@mkdir -p .build && touch $@

format:
	swift format --in-place --recursive --parallel $(sources)

install: build sample outline
	install -D $(guise) "$(DESTDIR)$(PREFIX)/bin/guise"
	install -D $(guise)-art "$(DESTDIR)$(PREFIX)/libexec/guise/guise-art"
	install -D $(guise)-camera "$(DESTDIR)$(PREFIX)/libexec/guise/guise-camera"
	install -D $(guise)-objects "$(DESTDIR)$(PREFIX)/libexec/guise/guise-objects"
	mkdir -p "$(share)" && cd "$(share)" && rm -rf $(shared)
	cp -r $(shared) "$(share)" && rm -rf "$(share)/samples/axe"
	install -D -m 644 debian/guise.svg "$(icon)"
	install -D -m 644 debian/guise.metainfo.xml "$(metainfo)"
	install -D -m 644 debian/guise.desktop "$(launcher)"
	[ "$(PREFIX)" = /usr ] || sed -i 's|^Exec=guise|Exec="$(PREFIX)/bin/guise"|' "$(launcher)"
	@echo "To install the service, completions and the virtual camera for your user: guise install"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "Add $(PREFIX)/bin to your PATH to run it as guise." ;; esac

uninstall:
	@[ -n "$(DESTDIR)" ] || [ ! -x "$(PREFIX)/bin/guise" ] || [ "$$(id -u)" = 0 ] || "$(PREFIX)/bin/guise" uninstall
	rm -rf "$(DESTDIR)$(PREFIX)/bin/guise" "$(DESTDIR)$(PREFIX)/libexec/guise"
	[ ! -d "$(share)" ] || { (cd "$(share)" && rm -rf $(shared)) && rmdir --ignore-fail-on-non-empty "$(share)"; }
	rm -f "$(launcher)" "$(icon)" "$(metainfo)"

# The manual pages, .build/man, from the program's own help.
manual: build
	docs/manual $(guise) .build/man

# The Debian package, .build/deb/guise_VERSION_ARCHITECTURE.deb, for the Debian that it is built on.
deb:
	@$(SETUP) build run deb sample outline
	rm -rf .build/deb && mkdir -p .build/deb
	debian/rules clean
	GUISE_DEB_DIR=.build/deb DEB_RULES_REQUIRES_ROOT=no debian/rules binary
	debian/rules clean
	lintian --fail-on error .build/deb/*.deb
	appstreamcli validate --no-net debian/guise.metainfo.xml
	desktop-file-validate debian/guise.desktop
	@ls -l .build/deb

# Builds the packages in clean systems and tries them there: make test-deb ARGS='bookworm trixie'.
test-deb:
	@$(SETUP) build deb sample outline
	@[ -e .build/checkouts ] || swift package resolve
	Tests/Package/run $(ARGS)

# For other distributions: .build/guise-VERSION-linux-ARCHITECTURE.tar.xz, with all libraries but the C and C++ ones.
tarball: build sample outline manual
	@$(SETUP) deb
	debian/tarball/build

clean:
	rm -rf .build .build-*
