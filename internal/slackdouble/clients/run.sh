#!/bin/sh
# Drives the Slack double with Slack's own JavaScript clients. Needs Node 20 and,
# for the first run, a package registry.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/double" ../cmd
[ -d node_modules ] || npm ci --no-audit --no-fund --ignore-scripts
DOUBLE="$work/double" node --test --test-timeout=60000 suite.test.mjs
