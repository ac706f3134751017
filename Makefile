# kafka-oncall. `make help` lists the verbs.
GO      ?= go
BIN     ?= bin/kafka-oncall
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)
LINT     = $(GO) tool -modfile=tools/golangci-lint/go.mod golangci-lint

.PHONY: help build test lint fmt update demo e2e soak bench image rules fuzz clean

help: ## list the verbs
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-8s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

build: ## static binary in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/kafka-oncall

test: ## all tests that need only Go
	$(GO) test -race -shuffle=on ./...

lint: ## linters, formatting, playbooks
	$(LINT) run ./...
	$(LINT) fmt --diff ./...
	$(GO) run ./cmd/kafka-oncall playbooks lint

fmt: ## format the code
	$(LINT) fmt ./...

update: ## rewrite golden files; read the diff by eye
	$(GO) test ./diagnose/... ./playbooks/... ./bot/... ./cmd/... -update

demo: ## the main job, with no Kafka, Prometheus or Slack
	$(GO) run ./cmd/kafka-oncall demo

rules: ## check and test the Prometheus rules (needs promtool)
	promtool check rules deploy/prometheus/rules-brokers.yaml deploy/prometheus/rules-groups.yaml deploy/prometheus/rules-clients.yaml deploy/prometheus/rules-bot.yaml
	promtool test rules deploy/prometheus/rules-brokers.test.yaml deploy/prometheus/rules-groups.test.yaml deploy/prometheus/rules-clients.test.yaml deploy/prometheus/rules-bot.test.yaml

e2e: ## real brokers, Prometheus and Alertmanager on loopback (Java 17, Maven, Debian's prometheus packages)
	$(GO) test -tags e2e -count=1 -timeout 20m -v ./e2e/...

soak: ## every scenario on 4.4.0 and 3.9.2, three times each
	KAFKA_ONCALL_SOAK=3 $(GO) test -tags e2e -count=1 -timeout 4h -v ./e2e/...

bench: ## figures as ratios against a peer in the same run
	$(GO) test -run '^$$' -bench . -benchmem ./diagnose
	$(GO) test -run '^$$' -bench . -benchtime 1x -timeout 3m ./bench

fuzz: ## ten seconds of each fuzz target
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz'); do $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime 10s $$p || exit 1; done; done

image: ## container image (needs a container engine)
	docker build --build-arg VERSION=$(VERSION) -t kafka-oncall:$(VERSION) .

clean: ## remove build output
	rm -rf bin dist
