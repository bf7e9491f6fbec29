# All that is done with Guise's sources. Each target first installs what it lacks from Debian, saying so.
#   ARGS='...' goes to the program: make run ARGS='--mask cat'
SHELL := /bin/bash
PREFIX ?= $(HOME)/.local
ARGS ?=

guise := .build/release/guise
share := $(DESTDIR)$(PREFIX)/share/guise
sources := Sources Tests Package.swift

.PHONY: run build test test-vm fuzz bench sample lint format install uninstall clean

run: build sample
	@exec $(guise) run $(ARGS)

# With Swift's own libraries linked in: it starts in three quarters of the time, takes 8 MB less, and runs where there is no Swift.
# The linker's option must come before Swift's own libraries, which name libcurl (Sources/CLinux/web.c): there is no other way.
build:
	@./setup build run
	CCC_OVERRIDE_OPTIONS='#^-Wl,--as-needed' swift build -c release --product guise --static-swift-stdlib

# One test at a time: some watch the clock, and some wait for programs on threads that servers under test need.
# The tests have the compiler's checks of debug builds, warnings as errors; the program is tested as it is shipped.
test: export GUISE_STRICT = 1
test: export GUISE_BINARY = $(CURDIR)/$(guise)
test: build sample lint
	@./setup test
	@set -o pipefail; swift test --disable-xctest --no-parallel $(ARGS) 2>&1 | tee .build/test.log || { \
	    echo; echo 'What failed, of all that is above:'; grep -A4 -e ✘ -e error: .build/test.log; exit 1; }

test-vm: build sample
	@./setup test
	GUISE_STRICT=1 Tests/VM/run $(ARGS)

# Changes packs, and requests of the control socket, until something breaks, or the time is over. MINUTES=... for another time; KEEP=1 adds to
# Tests/Fuzz/corpus what reached something new; what broke lies in .build-fuzz/.
MINUTES ?= 5
fuzzer := .build-fuzz/release/PackFuzzer
fuzz:
	@./setup build
	GUISE_FUZZ=1 swift build -c release --product PackFuzzer --scratch-path .build-fuzz
	GUISE_FUZZ=1 swift build -c release --product RequestFuzzer --scratch-path .build-fuzz
	@mkdir -p .build-fuzz/corpus .build-fuzz/seeds .build-fuzz/requests
	@for mask in Masks/*/; do cp $$mask/mask.json .build-fuzz/seeds/$$(basename $$mask).json; done
	.build-fuzz/release/RequestFuzzer -max_total_time=$$(($(MINUTES) * 60)) -timeout=10 -max_len=4096 \
	    -print_final_stats=1 -artifact_prefix=.build-fuzz/request- .build-fuzz/requests Tests/Fuzz/requests
	$(fuzzer) -max_total_time=$$(($(MINUTES) * 60)) -timeout=60 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
	    -dict=Tests/Fuzz/keys.dict -artifact_prefix=.build-fuzz/ .build-fuzz/corpus Tests/Fuzz/corpus .build-fuzz/seeds
	@rm -rf /dev/shm/guise-fuzz-*
	$(if $(KEEP),$(fuzzer) -merge=1 -max_len=1024 -timeout=60 Tests/Fuzz/corpus .build-fuzz/corpus)

bench: build
	$(guise) bench $(ARGS)

sample:
	@./setup sample

lint:
	swift format lint --strict --recursive --parallel $(sources)

format:
	swift format --in-place --recursive --parallel $(sources)

install: build sample
	install -D $(guise) "$(DESTDIR)$(PREFIX)/bin/guise"
	rm -rf "$(share)" && mkdir -p "$(share)"
	cp -r Cascades Masks Page config.json samples systemd "$(share)"
	@echo "Service, completions and the virtual camera for your user: guise install"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "Add $(PREFIX)/bin to your PATH to call it as guise." ;; esac

uninstall:
	@[ -n "$(DESTDIR)" ] || [ ! -x "$(PREFIX)/bin/guise" ] || [ "$$(id -u)" = 0 ] || "$(PREFIX)/bin/guise" uninstall
	rm -rf "$(DESTDIR)$(PREFIX)/bin/guise" "$(share)"

clean:
	rm -rf .build .build-*
