#!/usr/bin/env bash
# Builds the image that docker-compose.1panel.yml runs: memos:VERSION, by default the version in pyproject.toml.
#
#   deploy/build-image.sh [VERSION]
#
# PIP_INDEX_URL=… takes Python packages from a mirror; WITH_TELEMETRY=1 and others: see the Dockerfile.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
version="${1:-$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)}"
arguments=()
for name in PIP_INDEX_URL WITH_DOCUMENTS WITH_TELEMETRY WITH_ACTIVATION WITH_TRAIN; do
    [ -z "${!name:-}" ] || arguments+=(--build-arg "$name=${!name}")
done
docker build --pull "${arguments[@]}" --tag "memos:$version" .
echo "Built memos:$version. Start it: MEMOS_VERSION=$version docker compose -f docker-compose.1panel.yml up -d"
