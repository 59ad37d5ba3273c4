# Short names for the usual commands; the build itself is CMake (CMakePresets.json).
#   make            build/pleat (release)        make asan | tsan   tests under sanitizers
#   make demo       train a small GPT, sample    make demo-images   tell shapes, and make them
#   make test       builds and runs all tests    make install       PREFIX=/usr/local; make uninstall
#   make check      static checks                make format        clang-format in place
#   make fuzz       every fuzz target, SECONDS=10 each
PREFIX ?= /usr/local
SECONDS ?= 10
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

build/pleat: release
	@if [ -x build/release/pleat ]; then ln -sf release/pleat build/pleat; fi

release: packages build/release/build.ninja
	@cmake --build build/release -j $(JOBS) --target pleat manual

# SKIP_PACKAGES=1 goes on with what the machine has.
packages:
	@[ -n "$(SKIP_PACKAGES)" ] || scripts/install-packages packages.txt

build/%/build.ninja: CMakePresets.json | packages
	cmake --preset $*

demo: build/pleat
	scripts/demo build/pleat

demo-images: build/pleat
	scripts/demo-images build/pleat

test: build/pleat
	@cmake --build build/release -j $(JOBS)
	ctest --preset release

check:
	scripts/check

debug: packages build/debug/build.ninja
	cmake --build build/debug -j $(JOBS)

asan tsan: %: packages build/%/build.ninja
	cmake --build build/$@ -j $(JOBS)
	ctest --preset $@

fuzz: packages build/fuzz/build.ninja
	cmake --build build/fuzz -j $(JOBS) --target fuzz
	scripts/fuzz build/fuzz $(SECONDS)

format:
	scripts/format

install: build/pleat
	cmake --install build/release --prefix "$(PREFIX)"

uninstall:
	xargs rm -fv < build/release/install_manifest.txt

clean:
	rm -rf build

.DEFAULT_GOAL := build/pleat
.PHONY: release packages demo demo-images test check debug asan tsan fuzz format install uninstall clean build/pleat
