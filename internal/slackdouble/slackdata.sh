#!/bin/sh
# Compares renderer, double and manifest with data that others published.
# SLACK_DATA names the folder with that data.
set -eu
: "${SLACK_DATA:?names the folder with the published data}"
cd "$(dirname "$0")/../.."
exec go test -count=1 -tags slackdata ./bot/slack ./internal/slackdouble
