# Keyroute. `make help` lists what can be made.
#
# Every .c file below partitioner/src and repartition/src is picked up by its folder; every test_*.c below a test folder
# becomes a test program of that name. SAN=address,undefined (or thread) builds into a folder of its own.

VERSION := $(shell sed -n 's/^\#define KR_VERSION "\(.*\)"/\1/p' partitioner/include/keyroute.h)
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
SAN     ?=
comma   := ,
BUILD   ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))

CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Wpedantic -Werror
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE $(WARNINGS) -fvisibility=hidden -fPIC -MMD -MP $(CFLAGS) \
              $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
Q := $(if $(V),,@)
ALL_LDFLAGS := $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))

CORE_SRC   := $(wildcard partitioner/src/*.c $(foreach d,hash key map policy capacity preset,partitioner/src/$(d)/*.c))
PLUGIN_SRC := $(wildcard partitioner/src/plugin/*.c)
SCHEMAS_SRC := $(wildcard partitioner/src/schemas/*.c)
TOOL_SRC   := $(wildcard repartition/src/*.c $(foreach d,decide io job report cli,repartition/src/$(d)/*.c))
TOOL_LIB_SRC := $(filter-out repartition/src/cli/main.c,$(TOOL_SRC))

CORE_OBJ     := $(CORE_SRC:%.c=$(BUILD)/obj/%.o)
PLUGIN_OBJ   := $(PLUGIN_SRC:%.c=$(BUILD)/obj/%.o)
SCHEMAS_OBJ  := $(SCHEMAS_SRC:%.c=$(BUILD)/obj/%.o)
TOOL_LIB_OBJ := $(TOOL_LIB_SRC:%.c=$(BUILD)/obj/%.o)
MAIN_OBJ     := $(BUILD)/obj/repartition/src/cli/main.o
CRASH_OBJ    := $(patsubst %.c,$(BUILD)/obj-crash/%.o,$(shell grep -l RP_CRASH_POINT $(TOOL_LIB_SRC)))

CORE_TESTS := $(patsubst partitioner/test/%.c,$(BUILD)/test/%,$(wildcard partitioner/test/test_*.c))
TOOL_TESTS := $(patsubst repartition/test/%.c,$(BUILD)/test/%,$(wildcard repartition/test/test_*.c))
CORE_TEST_HELPERS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out partitioner/test/test_%.c,$(wildcard partitioner/test/*.c)))
TOOL_TEST_HELPERS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out repartition/test/test_%.c,$(wildcard repartition/test/*.c)))

TOOL_FILES := $(BUILD)/repartition $(BUILD)/repartition.1 $(BUILD)/repartition.bash

# What the parts need. The plugin takes nothing of librdkafka at link time: it binds to its host's copy when it is loaded.
CORE_LIBS := -ljansson -lz
SCHEMAS_LIBS := -lavro -lcurl -lpthread $(CORE_LIBS)
TOOL_LIBS := -lrdkafka -lxxhash -lmicrohttpd -lm -lpthread $(CORE_LIBS)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all help check chaos interop test demo jar bench install uninstall clean format deps deps-demo deps-test fuzz

all: $(BUILD)/keyroute.so $(BUILD)/keyroute-schemas.so $(BUILD)/libkeyroute.a $(BUILD)/libkeyroute.so $(BUILD)/keyroute.pc $(TOOL_FILES) ## build the plugin, the library and the tool into build/

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-10s %s\n", $$1, $$2 }'
	@echo '  variables: PREFIX=/usr/local DESTDIR= SAN=address,undefined|thread CFLAGS= V='

COMPILE = $(CC) $(ALL_CFLAGS) $(CPPFLAGS) -Ipartitioner/include $(INCLUDES)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(if $(V),,@echo '  CC  $@')
	$(Q)$(COMPILE) -c $< -o $@

# Inside the tree each part sees only what it may use: the core its own folder, the tool the core's public header.
$(BUILD)/obj/repartition/%.o: INCLUDES := -Irepartition/src
$(BUILD)/obj/partitioner/%.o: INCLUDES := -Ipartitioner/src

# A tool that can be made to die at chosen places (repartition/src/crash.h): the same but for the files that have such places.
$(BUILD)/obj-crash/%.o: INCLUDES := -Irepartition/src
$(BUILD)/obj-crash/%.o: CPPFLAGS += -DRP_CRASH_POINTS
$(BUILD)/obj-crash/%.o: %.c
	@mkdir -p $(@D)
	$(if $(V),,@echo '  CC  $@')
	$(Q)$(COMPILE) -c $< -o $@

# The golden keys go into the tool as they are.
$(BUILD)/obj/repartition/src/decide/vectors.o: interop-tests/vectors/murmur2.json

$(BUILD)/libkeyroute.a: $(CORE_OBJ)
	@rm -f $@
	$(if $(V),,@echo '  AR  $@')
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libkeyroute.so.0: $(CORE_OBJ)
	$(if $(V),,@echo '  LD  $@')
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,libkeyroute.so.0 -Wl,-z,defs -o $@ $^ $(CORE_LIBS)

$(BUILD)/libkeyroute.so: $(BUILD)/libkeyroute.so.0
	@ln -sf libkeyroute.so.0 $@

# -z nodelete: its function pointers stay registered in a client even when the object would be closed.
# The version script hides the core's public API here: the plugin exports conf_init and nothing else.
$(BUILD)/keyroute.so: $(PLUGIN_OBJ) $(BUILD)/libkeyroute.a partitioner/src/plugin/exports.map
	$(if $(V),,@echo '  LD  $@')
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-z,nodelete $(if $(SAN),,-Wl,-z$(comma)defs) \
	      -Wl,--version-script,partitioner/src/plugin/exports.map -o $@ $(PLUGIN_OBJ) $(BUILD)/libkeyroute.a $(CORE_LIBS) -ldl

# What must not be loaded into every producer: Avro-C, libcurl. The core opens it when a policy names schemas.
$(BUILD)/keyroute-schemas.so: $(SCHEMAS_OBJ) $(BUILD)/libkeyroute.a partitioner/src/schemas/exports.map
	$(if $(V),,@echo '  LD  $@')
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-z,nodelete $(if $(SAN),,-Wl,-z$(comma)defs) \
	      -Wl,--version-script,partitioner/src/schemas/exports.map -o $@ $(SCHEMAS_OBJ) $(BUILD)/libkeyroute.a $(SCHEMAS_LIBS)

$(BUILD)/librepartition.a: $(TOOL_LIB_OBJ)
	@rm -f $@
	$(if $(V),,@echo '  AR  $@')
	$(Q)$(AR) rcs $@ $^

$(BUILD)/repartition: $(MAIN_OBJ) $(BUILD)/librepartition.a $(BUILD)/libkeyroute.a
$(BUILD)/repartition-crash: $(MAIN_OBJ) $(CRASH_OBJ) $(BUILD)/librepartition.a $(BUILD)/libkeyroute.a
$(BUILD)/repartition $(BUILD)/repartition-crash:
	$(if $(V),,@echo '  LD  $@')
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TOOL_LIBS)

$(BUILD)/repartition.1: $(BUILD)/repartition
	@$< --man > $@

$(BUILD)/repartition.bash: $(BUILD)/repartition
	@$< --completion > $@

$(BUILD)/keyroute.pc: partitioner/keyroute.pc.in Makefile
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' $< > $@

# The plugin's tests are the one place below partitioner/ that links a librdkafka: they are its hosts.
$(filter $(BUILD)/test/test_plugin%,$(CORE_TESTS)): CORE_LIBS += -lrdkafka
$(filter $(BUILD)/test/test_plugin%,$(CORE_TESTS)): | $(BUILD)/keyroute.so
# Two of them look at parts of the plugin alone.
$(filter %/test_plugin_router %/test_plugin_witness,$(CORE_TESTS)): $(BUILD)/obj/partitioner/src/plugin/router.o
$(filter %/test_plugin_witness,$(CORE_TESTS)): $(BUILD)/obj/partitioner/src/plugin/witness.o

# Opened at run time by tests of keys whose schemas it reads.
$(filter %/test_avro %/test_hostile_schemas %/test_plugin_witness $(BUILD)/test/test_registry%,$(CORE_TESTS)): | $(BUILD)/keyroute-schemas.so

$(CORE_TESTS): $(BUILD)/test/%: $(BUILD)/obj/partitioner/test/%.o $(CORE_TEST_HELPERS) $(BUILD)/libkeyroute.a
	@mkdir -p $(@D)
	$(if $(V),,@echo '  LD  $@')
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(CORE_LIBS) -lm -lpthread -ldl

# One of them meets a registry that does not answer.
$(filter %/test_audit,$(TOOL_TESTS)): | $(BUILD)/keyroute-schemas.so

$(TOOL_TESTS): $(BUILD)/test/%: $(BUILD)/obj/repartition/test/%.o $(TOOL_TEST_HELPERS) $(BUILD)/librepartition.a $(BUILD)/libkeyroute.a
	@mkdir -p $(@D)
	$(if $(V),,@echo '  LD  $@')
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(TOOL_LIBS)

check: all $(CORE_TESTS) $(TOOL_TESTS) ## the inner loop: every test that needs no broker, in seconds (SAN= for sanitizers)
	@scripts/run-unit-tests $(BUILD) $(CORE_TESTS) $(TOOL_TESTS)

test: ## everything, with its own set-up: sanitizers, fuzzing, real Kafka, real clients
	@scripts/test

demo: ## the main job on an embedded cluster, no broker needed
	@scripts/install-deps demo
	@$(MAKE) --no-print-directory -s all
	@examples/demo/demo

N ?= 20
chaos: all ## jobs under fire on a real Kafka, N= rounds of each fault; prints the table of docs/reliability.md
	@scripts/install-deps test
	@interop-tests/chaos/chaos $(N) --copier $(CHAOS)

interop: all ## every client against a real Kafka; writes docs/compatibility.md and the table of README.md
	@scripts/install-deps test
	@interop-tests/matrix/matrix --write

bench: ## ratios against librdkafka's own partitioner and a bare copy loop (real Kafka)
	@scripts/bench

jar: $(BUILD)/keyroute-partitioner.jar ## the partitioner for Java producers (needs Maven)

$(BUILD)/keyroute-partitioner.jar: $(shell find interop-tests/java/partitioner -name '*.java' -o -name pom.xml)
	@mkdir -p $(@D)
	@mvn -B -q -Dstyle.color=never -f interop-tests/java/partitioner/pom.xml package
	@cp interop-tests/java/partitioner/target/keyroute-partitioner.jar $@

install: all ## install below PREFIX (and DESTDIR)
	@scripts/install '$(BUILD)' '$(DESTDIR)' '$(PREFIX)'

uninstall: ## remove what install put there
	@scripts/install --remove '$(BUILD)' '$(DESTDIR)' '$(PREFIX)'

deps: ## install the Debian packages that building needs
	@scripts/install-deps build

format: ## clang-format the tree
	clang-format -i $(shell git ls-files '*.c' '*.h')

clean: ## remove what was built
	rm -rf build build-*

# Every object names the headers it read.
-include $(shell find $(BUILD)/obj $(BUILD)/obj-crash -name '*.d' 2>/dev/null)
