#!/usr/bin/env bash
# Builds the image that docker-compose.1panel.yml runs: memos:VERSION, by default the version in pyproject.toml.
#
#   deploy/build-image.sh [VERSION]
#
# PIP_INDEX_URL=… takes Python packages from a mirror.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
version="${1:-$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)}"
docker build --pull --build-arg "PIP_INDEX_URL=${PIP_INDEX_URL:-}" --tag "memos:$version" .
echo "Built memos:$version. Start it: MEMOS_VERSION=$version docker compose -f docker-compose.1panel.yml up -d"
